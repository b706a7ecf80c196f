package actors

import (
	"context"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Unresolved is the purchases that wait for staff, by lane in display order.
func (r *Range) Unresolved() []lanes.OpenPurchase {
	var open []lanes.OpenPurchase
	for _, status := range r.board.Lanes() {
		for _, p := range status.Lane.Open {
			if p.Phase == lanes.Unresolved {
				open = append(open, lanes.OpenPurchase{Purchase: *p, Lane: status.ID})
			}
		}
	}
	return open
}

// Clear is staff settling an unresolved purchase by hand; with credit its minutes are added to the session.
func (r *Range) Clear(ctx context.Context, who string, purchase uuid.UUID, credit bool) error {
	for _, open := range r.Unresolved() {
		if open.ID == purchase {
			a := &ask{ctx: ctx, command: lanes.Clear{Purchase: purchase, Credit: credit}, by: lanes.ByStaff, who: who}
			_, err := r.ask(ctx, open.Lane, a)
			return err
		}
	}
	return lanes.ErrPurchaseNotFound
}
