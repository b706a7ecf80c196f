package actors

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/actors/delivery"
	"rangegate/actors/metrics"
	"rangegate/lanes"
)

// The kinds of actors, in logs and metrics.
const (
	rangeKind      = "range"
	laneKind       = "lane"
	connectionKind = "connection"
	eventsKind     = "events"
)

// A lane that panics is restarted at once from its last saved state. More than maxPanics within panicTerm park it: its next life
// holds the hardware, still answers, and tries again after parkedFor. Should even the start of that life panic, the next one
// comes after restartPause.
const (
	maxPanics    = 5
	panicTerm    = time.Minute
	parkedFor    = time.Minute
	restartPause = time.Second
)

// rangeActor is the root of a range's tree: it spawns and supervises the lanes and the events actors, routes what concerns many
// lanes, and sets and lifts holds (ceasefire.go).
type rangeActor struct {
	r     *Range
	self  *actor.PID
	holds holdKeeper
	ended bool // this life has: its children are being stopped
}

// The messages of a range's actor. Others stand in ceasefire.go and reload.go.
type (
	toLane struct {
		lane    uuid.UUID
		message any
	}
	toAllLanes   struct{ message any }
	restartChild struct{ child *actor.PID }
)

// Receive takes one message.
func (a *rangeActor) Receive(ctx actor.Context) {
	defer a.r.guard(ctx, rangeKind, &a.ended)
	completed := false
	defer func() {
		if !completed { // a restart stops the lanes: what they are sent from now on would be lost
			a.r.addresses.clear(0)
		}
	}()
	a.receive(ctx)
	completed = true
}

func (a *rangeActor) receive(ctx actor.Context) {
	switch m := a.r.received(ctx, rangeKind).(type) {
	case *actor.Started:
		a.start(ctx)
	case *actor.Restarting, *actor.Stopping:
		a.ended = true
	case *toLane:
		a.r.sendListed(m.lane, m.message)
	case *toAllLanes:
		for _, lane := range a.r.addresses.lanes {
			a.r.send(lane, m.message)
		}
	case *probe:
		m.unanswered.Add(int64(len(a.r.addresses.lanes)))
		for _, lane := range a.r.addresses.lanes {
			a.r.send(lane, m)
		}
		m.answer()
	case *restartChild:
		if !a.ended && slices.ContainsFunc(ctx.Children(), m.child.Equal) {
			ctx.(actor.Supervisor).RestartChildren(m.child)
		}
	case *setHold:
		m.reply <- a.holds.set(m)
	case *liftHold:
		a.holds.lift(m)
	case *holdLifted:
		a.holds.lifted(m)
	case *controllerHolds:
		a.holds.decideFound(m.lane)
	case *releaseConfirmed:
		a.holds.releaseConfirmed(m.lane)
	case *forgetEnds:
		a.holds.forgetEnds()
	case *exchange:
		m.reply <- a.exchange(ctx, m)
	}
}

func (a *rangeActor) start(ctx actor.Context) {
	a.self = ctx.Self()
	a.r.root.Store(a.self)
	for _, events := range a.r.delivery.Actors() {
		a.spawnEvents(ctx, events)
	}
	places := a.r.Layout().Lanes
	a.r.addresses.clear(len(places))
	a.holds = newHoldKeeper(a.r)
	a.r.unready.reset(places)
	for _, place := range places {
		a.spawn(ctx, place.ID)
	}
	a.r.committer.Checkpoint()
}

// spawn starts the lane's actor. Its name begins with the lane's id, from which it knows its lane: all lanes share their props, which
// saves 260 bytes a lane and lets the library restart them. The library makes the name unique: a message for an actor that has
// stopped must not reach a namesake that is being spawned, whose mailbox has no dispatcher yet.
func (a *rangeActor) spawn(ctx actor.Context, lane uuid.UUID) {
	a.r.addresses.put(lane, ctx.SpawnPrefix(a.r.laneProps, lane.String()))
}

// spawnEvents starts the events actor of a webhook.
func (a *rangeActor) spawnEvents(ctx actor.Context, events delivery.Producer) {
	ctx.SpawnPrefix(a.r.props(eventsKind, func() actor.Actor { return eventsActor{a.r, events()} }), eventsKind)
}

