package main

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
)

// startWatchdog begins to tell the service manager that the gateway is alive, until stop; but not where nobody wants to
// know (WatchdogSec of the unit).
func startWatchdog(alive func(context.Context) error, log zerolog.Logger) (stop func()) {
	patience, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn().Err(err).Msg("what the service manager says of its watchdog is not understood; it is told nothing")
	}
	if patience <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var telling sync.WaitGroup
	telling.Go(func() { tellAlive(ctx, patience, alive, log) })
	return func() {
		cancel()
		telling.Wait()
	}
}

// tellAlive tells it twice in the time after which the service manager starts the gateway again. What it tells was so a
// moment ago: every actor that a fire line is closed through has answered. It tells nothing while one does not.
func tellAlive(ctx context.Context, patience time.Duration, alive func(context.Context) error, log zerolog.Logger) {
	next := time.NewTicker(patience / 2)
	defer next.Stop()
	for {
		for !answers(ctx, alive, patience/4, log) {
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

// answers asks whether the gateway is alive, for that long.
func answers(ctx context.Context, alive func(context.Context) error, within time.Duration, log zerolog.Logger) bool {
	inTime, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := alive(inTime)
	if err != nil && ctx.Err() == nil {
		log.Error().Err(err).Dur("within", within).Msg("not alive: the service manager's watchdog is not told otherwise")
	}
	return err == nil
}
