// Package actors runs the ranges: their tree of actors and what is beside it. No other package knows of actors.
//
//	range-<id>                  spawns and supervises its lanes; sets and lifts holds      rangeactor.go, ceasefire.go
//	├─ <lane id>                owns one lane: its session, its timer, pause and resume    lane.go: start reading here
//	│  └─ connection            one connection to the lane's hardware                      connection.go, supervised by link.go
//	└─ events                   forwards saved events to a webhook                         package delivery
//
// The tree is run by supervised, on the actor library. Range is the face of it: its commands go to the lanes, and
// what is only read comes from the parts: board (how every lane is), history (what was saved), delivery (the event
// log). Beside them stand two values, hardware (one lane's link and fire line) and holds (those of the range), and
// commit (what is saved, in one flush for many lanes), idempotency (the keys), purchases and simulation, clock and
// metrics.
//
// The files call each other in one direction, each those below it:
//
//	the process        gateway.go, recover.go, reload.go, drop.go, refusal.go, ownership.go, health.go
//	what is asked      commands.go, batch.go, starts.go, reservation.go, ceasefire.go, observe.go, operate.go
//	the range's actor  rangeactor.go, and its part of ceasefire.go
//	the lane's actor   lane.go, link.go, move.go, together.go: these call each other. queue.go, reports.go, connection.go
//	what they pass on  request.go, spans.go, ticket.go, barrier.go
//	what they know     range.go, settings.go, addresses.go
package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"rangegate/actors/clock"
	"rangegate/actors/metrics"
	"rangegate/actors/supervised"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

const (
	lastAttempts = 2 * time.Second // for attempts under way when the range stops
	// checkpointEvery bounds how much running time can be unknown after a boot with a wrong wall clock.
	checkpointEvery = 10 * time.Second
	parallelStarts  = 8 // ranges that StartRanges recovers at a time
)

// Gateway is the ranges of this process. Its methods may be called from any goroutine.
type Gateway struct {
	clock   clock.Clock
	store   store.Store
	metrics *metrics.Metrics
	log     zerolog.Logger
	system  *actor.ActorSystem
	quit    chan struct{}  // closed when the gateway stops
	tasks   sync.WaitGroup // that run until then

	suspends, clockSteps atomic.Uint64

	mu        sync.RWMutex // guards what follows and nothing else: it is never held while a committer's lock is taken
	ranges    map[uuid.UUID]*Range
	elsewhere map[uuid.UUID]struct{}     // ranges that ran here until another process claimed them
	refused   map[uuid.UUID]error        // ranges whose layout is refused
	dropping  map[*Range]<-chan struct{} // closed when the range has ended
}

// NewGateway makes a gateway without ranges. Stop must be called.
func NewGateway(machine clock.Clock, s store.Store, m *metrics.Metrics, log zerolog.Logger) *Gateway {
	g := &Gateway{
		clock: machine, store: s, metrics: m, log: log, quit: make(chan struct{}),
		ranges: map[uuid.UUID]*Range{}, elsewhere: map[uuid.UUID]struct{}{}, refused: map[uuid.UUID]error{},
		dropping: map[*Range]<-chan struct{}{},
	}
	g.system = supervised.NewSystem(log)
	g.tasks.Go(func() { clock.Watch(machine, g.quit, g.afterSuspend, g.afterClockStep, g.observeDrift) })
	g.tasks.Go(g.checkpointRegularly)
	return g
}

// Range returns the running range with that id. Errors: lanes.ErrNotOwner for one that ran here until another
// process claimed it, which counts from the first write that the store refuses; lanes.ErrStarting while there
// is none otherwise, with the reason for a range whose layout is refused.
func (g *Gateway) Range(id uuid.UUID) (*Range, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if r, found := g.ranges[id]; found {
		// It is about to be dropped, and what it knows may have changed at the other process.
		if r.committer.IsFenced() {
			return nil, lanes.ErrNotOwner
		}
		return r, nil
	}
	if _, found := g.elsewhere[id]; found {
		return nil, lanes.ErrNotOwner
	}
	if refusal, found := g.refused[id]; found {
		return nil, refusal
	}
	return nil, lanes.ErrStarting
}