// eventsActor runs the actor of a webhook.
type eventsActor struct {
	r      *Range
	events *delivery.Actor
}

// Receive takes one message.
func (e eventsActor) Receive(ctx actor.Context) {
	defer e.r.guard(ctx, eventsKind, nil)
	e.events.Receive(ctx.Self(), e.r.received(ctx, eventsKind))
}

// HandleFailure is the supervision of the lanes and the events actors (actor.SupervisorStrategy).
func (a *rangeActor) HandleFailure(_ *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, message any) {
	defer a.r.guardFailure(a.self, rangeKind)
	if a.ended || a.r.delivery.IsClosed(child) {
		return // a child that is being stopped must not be restarted: the library would bring it back to life
	}
	if atStart(message) && a.r.panics.recent(laneNamed(child), a.r.clock.Now()) > maxPanics+1 {
		time.AfterFunc(restartPause, func() { a.r.send(a.self, &restartChild{child}) })
		return
	}
	supervisor.RestartChildren(child)
}

// rootSupervisor restarts a range's actor, however often it panics: the library's own supervision stops an actor for good after ten
// panics in ten seconds. A panic at its start is followed by restartPause.
type rootSupervisor struct{ r *Range }

// HandleFailure implements actor.SupervisorStrategy.
func (s rootSupervisor) HandleFailure(_ *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, message any) {
	pause := time.Duration(0)
	if atStart(message) {
		pause = restartPause
	}
	time.AfterFunc(pause, func() {
		if s.r.life.Err() == nil { // else its Stop may have been handled, and the library would bring it back to life
			supervisor.RestartChildren(child)
		}
	})
}

// atStart reports whether an actor that panicked on the message was starting: of a restart that had to wait for a child to stop, the
// message is the end of that child.
func atStart(message any) bool {
	switch message.(type) {
	case *actor.Started, *actor.Restart, *actor.Terminated:
		return true
	}
	return false
}

// laneNamed returns the lane of a lane's actor or of its connection, uuid.Nil for any other actor.
func laneNamed(pid *actor.PID) uuid.UUID {
	for part := range strings.SplitSeq(pid.GetId(), "/") {
		name, _, _ := strings.Cut(part, "$")
		if lane, err := uuid.Parse(name); err == nil {
			return lane
		}
	}
	return uuid.Nil
}

// addresses lists the actors of a range's lanes, so that a message goes straight to the lane and does not queue at the range's actor.
// That one alone changes the list.
type addresses struct {
	mu    sync.RWMutex
	lanes map[uuid.UUID]*actor.PID
}

// sendTo sends the message to the lane's actor. It never blocks. A lane that is not listed has left, or is about to be spawned: the
// range's actor takes the message then and knows which.
func (r *Range) sendTo(lane uuid.UUID, message any) {
	r.addresses.mu.RLock()
	defer r.addresses.mu.RUnlock()
	if pid, found := r.addresses.lanes[lane]; found {
		r.send(pid, message)
		return
	}
	r.sendRoot(&toLane{lane, message})
}

// sendListed is sendTo for the range's actor, which may read the list without the lock: a lane that is not listed has left.
func (r *Range) sendListed(lane uuid.UUID, message any) {
	if pid, found := r.addresses.lanes[lane]; found {
		r.send(pid, message)
	} else {
		refuseAwaited(message, lanes.ErrLaneNotFound)
	}
}

// clear begins an empty list with room for so many lanes.
func (a *addresses) clear(size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lanes = make(map[uuid.UUID]*actor.PID, size)
}

// has reports whether the lane is listed, for the range's actor.
func (a *addresses) has(lane uuid.UUID) bool {
	_, found := a.lanes[lane]
	return found
}

func (a *addresses) put(lane uuid.UUID, pid *actor.PID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lanes[lane] = pid
}

func (a *addresses) drop(lane uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.lanes, lane)
}

// props makes actors of a kind on the library's lock-free mailbox.
func (r *Range) props(kind string, producer actor.Producer) *actor.Props {
	metrics.FromZero(r.metrics.Restarts, kind)
	r.metrics.MailboxWait.WithLabelValues(kind) // the series is there before the first message is timed
	observer := mailboxObserver{r, r.metrics.MailboxDepth.WithLabelValues(kind)}
	return actor.PropsFromProducer(producer, actor.WithMailbox(actor.UnboundedLockfree(observer)), actor.WithDispatcher(dispatcher{}))
}

