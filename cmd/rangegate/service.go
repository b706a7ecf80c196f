package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/api"
	"rangegate/api/control"
	"rangegate/api/lanescreen"
	"rangegate/api/routing"
	"rangegate/api/shooterpage"
	"rangegate/api/simulate"
	v2 "rangegate/api/v2"
	"rangegate/api/wallboard"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
	"rangegate/webhook"
)

// service owns what lives as long as the process. What depends on the configuration is in its current gatewayRuntime,
// which a reload replaces.
type service struct {
	log          zerolog.Logger
	clock        clock.Clock
	gateway      *actors.Gateway
	ownership    ownership
	hardware     *sim.Driver
	acceptor     *websocket.Acceptor // of controllers that dial
	certificates certificates
	sessions     *control.Sessions
	attempts     *control.Attempts
	read         func() (config.Config, error) // reads the configuration again; nil without a file

	registry *prometheus.Registry
	counts   *metrics.Metrics
	webhooks *webhook.Metrics
	catalog  *catalog.Metrics
	traffic  *api.Traffic
	limiters *api.Limiters
	router   *routing.Router // nil: this process serves every range
	// controllers is the acceptor behind the router.
	controllers http.Handler
	reloads     *reloadMetrics

	reloading sync.Mutex
	current   atomic.Pointer[gatewayRuntime]
}

// serveRequests is the handler of the API's address. A request under way finishes with the runtime that it began with.
func (s *service) serveRequests(w http.ResponseWriter, r *http.Request) {
	s.current.Load().requests.ServeHTTP(w, r)
}

// serveOperations is the handler of the operations address.
func (s *service) serveOperations(w http.ResponseWriter, r *http.Request) {
	s.current.Load().operations.ServeHTTP(w, r)
}

// activate makes both addresses answer with the runtime from now on.
func (s *service) activate(next *gatewayRuntime) {
	next.operations = api.NewOperations(api.Operations{
		Ready: s.ownership.ready, Metrics: s.registry, Tokens: operationsTokens(next.config),
		KnownHost: s.knownHost(next.config.Operations), Limiters: s.limiters, Traffic: s.traffic,
		Range: func(id uuid.UUID) (api.OperatedRange, error) {
			if _, ok := next.ranges[id]; !ok {
				return nil, api.ErrNoRange
			}
			return s.gateway.Range(id)
		},
		Router: s.router, Nodes: s.operatedNodes(),
		Ranges: func() []uuid.UUID { return rangeIDs(next.config) }, Waiting: s.gateway.Waiting,
		Reload: func(ctx context.Context, who string, force bool) (api.Reloaded, error) {
			return s.reload(context.WithoutCancel(ctx), who, force) // a client that disconnects does not stop it half-way
		},
		Log: s.log,
	})
	public := next.config.HTTP
	if public.BehindProxy && len(public.TrustedProxies) == 0 {
		s.log.Warn().Msg("http.behind_proxy without http.trusted_proxies: all clients count as one address, the proxy's, and " +
			"are limited together when one guesses credentials; cookies are not kept to TLS")
	}
	limits := public.Limits
	next.requests = api.New(api.Settings{
		Credentials: credentials(next.config),
		Range:       func(id uuid.UUID) (v2.Range, error) { return s.gateway.Range(id) },
		Playground:  next.config.Environment == config.InPlayground,
		Simulate:    func(id uuid.UUID) (simulate.Range, error) { return s.gateway.Range(id) },
		Products:    func(id uuid.UUID) (simulate.Products, error) { return next.products(id) },
		Screens:     s.screens(next),
		LaneLink:    frame.Schema(),
		Router:      s.router,
		Limits: api.Limits{
			PerSecond: int(*limits.Requests), Burst: int(*limits.Burst), FailuresPerMinute: int(*limits.Failures), Waiting: int(*limits.Waiting),
		},
		Limiters: s.limiters,
		Origins:  public.Origins(),
		Proxies:  public.Proxies(),
		Traffic:  s.traffic,
		Log:      s.log,
	})
	s.current.Store(next)
}

