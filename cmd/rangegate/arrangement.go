package main

import (
	"context"
	"crypto/x509"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/api"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes/link"
)

// arrangement is everything that follows from one configuration.
type arrangement struct {
	config      config.Config // with digests for tokens
	ranges      map[uuid.UUID]*arranged
	operator    string          // the operations token, until it is open
	credentials api.Credentials // likewise
	over        context.Context // until another has taken its place, or the program ends: then open streams end
	end         context.CancelFunc
}

// arranged is what follows from the configuration of one range.
type arranged struct {
	config config.Range
	neighbours
	trust  *x509.CertPool // of its controllers' certificates, nil for those that every program trusts
	driver link.Driver
}

// arrange makes what the configuration wants. Of a range that is as it was before everything is kept. Nothing takes
// effect by it. before is nil at the start.
func (s *service) arrange(c config.Config, before *arrangement) (*arrangement, config.Difference, error) {
	a := &arrangement{
		ranges: make(map[uuid.UUID]*arranged, len(c.Ranges)), operator: c.Operations.Token.Reveal(), credentials: credentials(c),
	}
	a.over, a.end = context.WithCancel(context.Background())
	c.ForgetTokens()
	a.config = c
	var d config.Difference
	if before != nil {
		d = config.Differences(before.config, c)
	}
	touched := map[uuid.UUID]bool{}
	for _, change := range d.Change {
		touched[change.ID] = true
	}
	for i, r := range c.Ranges {
		made := &arranged{config: r}
		var err error
		if made.driver, made.trust, err = s.driverOf(r, i); err != nil {
			return nil, d, err
		}
		var was *arranged
		if before != nil {
			was = before.ranges[r.ID]
		}
		if was != nil && !touched[r.ID] {
			if made.trust.Equal(was.trust) {
				a.ranges[r.ID] = was
				continue
			}
			d.Change = append(d.Change, config.RangeDifference{ID: r.ID, Keys: []string{"link_tls.ca"}}) // what is in the file
		}
		if made.neighbours, err = s.neighboursOf(r, c.Environment, was); err != nil {
			return nil, d, err
		}
		a.ranges[r.ID] = made
	}
	return a, d, nil
}

// settings are what the range runs with.
func (r *arranged) settings() actors.Settings {
	s := actors.Settings{
		Layout: layout(r.config), Grace: r.config.LinkGrace, Driver: r.driver, HoldOnLoss: r.config.OnLinkLoss == config.Hold,
	}
	if r.webhook != nil {
		s.Webhook = r.webhook
		s.Delivery = actors.Delivery{Slots: r.config.Webhook.Concurrency, Queue: r.config.Webhook.Queue}
	}
	if r.products != nil {
		s.Catalogue = shop{r.products}
	}
	return s
}

// products is the products API of the range, nil where there is none.
func (a *arrangement) products(id uuid.UUID) *catalog.Client {
	if r := a.ranges[id]; r != nil {
		return r.products
	}
	return nil
}
