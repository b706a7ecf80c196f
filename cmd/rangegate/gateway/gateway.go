package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/rs/zerolog"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/actors/loglevel"
	"rangegate/actors/metrics"
	"rangegate/api"
	"rangegate/api/control"
	"rangegate/api/logtail"
	"rangegate/api/observer"
	"rangegate/api/routing"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/store/sqlite"
	"rangegate/lanes/tracing"
	"rangegate/webhook"
)

// The time limits of a stop, 10 s in all: open requests are answered, then everything is saved and closed.
// Saving has all the time that the requests leave.
const (
	drainRequests   = 5500 * time.Millisecond // a request takes 5 s at most
	drainOperations = 500 * time.Millisecond
	stopLanes       = 9500 * time.Millisecond // from the beginning of the stop
)

// Settings are what a gateway is made of.
type Settings struct {
	Config   config.Config
	Read     func() (config.Config, error) // reads the configuration again; nil: it cannot be reloaded
	Places   func() config.Places          // of the values that Read returns, for one start or reload; nil: not known
	Retire   []uuid.UUID                   // lanes that have left the configuration, whose sessions end at the start
	Shooters bool                          // simulated shooters enter the lanes, call for help and hit the carrier
	Version  string                        // of the build
	Log      zerolog.Logger
	LogTail  *logtail.Tail // through which Log is written; nil: operators cannot follow it
	State    string        // the folder for the data of the service, see StateFolder; empty: there is none
	Verified string        // the file of what rangegate verify has found last, see VerifiedFile; empty: there is none
	Outside  Outside       // what it reaches beyond its process, zero but in a simulation
}

// Addresses are the URLs of the servers; Controllers is empty unless controllers dial.
type Addresses struct{ API, Operations, Controllers string }

// Misconfigured is an error that the operator has to correct.
type Misconfigured struct{ Err error }

// Error implements error.
func (m Misconfigured) Error() string { return m.Err.Error() }

// Unwrap returns the cause.
func (m Misconfigured) Unwrap() error { return m.Err }

// Gateway is a running gateway. It owns what lives as long as the process. What depends on the configuration
// is in its current gatewayRuntime, which a reload replaces.
type Gateway struct {
	settings  Settings
	version   string
	log       zerolog.Logger
	life      context.Context // of what runs in the background
	closers   []func() error  // of the stages that have begun, run last to first
	stopping  time.Time       // when Close was called
	addresses Addresses
	failed    chan error // of the servers

	stores       Stores
	clock        clock.Clock
	actors       *actors.Gateway
	ownership    ownership
	hardware     *sim.Driver
	acceptor     *websocket.Acceptor // of controllers that dial
	certificates certificates
	sessions     *control.Sessions
	attempts     *control.Attempts
	read         func() (config.Config, error) // see Settings.Read

	registry *prometheus.Registry
	tracer   *tracing.Tracer // nil: nothing is traced
	counts   *metrics.Metrics
	webhooks *webhook.Metrics
	catalog  *catalog.Metrics
	traffic  *api.Traffic
	limiters *api.Limiters
	router   *routing.Router // nil: this process serves every range
	// controllers is the acceptor behind the router.
	controllers http.Handler
	reloads     *reloadMetrics
	advisories  *observer.Advisories
	recorder    *flightRecorder
	maintenance *maintenanceJobs

	listening listening
	forNodes  net.Listener // bound before the others are told its address; nil without nodes

	reloading sync.Mutex
	current   atomic.Pointer[gatewayRuntime]
}

// New starts a gateway and returns it once it serves. After an error nothing of it runs any more; a
// Misconfigured is for the operator to correct. The end of ctx stops the start, and later what runs in the
// background.
func New(ctx context.Context, settings Settings) (*Gateway, error) {
	if settings.Outside.Listen == nil {
		settings.Outside.Listen = listenTCP
	}
	if settings.Outside.Store == nil {
		settings.Outside.Store = openStore
	}
	g := &Gateway{
		settings: settings, version: settings.Version, log: loglevel.OfProcess(settings.Log), read: settings.Read,
		failed:   make(chan error, 4),
		registry: prometheus.NewRegistry(),
	}
	life, end := context.WithCancel(ctx)
	g.life = life
	g.onClose(func() error {
		end()
		return nil
	})
	for _, stage := range []struct {
		name  string
		start func(context.Context) error
	}{
		{"log", g.startLog},
		{"telemetry", g.startTelemetry},
		{"store", g.openStore},
		{"sign-ins", g.openSignIns},
		{"clock", g.startClock},
		{"flight recorder", g.startFlightRecorder},
		{"maintenance", g.startMaintenance},
		{"nodes' address", g.bindForNodes},
		{"actors", g.startActors},
		{"ownership", g.startOwnership},
		{"certificates", g.readCertificates},
		{"runtime", g.startRuntime},
		{"operations address", g.listenForOperators},
		{"API address", g.listenForClients},
		{"controllers' address", g.listenForControllers},
		{"ranges", g.startRanges},
		{"advisories", g.startAdvisories},
		{"sign-ins' refresh", g.startRefresh},
	} {
		if err := stage.start(ctx); err != nil {
			g.log.Debug().Err(err).Str("stage", stage.name).Msg("the start ends")
			return nil, errors.Join(err, g.Close())
		}
	}
	return g, nil
}

