package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"rangegate/actors"
	"rangegate/actors/clock"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
)

// Sessions end one after the other, evenly over this time.
const endsWithin = 10 * time.Second

const salesPerSecond = 500 // in the experiment with sales

var (
	expiryQuiet = expiry{"expiry/10k", 10_000, false, 2}.experiment(
		"10,000 sessions end over 10 s: how late is the order to stop at the link?")
	expirySelling = expiry{"expiry/10k-selling", 10_000, true, 2}.experiment(
		"the same while 500 sessions a second are sold on other lanes of the range")
	expiryLarge = expiry{"expiry/100k", 100_000, false, 1}.experiment(
		"100,000 sessions end over 10 s")
)

// expiry measures how late sessions end.
type expiry struct {
	name    string
	lanes   int
	selling bool
	rounds  int
}

func (e expiry) experiment(what string) experiment {
	return experiment{e.name, what, e.measure}
}

func (e expiry) measure(ctx context.Context, t *trial) error {
	e.lanes = t.lanes(e.lanes)
	figure := func(percentile string) figures.Figure {
		return figures.Figure{
			Name: percentile, Unit: "ms", Goal: figures.AtMost(1.5),
			What:  "from a session's deadline to the order to stop at the link",
			Limit: "time.AfterFunc with the same deadlines",
		}
	}
	return t.compare(ctx, e.rounds,
		func(ctx context.Context) ([]float64, error) { return e.ours(ctx, t, nothingBeside) },
		func(ctx context.Context) ([]float64, error) { return e.bare(ctx, t) },
		figure("p99"), figure("p99.9"))
}

// beside is called when the range is up, and end when all sessions have ended.
type beside func(g *gateway, r *actors.Range) (end func() error, err error)

func nothingBeside(*gateway, *actors.Range) (end func() error, err error) {
	return func() error { return nil }, nil
}

// ours starts a range whose sessions are about to end. A machine that is too slow for the first deadline gets
// more time.
func (e expiry) ours(ctx context.Context, t *trial, also beside) ([]float64, error) {
	for lead := e.lead(); ; lead *= 2 {
		late, inTime, err := e.once(ctx, t, lead, also)
		if err != nil || inTime {
			return tails(late), err
		}
		t.say("the range was not up in time: once more")
	}
}

// lead is the time from writing the sessions to the first deadline.
func (e expiry) lead() time.Duration {
	return 2*time.Second + time.Duration(e.lanes)*100*time.Microsecond
}

func (e expiry) once(
	ctx context.Context, t *trial, lead time.Duration, also beside,
) (late []float64, inTime bool, err error) {
	g, err := newGatewayOn(t.store())
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	layout := layoutOf(e.lanes + e.free())
	ending := layout.Lanes[:e.lanes]
	deadline := evenDeadlines(g.clock.Now().Add(lead), endsWithin, e.lanes)
	if err := (seed{layout: layout, sessions: e.lanes, deadline: deadline}).plant(ctx, g.file, g.clock); err != nil {
		return nil, false, err
	}
	heard := newOrders(g.hardware, g.clock.Now, ending)
	r, err := g.startOn(ctx, layout, heard, nil)
	if err != nil {
		return nil, false, err
	}
	if err := linksUp(ctx, r); err != nil {
		return nil, false, err
	}
	end, err := also(g, r)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if !g.clock.Now().Before(deadline(0)) {
		return nil, false, nil
	}
	defer e.sellMeanwhile(ctx, r, layout.Lanes[e.lanes:], deadline(0).Since(g.clock.Now()))()
	select {
	case <-heard.all:
	case <-time.After(lead + endsWithin + patience):
		return nil, false, errors.New("not every lane was stopped")
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	return heard.late(deadline), true, nil
}

// bare arms as many timers without sessions, during the same sales.
func (e expiry) bare(ctx context.Context, t *trial) (had []float64, err error) {
	clock, err := clock.NewSystem()
	if err != nil {
		return nil, err
	}
	lead := time.Second
	if e.selling {
		g, err := newGatewayOn(t.store())
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, g.close()) }()
		r, err := g.start(ctx, e.free(), nil)
		if err != nil {
			return nil, err
		}
		if err := linksUp(ctx, r); err != nil {
			return nil, err
		}
		defer e.sellMeanwhile(ctx, r, r.Layout().Lanes, lead)()
	}
	deadline := evenDeadlines(clock.Now().Add(lead), endsWithin, e.lanes)
	late := make([]float64, e.lanes)
	var left atomic.Int64
	left.Store(int64(e.lanes))
	all := make(chan struct{})
	for i := range e.lanes {
		time.AfterFunc(deadline(i).Since(clock.Now()), func() {
			late[i] = milliseconds(clock.Now().Since(deadline(i)))
			if left.Add(-1) == 0 {
				close(all)
			}
		})
	}
	select {
	case <-all:
		return tails(late), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// free returns how many lanes can be sold.
func (e expiry) free() int {
	if !e.selling {
		return 0
	}
	return salesPerSecond * int(endsWithin/time.Second)
}

// sellMeanwhile sells a session on each of the lanes at a fixed rate from the first deadline on, until end is called.
func (e expiry) sellMeanwhile(
	ctx context.Context, r *actors.Range, free []lanes.Place, from time.Duration,
) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var selling sync.WaitGroup
	begun := time.Now().Add(from)
	selling.Go(func() {
		var sales errgroup.Group
		for i, place := range free {
			select {
			case <-time.After(time.Until(begun.Add(time.Duration(i) * time.Second / salesPerSecond))):
			case <-ctx.Done():
				_ = sales.Wait()
				return
			}
			sales.Go(func() error {
				_, _ = sell(ctx, r, place.ID) // a refused sale is work too
				return nil
			})
		}
		_ = sales.Wait()
	})
	return func() {
		cancel()
		selling.Wait()
	}
}

// evenDeadlines returns n deadlines from first on.
func evenDeadlines(first lanes.Instant, within time.Duration, n int) func(i int) lanes.Instant {
	return func(i int) lanes.Instant { return first.Add(within * time.Duration(i) / time.Duration(n)) }
}

func tails(late []float64) []float64 {
	return []float64{figures.Percentile(late, 99), figures.Percentile(late, 99.9)}
}
