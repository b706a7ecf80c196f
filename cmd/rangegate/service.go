package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
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
	"rangegate/api/lanescreen"
	"rangegate/api/simulate"
	v2 "rangegate/api/v2"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes/link/sim"
	"rangegate/webhook"
	"rangegate/webhook/egress"
)

// service owns what lives as long as the process. What depends on the configuration is in its current gatewayRuntime,
// which a reload replaces.
type service struct {
	log          zerolog.Logger
	clock        clock.Clock
	gateway      *actors.Gateway
	hardware     *sim.Driver
	certificates certificates
	seen         *control.Sessions             // sessions of staff
	read         func() (config.Config, error) // reads the configuration again; nil without a file

	registry *prometheus.Registry
	counts   *metrics.Metrics
	webhooks *webhook.Metrics
	catalog  *catalog.Metrics
	traffic  *api.Traffic
	reloads  *reloadMetrics

	requests, operations swappableHandler // of the two addresses

	reloading sync.Mutex
	current   atomic.Pointer[gatewayRuntime]
}

// swappableHandler is a handler that can be replaced. Requests under way finish with the handler that they began with.
type swappableHandler struct{ handler atomic.Pointer[http.Handler] }

// ServeHTTP calls the current handler.
func (h *swappableHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*h.handler.Load()).ServeHTTP(w, r)
}

// activate makes both addresses answer with the runtime from now on.
func (s *service) activate(next *gatewayRuntime) {
	operations := api.NewOperations(api.Operations{
		Ready: s.ready, Metrics: s.registry, Token: next.operationsToken,
		Range: func(id uuid.UUID) (api.OperatedRange, error) {
			if _, ok := next.ranges[id]; !ok {
				return nil, api.ErrNoRange
			}
			return s.gateway.Range(id)
		},
		Ranges: func() []uuid.UUID { return rangeIDs(next.config) }, Waiting: s.gateway.Waiting,
		Reload: func(ctx context.Context, force bool) (api.Reloaded, error) {
			return s.reload(context.WithoutCancel(ctx), "operator", force) // a client that disconnects does not stop it half-way
		},
		Log: s.log,
	})
	limits := next.config.HTTP.Limits
	requests := api.New(api.Settings{
		Credentials: credentials(next.config),
		Range:       func(id uuid.UUID) (v2.Range, error) { return s.gateway.Range(id) },
		Playground:  next.config.Environment == config.InPlayground,
		Simulate:    func(id uuid.UUID) (simulate.Range, error) { return s.gateway.Range(id) },
		Products:    func(id uuid.UUID) (simulate.Products, error) { return next.products(id) },
		Screens:     s.screens(next),
		Limits:      api.Limits{PerSecond: int(*limits.Requests), Burst: int(*limits.Burst), FailuresPerMinute: int(*limits.Failures)},
		Proxies:     s.proxies(next.config.HTTP),
		Traffic:     s.traffic,
		Log:         s.log,
	})
	next.operationsToken = "" // the configuration keeps its digest
	s.operations.handler.Store(&operations)
	s.requests.handler.Store(&requests)
	s.current.Store(next)
}

// pictureConnections bounds the connections of a range to its products' pictures.
const pictureConnections = 8

// screens returns the settings of the control screen and the lane screens. Their streams end with the runtime's context.
func (s *service) screens(next *gatewayRuntime) api.Screens {
	screens := api.Screens{
		Staff: map[uuid.UUID]map[string]string{}, Sessions: s.seen, Lanes: map[uuid.UUID]lanescreen.Lane{}, Closing: next.ctx.Done(),
		Control: func(id uuid.UUID) (control.Range, error) { return s.gateway.Range(id) },
		Lane:    func(id uuid.UUID) (lanescreen.Range, error) { return s.gateway.Range(id) },
		Shop:    func(id uuid.UUID) (lanescreen.Shop, error) { return next.products(id) },
	}
	transports := map[uuid.UUID]http.RoundTripper{}
	for _, r := range next.config.Ranges {
		screens.Staff[r.ID] = map[string]string{}
		for _, member := range r.Staff {
			screens.Staff[r.ID][strings.TrimSpace(member.Name)] = member.PinHash.Reveal()
		}
		for _, lane := range r.Lanes {
			if lane.ScreenKey != "" {
				screens.Lanes[lane.ID] = lanescreen.Lane{Range: r.ID, Key: lane.ScreenKey.Reveal()}
			}
		}
		if p := r.Products; p != nil {
			transports[r.ID] = egress.Transport(next.config.Environment.PublicOnly(p.AllowPrivate), pictureConnections)
		}
	}
	screens.Pictures = lanescreen.NewPictures(userAgent(), transports)
	return screens
}

// proxies returns the trusted proxies. Behind other proxies every client has the proxy's address, which it warns of.
func (s *service) proxies(h config.HTTP) api.Proxies {
	if h.BehindProxy && len(h.TrustedProxies) == 0 {
		s.log.Warn().Msg("http.behind_proxy without http.trusted_proxies: all clients count as one address, the proxy's, and " +
			"are limited together when one guesses credentials; cookies are not kept to TLS")
	}
	return h.Proxies()
}

func rangeIDs(c config.Config) []uuid.UUID {
	ids := make([]uuid.UUID, len(c.Ranges))
	for i, r := range c.Ranges {
		ids[i] = r.ID
	}
	return ids
}

// start recovers the ranges from the store, eight at a time.
func (s *service) start(ctx context.Context, retire []uuid.UUID) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, r := range s.current.Load().ranges {
		group.Go(func() error {
			settings := r.settings
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

// ready returns an error until every range serves.
func (s *service) ready() error {
	if !s.gateway.Ready(len(s.current.Load().ranges)) {
		return errors.New("not ready: lanes are still being brought back, or the store takes no writes")
	}
	return nil
}
