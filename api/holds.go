package api

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Held is what the operators' address needs of a running range: its holds.
type Held interface {
	Layout() lanes.Layout
	Holds() lanes.Holds
	// Hold closes everything that the scope covers, and answers within 2 s how far that has come.
	Hold(ctx context.Context, over lanes.Scope, who string) (lanes.Reached, error)
	// Lift opens what no other hold covers.
	Lift(ctx context.Context, over lanes.Scope, who string) (lanes.Reached, error)
}

// hold is what is asked for.
type hold struct {
	rangeID uuid.UUID
	over    lanes.Scope
	on      bool
}

// reached is the answer: every lane that the hold covers is in one of the lists.
type reached struct {
	Confirmed  []uuid.UUID `json:"confirmed"`
	Sent       []uuid.UUID `json:"sent"`
	NotReached []uuid.UUID `json:"not_reached"`
	Saved      bool        `json:"saved"`
}

// holdView is a hold in force.
type holdView struct {
	Scope string     `json:"scope"`
	ID    *uuid.UUID `json:"id"`
	Who   string     `json:"who"`
	Since string     `json:"since"`
}

func readHold(in *endpoint.Input) hold {
	return hold{
		rangeID: in.PathID("range_id", "Range"),
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

// anOperator is who the record names: whoever has the operations token.
const anOperator = "operator"

func (d desk) hold(ctx context.Context, h hold) (reached, error) {
	r, err := d.rangeOf(h.rangeID)
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
	far, err := act(ctx, h.over, anOperator)
	if err != nil {
		return reached{}, err
	}
	list := func(ids []uuid.UUID) []uuid.UUID { return append([]uuid.UUID{}, ids...) }
	return reached{list(far.Confirmed), list(far.Sent), list(far.NotReached), far.Saved}, nil
}

func (d desk) holds(_ context.Context, id uuid.UUID) ([]holdView, error) {
	r, err := d.rangeOf(id)
	if err != nil {
		return nil, err
	}
	views := []holdView{}
	for _, h := range r.Holds().InForce {
		view := holdView{Scope: h.Kind, Who: h.Who, Since: h.Since.UTC().Format(time.RFC3339)}
		if h.ID != uuid.Nil {
			view.ID = &h.ID
		}
		views = append(views, view)
	}
	return views, nil
}
