package webhook

import (
	"github.com/google/uuid"

	"rangegate/lanes"
)

// Body is the payload of an event: exactly the keys of SPEC.md part 6, in its order.
type Body struct {
	Event   string       `json:"event" doc:"What happened; ignore kinds that you do not know" example:"sessionStarted"`
	Session uuid.UUID    `json:"session_id"`
	Lane    uuid.UUID    `json:"lane_id"`
	Items   []lanes.Item `json:"items,omitempty" doc:"What the customer asks for; in a purchaseRequest only" example:"[{\"id\":\"time\",\"qty\":30}]"`
}

// BodyOf is the payload of the event.
func BodyOf(event lanes.Event) Body {
	body := Body{Event: string(event.Kind), Session: event.Session, Lane: event.Lane}
	if event.Kind == lanes.PurchaseRequest {
		body.Items = event.Items
	}
	return body
}
