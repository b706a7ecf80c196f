package control

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

func (c *screen) laneEndpoints() []endpoint.Endpoint {
	codes := append([]string{"lane_not_found"}, changing...)
	return []endpoint.Endpoint{
		endpoint.Handle("PUT", "/holds", 200, "Set a hold, or lift it", readHold, c.hold,
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

// hold is a hold that is asked for.
type hold struct {
	over lanes.Scope
	on   bool
}

func readHold(in *endpoint.Input) hold {
	return hold{
		over: lanes.Scope{
			Kind: in.OneOf("scope", "What the hold lies over", lanes.OverRange, lanes.OverBay, lanes.OverLane),
			ID:   in.OptionalID("id", "The bay or the lane; none for the range"),
		},
		on: in.YesOrNo("on", "Whether the hold is set or lifted"),
	}
}

// fits says what is wrong with the scope in that range.
func (h hold) fits(layout lanes.Layout) error {
	known := map[string]bool{
		lanes.OverRange: h.over.ID == uuid.Nil,
		lanes.OverBay:   slices.ContainsFunc(layout.Bays, func(b lanes.Bay) bool { return b.ID == h.over.ID }),
		lanes.OverLane:  slices.ContainsFunc(layout.Lanes, func(p lanes.Place) bool { return p.ID == h.over.ID }),
	}
	if known[h.over.Kind] {
		return nil
	}
	return endpoint.Faults{"id": map[string]string{
		lanes.OverRange: "must not be given with the scope range",
		lanes.OverBay:   "must be a bay of this range",
		lanes.OverLane:  "must be a lane of this range",
	}[h.over.Kind]}
}

// reached is how far a hold, or its end, has come: every lane under it is in one of the lists.
type reached struct {
	Confirmed  []uuid.UUID `json:"confirmed"`
	Sent       []uuid.UUID `json:"sent"`
	NotReached []uuid.UUID `json:"not_reached"`
	Saved      bool        `json:"saved"`
}

func (c *screen) hold(ctx context.Context, h hold) (reached, error) {
	r, who, err := c.staffed(ctx)
	if err != nil {
		return reached{}, err
	}
	if err := h.fits(r.Layout()); err != nil {
		return reached{}, err
	}
	act := r.Lift
	if h.on {
		act = r.Hold
	}
	far, err := act(ctx, h.over, who)
	if err != nil {
		return reached{}, err
	}
	list := func(ids []uuid.UUID) []uuid.UUID { return append([]uuid.UUID{}, ids...) }
	return reached{list(far.Confirmed), list(far.Sent), list(far.NotReached), far.Saved}, nil
}
