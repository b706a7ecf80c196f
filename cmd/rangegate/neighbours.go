package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/webhook"
)

// neighbours are the two sides of the integrator that a range talks to. Either may be missing.
type neighbours struct {
	webhook  *webhook.Client
	products *catalog.Client
}

// productRequests is how many requests to a products API may be under way: a few catalogues of four requests each.
const productRequests = 32

// neighboursOf makes the clients of every range, each with connections of its own: a slow integrator delays no other.
func neighboursOf(c config.Config, clock actors.Clock, metrics *catalog.Metrics, log zerolog.Logger) (map[uuid.UUID]neighbours, error) {
	production := c.Environment == config.InProduction
	all := make(map[uuid.UUID]neighbours, len(c.Ranges))
	for _, r := range c.Ranges {
		var n neighbours
		if w := r.Webhook; w != nil {
			secrets := make([]string, len(w.Secrets))
			for i, secret := range w.Secrets {
				secrets[i] = secret.Reveal()
			}
			client, err := webhook.New(webhook.Settings{
				Range: r.ID, URL: w.URL, Secrets: secrets, Timeout: w.Timeout, Version: built(),
				Transport: webhook.Transport(production && !w.AllowPrivate, w.Concurrency+actors.PurchaseSlots+actors.SimulationSlots),
				Now:       func() time.Time { return clock.Now().Wall },
			})
			if err != nil {
				return nil, misconfigured{fmt.Errorf("range %s: %w", r.ID, err)}
			}
			n.webhook = client
		}
		if p := r.Products; p != nil {
			n.products = catalog.New(catalog.Settings{
				URL: p.URL, Timeout: p.Timeout, UserAgent: "rangegate/" + built(), Metrics: metrics,
				Transport: webhook.Transport(production && !p.AllowPrivate, productRequests),
				Log:       log.With().Stringer("range", r.ID).Logger(),
			})
		}
		all[r.ID] = n
	}
	return all, nil
}

// settings adds the neighbours to what a range is started with.
func (n neighbours) settings(c config.Range, s actors.Settings) actors.Settings {
	if n.webhook != nil {
		s.Webhook = n.webhook
		s.Delivery = actors.Delivery{Slots: c.Webhook.Concurrency, Queue: c.Webhook.Queue}
	}
	if n.products != nil {
		s.Catalogue = shop{n.products}
	}
	return s
}

// shop checks carts against the products API. One that cannot be reached lets everything pass: the integrator decides
// on the purchase itself anyway. The client counts and logs why.
type shop struct{ products *catalog.Client }

func (s shop) Refusal(ctx context.Context, session uuid.UUID, items []lanes.Item) string {
	products, err := s.products.All(ctx, session.String())
	if err != nil {
		return ""
	}
	quantities := make(map[string]int, len(items))
	for _, item := range items {
		quantities[item.ID] += item.Qty
	}
	return products.Refusal(quantities)
}
