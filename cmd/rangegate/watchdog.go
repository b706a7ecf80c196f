package main

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
)

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
		for !checkAlive(ctx, alive, timeout/4, log) {
			if ctx.Err() != nil {
				return
			}
		}
		_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
	}
}

// checkAlive reports whether the gateway answers within the timeout.
func checkAlive(ctx context.Context, alive func(context.Context) error, timeout time.Duration, log zerolog.Logger) bool {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := alive(limited)
	if err != nil && ctx.Err() == nil {
		log.Error().Err(err).Dur("within", timeout).Msg("not alive: the service manager's watchdog gets no ping")
	}
	return err == nil
}