// mailboxObserver counts the messages that wait in the mailboxes of the actors of a kind, and refuses those that an actor has left
// there.
type mailboxObserver struct {
	r       *Range
	waiting prometheus.Gauge
}

// MessagePosted implements actor.MailboxMiddleware.
func (o mailboxObserver) MessagePosted(any) { o.waiting.Inc() }

// MessageReceived implements actor.MailboxMiddleware. It is called after the actor took the message, and after the library dropped
// it because the actor had stopped. It is not called for a message that panics: see guard.
func (o mailboxObserver) MessageReceived(message any) {
	o.waiting.Dec()
	if timed, ok := message.(*timedMessage); ok {
		message = timed.message
	}
	if m, ok := message.(awaited); ok && !m.isTaken() {
		o.r.refuseDropped(m)
	}
}

// MailboxStarted implements actor.MailboxMiddleware.
func (o mailboxObserver) MailboxStarted() {}

// MailboxEmpty implements actor.MailboxMiddleware.
func (o mailboxObserver) MailboxEmpty() {}

// awaited is a message that somebody waits for. The actor that takes it answers it in the end. One that an actor leaves in its mailbox,
// or that is sent to a lane that has left, is refused instead, by whoever finds it there.
type awaited interface {
	markTaken()
	isTaken() bool
	// Refuse answers whoever waits that the actor has not done it, and why. It does not block.
	Refuse(reason error)
}

// takenMark is embedded in awaited messages. Only the goroutine of the mailbox uses it.
type takenMark struct{ taken bool }

func (m *takenMark) markTaken()    { m.taken = true }
func (m *takenMark) isTaken() bool { return m.taken }

// refuseAwaited refuses the message if somebody waits for it.
func refuseAwaited(message any, reason error) {
	if m, ok := message.(awaited); ok {
		m.Refuse(reason)
	}
}

// refuseDropped answers what was in the mailbox of a lane when it stopped with its tree.
func (r *Range) refuseDropped(message awaited) {
	defer func() {
		if defect := recover(); defect != nil { // must not reach the library: it would bring the actor back to life
			r.log.Error().Str("panic", fmt.Sprint(defect)).Str("on", messageName(message)).Bytes("stack", debug.Stack()).
				Msg("a dropped message could not be refused")
		}
	}()
	message.Refuse(cmp.Or(context.Cause(r.life), error(lanes.ErrStarting)))
	r.log.Warn().Str("message_type", messageName(message)).Msg("a lane stopped before it took this message; it was refused")
}

// dispatcher runs mailboxes in goroutines, as the library does, on a stack that is large enough for most messages: growing it later
// would copy it twice, which is a quarter of what a sale costs up to the store.
type dispatcher struct{}

// Schedule implements actor.Dispatcher.
func (dispatcher) Schedule(processMessages func()) {
	go func() {
		growStack(0)
		processMessages()
	}()
}

// Throughput implements actor.Dispatcher: messages in a row before other goroutines have a turn.
func (dispatcher) Throughput() int { return 300 }

//go:noinline
func growStack(at int) byte {
	var room [4 << 10]byte
	return room[at]
}

// timedMessage is one message in timedShare, chosen at random, whose time in the mailbox is measured.
type timedMessage struct {
	message any
	sent    time.Time
}

const timedShare = 64

// send sends an actor of the tree a message. It never blocks and may be called from any goroutine.
func (r *Range) send(to *actor.PID, message any) {
	if rand.Uint32()%timedShare == 0 {
		message = &timedMessage{message, time.Now()}
	}
	r.system.Root.Send(to, message)
}

// received returns the message that the actor was sent. It measures timed ones and counts the actors that live.
func (r *Range) received(ctx actor.Context, kind string) any {
	switch m := ctx.Message().(type) {
	case *timedMessage:
		r.metrics.MailboxWait.WithLabelValues(kind).Observe(time.Since(m.sent).Seconds())
		return taken(m.message)
	case *actor.Started:
		r.live.add(kind, 1)
	case *actor.Restarting, *actor.Stopped:
		r.live.add(kind, -1)
	}
	return taken(ctx.Message())
}

// taken marks the message as taken by its actor, and returns it.
func taken(message any) any {
	if m, ok := message.(awaited); ok {
		m.markTaken()
	}
	return message
}

