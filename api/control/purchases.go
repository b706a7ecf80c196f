package control

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/desk"
	"rangegate/api/endpoint"
)

func (c *screen) purchaseEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/purchases", 200, "The purchases that wait for staff", endpoint.NoInput, c.purchases, notRunning...),
		endpoint.Handle("POST", "/purchases/{id}/settle", 204, "Settle one by hand", readSettle, c.settle,
			append([]string{"purchase_not_found", "session_ended", "duration_out_of_range", "lane_not_usable"}, changing...)...),
	}
}

func (c *screen) purchases(ctx context.Context, _ endpoint.Empty) ([]desk.Purchase, error) {
	r, _, err := c.staffed(ctx)
	if err != nil {
		return nil, err
	}
	return desk.Purchases(r.Unresolved()), nil
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
