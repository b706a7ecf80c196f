package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/google/uuid"
	"github.com/mattn/go-isatty"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/api"
	"rangegate/api/control"
	"rangegate/catalog"
	"rangegate/config"
	"rangegate/lanes/link/sim"
	"rangegate/lanes/store/sqlite"
	"rangegate/webhook"
)

// The time limits of a stop, 10 s in all: open requests are answered, then everything is saved and closed.
const (
	drainRequests   = 5500 * time.Millisecond // a request takes 5 s at most
	drainOperations = 500 * time.Millisecond
	stopLanes       = 3 * time.Second
)

type serve struct {
	Config string      `required:"" placeholder:"FILE" help:"The configuration to serve."`
	Retire []uuid.UUID `placeholder:"LANE_ID" help:"End the session of a lane that the configuration no longer has. May be given again."`
}

// Run serves the configuration until the process is told to stop.
func (s serve) Run(t *terminal) error {
	reloadSignals := make(chan os.Signal, 1) // a signal during the start waits until it is over
	signal.Notify(reloadSignals, syscall.SIGHUP)
	read := func() (config.Config, error) { return config.Load(s.Config, t.environ) }
	cfg, err := read()
	if err != nil {
		return misconfigured{err}
	}
	return run(t, program{config: cfg, read: read, reloadSignals: reloadSignals, retire: s.Retire})
}

// program is what one process is to serve.
type program struct {
	config        config.Config
	read          func() (config.Config, error) // reads the configuration again; nil without a file
	reloadSignals <-chan os.Signal
	retire        []uuid.UUID
	shooters      bool                 // simulated shooters enter the lanes, call for help and hit the carrier
	listening     func(urls addresses) // called once the gateway serves; may be nil
}

// addresses are the URLs of the servers; controllers is empty unless controllers dial.
type addresses struct{ api, operations, controllers string }

// run starts everything, serves until the process is told to stop, and stops everything in reverse order.
func run(t *terminal, p program) (err error) {
	log := logger(t.log)
	setLogLevel(p.config.Log.Level)
	for _, unused := range p.config.Unused() {
		log.Warn().Str("path", unused).Msg("configured, and has no effect")
	}
	for _, open := range p.config.Exposures() {
		log.Warn().Str("path", open.Path).Str("remedy", open.Remedy).Msg(open.Problem)
	}
	system, err := clock.NewSystem()
	if err != nil {
		return err
	}
	machine := clock.Clock(system)
	registry := prometheus.NewRegistry()
	snapshots, signIns, err := openStore(t.ctx, p.config.Store, registry, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshots.Close()) }()
	if file, ok := snapshots.(*sqlite.Store); ok {
		if err := checkAllConfigured(t.ctx, file, p.config); err != nil {
			return misconfigured{err}
		}
	}

	sessions, err := control.NewSessions(t.ctx, signIns)
	if err != nil {
		return err
	}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	counts := metrics.New(registry)
	if server, ok := snapshots.(clock.Reference); ok {
		shared := clock.NewShared(system, server)
		machine = shared
		defer watchOffset(t.ctx, shared, counts, log)()
	}
	gateway := actors.NewGateway(machine, snapshots, counts, log)
	hardware := sim.New(machine.Now)
	s := &service{
		log: log, clock: machine, gateway: gateway, hardware: hardware, sessions: sessions, attempts: control.NewAttempts(registry), read: p.read,
		registry: registry, counts: counts, webhooks: webhook.NewMetrics(registry), catalog: catalog.NewMetrics(registry),
		traffic: api.NewTraffic(registry), limiters: api.NewLimiters(), reloads: newReloadMetrics(registry),
	}
	nodesAddress := ""
	var forNodes net.Listener // bound before the others are told its address
	if p.config.Nodes != nil {
		if forNodes, err = listenTCP(p.config.Nodes.Address); err != nil {
			return err
		}
		defer func() { _ = forNodes.Close() }()
		nodesAddress = forNodes.Addr().String()
	}
	s.ownership = newOwnership(s, p.config, snapshots, nodesAddress, p.retire)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopLanes)
		defer cancel()
		err = errors.Join(err, s.ownership.stop(ctx))
	}()
	if p.shooters {
		defer sim.NewAutopilot(hardware, uint64(time.Now().UnixNano())).Close()
	}
	s.acceptor = s.newAcceptor()
	registry.MustRegister(gateway.Gauges(), buildInfo(), readiness(s.ownership.ready))
	first, _, err := s.build(p.config, nil)
	if err != nil {
		return err
	}
	s.certificates, err = watchCertificates(p.config, registry, log)
	if err != nil {
		return err
	}
	defer s.certificates.close()
	s.router = s.newRouter(p.config.Nodes)
	s.controllers = s.router.Route(refuseController, s.ofController)(s.acceptor)
	s.activate(first)
	listeners := listening{metrics: newConnectionMetrics(registry), malformed: api.Malformed(s.traffic, log), log: log}
	operations, err := listen(p.config.Operations.Address, http.HandlerFunc(s.serveOperations), listeners.with(s.certificates.operations, nil))
	if err != nil {
		return err
	}
	defer operations.close(drainOperations)
	requests, err := listen(p.config.HTTP.Address, http.HandlerFunc(s.serveRequests), listeners.with(s.certificates.http, s.isProxy))
	if err != nil {
		return err
	}
	requests.http.RegisterOnShutdown(func() { s.current.Load().cancel() }) // Shutdown waits for open streams too
	var nodesFailed <-chan error                                           // nil, which blocks, without nodes
	if forNodes == nil {
		defer requests.close(drainRequests)
	} else {
		others := s.listenForNodes(listeners, forNodes)
		nodesFailed = others.failed
		requests.http.RegisterOnShutdown(s.router.Close)
		defer func() { // what other nodes have handed on is answered too
			var closing sync.WaitGroup
			closing.Go(func() { others.close(drainRequests) })
			requests.close(drainRequests)
			closing.Wait()
		}()
	}

	urls := addresses{api: requests.url, operations: operations.url}
	incoming, err := s.listenForControllers(listeners)
	if err != nil {
		return err
	}
	var incomingFailed <-chan error // nil, which blocks, without the address
	if incoming != nil {
		defer incoming.close(drainOperations)
		urls.controllers, incomingFailed = incoming.url, incoming.failed
	}
	log.Info().Str("api", urls.api).Str("operations", urls.operations).Str("controllers", urls.controllers).Str("version", buildVersion()).Msg("listening")
	if err := s.ownership.start(t.ctx); err != nil {
		return err
	}
	s.reloads.finish(true)
	refreshing, stopRefreshing := context.WithCancel(t.ctx)
	var refresher sync.WaitGroup
	refresher.Go(func() { s.refreshSessions(refreshing) })
	defer refresher.Wait() // before the store is closed
	defer stopRefreshing()
	if p.read != nil {
		go s.reloadOnSignal(t.ctx, p.reloadSignals)
	}
	if p.listening != nil {
		p.listening(urls)
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	defer startWatchdog(gateway.Alive, log)()

	select {
	case <-t.ctx.Done():
		log.Info().Msg("stopping")
	case err = <-requests.failed:
	case err = <-operations.failed:
	case err = <-incomingFailed:
	case err = <-nodesFailed:
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	s.ownership.leave()
	return err
}

// setProcessors sets GOMAXPROCS to two more than cores, as a write to the disk occupies a processor until the runtime
// notices, and so does the garbage collector; and GOGC to 200, so that the collector runs half as often. The environment
// wins over both. On two cores, of 10,000 lanes that end over 10 s, 99 of 100 stop within 1.3 ms of their deadline, and
// within 7 ms without it (rangebench expiry/10k).
func setProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

func init() { zerolog.TimeFieldFormat = time.RFC3339Nano } // a global of the library

// logger writes JSON lines, or lines for people to a terminal.
func logger(out interface{ Write([]byte) (int, error) }) zerolog.Logger {
	if isTerminal(out) {
		return zerolog.New(zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly}).With().Timestamp().Logger()
	}
	return zerolog.New(out).With().Timestamp().Logger()
}