// knownHost returns the function that is true for the names of the operations address: the configured ones, and those of its
// certificate.
func (s *service) knownHost(o config.Operations) func(name string) bool {
	configured := map[string]bool{}
	if host, _, err := net.SplitHostPort(o.Address); err == nil {
		configured[strings.ToLower(host)] = true
	}
	for _, host := range o.Hosts {
		configured[strings.ToLower(host)] = true
	}
	certificate := s.certificates.operations
	return func(name string) bool {
		return configured[name] || certificate != nil && certificate.Leaf().VerifyHostname(name) == nil
	}
}

// isProxy is true for the address of a trusted proxy.
func (s *service) isProxy(address netip.Addr) bool {
	return api.Proxies(s.current.Load().config.HTTP.Proxies()).Trusts(address)
}

// isControllerProxy is isProxy for the address that controllers dial.
func (s *service) isControllerProxy(address netip.Addr) bool {
	return api.Proxies(s.current.Load().config.Controllers.Proxies()).Trusts(address)
}

// pictureConnections bounds the connections of a range to its products' pictures.
const pictureConnections = 8

// screens returns the settings of the control screen, the lane screens and the wall boards. Their streams end with the runtime's context.
func (s *service) screens(next *gatewayRuntime) api.Screens {
	screens := api.Screens{
		Staff: map[uuid.UUID]control.RangeStaff{}, Sessions: s.sessions, Attempts: s.attempts, Lanes: map[uuid.UUID]lanescreen.Lane{},
		Boards: map[uuid.UUID]wallboard.Board{}, Closing: next.ctx.Done(),
		Control: func(id uuid.UUID) (control.Range, error) { return s.gateway.Range(id) },
		Lane:    func(id uuid.UUID) (lanescreen.Range, error) { return s.gateway.Range(id) },
		Board:   func(id uuid.UUID) (wallboard.Range, error) { return s.gateway.Range(id) },
		Shooter: func(id uuid.UUID) (shooterpage.Range, error) { return s.gateway.Range(id) },
		Shop:    func(id uuid.UUID) (lanescreen.Shop, error) { return next.products(id) },
	}
	transports := map[uuid.UUID]http.RoundTripper{}
	for _, r := range next.config.Ranges {
		members := map[string]control.Member{}
		for _, member := range r.Staff {
			members[strings.TrimSpace(member.Name)] = control.Member{PINHash: member.PinHash.Reveal(), Officer: member.Role == config.RoleOfficer}
		}
		screens.Staff[r.ID] = control.RangeStaff{Name: strings.TrimSpace(r.Name), Members: members, OfficersRelease: r.ReleaseCeasefire == config.RoleOfficer}
		if r.Board != nil {
			screens.Boards[r.ID] = wallboard.Board{Key: r.Board.Key.Reveal(), Names: r.Board.Names}
		}
		for _, lane := range r.Lanes {
			if lane.ScreenKey != "" {
				screens.Lanes[lane.ID] = lanescreen.Lane{Range: r.ID, Key: lane.ScreenKey.Reveal()}
			}
		}
		if pictures := next.ranges[r.ID].pictures; pictures != nil {
			transports[r.ID] = pictures
		}
	}
	screens.Pictures = lanescreen.NewPictures(userAgent(), transports)
	return screens
}

func rangeIDs(c config.Config) []uuid.UUID {
	ids := make([]uuid.UUID, len(c.Ranges))
	for i, r := range c.Ranges {
		ids[i] = r.ID
	}
	return ids
}

// refreshEvery is how often the secret of the sign-ins is read again, and what other gateways have signed out.
const refreshEvery = 10 * time.Second

// refreshSessions keeps the sessions of staff in line with the store until ctx ends. It logs the first of several failures.
func (s *service) refreshSessions(ctx context.Context) {
	next := time.NewTicker(refreshEvery)
	defer next.Stop()
	failing := false
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, refreshEvery)
		err := s.sessions.Refresh(limited)
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			s.log.Error().Err(err).Msg("sign-ins of staff: the store could not be read or written; they go on as they are known, and it is tried again")
		}
		failing = err != nil
	}
}

// reloadTimeout bounds a reload. New ranges are claimed in the store, and removed ones have to end.
const reloadTimeout = time.Minute

// reloadOnSignal reloads on every signal, without force, until ctx ends.
func (s *service) reloadOnSignal(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
			_, _ = s.reload(ctx, "SIGHUP", false) // reload logs its error
		case <-ctx.Done():
			return
		}
	}
}

