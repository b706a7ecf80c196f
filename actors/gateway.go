// Package actors runs the ranges: a tree of actors for each, and nothing outside this package knows of them.
//
//	range-<id>                 finds the lane for a command, parks a lane that keeps panicking
//	├─ events                  forwards saved events to the webhook: once each, in order per lane
//	└─ lane-<id>               owns one lane: session, timer, pause and resume          ← lane.go, take: start here
//	   └─ link                 keeps one connection to the lane's hardware alive
//	      └─ connection-<n>    one connection's life
//
// Beside the tree stand the board (what everyone reads), the committer (what is saved, in one flush for many lanes)
// and the idempotency keys.
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

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/store"
)

// Gateway is the ranges of this process.
type Gateway struct {
	clock   Clock
	store   store.Store
	metrics *Metrics
	log     zerolog.Logger
	system  *actor.ActorSystem
	quit    chan struct{} // closed when everything ends
	watch   sync.WaitGroup

	mu     sync.RWMutex
	ranges map[uuid.UUID]*Range
}

// Settings is what one range is started with.
type Settings struct {
	Layout  lanes.Layout
	Grace   time.Duration // how long a lane whose link is down stays usable
	Driver  link.Driver
	Webhook Webhook // nil: events are kept in the event log as not sent
	Retire  []uuid.UUID
}

// NewGateway makes a gateway without ranges.
func NewGateway(clock Clock, s store.Store, metrics *Metrics, log zerolog.Logger) *Gateway {
	g := &Gateway{
		clock: clock, store: s, metrics: metrics, log: log,
		quit: make(chan struct{}), ranges: map[uuid.UUID]*Range{},
	}
	quiet := slog.New(zerolog.NewSlogHandler(log.Level(zerolog.WarnLevel)))
	g.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	g.watch.Go(func() { watchClocks(clock, g.quit, g.woken, g.stepped) })
	return g
}

// Range is the running range with that id.
func (g *Gateway) Range(id uuid.UUID) (*Range, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	r, running := g.ranges[id]
	return r, running
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
	r, err := g.recover(ctx, s)
	if err != nil {
		return fmt.Errorf("range %s: %w", s.Layout.Range, err)
	}
	r.events = g.system.Root.SpawnPrefix(
		r.props("events", func() actor.Actor { return newEventsActor(r, deliverySlots) }),
		"events-"+r.layout.Range.String())
	r.pid = g.system.Root.SpawnPrefix(
		r.props("range", func() actor.Actor { return &rangeActor{of: r} }),
		"range-"+r.layout.Range.String())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ranges[r.layout.Range] = r
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
				errs = append(errs, fmt.Errorf("range %s: %w", r.layout.Range, err))
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

// stop ends the range's tree, after what it had to save is saved.
func (r *Range) stop(ctx context.Context) error {
	err := r.committer.drain(ctx)
	r.end()
	for _, root := range []*actor.PID{r.pid, r.events} {
		stopped := make(chan struct{})
		future := r.system.Root.StopFuture(root)
		go func() {
			_ = future.Wait()
			close(stopped)
		}()
		select {
		case <-stopped:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
	r.dialling.Wait()
	r.attempts.Wait()
	return errors.Join(err, r.committer.drain(ctx))
}

// letGo stops the range's tree because another process owns the range now: nothing of this one reaches its hardware.
func (r *Range) letGo() {
	r.end()
	r.system.Root.Stop(r.pid)
	r.system.Root.Stop(r.events)
}

// woken: the machine was suspended. The timers stood still, so they are armed anew.
func (g *Gateway) woken(slept time.Duration) {
	g.metrics.suspends.Inc()
	g.log.Warn().Dur("slept", slept).Msg("the machine was suspended; every timer is armed anew")
	for _, r := range g.running() {
		r.send(r.pid, &toAllLanes{&rearm{}})
	}
}

// stepped: the wall clock was set. Nothing runs by it; the checkpoint keeps the new relation of the clocks.
func (g *Gateway) stepped(by time.Duration) {
	g.metrics.steps.Inc()
	g.log.Warn().Dur("by", by).Msg("the wall clock was set; no session's time changes by it")
	for _, r := range g.running() {
		r.committer.mark()
	}
}
