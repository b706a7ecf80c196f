package control

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/desk"
	"rangegate/api/endpoint"
	"rangegate/lanes"
)

func (c *screen) laneEndpoints() []endpoint.Endpoint {
	codes := append([]string{"lane_not_found"}, changing...)
	return []endpoint.Endpoint{
		endpoint.Handle("PUT", "/holds", 200, "Set a hold, or lift it", desk.ReadHold, c.hold,
			append([]string{"ceasefire"}, changing...)...),
		endpoint.Handle("POST", "/lanes/{id}/sale", 204, "Offer the lane, or not", readOffer, c.toLane, codes...),
		endpoint.Handle("POST", "/lanes/{id}/help", 204, "Help is coming, or was given", readHelp, c.toLane, codes...),
		endpoint.Handle("POST", "/lanes/{id}/stray-hit", 204, "The hit without a session is known", readHitNoted, c.toLane, codes...),
	}
}

// order is a command to a lane.
type order struct {
	lane    uuid.UUID
	command lanes.Command
}

func readLane(in *endpoint.Input) uuid.UUID { return in.PathID("id", "The lane") }

func readOffer(in *endpoint.Input) order {
	decided := map[string]lanes.Sale{
		lanes.AsConfigured.String(): lanes.AsConfigured, lanes.OnSale.String(): lanes.OnSale, lanes.OffSale.String(): lanes.OffSale,
	}
	word := in.OneOf("sale", "What staff decide", lanes.AsConfigured.String(), lanes.OnSale.String(), lanes.OffSale.String())
	return order{readLane(in), lanes.Offer{Sale: decided[word]}}
}

func readHelp(in *endpoint.Input) order {
	done := in.YesOrNo("done", "Whether the call is over; otherwise somebody is on their way")
	if done {
		return order{readLane(in), lanes.HelpDone{}}
	}
	return order{readLane(in), lanes.HelpComing{}}
}

func readHitNoted(in *endpoint.Input) order { return order{readLane(in), lanes.HitNoted{}} }

func (c *screen) toLane(ctx context.Context, o order) (endpoint.Empty, error) {
	r, who, err := c.staffed(ctx)
	if err != nil {
		return endpoint.Empty{}, err
	}
	return endpoint.Empty{}, r.StaffLane(ctx, who, o.lane, o.command)
}

func (c *screen) hold(ctx context.Context, h desk.Hold) (desk.Reached, error) {
	r, who, err := c.staffed(ctx)
	if err != nil {
		return desk.Reached{}, err
	}
	return h.In(ctx, r, who)
}
