package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/api"
	"rangegate/api/control"
	"rangegate/api/simulate"
	v2 "rangegate/api/v2"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/link/sim"
	"rangegate/webhook"
)

// service is what the program does for its ranges. What of it follows from the configuration is an arrangement, and a
// reload puts another one in its place (reload.go).
type service struct {
	log          zerolog.Logger
	clock        clock.Clock
	gateway      *actors.Gateway
	hardware     *sim.Driver
	certificates certificates
	seen         *control.Sessions             // sessions of staff
	read         func() (config.Config, error) // the configuration anew; nil: it is not in a file

	registry *prometheus.Registry // of all counts, and what is counted of
	counts   *metrics.Metrics
	webhooks *webhook.Metrics
	catalog  *catalog.Metrics
	traffic  *api.Traffic
	reloads  *reloads

	requests, operations inForce // what answers at the two addresses

	reloading sync.Mutex // one at a time
	now       atomic.Pointer[arrangement]
}

// inForce is a handler that another can take the place of. Requests under way stay with the one that they began with.
type inForce struct{ handler atomic.Pointer[http.Handler] }

func (f *inForce) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*f.handler.Load()).ServeHTTP(w, r)
}

// open has the arrangement answer from now on.
func (s *service) open(a *arrangement) {
	operations := api.NewOperations(api.Operations{
		Ready: s.ready, Metrics: s.registry, Token: a.operator,
		Range: func(id uuid.UUID) (api.OperatedRange, error) {
			if _, configured := a.ranges[id]; !configured {
				return nil, api.ErrNoRange
			}
			return s.gateway.Range(id)
		},
		Ranges: func() []uuid.UUID { return rangesOf(a.config) }, Waiting: s.gateway.Waiting,
		Reload: func(ctx context.Context, force bool) (api.Reloaded, error) {
			return s.reload(context.WithoutCancel(ctx), "operator", force) // an operator who hangs up stops it nowhere half-way
		},
		Log: s.log,
	})
	requests := api.New(api.Settings{
		Credentials: a.credentials,
		Range:       func(id uuid.UUID) (v2.Range, error) { return s.gateway.Range(id) },
		Playground:  a.config.Environment == config.InPlayground,
		Simulate:    func(id uuid.UUID) (simulate.Range, error) { return s.gateway.Range(id) },
		Products: func(id uuid.UUID) (simulate.Products, error) {
			if products := a.products(id); products != nil {
				return products, nil
			}
			return nil, lanes.ErrProductsNotConfigured
		},
		Screens: screensOf(a, s.gateway, s.seen),
		Limits:  limits(a.config.HTTP.Limits),
		Proxies: proxies(a.config.HTTP, s.log),
		Traffic: s.traffic,
		Log:     s.log,
	})
	a.operator, a.credentials = "", nil // their digests are enough
	s.operations.handler.Store(&operations)
	s.requests.handler.Store(&requests)
	s.now.Store(a)
}

// start brings the ranges back, several at a time.
func (s *service) start(ctx context.Context, retire []uuid.UUID) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, r := range s.now.Load().ranges {
		group.Go(func() error {
			settings := r.settings()
			settings.Retire = retire
			return s.gateway.StartRange(ctx, settings)
		})
	}
	err := group.Wait()
	if errors.Is(err, actors.ErrLayout) {
		return misconfigured{err}
	}
	return err
}

// ready says what is still missing.
func (s *service) ready() error {
	if !s.gateway.Ready(len(s.now.Load().ranges)) {
		return errors.New("not ready: lanes are still being brought back, or the store takes no writes")
	}
	return nil
}
