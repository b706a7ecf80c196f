package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/logtail"
	"rangegate/cmd/rangegate/console"
	"rangegate/cmd/rangegate/gateway"
	"rangegate/config"
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
		return gateway.Misconfigured{Err: err}
	}
	return run(t, program{
		config: cfg, read: read, places: func() config.Places { return config.PlacesIn(s.Config, t.environ) },
		reloadSignals: reloadSignals, retire: s.Retire,
	})
}

// program is what one process is to serve.
type program struct {
	config        config.Config
	read          func() (config.Config, error) // reads the configuration again; nil without a file
	places        func() config.Places          // of the values that read returns; nil without a file
	reloadSignals <-chan os.Signal
	retire        []uuid.UUID
	shooters      bool                    // simulated shooters enter the lanes, call for help and hit the carrier
	listening     func(gateway.Addresses) // called once the gateway serves; may be nil
}

// run starts a gateway, serves until the process is told to stop, and stops it.
func run(t *terminal, p program) (err error) {
	tail := logtail.New(console.Writer(t.log))
	log := console.LoggerOf(tail)
	g, err := gateway.New(t.ctx, gateway.Settings{
		Config: p.config, Read: p.read, Places: p.places, Retire: p.retire, Shooters: p.shooters,
		Version: buildVersion(), Log: log, LogTail: tail,
		State: gateway.StateFolder(t.environ), Verified: gateway.VerifiedFile(t.environ),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if p.read != nil {
		go reloadOnSignal(t.ctx, g, p.reloadSignals)
	}
	if p.listening != nil {
		p.listening(g.Addresses())
	}
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	defer startWatchdog(g.Alive, log)()
	err = g.Run(t.ctx)
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	return err
}

// reloadOnSignal reloads on every signal, without force, until ctx ends.
func reloadOnSignal(ctx context.Context, g *gateway.Gateway, signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
			_, _ = g.Reload(ctx, "SIGHUP", false) // which logs its error
		case <-ctx.Done():
			return
		}
	}
}

// setRuntime sets what the Go runtime may use. The environment wins over all of it.
//
// GOMAXPROCS is two more than cores, as a write to the disk occupies a processor until the runtime notices, and so does
// the garbage collector. GOGC is 200, so that the collector runs half as often. On two cores, of 10,000 lanes that end
// over 10 s, 99 of 100 stop within 1.3 ms of their deadline, and within 7 ms without both (rangebench expiry/10k).
//
// GOMEMLIMIT is 90 % of what the process's cgroup may have (MemoryMax= of the unit, the memory of a container): the
// collector works harder before the kernel ends the process. Without a cgroup there is no limit.
func setRuntime() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	_, _ = memlimit.Set() // fails only where there are no cgroups, and no limit then
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

// ping pings systemd twice per timeout, and only after every range and lane has answered: the service manager
// restarts a gateway that cannot close its fire lines.
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
