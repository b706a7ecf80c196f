package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"rangegate/actors/clock"
	"rangegate/actors/metrics"
)

// offsetWatch keeps the offset of the machine's clock to that of the store measured, in the metric, and in
// the log when it passes a bound.
type offsetWatch struct {
	clock   *clock.Shared
	counts  *metrics.Metrics
	log     zerolog.Logger
	failing bool
	bound   time.Duration // that the offset was over, as was last logged; -1 before
}

// watchOffset measures once, logs what came of it, and goes on until stop.
func watchOffset(ctx context.Context, shared *clock.Shared, counts *metrics.Metrics, log zerolog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	w := &offsetWatch{clock: shared, counts: counts, log: log, bound: -1}
	w.measure(ctx)
	var following sync.WaitGroup
	following.Go(func() { w.follow(ctx) })
	return func() {
		cancel()
		following.Wait()
	}
}

// follow measures until ctx ends.
func (w *offsetWatch) follow(ctx context.Context) {
	next := time.NewTicker(clock.MeasureEvery)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			w.measure(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// measure logs the first of several failures. It returns within seconds.
func (w *offsetWatch) measure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, clock.MeasureWithin)
	defer cancel()
	err := w.clock.Measure(ctx)
	if err != nil && !w.failing {
		w.log.Warn().Err(err).
			Msg("how far this machine's clock is off the store's could not be measured; it is tried again")
	}
	w.failing = err != nil
	offset := w.clock.Offset(w.clock.Now())
	if offset == nil {
		return
	}
	w.counts.ClockOffset.Set(offset.Ahead.Seconds())
	bound := time.Duration(0)
	for _, passed := range []time.Duration{clock.OffsetTolerated, clock.OffsetRefused} {
		if offset.Ahead.Abs() > passed {
			bound = passed
		}
	}
	if bound == w.bound {
		return
	}
	w.bound = bound
	line, message := w.log.Info(), "this machine's clock agrees with that of the Redis server"
	switch bound {
	case clock.OffsetTolerated:
		line, message = w.log.Warn(), "this machine's clock is off that of the Redis server: look at NTP on both"
	case clock.OffsetRefused:
		line, message = w.log.Error(), "this machine's clock is far off that of the Redis server: among several "+
			"nodes, this one takes no ranges"
	}
	line.Dur("ahead", offset.Ahead).Dur("bound", bound).Msg(message)
}
