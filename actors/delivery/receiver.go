package delivery

import (
	"context"
	"slices"

	"rangegate/lanes"
)

// Webhook makes one attempt to deliver an event of the log and returns what the integrator answered: its
// status in the attempt, and in the answer its reply to a purchaseRequest and when it wants to be tried
// again. late says that later events of the lane may have been sent before. It returns within its own
// time-out, and when ctx ends. Webhooks are comparable: the same value is the same receiver.
type Webhook interface {
	Attempt(ctx context.Context, event lanes.Logged, late bool) (lanes.Attempt, lanes.Answer)
}

// Receiver is one of a range's webhooks, and what it gets.
type Receiver struct {
	Name      string // of no other one of the range; may be empty
	Webhook   Webhook
	Kinds     []lanes.Kind // none: all but those that have to be named. Purchases are not among them
	Purchases bool         // it decides them: exactly one does, if customers can buy at the lanes
	Slots     int          // deliveries at a time; purchases have slots of their own, and what is sent again has one
	// events that may wait for delivery: beyond them the oldest are dropped, or await their retry
	Queue int
	Retry lanes.RetryPolicy
}

// gets reports whether events of the kind go to the webhook.
func (r *Receiver) gets(kind lanes.Kind) bool {
	if kind == lanes.PurchaseRequest {
		return r.Purchases
	}
	return len(r.Kinds) == 0 && !kind.OnlyNamed() || slices.Contains(r.Kinds, kind)
}
