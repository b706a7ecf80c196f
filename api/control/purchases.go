package control

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
	"rangegate/lanes"
)

func (c *screen) purchaseEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/purchases", 200, "The purchases that wait for staff", endpoint.NoInput, c.purchases, notRunning...),
		endpoint.Handle("POST", "/purchases/{id}/settle", 204, "Settle one by hand", readSettle, c.settle,
			append([]string{"purchase_not_found", "session_ended", "duration_out_of_range", "lane_not_usable"}, changing...)...),
	}
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

func (c *screen) purchases(ctx context.Context, _ endpoint.Empty) ([]openPurchase, error) {
	r, _, err := c.staffed(ctx)
	if err != nil {
		return nil, err
	}
	shown := []openPurchase{}
	for _, p := range r.Unresolved() {
		shown = append(shown, openPurchase{
			ID: p.ID, Lane: p.Lane, Session: p.Session, Items: p.Items, Minutes: p.Minutes(),
			AskedAt: screens.Stamp(p.At.Wall), Reason: p.Reason, Event: p.Event, Trace: p.Trace,
		})
	}
	return shown, nil
}

type settle struct {
	purchase uuid.UUID
	credit   bool
}

func readSettle(in *endpoint.Input) settle {
	return settle{
		purchase: in.PathID("id", "The purchase"),
		credit:   in.YesOrNo("credit", "Whether the minutes that were bought are added"),
	}
}

func (c *screen) settle(ctx context.Context, s settle) (endpoint.Empty, error) {
	r, who, err := c.staffed(ctx)
	if err != nil {
		return endpoint.Empty{}, err
	}
	return endpoint.Empty{}, r.Clear(ctx, who, s.purchase, s.credit)
}