// Run serves until ctx ends, which is no error, or until an address cannot be served any more.
func (g *Gateway) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		g.log.Info().Msg("stopping")
		return nil
	case err := <-g.failed:
		return err
	}
}

// Close answers the requests under way, saves and stops every range, and closes the store: the stages in
// reverse order. It takes 10 s at most, and is called once.
func (g *Gateway) Close() error {
	g.stopping = time.Now()
	var errs []error
	for i := len(g.closers) - 1; i >= 0; i-- {
		errs = append(errs, g.closers[i]())
	}
	g.closers = nil
	return errors.Join(errs...)
}

// onClose has Close call stop after everything that began later has stopped.
func (g *Gateway) onClose(stop func() error) { g.closers = append(g.closers, stop) }

// Addresses returns the URLs of the servers.
func (g *Gateway) Addresses() Addresses { return g.addresses }

// Alive returns once every range and lane has answered, or an error when ctx has ended before.
func (g *Gateway) Alive(ctx context.Context) error { return g.actors.Alive(ctx) }

// startLog says what of the configuration has no effect, and what it leaves open to others.
func (g *Gateway) startLog(context.Context) error {
	setLogLevel(g.settings.Config.Log.Level)
	places := g.places()
	for _, unused := range g.settings.Config.Unused() {
		warnAbout(g.log, unused, places).Msg("configured, and has no effect")
	}
	for _, open := range g.settings.Config.Exposures() {
		warnAbout(g.log, open.Path, places).Str("remedy", open.Remedy).Msg(open.Problem)
	}
	return nil
}

// warnAbout begins a warning about the setting with that path. Where it is known, at is where that stands:
// FILE:LINE:COLUMN, or the name of a variable.
func warnAbout(log zerolog.Logger, path string, places config.Places) *zerolog.Event {
	line := log.Warn().Str("path", path)
	if places != nil {
		if at := places(path).String(); at != "" {
			line.Str("at", at)
		}
	}
	return line
}

func (g *Gateway) openStore(ctx context.Context) error {
	stores, err := g.settings.Outside.Store(ctx, g.settings.Config.Store, g.registry, g.log)
	if err != nil {
		return err
	}
	g.onClose(stores.Snapshots.Close)
	g.stores = stores
	if file, ok := stores.Snapshots.(*sqlite.Store); ok {
		if err := checkAllConfigured(ctx, file, g.settings.Config); err != nil {
			return Misconfigured{err}
		}
	}
	return nil
}

func (g *Gateway) openSignIns(ctx context.Context) (err error) {
	g.sessions, err = control.NewSessions(ctx, g.stores.SignIns)
	g.attempts = control.NewAttempts(g.registry)
	return err
}

