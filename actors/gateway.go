// Package actors runs the ranges: two actors and a lane actor a lane for each. Nothing outside this package knows of them.
//
//	range-<id>                 spawns its lanes, and sets and lifts its holds
//	└─ lane-<n>                owns one lane: session, timer, pause and resume          ← lane.go, take: start here;
//	                           and supervises the connection to its hardware            ← link.go
//	events-<id>                forwards saved events to the webhook: once each, in order per lane
//
// Beside them stand board (what everyone reads), the committer (what is saved, in one flush for many lanes), idempotency (the
// keys), clock, metrics, and the goroutines of purchases (purchase.go).
package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Gateway is the ranges of this process.
type Gateway struct {
	clock   clock.Clock
	store   store.Store
	metrics *metrics.Metrics
	log     zerolog.Logger
	system  *actor.ActorSystem
	quit    chan struct{} // closed when everything ends
	watch   sync.WaitGroup
	kinds   sync.Map // kind of actor → what its actors share

	mu     sync.RWMutex
	ranges map[uuid.UUID]*Range
}

const lastAttempts = 2 * time.Second // that attempts under way may take when the range stops

// NewGateway makes a gateway without ranges.
func NewGateway(machine clock.Clock, s store.Store, counted *metrics.Metrics, log zerolog.Logger) *Gateway {
	g := &Gateway{
		clock: machine, store: s, metrics: counted, log: log,
		quit: make(chan struct{}), ranges: map[uuid.UUID]*Range{},
	}
	quiet := slog.New(zerolog.NewSlogHandler(log.Level(zerolog.WarnLevel)))
	g.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	g.watch.Go(func() { clock.Watch(machine, g.quit, g.woken, g.stepped, g.drifted) })
	g.watch.Go(g.markAll)
	return g
}

// Range is the running range with that id. It is lanes.ErrStarting while there is none, and lanes.ErrNotOwner once another
// process has claimed it: what this one knows of it is not true any more.
func (g *Gateway) Range(id uuid.UUID) (*Range, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	r, running := g.ranges[id]
	if !running {
		return nil, lanes.ErrStarting
	}
	if context.Cause(r.background) == lanes.ErrNotOwner {
		return nil, lanes.ErrNotOwner
	}
	return r, nil
}

// Ready tells whether so many ranges run, every lane is brought back and the store takes writes.
func (g *Gateway) Ready(ranges int) bool {
	running := g.running()
	for _, r := range running {
		if !r.Ready() {
			return false
		}
	}
	return len(running) == ranges
}

func (g *Gateway) running() []*Range {
	g.mu.RLock()
	defer g.mu.RUnlock()
	all := make([]*Range, 0, len(g.ranges))
	for _, r := range g.ranges {
		all = append(all, r)
	}
	return all
}

// StartRange claims the range, loads it and starts its tree. The lanes are brought back by the time Ready says so.
func (g *Gateway) StartRange(ctx context.Context, s Settings) error {
	r, changed, err := g.recover(ctx, s)
	if err != nil {
		return fmt.Errorf("range %s: %w", s.Layout.Range, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r.events = g.system.Root.SpawnPrefix(
		r.props("events", func() actor.Actor { return newEventsActor(r) }),
		"events-"+r.id.String())
	for _, w := range changed {
		r.committer.save(w)
	}
	r.pid = g.system.Root.SpawnPrefix(
		r.props("range", func() actor.Actor { return &rangeActor{of: r} }),
		"range-"+r.id.String())
	g.ranges[r.id] = r
	return nil
}

// Stop saves what waits to be saved, stops every tree and closes every link. Whoever still waits for an answer gets
// an error. It ends when ctx does, at the latest; it is called once.
func (g *Gateway) Stop(ctx context.Context) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, r := range g.running() {
		wg.Go(func() {
			if err := r.stop(ctx); err != nil {
				mu.Lock()
				errs = append(errs, fmt.Errorf("range %s: %w", r.id, err))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	close(g.quit)
	g.watch.Wait()
	g.system.Shutdown()
	return errors.Join(errs...)
}

// stop ends the range's tree, after what it had to save is saved. No event is attempted any more; attempts under way
// may take a moment, and what they come to is saved too.
func (r *Range) stop(ctx context.Context) error {
	errs := []error{r.stopRoot(ctx, r.events)}
	moment, cancel := context.WithTimeout(ctx, lastAttempts)
	defer cancel()
	_ = r.awaitDeliveries(moment)
	_ = r.awaitPurchases(moment)
	if r.leaves.Load() && r.background.Err() == nil {
		r.abandon()
	}
	r.committer.mark() // what runs on from now on is known to the millisecond
	errs = append(errs, r.committer.drain(ctx))
	r.end(lanes.ErrStarting)
	errs = append(errs, r.stopRoot(ctx, r.pid), over(ctx, &r.dials.turns), over(ctx, &r.errands), r.awaitDeliveries(ctx), r.committer.drain(ctx))
	return errors.Join(errs...)
}

func (r *Range) stopRoot(ctx context.Context, root *actor.PID) error {
	return ended(ctx, r.system.Root.StopFuture(root))
}

// ended waits until an actor has, or ctx ends.
func ended(ctx context.Context, future *actor.Future) error {
	var stopped sync.WaitGroup
	stopped.Go(func() { _ = future.Wait() })
	return over(ctx, &stopped)
}

// over waits until the goroutines have ended, or ctx ends.
func over(ctx context.Context, goroutines *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		goroutines.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// letGo stops the range's tree because another process owns the range now: nothing of this one reaches its hardware.
func (r *Range) letGo() {
	r.end(lanes.ErrNotOwner)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pid != nil {
		r.system.Root.Stop(r.pid)
		r.system.Root.Stop(r.events)
	}
}

// checkpointEvery bounds how much running time can be unknown after a boot with a wrong wall clock.
const checkpointEvery = 10 * time.Second

// markAll writes the checkpoints of all ranges together, so that the store can save them in one go.
func (g *Gateway) markAll() {
	ticker := time.NewTicker(checkpointEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.quit:
			return
		case <-ticker.C:
		}
		for _, r := range g.running() {
			r.committer.mark()
		}
	}
}

// woken: the machine was suspended. The timers stood still, so they are armed anew.
func (g *Gateway) woken(slept time.Duration) {
	g.metrics.Suspends.Inc()
	g.log.Warn().Dur("slept", slept).Msg("the machine was suspended; every timer is armed anew")
	for _, r := range g.running() {
		r.send(r.pid, &toAllLanes{&rearm{}})
	}
}

// stepped: the wall clock was set, or has drifted. Nothing runs by it; the checkpoint keeps the new relation of the clocks.
func (g *Gateway) stepped(by time.Duration) {
	g.metrics.ClockSteps.Inc()
	g.log.Warn().Dur("by", by).Msg("the wall clock was set, or has drifted; no session's time changes by it")
	for _, r := range g.running() {
		r.committer.mark()
	}
}

func (g *Gateway) drifted(by time.Duration) { g.metrics.ClockDrift.Set(by.Seconds()) }
