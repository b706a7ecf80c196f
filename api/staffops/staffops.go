// Package staffops has what the control screen and the operations address share: holds and purchases, and their views.
package staffops

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Range is the part of a running range that staff and operators change. staff is the name of who does it, for
// the record.
type Range interface {
	Holdable
	// Unresolved returns the purchases that wait for staff, by lane in display order.
	Unresolved() []lanes.OpenPurchase
	// Clear settles a purchase. With credit its minutes are added to the session, or to the one that goes on with it:
	// that must be active. Without the session, only the purchase of one session may have the id.
	Clear(ctx context.Context, staff string, command lanes.Clear) error
}

// Holdable is the part of a running range that has holds. staff is as in Range.
type Holdable interface {
	Layout() lanes.Layout
	// Holds returns the holds in force.
	Holds() lanes.Holds
	// Hold closes the fire line of everything in the scope. It returns within 2 s which lanes have confirmed.
	Hold(ctx context.Context, scope lanes.Scope, staff string) (lanes.Reached, error)
	// Lift opens what no other hold covers. With a press it ends the hold only if that is the newest press.
	Lift(ctx context.Context, scope lanes.Scope, press uuid.UUID, staff string) (lanes.Reached, error)
}

// HoldChange is a request to set or lift a hold.
type HoldChange struct {
	Scope lanes.Scope
	On    bool
	Press uuid.UUID // to lift: the newest that was seen; uuid.Nil: whichever
}

// ReadHoldChange reads it from a request.
func ReadHoldChange(in *endpoint.Input) HoldChange {
	return HoldChange{
		Scope: ReadScope(in),
		On:    in.YesOrNo("on", "Whether the hold is set or lifted"),
		Press: in.OptionalID("press", "To lift: the press of the hold that is to end, as the holds in force show "+
			"it. If it was pressed again since, the answer is 409 ceasefire and it stays. Without one it ends "+
			"whoever pressed when"),
	}
}

// ReadScope reads what a hold lies over from a request.
func ReadScope(in *endpoint.Input) lanes.Scope {
	return lanes.Scope{
		Kind: in.OneOf("scope", "What the hold lies over", lanes.OverRange, lanes.OverBay, lanes.OverLane),
		ID:   in.OptionalID("id", "The bay or the lane; none for the range"),
	}
}

// check returns endpoint.Faults if the layout does not have the scope. A hold in force can be lifted all the same.
func (h HoldChange) check(layout lanes.Layout, inForce lanes.Holds) error {
	if !h.On && inForce.Has(h.Scope) {
		return nil
	}
	valid := map[string]bool{
		lanes.OverRange: h.Scope.ID == uuid.Nil,
		lanes.OverBay:   slices.ContainsFunc(layout.Bays, func(b lanes.Bay) bool { return b.ID == h.Scope.ID }),
		lanes.OverLane:  slices.ContainsFunc(layout.Lanes, func(p lanes.Place) bool { return p.ID == h.Scope.ID }),
	}
	if valid[h.Scope.Kind] {
		return nil
	}
	return endpoint.Faults{"id": map[string]string{
		lanes.OverRange: "must not be given with the scope range",
		lanes.OverBay:   "must be a bay of this range",
		lanes.OverLane:  "must be a lane of this range",
	}[h.Scope.Kind]}
}

// HoldResult is how far a change of a hold has come: every lane in its scope is in one of the lists.
type HoldResult struct {
	Confirmed  []uuid.UUID `json:"confirmed"`
	Sent       []uuid.UUID `json:"sent"`
	NotReached []uuid.UUID `json:"not_reached"`
	Saved      bool        `json:"saved"`
}

// Apply sets or lifts the hold. Its errors are endpoint.Faults for an unknown scope, and those of Range.Hold and Lift.
func (h HoldChange) Apply(ctx context.Context, r Holdable, staff string) (HoldResult, error) {
	if err := h.check(r.Layout(), r.Holds()); err != nil {
		return HoldResult{}, err
	}
	var reached lanes.Reached
	var err error
	if h.On {
		reached, err = r.Hold(ctx, h.Scope, staff)
	} else {
		reached, err = r.Lift(ctx, h.Scope, h.Press, staff)
	}
	if err != nil {
		return HoldResult{}, err
	}
	list := func(ids []uuid.UUID) []uuid.UUID { return append([]uuid.UUID{}, ids...) } // [] instead of null
	return HoldResult{list(reached.Confirmed), list(reached.Sent), list(reached.NotReached), reached.Saved}, nil
}

// HoldView is a hold in force.
type HoldView struct {
	Scope string     `json:"scope"`
	ID    *uuid.UUID `json:"id"` // null: the range
	Who   string     `json:"who"`
	Since string     `json:"since"`
	Press *uuid.UUID `json:"press"` // changes with each press; null in a record of before
}

// HoldViews returns the holds in force, their times formatted by stamp.
func HoldViews(holds lanes.Holds, stamp func(time.Time) string) []HoldView {
	return endpoint.Views(holds.InForce, func(h lanes.HoldRecord) HoldView {
		return HoldView{h.Kind, endpoint.Optional(h.ID), h.Who, stamp(h.Since), endpoint.Optional(h.Press)}
	})
}

// PurchaseView is a purchase that waits for staff.
type PurchaseView struct {
	ID      uuid.UUID  `json:"purchase_id"`
	Lane    uuid.UUID  `json:"lane_id"`
	Session uuid.UUID  `json:"session_id"`
	Items   []ItemView `json:"items"`
	Minutes int        `json:"minutes"`
	AskedAt string     `json:"asked_at"`
	Reason  string     `json:"reason"`
	Event   uuid.UUID  `json:"event_id"`
	Trace   string     `json:"trace_id"` // the integrator's; empty if it sent none
	// The session to which its minutes can be added, and its lane; null: it has ended, and none goes on with it.
	CreditSession *uuid.UUID `json:"credit_session_id"`
	CreditLane    *uuid.UUID `json:"credit_lane_id"`
}

// ItemView is an item of a purchase, with its name and its price where the products API had told them.
type ItemView struct {
	lanes.Item
	Name  string `json:"name,omitempty"`
	Price string `json:"price,omitempty"` // of one
}

func itemViews(p lanes.Purchase) []ItemView {
	items := endpoint.Views(p.Items, func(i lanes.Item) ItemView { return ItemView{Item: i} })
	for i, good := range p.Goods {
		items[i].Name, items[i].Price = good.Name, good.Price
	}
	return items
}

// PurchaseViews returns the range's purchases that wait for staff.
func PurchaseViews(r Range) []PurchaseView {
	return endpoint.Views(r.Unresolved(), func(p lanes.OpenPurchase) PurchaseView {
		return PurchaseView{
			ID: p.ID, Lane: p.Lane, Session: p.Session, Items: itemViews(p.Purchase), Minutes: p.Minutes(),
			AskedAt: endpoint.Stamp(p.At.Wall), Reason: p.Reason, Event: p.Event, Trace: p.Trace,
			CreditSession: endpoint.Optional(p.CreditSession), CreditLane: endpoint.Optional(p.CreditLane),
		}
	})
}