// startClock takes the machine's clock. Where the store has one too, how far the two are apart is measured
// from now on.
func (g *Gateway) startClock(context.Context) error {
	g.registry.MustRegister(goRuntime(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	g.counts = metrics.New(g.registry)
	g.counts.Tracer = g.tracer
	machine, err := g.settings.Outside.openClock()
	if err != nil {
		return err
	}
	g.clock = machine
	if server, ok := g.stores.Snapshots.(clock.Reference); ok {
		shared := clock.NewShared(machine, server)
		g.clock = shared
		stop := watchOffset(g.life, shared, g.counts, g.log)
		g.onClose(func() error {
			stop()
			return nil
		})
	}
	return nil
}

func (g *Gateway) startActors(context.Context) error {
	g.actors = actors.NewGateway(g.clock, g.stores.Snapshots, g.counts, g.log)
	g.hardware = sim.New(g.clock.Now)
	g.webhooks, g.catalog = webhook.NewMetrics(g.registry), catalog.NewMetrics(g.registry)
	g.traffic, g.limiters, g.reloads = api.NewTraffic(g.registry), api.NewLimiters(), newReloadMetrics(g.registry)
	return nil
}

// bindForNodes binds the address for the other nodes, which the lease of this one tells them.
func (g *Gateway) bindForNodes(context.Context) (err error) {
	nodes := g.settings.Config.Nodes
	if nodes == nil {
		return nil
	}
	if g.forNodes, err = g.settings.Outside.Listen(nodes.Address); err != nil {
		return err
	}
	g.onClose(func() error {
		_ = g.forNodes.Close() // the server on it may have closed it
		return nil
	})
	return nil
}

// startOwnership decides which ranges are to run here. Its end saves and stops every range. It cannot fail:
// nothing else ends the actors.
func (g *Gateway) startOwnership(context.Context) error {
	nodesAddress := ""
	if g.forNodes != nil {
		nodesAddress = g.forNodes.Addr().String()
	}
	g.ownership = newOwnership(g, g.settings.Config, nodesAddress, g.settings.Retire)
	g.onClose(func() error {
		ctx, cancel := context.WithDeadline(context.Background(), g.stopping.Add(stopLanes))
		defer cancel()
		return g.ownership.stop(ctx)
	})
	if g.settings.Shooters {
		shooters := sim.NewAutopilot(g.hardware, uint64(time.Now().UnixNano()))
		g.onClose(func() error {
			shooters.Close()
			return nil
		})
	}
	g.acceptor = g.newAcceptor()
	g.registry.MustRegister(g.actors.Gauges(), buildInfo(g.version), readiness(g.ownership.ready),
		verifiedMetrics{g.settings.Verified, g.log})
	return nil
}

// places are those of the configuration's values in its file, as that is now.
func (g *Gateway) places() config.Places {
	if g.settings.Places == nil {
		return nil
	}
	return g.settings.Places()
}

func (g *Gateway) readCertificates(context.Context) (err error) {
	if g.certificates, err = watchCertificates(g.settings.Config, g.places(), g.registry, g.log); err != nil {
		return err
	}
	g.onClose(func() error {
		g.certificates.close()
		return nil
	})
	return nil
}

// startRuntime puts the configuration in force. Nobody can reach it yet.
func (g *Gateway) startRuntime(context.Context) error {
	first, _, err := g.build(g.settings.Config, nil)
	if err != nil {
		return err
	}
	g.router = g.newRouter(g.settings.Config.Nodes)
	g.controllers = g.router.Route(refuseController, g.ofController)(g.acceptor)
	g.advisories = g.newAdvisories(g.settings.Config.Nodes)
	g.activate(first)
	g.reloads.finish(true)
	g.listening = listening{
		metrics: newConnectionMetrics(g.registry), log: g.log, open: g.settings.Outside.Listen,
		failed: g.failed,
	}
	return nil
}

func (g *Gateway) listenForOperators(context.Context) error {
	operations, err := listen(g.settings.Config.Operations.Address, http.HandlerFunc(g.serveOperations),
		g.listening.with(g.certificates.operations, nil))
	if err != nil {
		return err
	}
	g.addresses.Operations = operations.url
	g.onClose(func() error {
		operations.close(drainOperations)
		return nil
	})
	return nil
}

// listenForClients serves the API's address and, among several nodes, what the others hand on. Their ends
// answer the requests under way.
func (g *Gateway) listenForClients(context.Context) error {
	requests, err := listen(g.settings.Config.HTTP.Address, http.HandlerFunc(g.serveRequests),
		g.listening.with(g.certificates.http, g.isProxy))
	if err != nil {
		return err
	}
	g.addresses.API = requests.url
	requests.http.RegisterOnShutdown(func() { g.current.Load().cancel() }) // Shutdown waits for open streams too
	var others *server
	if g.forNodes != nil {
		others = g.listenForNodes(g.listening, g.forNodes)
		requests.http.RegisterOnShutdown(g.router.Close)
	}
	g.onClose(func() error {
		var closing sync.WaitGroup
		if others != nil {
			closing.Go(func() { others.close(drainRequests) })
		}
		requests.close(drainRequests)
		closing.Wait()
		return nil
	})
	return nil
}

// startRanges brings the ranges back from the store. From its end on no range is taken any more, and those
// that run still answer.
func (g *Gateway) startRanges(ctx context.Context) error {
	urls := g.addresses
	g.log.Info().Str("api", urls.API).Str("operations", urls.Operations).Str("controllers", urls.Controllers).
		Str("version", g.version).
		Msg("listening")
	if err := g.ownership.start(ctx); err != nil {
		return err
	}
	g.onClose(func() error {
		g.ownership.leave()
		return nil
	})
	return nil
}

func (g *Gateway) startRefresh(context.Context) error {
	refreshing, stop := context.WithCancel(g.life)
	var refresher sync.WaitGroup
	refresher.Go(func() { g.refreshSessions(refreshing) })
	g.onClose(func() error {
		stop()
		refresher.Wait() // before the store is closed
		return nil
	})
	return nil
}

// RefreshEvery is how often the secret of the sign-ins is read again, and what other gateways have signed
// out.
const RefreshEvery = 10 * time.Second

// refreshSessions keeps the sessions of staff in line with the store until ctx ends. It logs the first of
// several failures.
func (g *Gateway) refreshSessions(ctx context.Context) {
	next := time.NewTicker(RefreshEvery)
	defer next.Stop()
	failing := false
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, RefreshEvery)
		err := g.sessions.Refresh(limited)
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			g.log.Error().Err(err).Msg("sign-ins of staff: the store could not be read or written; they go on as " +
				"they are known, and it is tried again")
		}
		failing = err != nil
	}
}

// setLogLevel sets the lowest level that every log of the process writes. The configuration has checked the
// level.
func setLogLevel(level config.Level) {
	parsed, _ := zerolog.ParseLevel(string(level))
	loglevel.Set(parsed)
}

// UserAgent is what the gateway calls itself where it is a client.
func UserAgent(version string) string { return "rangegate/" + productVersion(version) }

// productVersion returns the version as a token of RFC 9110, without the characters that none may have:
// (devel) is devel.
func productVersion(version string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) ||
			strings.ContainsRune("!#$%&'*+-.^_`|~", r)) {
			return r
		}
		return -1
	}, version)
}