// reload reads the configuration again and puts it in force. After an error, an api.RefusedReload, nothing has changed but what
// api.PartlyEnded names. who is recorded with the sessions and purchases that force ends.
func (s *service) reload(ctx context.Context, who string, force bool) (api.Reloaded, error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	started := time.Now()
	d, err := s.tryReload(ctx, who, force)
	s.reloads.finish(err == nil)
	line := s.log.Info()
	if err != nil {
		line = s.log.Error().Err(err)
	}
	line.Str("by", who).Bool("force", force).Strs("keys", d.Keys).Int("ranges_added", len(d.Added)).
		Int("ranges_changed", len(d.Changed)).Int("ranges_removed", len(d.Removed)).Dur("duration_ms", time.Since(started)).Msg("reload")
	if err != nil {
		return api.Reloaded{}, err
	}
	s.gateway.ResumeDeliveries()
	return s.reloaded(d), nil
}

func (s *service) tryReload(ctx context.Context, who string, force bool) (config.Difference, error) {
	var none config.Difference
	if s.read == nil {
		return none, api.RefuseReload(api.NoConfiguration, errors.New("this gateway was not started with a configuration file"))
	}
	cfg, err := s.read()
	if err != nil {
		return none, api.RefuseReload(api.BadConfiguration, err)
	}
	before := s.current.Load()
	next, d, err := s.build(cfg, before)
	if err != nil {
		return none, api.RefuseReload(api.BadConfiguration, err)
	}
	if len(d.Restart) > 0 {
		return none, api.RefuseReload(api.NeedsRestart,
			fmt.Errorf("different, and only a restart can change it: %s; nothing was changed", strings.Join(d.Restart, ", ")))
	}
	useCertificates, err := s.certificates.read()
	if err != nil {
		return none, api.RefuseReload(api.BadConfiguration, err)
	}
	if d.Empty() { // activate would close open screens and forget failed sign-ins
		useCertificates()
		return d, nil
	}
	err = s.ownership.reload(ctx, next.rangeChanges(d, who, force), func(changes actors.Reload) error {
		switch err := s.gateway.Reload(ctx, changes); {
		case errors.Is(err, actors.ErrUnfinished):
			s.log.Error().Err(err).Msg("reload: something has not ended in time")
		case errors.Is(err, actors.ErrEnded):
			return api.RefuseReload(api.PartlyEnded, err)
		case errors.Is(err, actors.ErrInUse):
			return api.RefuseReload(api.InUse, err)
		case err != nil:
			return api.RefuseReload(api.ReloadFailed, err)
		}
		if slices.Contains(d.Keys, "log.level") { // otherwise the level set at run time stays
			setLogLevel(next.config.Log.Level)
		}
		useCertificates()
		s.activate(next)
		before.cancel()
		return nil
	})
	if err != nil {
		return none, err
	}
	return d, nil
}

// rangeChanges returns the part of the difference that concerns the ranges' actors.
func (g *gatewayRuntime) rangeChanges(d config.Difference, who string, force bool) actors.Reload {
	changes := actors.Reload{End: d.Removed, Force: force, Who: who}
	for _, id := range d.Added {
		changes.Begin = append(changes.Begin, g.ranges[id].settings)
	}
	for _, change := range d.Changed {
		changes.Change = append(changes.Change, actors.Changed{Settings: g.ranges[change.ID].settings, Renew: change.Reconnect})
	}
	return changes
}

// reloaded returns the difference as the answer to the operator.
func (s *service) reloaded(d config.Difference) api.Reloaded {
	answer := api.Reloaded{Keys: d.Keys, Ranges: []api.ReloadedRange{}}
	add := func(change string, ids []uuid.UUID) {
		for _, id := range ids {
			answer.Ranges = append(answer.Ranges, api.ReloadedRange{ID: id, Change: change})
		}
	}
	add("added", d.Added)
	for _, r := range d.Changed {
		answer.Ranges = append(answer.Ranges, api.ReloadedRange{
			ID: r.ID, Change: "changed", Keys: r.Keys, Added: r.Added, Changed: r.Changed, Removed: r.Removed, Renewed: r.Reconnect,
		})
	}
	add("removed", d.Removed)
	for i, r := range answer.Ranges {
		if refusal := s.gateway.Refusal(r.ID); refusal != nil {
			answer.Ranges[i].Refused = refusal.Error()
		}
	}
	return answer
}
