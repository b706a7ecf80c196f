package gateway

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/google/uuid"

	"rangegate/api"
	"rangegate/api/control"
	"rangegate/api/lanescreen"
	"rangegate/api/observer"
	"rangegate/api/shooterpage"
	"rangegate/api/simulate"
	v2 "rangegate/api/v2"
	"rangegate/api/wallboard"
	"rangegate/cmd/rangegate/preflight"
	"rangegate/config"
	"rangegate/lanes"
	"rangegate/lanes/link/websocket/frame"
)

// serveRequests is the handler of the API's address. A request under way finishes with the runtime that it
// began with.
func (g *Gateway) serveRequests(w http.ResponseWriter, r *http.Request) {
	g.current.Load().requests.ServeHTTP(w, r)
}

// serveOperations is the handler of the operations address.
func (g *Gateway) serveOperations(w http.ResponseWriter, r *http.Request) {
	g.current.Load().operations.ServeHTTP(w, r)
}

// activate makes both addresses answer with the runtime from now on.
func (g *Gateway) activate(next *gatewayRuntime) {
	next.operations = api.NewOperations(api.Operations{
		Ready: g.ownership.ready, Metrics: g.registry, Tokens: operationsTokens(next.config),
		KnownHost: g.knownHost(next.config.Operations), Limiters: g.limiters, Traffic: g.traffic,
		Range: func(id uuid.UUID) (api.OperatedRange, error) {
			if _, ok := next.ranges[id]; !ok {
				return nil, api.ErrNoRange
			}
			return g.actors.Range(id)
		},
		Router: g.router, Nodes: g.operatedNodes(),
		Ranges: func() []uuid.UUID { return rangeIDs(next.config) }, Waiting: g.actors.Waiting,
		Unlock: g.attempts.Unlock,
		Reload: func(ctx context.Context, who string, force bool) (api.Reloaded, error) {
			// A client that disconnects does not stop it half-way.
			return g.Reload(context.WithoutCancel(ctx), who, force)
		},
		Advisories: g.advisories, Flight: g.recorder, LogLevel: logLevel{}, Maintenance: g.maintenance,
		LogTail: g.settings.LogTail, ProbeWebhook: next.probeWebhook,
		Closing: next.ctx.Done(), Tracer: g.tracer, Log: g.log,
	})
	public := next.config.HTTP
	if public.BehindProxy && len(public.TrustedProxies) == 0 {
		g.log.Warn().Msg("http.behind_proxy without http.trusted_proxies: all clients count as one address, the " +
			"proxy's, and are limited together when one guesses credentials; cookies are not kept to TLS")
	}
	limits := public.Limits
	next.requests = api.New(api.Settings{
		Credentials: credentials(next.config),
		Range:       func(id uuid.UUID) (v2.Range, error) { return g.actors.Range(id) },
		Configured:  configured(next.config, g.version),
		Playground:  next.config.Environment == config.InPlayground,
		Simulate:    func(id uuid.UUID) (simulate.Range, error) { return g.actors.Range(id) },
		Products:    func(id uuid.UUID) (simulate.Products, error) { return next.products(id) },
		Screens:     g.screens(next),
		LaneLink:    frame.Schema(),
		Router:      g.router,
		Limits: api.Limits{
			PerSecond: int(*limits.Requests), Burst: int(*limits.Burst), FailuresPerMinute: int(*limits.Failures),
			Waiting: int(*limits.Waiting),
		},
		Limiters: g.limiters,
		Origins:  public.Origins(),
		Proxies:  public.Proxies(),
		Traffic:  g.traffic,
		Tracer:   g.tracer,
		Log:      g.log,
	})
	g.recorder.turn(next.config.Operations.FlightRecorder)
	g.current.Store(next)
}

// probeWebhook connects to a webhook of a range as the pre-flight does. Errors: lanes.ErrWebhookNotConfigured.
func (g *gatewayRuntime) probeWebhook(ctx context.Context, id uuid.UUID, name string) (observer.WebhookProbe, error) {
	all := g.ranges[id].config.Receivers()
	for _, w := range all {
		if w.Name == name || name == "" && len(all) == 1 {
			return observer.WebhookProbe(preflight.ProbeWebhook(ctx, w, g.config.Environment)), nil
		}
	}
	return observer.WebhookProbe{}, lanes.ErrWebhookNotConfigured
}

// knownHost returns the function that is true for the names of the operations address: the configured ones,
// and those of its certificate.
func (g *Gateway) knownHost(o config.Operations) func(name string) bool {
	configured := map[string]bool{}
	if host, _, err := net.SplitHostPort(o.Address); err == nil {
		configured[strings.ToLower(host)] = true
	}
	for _, host := range o.Hosts {
		configured[strings.ToLower(host)] = true
	}
	certificate := g.certificates.operations
	return func(name string) bool {
		return configured[name] || certificate != nil && certificate.Leaf().VerifyHostname(name) == nil
	}
}

// isProxy is true for the address of a trusted proxy.
func (g *Gateway) isProxy(address netip.Addr) bool {
	return api.Proxies(g.current.Load().config.HTTP.Proxies()).Trusts(address)
}

// isControllerProxy is isProxy for the address that controllers dial.
func (g *Gateway) isControllerProxy(address netip.Addr) bool {
	return api.Proxies(g.current.Load().config.Controllers.Proxies()).Trusts(address)
}

// pictureConnections bounds the connections of a range to its products' pictures.
const pictureConnections = 8

// screens returns the settings of the control screen, the lane screens and the wall boards. Their streams end
// with the runtime's context.
func (g *Gateway) screens(next *gatewayRuntime) api.Screens {
	screens := api.Screens{
		Staff: map[uuid.UUID]control.RangeStaff{}, Sessions: g.sessions, Attempts: g.attempts,
		Lanes:  map[uuid.UUID]lanescreen.Lane{},
		Boards: map[uuid.UUID]wallboard.Board{}, Closing: next.ctx.Done(),
		Control: func(id uuid.UUID) (control.Range, error) { return g.actors.Range(id) },
		Lane:    func(id uuid.UUID) (lanescreen.Range, error) { return g.actors.Range(id) },
		Board:   func(id uuid.UUID) (wallboard.Range, error) { return g.actors.Range(id) },
		Shooter: func(id uuid.UUID) (shooterpage.Range, error) { return g.actors.Range(id) },
		Shop:    func(id uuid.UUID) (lanescreen.Shop, error) { return next.products(id) },
	}
	transports := map[uuid.UUID]http.RoundTripper{}
	for _, r := range next.config.Ranges {
		members := map[string]control.Member{}
		for _, member := range r.Staff {
			members[strings.TrimSpace(member.Name)] = control.Member{
				PINHash: member.PinHash.Reveal(),
				Officer: member.Role == config.RoleOfficer,
			}
		}
		screens.Staff[r.ID] = control.RangeStaff{
			Name: strings.TrimSpace(r.Name), Members: members,
			OfficersRelease: r.ReleaseCeasefire == config.RoleOfficer,
		}
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
	screens.Pictures = lanescreen.NewPictures(UserAgent(g.version), transports)
	return screens
}

func rangeIDs(c config.Config) []uuid.UUID {
	ids := make([]uuid.UUID, len(c.Ranges))
	for i, r := range c.Ranges {
		ids[i] = r.ID
	}
	return ids
}
