package desk

import (
	"github.com/google/uuid"

	"rangegate/api/screens"
	"rangegate/lanes"
)

// Purchase is one that waits for staff.
type Purchase struct {
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

// Purchases is how they are listed.
func Purchases(open []lanes.OpenPurchase) []Purchase {
	listed := []Purchase{}
	for _, p := range open {
		listed = append(listed, Purchase{
			ID: p.ID, Lane: p.Lane, Session: p.Session, Items: p.Items, Minutes: p.Minutes(),
			AskedAt: screens.Stamp(p.At.Wall), Reason: p.Reason, Event: p.Event, Trace: p.Trace,
		})
	}
	return listed
}