// guard is deferred by every Receive: it logs and counts a panic and panics again, so that the supervisor restarts the actor. An actor
// that is stopping must not panic: the library would bring it back to life. One with children goes on receiving while they stop:
// ended tells so, nil for an actor without children.
func (r *Range) guard(ctx actor.Context, kind string, ended *bool) {
	defect := recover()
	if defect == nil {
		return
	}
	message := ctx.Message()
	if timed, ok := message.(*timedMessage); ok {
		message = timed.message
	}
	r.logPanic(ctx.Self(), kind, messageName(message), defect)
	switch message.(type) {
	case *actor.Restarting, *actor.Stopping, *actor.Stopped:
		return
	}
	stopping := ended != nil && (*ended || r.life.Err() != nil) || r.delivery.IsClosed(ctx.Self())
	if stopping { // its Stop may wait in the mailbox already
		return
	}
	r.metrics.MailboxDepth.WithLabelValues(kind).Dec()
	panic(defect)
}

// guardFailure is deferred by every HandleFailure, which the library calls outside of Receive.
func (r *Range) guardFailure(self *actor.PID, kind string) {
	if defect := recover(); defect != nil {
		r.logPanic(self, kind, "Failure", defect)
		r.metrics.MailboxDepth.WithLabelValues(kind).Dec()
		panic(defect)
	}
}

func (r *Range) logPanic(self *actor.PID, kind, message string, defect any) {
	lane := laneNamed(self)
	r.metrics.Restarts.WithLabelValues(kind).Inc()
	r.restarts.add(kind, 1)
	r.panics.add(lane, kind, message, r.clock.Now())
	line := r.log.Error()
	if lane != uuid.Nil {
		line = line.Stringer("lane_id", lane)
	}
	line.Str("actor", self.GetId()).Str("kind", kind).Str("panic", fmt.Sprint(defect)).
		Str("on", message).Bytes("stack", debug.Stack()).Msg("an actor panicked")
}

// messageName names a message as the code does.
func messageName(message any) string {
	if q, ok := message.(*request); ok {
		return q.name()
	}
	name := fmt.Sprintf("%T", message)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// panicLog remembers the panics of the actors of each lane; those of the range's own actors under uuid.Nil.
type panicLog struct {
	mu    sync.Mutex
	lanes map[uuid.UUID]*panicHistory
}

type panicHistory struct {
	lanes.LaneRestarts
	recent []lanes.Instant // panics of the lane's own actor within panicTerm
}

func (p *panicLog) add(lane uuid.UUID, kind, message string, now lanes.Instant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lanes == nil {
		p.lanes = map[uuid.UUID]*panicHistory{}
	}
	h := p.lanes[lane]
	if h == nil {
		h = &panicHistory{}
		p.lanes[lane] = h
	}
	h.LaneRestarts = lanes.LaneRestarts{Restarts: h.Restarts + 1, Last: now.Wall, Kind: kind, Message: message}
	if kind != connectionKind {
		h.forgetOld(now)
		h.recent = append(h.recent, now)
	}
}

// recent returns how often the lane's actor panicked within panicTerm.
func (p *panicLog) recent(lane uuid.UUID, now lanes.Instant) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.lanes[lane]
	if h == nil {
		return 0
	}
	h.forgetOld(now)
	return len(h.recent)
}

func (h *panicHistory) forgetOld(now lanes.Instant) {
	h.recent = slices.DeleteFunc(h.recent, func(at lanes.Instant) bool { return now.Since(at) >= panicTerm })
}

func (p *panicLog) tooMany(lane uuid.UUID, now lanes.Instant) bool {
	return p.recent(lane, now) > maxPanics
}

// all returns the panics of each lane since the range started.
func (p *panicLog) all() map[uuid.UUID]lanes.LaneRestarts {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[uuid.UUID]lanes.LaneRestarts, len(p.lanes))
	for lane, h := range p.lanes {
		if lane != uuid.Nil {
			all[lane] = h.LaneRestarts
		}
	}
	return all
}

// forget drops the history of a lane that has left the layout.
func (p *panicLog) forget(lane uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lanes, lane)
}

// counters counts by kind.
type counters struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counters) add(kind string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[kind] += n
}

func (c *counters) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}
