package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"rangegate/api/desk"
	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Held is what the operators' address needs of a running range: its holds.
type Held interface {
	desk.Holder
	Holds() lanes.Holds
}

// hold is what is asked for.
type hold struct {
	rangeID uuid.UUID
	desk.Hold
}

// holdView is a hold in force.
type holdView struct {
	Scope string     `json:"scope"`
	ID    *uuid.UUID `json:"id"`
	Who   string     `json:"who"`
	Since string     `json:"since"`
}

func readHold(in *endpoint.Input) hold {
	return hold{in.PathID("range_id", "Range"), desk.ReadHold(in)}
}

// anOperator is who the record names: whoever has the operations token.
const anOperator = "operator"

func (o office) hold(ctx context.Context, h hold) (desk.Reached, error) {
	r, err := o.rangeOf(h.rangeID)
	if err != nil {
		return desk.Reached{}, err
	}
	return h.In(ctx, r, anOperator)
}

func (o office) holds(_ context.Context, id uuid.UUID) ([]holdView, error) {
	r, err := o.rangeOf(id)
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