// Ready reports whether all of that many ranges run, every lane of theirs is loaded and the store takes
// writes. Ranges that other processes have claimed, and those whose layout is refused, do not count, unless
// none is left here.
func (g *Gateway) Ready(ranges int) bool {
	running := g.running()
	for _, r := range running {
		if !r.Ready() {
			return false
		}
	}
	g.mu.RLock()
	absent := len(g.elsewhere) + len(g.refused)
	g.mu.RUnlock()
	return len(running)+absent == ranges && (len(running) > 0 || ranges == 0)
}

func (g *Gateway) running() []*Range {
	g.mu.RLock()
	defer g.mu.RUnlock()
	running := make([]*Range, 0, len(g.ranges))
	for _, r := range g.ranges {
		running = append(running, r)
	}
	return running
}

// StartRange claims the range, loads it and starts its tree. The lanes are loaded by the time that Ready says
// so. Errors: ErrLayout, those of the store.
func (g *Gateway) StartRange(ctx context.Context, s Settings) error {
	epoch, err := g.store.Claim(ctx, s.Layout.Range, g.clock.Now().Wall)
	if err != nil {
		return fmt.Errorf("range %s: claiming it: %w", s.Layout.Range, err)
	}
	return g.StartClaimed(ctx, s, epoch)
}

// StartClaimed is StartRange for a range that was claimed in that epoch.
func (g *Gateway) StartClaimed(ctx context.Context, s Settings, epoch uint64) error {
	remember := g.forgetAbsent(s.Layout.Range)
	r, changed, err := g.recover(ctx, s, epoch)
	if err != nil {
		err = fmt.Errorf("range %s: %w", s.Layout.Range, err)
		if errors.Is(err, ErrLayout) {
			return g.refuse(s.Layout.Range, err)
		}
		remember() // it still does not run here, and whoever would start it again is to find it
		return err
	}
	for _, w := range changed {
		r.committer.Save(w)
	}
	r.addresses.root.Store(r.tree.SpawnRoot(rangeKind, rangeKind+"-"+r.id.String(),
		func() supervised.Actor { return &rangeActor{r: r} }))
	close(r.spawned)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !r.dropped { // else another process has claimed the range meanwhile
		g.ranges[r.id] = r
		delete(g.elsewhere, r.id) // a copy of before was dropped during the start
	}
	return nil
}