// setLogLevel sets the lowest level that every log of the process writes. The configuration has checked the level.
func setLogLevel(level config.Level) {
	parsed, _ := zerolog.ParseLevel(string(level))
	zerolog.SetGlobalLevel(parsed)
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// startWatchdog pings the service manager's watchdog until stop. It does nothing without WatchdogSec in the unit.
func startWatchdog(alive func(context.Context) error, log zerolog.Logger) (stop func()) {
	timeout, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn().Err(err).Msg("the watchdog settings of the service manager are not valid; it gets no pings")
	}
	if timeout <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var pinger sync.WaitGroup
	pinger.Go(func() { ping(ctx, timeout, alive, log) })
	return func() {
		cancel()
		pinger.Wait()
	}
}

// ping pings systemd twice per timeout, and only after every range and lane has answered: the service manager restarts a
// gateway that cannot close its fire lines.
func ping(ctx context.Context, timeout time.Duration, alive func(context.Context) error, log zerolog.Logger) {
	next := time.NewTicker(timeout / 2)
	defer next.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, timeout/4)
		err := alive(limited)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error().Err(err).Dur("within", timeout/4).Msg("not alive: the service manager's watchdog gets no ping")
			continue
		}
		_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
	}
}

// buildInfo is a metric that names the build.
func buildInfo() prometheus.Collector {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	revision := ""
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			revision = setting.Value
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "rangegate", Name: "build_info",
		Help:        "Always 1; its labels say which build of the gateway runs: version, revision of the source, and version of Go.",
		ConstLabels: prometheus.Labels{"version": buildVersion(), "revision": revision, "goversion": info.GoVersion},
	}, func() float64 { return 1 })
}

// readiness is a metric that follows /readyz.
func readiness(ready func() error) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "rangegate", Name: "ready",
		Help: "1 when /readyz says ready: every range runs, every lane is brought back and the store takes writes. 0 for some seconds " +
			"after a start is normal; later it means that nothing can be sold on some range.",
	}, func() float64 {
		if ready() != nil {
			return 0
		}
		return 1
	})
}

// reloadMetrics tell whether the configuration in force is the one in the file.
type reloadMetrics struct{ successful, succeededAt prometheus.Gauge }

func newReloadMetrics(registry prometheus.Registerer) *reloadMetrics {
	factory := promauto.With(registry)
	return &reloadMetrics{
		successful: factory.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "config_last_reload_successful",
			Help: "0 after the configuration was to be reloaded and was refused: what is in the file is not in force. 1 otherwise.",
		}),
		succeededAt: factory.NewGauge(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "config_last_reload_success_timestamp_seconds",
			Help: "When the configuration in force was read.",
		}),
	}
}

// finish notes the outcome of a reload.
func (m *reloadMetrics) finish(ok bool) {
	if !ok {
		m.successful.Set(0)
		return
	}
	m.successful.Set(1)
	m.succeededAt.SetToCurrentTime()
}
