package api

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Unresolved is what the operators' address needs of a running range: the purchases that wait for staff.
type Unresolved interface {
	// Unresolved lists them by lane, in display order.
	Unresolved() []lanes.OpenPurchase
	// Clear settles one by hand. With credit its minutes are added to the session, which must be active.
	Clear(ctx context.Context, who string, purchase uuid.UUID, credit bool) error
}

// Operated is a running range as its operator sees it.
type Operated interface {
	Unresolved
	Held
}

// desk is where staff declare ceasefires and settle purchases as long as there is no control screen.
type desk struct {
	rangeOf func(id uuid.UUID) (Operated, error)
}

// openPurchase is a purchase that waits for staff.
type openPurchase struct {
	ID      uuid.UUID    `json:"purchase_id"`
	Lane    uuid.UUID    `json:"lane_id"`
	Session uuid.UUID    `json:"session_id"`
	Items   []lanes.Item `json:"items"`
	Minutes int          `json:"minutes"`
	AskedAt string       `json:"asked_at"`
	Reason  string       `json:"reason"`
	Event   uuid.UUID    `json:"event_id"`
	Trace   string       `json:"trace_id"` // the integrator's, empty when it gave none
}

func (d desk) endpoints() []endpoint.Endpoint {
	settled := []string{"not_found", "purchase_not_found", "store_unavailable", "starting", "overloaded", "not_owner", "lane_not_usable"}
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/{range_id}/holds", 200, "The holds in force", readRange, d.holds, "not_found", "starting", "not_owner"),
		endpoint.Handle("PUT", "/{range_id}/holds", 200, "Set a hold, or lift it", readHold, d.hold,
			"not_found", "ceasefire", "store_unavailable", "starting", "not_owner"),
		endpoint.Handle("GET", "/{range_id}/purchases", 200, "The purchases that wait for staff", readRange, d.list, "not_found", "starting", "not_owner"),
		endpoint.Handle("POST", "/{range_id}/purchases/{purchase_id}/credit", 204, "Add the minutes that were bought",
			readUnsettled, d.settle(true), append(settled, "session_ended", "duration_out_of_range")...),
		endpoint.Handle("POST", "/{range_id}/purchases/{purchase_id}/drop", 204, "Add nothing", readUnsettled, d.settle(false), settled...),
	}
}

func readRange(in *endpoint.Input) uuid.UUID { return in.PathID("range_id", "Range") }

type unsettled struct{ rangeID, purchase uuid.UUID }

func readUnsettled(in *endpoint.Input) unsettled {
	return unsettled{in.PathID("range_id", "Range"), in.PathID("purchase_id", "Purchase")}
}

func (d desk) list(_ context.Context, id uuid.UUID) ([]openPurchase, error) {
	r, err := d.rangeOf(id)
	if err != nil {
		return nil, err
	}
	shown := []openPurchase{}
	for _, p := range r.Unresolved() {
		shown = append(shown, openPurchase{
			ID: p.ID, Lane: p.Lane, Session: p.Session, Items: p.Items, Minutes: p.Minutes(),
			AskedAt: p.At.Wall.UTC().Format("2006-01-02T15:04:05.000Z"), Reason: p.Reason, Event: p.Event, Trace: p.Trace,
		})
	}
	return shown, nil
}

func (d desk) settle(credit bool) func(context.Context, unsettled) (endpoint.Empty, error) {
	return func(ctx context.Context, o unsettled) (endpoint.Empty, error) {
		r, err := d.rangeOf(o.rangeID)
		if err != nil {
			return endpoint.Empty{}, err
		}
		return endpoint.Empty{}, r.Clear(ctx, anOperator, o.purchase, credit)
	}
}