// StartRanges starts ranges together. It tries all of them before it returns the refusals of layouts, each an
// ErrLayout; any other error ends it.
func (g *Gateway) StartRanges(ctx context.Context, all []Settings) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelStarts)
	var mu sync.Mutex
	var refused []error
	for _, s := range all {
		group.Go(func() error {
			err := g.StartRange(ctx, s)
			if !errors.Is(err, ErrLayout) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			refused = append(refused, err)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	slices.SortFunc(refused, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(refused...)
}

// Stop saves what waits to be saved, stops every tree and closes every link. Whoever still waits for a reply
// gets an error. It ends when ctx does, at the latest; it is called once.
func (g *Gateway) Stop(ctx context.Context) error {
	var stopped sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, r := range g.running() {
		stopped.Go(func() {
			if err := r.stop(ctx); err != nil {
				mu.Lock()
				errs = append(errs, fmt.Errorf("range %s: %w", r.id, err))
				mu.Unlock()
			}
		})
	}
	stopped.Wait()
	errs = append(errs, g.awaitDropped(ctx))
	close(g.quit)
	g.tasks.Wait()
	g.system.Shutdown()
	return errors.Join(errs...)
}

// stop ends the range's tree after what it had to save is saved. No event is attempted any more; attempts
// under way have lastAttempts, and their outcomes are saved too.
func (r *Range) stop(ctx context.Context) error {
	var errs []error
	errs = append(errs, r.delivery.Close(ctx, lastAttempts))
	if r.leaving.Load() && r.life.Err() == nil {
		errs = append(errs, r.delivery.Drop(ctx))
	}
	r.committer.Checkpoint() // what runs on from now on is known to the millisecond
	errs = append(errs, r.committer.Drain(ctx))
	// An attempt whose mark was on its way is not made: that is saved behind the mark.
	errs = append(errs, r.delivery.AwaitAttempts(ctx), r.committer.Drain(ctx))
	r.endLife(lanes.ErrStarting)
	return errors.Join(append(errs, r.awaitEnd(ctx))...)
}

// ResumeDeliveries has the webhooks called again that have answered 410, because their operator has looked at
// the configuration.
func (g *Gateway) ResumeDeliveries() {
	for _, r := range g.running() {
		r.delivery.Resume()
	}
}

// CheckpointAll flushes all ranges together, so that the store can save them in one go. It does not wait for that.
// A store that has lost acknowledged writes of theirs gets them again by it.
func (g *Gateway) CheckpointAll() {
	for _, r := range g.running() {
		r.committer.Checkpoint()
	}
}

func (g *Gateway) checkpointRegularly() {
	ticker := time.NewTicker(checkpointEvery)
	defer ticker.Stop()
	for {
		select {
		case <-g.quit:
			return
		case <-ticker.C:
		}
		g.CheckpointAll()
	}
}

// afterSuspend: timers stood still while the machine was suspended, so they are armed anew.
func (g *Gateway) afterSuspend(slept time.Duration) {
	g.metrics.Suspends.Inc()
	g.suspends.Add(1)
	g.log.Warn().Dur("slept", slept).Msg("the machine was suspended; every timer is armed anew")
	for _, r := range g.running() {
		r.addresses.sendRoot(&toAllLanes{&rearm{}})
		r.delivery.ClockSet(0)
	}
}

// afterClockStep: the wall clock was set, or has drifted. No session runs by it; the checkpoint keeps the new
// relation of the clocks. Events that await their retry are due by it.
func (g *Gateway) afterClockStep(by time.Duration) {
	g.metrics.ClockSteps.Inc()
	g.clockSteps.Add(1)
	g.log.Warn().Dur("by", by).Msg("the wall clock was set, or has drifted; no session's time changes by it")
	g.CheckpointAll()
	for _, r := range g.running() {
		r.delivery.ClockSet(by)
	}
}

// ClockChanges returns how often the machine was suspended, and how often its wall clock was set, since the start.
func (g *Gateway) ClockChanges() (suspends, steps uint64) {
	return g.suspends.Load(), g.clockSteps.Load()
}

func (g *Gateway) observeDrift(by time.Duration) { g.metrics.ClockDrift.Set(by.Seconds()) }

// Alive asks every actor that a fire line is closed through: every range, lane and connection. It returns nil
// once all have answered, or an error with the ranges that have not when ctx ends. A range that stops is not
// waited for.
func (g *Gateway) Alive(ctx context.Context) error {
	asked := map[*Range]*probe{}
	for _, r := range g.running() {
		p := &probe{done: make(chan struct{})}
		p.unanswered.Store(1)
		asked[r] = p
		r.addresses.sendRoot(p)
	}
	var silent []uuid.UUID
	for r, p := range asked {
		select {
		case <-p.done:
		case <-r.life.Done():
		case <-ctx.Done():
			silent = append(silent, r.id)
		}
	}
	if len(silent) > 0 {
		return fmt.Errorf("%d of %d ranges have actors that do not answer, %s among them", len(silent),
			len(asked), silent[0])
	}
	return nil
}

// Waiting returns how many messages wait in the mailboxes of all ranges, by kind of actor.
func (g *Gateway) Waiting() map[string]int {
	waiting := map[string]int{}
	registry := prometheus.NewRegistry()
	registry.MustRegister(g.metrics.MailboxDepth)
	families, err := registry.Gather()
	if err != nil {
		return waiting
	}
	for _, family := range families {
		for _, kind := range family.GetMetric() {
			waiting[kind.GetLabel()[0].GetValue()] = int(kind.GetGauge().GetValue())
		}
	}
	return waiting
}
