package api

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/desk"
	"rangegate/api/endpoint"
	"rangegate/api/machinery"
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
	machinery.Range
}

// office is where operators, and their scripts, do what staff do at the control screen.
type office struct {
	rangeOf func(id uuid.UUID) (Operated, error)
}

func (o office) endpoints() []endpoint.Endpoint {
	settled := []string{"not_found", "purchase_not_found", "store_unavailable", "starting", "overloaded", "not_owner", "lane_not_usable"}
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/{range_id}/holds", 200, "The holds in force", readRange, o.holds, "not_found", "starting", "not_owner"),
		endpoint.Handle("PUT", "/{range_id}/holds", 200, "Set a hold, or lift it", readHold, o.hold,
			"not_found", "ceasefire", "store_unavailable", "starting", "not_owner"),
		endpoint.Handle("GET", "/{range_id}/purchases", 200, "The purchases that wait for staff", readRange, o.list, "not_found", "starting", "not_owner"),
		endpoint.Handle("POST", "/{range_id}/purchases/{purchase_id}/credit", 204, "Add the minutes that were bought",
			readUnsettled, o.settle(true), append(settled, "session_ended", "duration_out_of_range")...),
		endpoint.Handle("POST", "/{range_id}/purchases/{purchase_id}/drop", 204, "Add nothing", readUnsettled, o.settle(false), settled...),
	}
}

func readRange(in *endpoint.Input) uuid.UUID { return in.PathID("range_id", "Range") }

type unsettled struct{ rangeID, purchase uuid.UUID }

func readUnsettled(in *endpoint.Input) unsettled {
	return unsettled{in.PathID("range_id", "Range"), in.PathID("purchase_id", "Purchase")}
}

func (o office) list(_ context.Context, id uuid.UUID) ([]desk.Purchase, error) {
	r, err := o.rangeOf(id)
	if err != nil {
		return nil, err
	}
	return desk.Purchases(r.Unresolved()), nil
}

func (o office) settle(credit bool) func(context.Context, unsettled) (endpoint.Empty, error) {
	return func(ctx context.Context, u unsettled) (endpoint.Empty, error) {
		r, err := o.rangeOf(u.rangeID)
		if err != nil {
			return endpoint.Empty{}, err
		}
		return endpoint.Empty{}, r.Clear(ctx, anOperator, u.purchase, credit)
	}
}
