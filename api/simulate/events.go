package simulate

import (
	"context"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
	"rangegate/webhook"
)

// event is what is to be sent.
type event struct {
	kind    lanes.Kind
	session uuid.UUID // uuid.Nil: made up
	items   []lanes.Item
}

func readActive(in *endpoint.Input) uuid.UUID {
	return in.OptionalID("session_id", "An active session, whose lane the event then has. Without one, or where there is no such "+
		"session, both ids are made up")
}

func readPurchase(in *endpoint.Input) event {
	return event{
		kind: lanes.PurchaseRequest, session: readActive(in),
		items: []lanes.Item{{
			ID:  in.Text("product_id", 1, lanes.MaxProductID, "The integrator's product identifier; it is trimmed, and has no control characters", "9mm-box-50"),
			Qty: in.Integer("qty", 1, lanes.MaxQty, "How many of it", 2),
		}},
	}
}

func readTime(in *endpoint.Input) event {
	return event{
		kind: lanes.PurchaseRequest, session: readActive(in),
		items: []lanes.Item{{ID: lanes.TimeItem, Qty: in.Integer("qty", 1, lanes.MaxQty, "Minutes", 30)}},
	}
}

// Sent is an event as it went out, and the receiver's answer.
type Sent struct {
	webhook.Body
	Status int `json:"-" header:"webhook-status" doc:"The HTTP status that the receiver answered with" example:"200" min:"100" max:"999"`
}

func (h Handlers) send(ctx context.Context, e event) (Sent, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return Sent{}, err
	}
	logged, err := r.Simulate(ctx, e.kind, e.session, e.items)
	if err != nil {
		return Sent{}, err
	}
	if logged.Attempt == nil || !logged.Attempt.Answered() {
		return Sent{}, lanes.ErrWebhookFailed
	}
	return Sent{webhook.BodyOf(logged.Event), logged.Attempt.Status}, nil
}

// advance is a jump of a session's clock.
type advance struct {
	session uuid.UUID
	minutes float64
}

// longestJump is more than any session lasts.
const longestJump = 1_000_000

func readAdvance(in *endpoint.Input) advance {
	return advance{
		session: in.ID("session_id", "An active session whose time is running", "7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"),
		minutes: in.Positive("minutes", longestJump, "Minutes to jump, with or without decimals", 12.5),
	}
}

func (h Handlers) advance(ctx context.Context, a advance) (endpoint.Empty, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return endpoint.Empty{}, err
	}
	jump := max(1, time.Duration(a.minutes*float64(time.Minute)))
	_, err = r.On(ctx, a.session, lanes.Advance{Session: a.session, By: jump}, nil)
	return endpoint.Empty{}, err
}
