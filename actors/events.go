package actors

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

const (
	markRetry = time.Second // before an attempt whose mark could not be saved is tried again
	// maxDeliverySlots is the size of the semaphore; the settings say how many deliveries may be under way.
	maxDeliverySlots = 1 << 30
)

// Webhook makes one attempt to deliver an event of the log and returns what the integrator answered: its status in the attempt, and in the answer
// its reply to a purchaseRequest and when it wants to be tried again. late says that later events of the lane may have been sent before. It
// returns within its own time-out, and when ctx ends. Webhooks are comparable: the same value is the same receiver.
type Webhook interface {
	Attempt(ctx context.Context, event lanes.Logged, late bool) (lanes.Attempt, lanes.Answer)
}

// eventsActor forwards the saved events of a range to one of its webhooks. Each event is attempted once (see deliver), again if that failed and the
// range has a lanes.RetryPolicy, and once more each time that somebody asks for it (resend.go). Per lane and per session they go in the
// order of the facts, but for those that are sent again; across lanes, as many at a time as there are slots.
type eventsActor struct {
	r       *Range
	box     *outbox
	self    *actor.PID
	queue   *eventQueue
	begun   bool // the deliveries of an earlier life have ended
	running int  // deliveries
	again   resendQueue
	alarm   *time.Timer // of alarmAt
	alarmAt time.Time   // when something is due or to be released next; zero for never
}

// The messages of the events actor. life is the instance that a message belongs to: one of an earlier life is stale.
type (
	announced struct{ events []lanes.Logged }
	begin     struct{ life *eventsActor }
	delivered struct {
		life   *eventsActor
		cursor uint64
		holds  bool // it awaits its retry, and later events of its lane wait for it
	}
	ring struct{ life *eventsActor } // the alarm
)

func newEventsActor(box *outbox) *eventsActor {
	return &eventsActor{r: box.r, box: box, queue: newEventQueue(), again: resendQueue{known: map[uint64]struct{}{}}}
}

// Receive takes one message, and then starts as many deliveries as may run.
func (e *eventsActor) Receive(ctx actor.Context) {
	defer e.r.guard(ctx, eventsKind, nil)
	switch m := e.r.received(ctx, eventsKind).(type) {
	case *actor.Started:
		e.self = ctx.Self()
		e.box.actor.Store(e.self) // before begin reads what is unattempted: what is announced later comes here
		e.start()
	case *actor.Stopping, *actor.Restarting:
		if e.alarm != nil {
			e.alarm.Stop()
		}
		return
	case *begin:
		if m.life == e {
			e.begun = true
			for cursor, held := range e.box.retries.holding() {
				e.queue.hold(cursor, held.lane, held.session)
			}
			e.add(e.box.unattempted())
		}
	case *announced:
		e.add(m.events)
	case *delivered:
		if m.life == e {
			e.running--
			if !m.holds {
				e.queue.done(m.cursor)
			}
		}
	case *ring:
		if m.life == e {
			e.alarmAt = time.Time{}
		}
	case *resume:
		if m.life == e {
			e.again.paused = false
		}
	case *resent:
		if m.life == e {
			e.again.finish(m.batch)
			for _, cursor := range m.settled {
				e.queue.done(cursor)
			}
		}
	}
	for _, cursor := range e.box.retries.release(e.r.clock.Now().Wall) {
		e.queue.done(cursor)
	}
	e.deliverAll()
	e.resend()
	e.setAlarm()
	e.box.waiting.Store(int64(e.queue.waiting))
	e.box.oldest.Store(e.queue.oldest())
	e.box.redeliveries.Store(int64(len(e.again.known)))
}

// start begins a life of the actor once the deliveries of an earlier one have ended.
func (e *eventsActor) start() {
	r, self := e.r, e.self
	go func() {
		if e.box.awaitDeliveries(context.Background()) == nil {
			r.send(self, &begin{e})
		}
	}()
}

// add queues saved events. Those that are final already are only logged; those that come before the actor has begun are among the
// unattempted then.
func (e *eventsActor) add(events []lanes.Logged) {
	why := e.box.whyNotSent()
	for _, event := range events {
		switch {
		case !event.Pending():
			e.r.finish(event)
		case why != "": // there was a webhook when it happened, or when somebody asked for it
			e.box.recordAttempt(event.Reopened(), notSent(event.Event, why))
		case e.begun && event.Again:
			e.again.add(event)
		case e.begun:
			e.queue.add(event)
		}
	}
	limit, final := e.box.receiver().Queue, lanes.Attempt{At: e.r.clock.Now().Wall}
	if final.Error = fmt.Sprintf("%s: more than %d events waited", lanes.Dropped, limit); why != "" {
		limit, final.Error = 0, why
	}
	for e.queue.waiting > limit {
		if event, found := e.queue.dropOldest(); found {
			event.Attempt = new(final)
			e.box.saveOutcomes([]lanes.Logged{e.r.finish(e.box.decide(event, lanes.Answer{}))})
		}
	}
}

