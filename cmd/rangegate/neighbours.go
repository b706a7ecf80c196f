package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/webhook"
	"rangegate/webhook/egress"
)

// neighbours are the two sides of the integrator that a range talks to. Either may be missing.
type neighbours struct {
	webhook  *webhook.Client
	products *catalog.Client
}

// productRequests is how many requests to a products API may be under way: a few catalogues of four requests each.
const productRequests = 32

// neighboursOf makes the clients of a range, with connections of their own: a slow integrator delays no other. was is the
// range as it was before, nil for none: a client whose configuration is the same goes on.
func (s *service) neighboursOf(r config.Range, environment config.Environment, was *arranged) (n neighbours, err error) {
	if was != nil && reflect.DeepEqual(was.config.Webhook, r.Webhook) {
		n.webhook = was.webhook
	} else if n.webhook, err = s.webhookOf(r, environment); err != nil {
		return n, misconfigured{fmt.Errorf("range %s: %w", r.ID, err)}
	}
	if was != nil && reflect.DeepEqual(was.config.Products, r.Products) {
		n.products = was.products
	} else {
		n.products = s.productsOf(r, environment)
	}
	return n, nil
}

func (s *service) webhookOf(r config.Range, environment config.Environment) (*webhook.Client, error) {
	w := r.Webhook
	if w == nil {
		return nil, nil
	}
	secrets := make([]string, len(w.Secrets))
	for i, secret := range w.Secrets {
		secrets[i] = secret.Reveal()
	}
	return webhook.New(webhook.Settings{
		Range: r.ID, URL: w.URL, Secrets: secrets, Timeout: w.Timeout, Version: built(),
		Transport: egress.Transport(environment == config.InProduction && !w.AllowPrivate,
			w.Concurrency+actors.PurchaseSlots+actors.SimulationSlots),
		Now:     func() time.Time { return s.clock.Now().Wall },
		Metrics: s.webhooks,
	})
}

func (s *service) productsOf(r config.Range, environment config.Environment) *catalog.Client {
	p := r.Products
	if p == nil {
		return nil
	}
	return catalog.New(catalog.Settings{
		URL: p.URL, Timeout: p.Timeout, UserAgent: "rangegate/" + built(), Metrics: s.catalog,
		Transport: egress.Transport(environment == config.InProduction && !p.AllowPrivate, productRequests),
		Log:       s.log.With().Stringer("range", r.ID).Logger(),
	})
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
