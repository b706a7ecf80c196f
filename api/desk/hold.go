// Package desk is what staff do about holds and purchases, as the wire has it: the same on the control screen and on the
// operations address.
package desk

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Holder is a running range, of which holds are set and lifted by name.
type Holder interface {
	Layout() lanes.Layout
	// Hold closes everything that the scope covers, and answers within 2 s how far that has come.
	Hold(ctx context.Context, over lanes.Scope, who string) (lanes.Reached, error)
	// Lift opens what no other hold covers.
	Lift(ctx context.Context, over lanes.Scope, who string) (lanes.Reached, error)
}

// Hold is a hold that is asked for, or its end.
type Hold struct {
	Over lanes.Scope
	On   bool
}

// ReadHold takes it from a request.
func ReadHold(in *endpoint.Input) Hold {
	return Hold{
		Over: lanes.Scope{
			Kind: in.OneOf("scope", "What the hold lies over", lanes.OverRange, lanes.OverBay, lanes.OverLane),
			ID:   in.OptionalID("id", "The bay or the lane; none for the range"),
		},
		On: in.YesOrNo("on", "Whether the hold is set or lifted"),
	}
}

// fits says what is wrong with the scope in that range.
func (h Hold) fits(layout lanes.Layout) error {
	known := map[string]bool{
		lanes.OverRange: h.Over.ID == uuid.Nil,
		lanes.OverBay:   slices.ContainsFunc(layout.Bays, func(b lanes.Bay) bool { return b.ID == h.Over.ID }),
		lanes.OverLane:  slices.ContainsFunc(layout.Lanes, func(p lanes.Place) bool { return p.ID == h.Over.ID }),
	}
	if known[h.Over.Kind] {
		return nil
	}
	return endpoint.Faults{"id": map[string]string{
		lanes.OverRange: "must not be given with the scope range",
		lanes.OverBay:   "must be a bay of this range",
		lanes.OverLane:  "must be a lane of this range",
	}[h.Over.Kind]}
}

// Reached is how far a hold, or its end, has come: every lane that it covers is in one of the lists.
type Reached struct {
	Confirmed  []uuid.UUID `json:"confirmed"`
	Sent       []uuid.UUID `json:"sent"`
	NotReached []uuid.UUID `json:"not_reached"`
	Saved      bool        `json:"saved"`
}

// In sets the hold in the range, or lifts it.
func (h Hold) In(ctx context.Context, r Holder, who string) (Reached, error) {
	if err := h.fits(r.Layout()); err != nil {
		return Reached{}, err
	}
	act := r.Lift
	if h.On {
		act = r.Hold
	}
	far, err := act(ctx, h.Over, who)
	if err != nil {
		return Reached{}, err
	}
	list := func(ids []uuid.UUID) []uuid.UUID { return append([]uuid.UUID{}, ids...) }
	return Reached{list(far.Confirmed), list(far.Sent), list(far.NotReached), far.Saved}, nil
}