// deliverAll delivers what may go, as long as there are slots.
func (e *eventsActor) deliverAll() {
	for e.running < e.box.receiver().Slots && e.box.slots.TryAcquire(1) {
		event, found := e.queue.next()
		if !found {
			e.box.slots.Release(1)
			return
		}
		e.running++
		e.deliver(event)
	}
}

// deliver makes the first attempt, in a goroutine that has a slot and outlives a panic of the actor. The attempt is saved as
// interrupted before it is made, and again when its outcome is known. Its failure, unless the receiver refuses the event, keeps the later
// events of the lane waiting until the schedule of retries releases them.
func (e *eventsActor) deliver(event lanes.Logged) {
	r, box, self := e.r, e.box, e.self
	go func() {
		r.underWay.begin(event)
		if box.markAttempted(event) {
			attempt, answer := box.attempt(box.receiver(), event, false)
			event.Attempt = &attempt
			event = r.finish(box.decide(event, answer))
			box.saveOutcomes([]lanes.Logged{event})
		} else {
			r.underWay.end(event)
		}
		box.slots.Release(1)
		r.send(self, &delivered{e, event.Cursor, event.AwaitsRetry() && !event.HoldsUntil().IsZero()})
	}()
}

// setAlarm has the actor look again when an event is due, or when those behind one need not wait any more. A batch that is under way, or was a
// moment ago, wakes it by itself.
func (e *eventsActor) setAlarm() {
	at := e.box.retries.nextRelease()
	if due := e.box.retries.nextDue(); e.begun && !e.again.running && !e.again.paused && !due.IsZero() && (at.IsZero() || due.Before(at)) {
		at = due
	}
	if at.Equal(e.alarmAt) {
		return
	}
	if e.alarm != nil {
		e.alarm.Stop()
	}
	if e.alarmAt = at; !at.IsZero() {
		r := e.r
		e.alarm = time.AfterFunc(at.Sub(r.clock.Now().Wall), func() { r.send(e.self, &ring{e}) })
	}
}

// attemptsUnderWay are the events whose attempt is saved as interrupted because it is being made, until its outcome is durable. The zero
// value is empty.
type attemptsUnderWay struct {
	mu     sync.Mutex
	events map[attemptKey]struct{}
	ended  uint64 // so far
}

// attemptKey is an event and the name of the webhook that it goes to.
type attemptKey struct {
	event   uuid.UUID
	webhook string
}

func keyOf(event lanes.Logged) attemptKey { return attemptKey{event.Event.ID, event.Webhook} }

// begin is called before the mark is saved, end once the outcome is durable or the mark is known not to be.
func (a *attemptsUnderWay) begin(event lanes.Logged) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.events == nil {
		a.events = map[attemptKey]struct{}{}
	}
	a.events[keyOf(event)] = struct{}{}
}

func (a *attemptsUnderWay) end(event lanes.Logged) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, found := a.events[keyOf(event)]; found {
		delete(a.events, keyOf(event))
		a.ended++
	}
}

// abandon ends every attempt of the event, of which nobody will see the end.
func (a *attemptsUnderWay) abandon(event uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.events {
		if key.event == event {
			delete(a.events, key)
			a.ended++
		}
	}
}

// settle ends those that a write with these events has ended: the outcome is saved, or the mark is not.
func (a *attemptsUnderWay) settle(events []lanes.Logged, outcome commit.Outcome) {
	for _, event := range events {
		if event.Attempt == nil || outcome == commit.Unresolved {
			continue
		}
		if mark := event.Attempt.Error == lanes.Interrupted; mark != (outcome == commit.Saved) {
			a.end(event)
		}
	}
}

// endedCount is to be read before the events are read that are to be shown.
func (a *attemptsUnderWay) endedCount() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// show tells the attempts that are being made from those that were interrupted. stale is true if one of the latter may have ended since
// before, while the events were being read.
func (a *attemptsUnderWay) show(events []lanes.Logged, before uint64) (stale bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range events {
		if events[i].Attempt == nil || events[i].Attempt.Error != lanes.Interrupted {
			continue
		}
		if _, found := a.events[keyOf(events[i])]; !found {
			stale = a.ended != before || stale
			continue
		}
		attempt := *events[i].Attempt
		attempt.Error, attempt.RetryAt = lanes.UnderWay, time.Time{}
		events[i].Attempt = &attempt
	}
	return stale
}
