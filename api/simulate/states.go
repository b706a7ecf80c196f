package simulate

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/staffops"
	"rangegate/lanes"
)

// Paths begins the path of every endpoint of the simulation.
const Paths = "/simulate/"

// states declares the endpoints that bring a range into a state.
func (h Handlers) states() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("POST", "/simulate/enter", 204,
			"A customer enters the lane: the time of a waiting session begins",
			readEntry, endpoint.WithTarget(h.RangeOf, enter),
			"session_not_found", "session_ended", "not_waiting", "starting", "store_unavailable",
			"overloaded", "not_owner").
			Describe("As the lane's controller reports it. The simulated customers enter by themselves, 3 to " +
				"10 s after the sale."),
		endpoint.Handle("POST", "/simulate/ceasefire", 200, "Staff set a ceasefire, or lift it",
			readCeasefire, endpoint.WithTarget(h.RangeOf, changeHold),
			"starting", "store_unavailable", "not_saved", "overloaded", "not_owner").
			Describe("The running sessions in its scope are paused, and resume when it ends. The answer says how " +
				"far it has come on the lanes' hardware. Staff see it on the control screen, and may lift it there."),
		endpoint.Handle("POST", "/simulate/fault", 204, "The hardware of a lane breaks, or is in order again",
			readFault, endpoint.WithTarget(h.RangeOf, changeFault),
			"lane_not_found", "starting", "store_unavailable", "overloaded", "not_owner").
			Describe("As the lane's controller reports it. The lane is not usable: it cannot be sold, and a session " +
				"on it goes on. Each time that the link to the controller comes up, the faults are those that " +
				"the controller has."),
		endpoint.Handle("POST", "/simulate/error", 204, "The next requests are answered with an error",
			h.readForced, endpoint.WithTarget(h.RangeOf, h.force), "starting", "not_owner").
			Describe("Those of version 2 to this range, the simulation's own excepted, whatever is in them. They " +
				"change nothing, also where the real error may: one that is answered `timeout` or `not_saved` was " +
				"not carried out. A restart forgets them."),
	}
}

func readEntry(in *endpoint.Input) uuid.UUID {
	return in.ID("session_id", "A session that waits for its customer", endpoint.ExampleID)
}

func enter(ctx context.Context, r Range, session uuid.UUID) (endpoint.Empty, error) {
	_, err := r.On(ctx, session, lanes.Enter{Session: session}, nil)
	return endpoint.Empty{}, err
}

// onRecord is who sets and lifts a simulated ceasefire, for the record and the control screen.
const onRecord = "simulation"

func readCeasefire(in *endpoint.Input) staffops.HoldChange {
	return staffops.HoldChange{
		Scope: staffops.ReadScope(in),
		On:    in.YesOrNo("on", "Whether it is set or lifted; lifting one that is not in force changes nothing"),
	}
}

func changeHold(ctx context.Context, r Range, change staffops.HoldChange) (staffops.HoldResult, error) {
	return change.Apply(ctx, r, onRecord)
}

// fault is what becomes of a lane's hardware.
type fault struct {
	lane   uuid.UUID
	broken bool
	detail string
}

const maxDetail = 200 // characters

func readFault(in *endpoint.Input) fault {
	return fault{
		lane:   in.ID("lane_id", "The lane", "44444444-4444-4444-8444-000000000001"),
		broken: in.YesOrNo("on", "Whether it has a fault, or none"),
		detail: in.OptionalText("detail", 1, maxDetail, "What is wrong, as the status of the lanes shows it; without "+
			"it, that it is simulated", "the carrier is jammed"),
	}
}

func changeFault(ctx context.Context, r Range, f fault) (endpoint.Empty, error) {
	var inspect lanes.Inspect
	switch {
	case f.broken && f.detail == "":
		inspect.Faults = []string{"simulated"}
	case f.broken:
		inspect.Faults = []string{f.detail}
	}
	_, err := r.LaneOn(ctx, f.lane, inspect)
	return endpoint.Empty{}, err
}
