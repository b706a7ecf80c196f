package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"rangegate/lanes"
)

const (
	markRetry = time.Second // before an attempt whose mark could not be saved is tried again
	// maxDeliverySlots is the size of the semaphore; the settings say how many deliveries may be under way.
	maxDeliverySlots = 1 << 30
)

// Actor sends the saved events of a range to one of its webhooks, in the order that doc.go tells. The range
// runs it as an actor, one life of it after the other: Receive is called by one goroutine at a time. It may
// panic, and is replaced by a new one then.
type Actor struct {
	d       *Delivery
	box     *outbox
	self    *actor.PID
	queue   *eventQueue
	begun   bool // the deliveries of an earlier life have ended
	running int  // deliveries
	again   resendQueue
	alarm   *time.Timer // of alarmAt
	alarmAt time.Time   // when something is due or to be released next; zero for never
}

// The messages of the events actor. life is the instance that a message belongs to: one of an earlier life is
// stale.
type (
	announced struct{ events []lanes.Logged }
	begin     struct{ life *Actor }
	delivered struct {
		life   *Actor
		cursor uint64
		holds  bool // it awaits its retry, and later events of its lane wait for it
	}
	ring  struct{ life *Actor } // the alarm
	rearm struct{}              // the clocks do not agree with the alarm any more
)

func (b *outbox) newActor() *Actor {
	return &Actor{d: b.d, box: b, queue: newEventQueue(), again: resendQueue{known: map[uint64]bool{}}}
}

// Webhook returns the name of its webhook.
func (e *Actor) Webhook() string { return e.box.receiver().Name }

// Receive takes one message, and then starts as many deliveries as may run.
func (e *Actor) Receive(self *actor.PID, message any) {
	switch m := message.(type) {
	case *actor.Started:
		e.self = self
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
	case *rearm:
		e.alarmAt = time.Time{}
	case *resume:
		if m.life == e {
			e.again.paused = false
		}
	case *resent:
		if m.life == e {
			e.again.finish(m.batch)
		}
	case *passable:
		for _, cursor := range m.cursors {
			e.queue.done(cursor)
		}
	}
	for _, cursor := range e.box.retries.release(e.d.Clock.Now().Wall) {
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
func (e *Actor) start() {
	d, self := e.d, e.self
	go func() {
		if e.box.awaitDeliveries(context.Background()) == nil {
			d.Send(self, &begin{e})
		}
	}()
}

// add queues saved events. Those that are final already are only logged; those that come before the actor has
// begun are among the unattempted then.
func (e *Actor) add(events []lanes.Logged) {
	why := e.box.whyNotSent()
	for _, event := range events {
		switch {
		case !event.Pending():
			e.d.finish(event)
		case why != "": // there was a webhook when it happened, or when somebody asked for it
			e.box.recordAttempt(event.Reopened(), notSent(event.Event, why))
		case e.begun && event.Again:
			e.again.add(event)
		case e.begun:
			e.queue.add(event)
		}
	}
	limit, final := e.box.receiver().Queue, lanes.Attempt{At: e.d.Clock.Now().Wall}
	if final.Error = fmt.Sprintf("%s: more than %d events waited", lanes.Dropped, limit); why != "" {
		limit, final.Error = 0, why
	}
	for e.queue.waiting > limit {
		if event, found := e.queue.dropOldest(); found {
			if why == "" {
				e.box.dropped.Add(1)
			}
			event.Attempt = new(final)
			e.box.saveOutcomes([]lanes.Logged{e.d.finish(e.box.decide(event, lanes.Answer{}))})
		}
	}
}

// deliverAll delivers what may go, as long as there are slots.
func (e *Actor) deliverAll() {
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

// deliver makes the first attempt, in a goroutine that has a slot and outlives a panic of the actor. The
// attempt is saved as interrupted before it is made, and again when its outcome is known. Its failure, unless
// the receiver refuses the event, keeps the later events of the lane waiting until the schedule of retries
// releases them.
func (e *Actor) deliver(event lanes.Logged) {
	d, box, self := e.d, e.box, e.self
	go func() {
		d.underWay.begin(event)
		switch isMarked := box.markAttempted(event); {
		case !isMarked:
			d.underWay.end(event)
		case d.attempting.Err() != nil: // the range stops, and it was not sent: the next start does that
			box.saveOutcomes([]lanes.Logged{event})
		default:
			attempt, answer := box.attempt(d.attempting, box.receiver(), event, false)
			event.Attempt = &attempt
			event = d.finish(box.decide(event, answer))
			if event.AwaitsRetry() && !event.HoldsUntil().IsZero() {
				box.retries.failed(event)
			}
			box.saveOutcomes([]lanes.Logged{event})
		}
		box.slots.Release(1)
		d.Send(self, &delivered{e, event.Cursor, event.AwaitsRetry() && !event.HoldsUntil().IsZero()})
	}()
}

// setAlarm has the actor look again when an event is due, or when those behind one need not wait any more. A
// batch that is under way, or was a moment ago, wakes it by itself.
func (e *Actor) setAlarm() {
	at := e.box.retries.nextRelease()
	if due := e.box.retries.nextDue(); e.begun && !e.again.running && !e.again.paused && !due.IsZero() &&
		(at.IsZero() || due.Before(at)) {
		at = due
	}
	if at.Equal(e.alarmAt) {
		return
	}
	if e.alarm != nil {
		e.alarm.Stop()
	}
	if e.alarmAt = at; !at.IsZero() {
		d := e.d
		e.alarm = time.AfterFunc(at.Sub(d.Clock.Now().Wall), func() { d.Send(e.self, &ring{e}) })
	}
}
