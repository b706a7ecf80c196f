package actors

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"rangegate/lanes"
)

// Webhook makes the one attempt to deliver an event, and says what the integrator answered: its status is in the
// attempt, what it told a purchaseRequest in the answer. It returns within its own time-out, and when ctx ends.
type Webhook interface {
	Attempt(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer)
}

// eventsActor forwards the saved events of a range to its webhook. Each event is attempted once (see deliver). Per
// lane and per session they go in the order of the facts; across lanes, as many at a time as there are slots.
type eventsActor struct {
	of    *Range
	self  *actor.PID
	queue *eventQueue
	begun bool // the deliveries of an earlier life have ended
	out   int  // deliveries under way
}

// The messages of the events actor. of is the life that they belong to: after a panic it lives another.
type (
	announced struct{ events []lanes.Logged }
	begin     struct{ of *eventsActor }
	delivered struct {
		of     *eventsActor
		cursor uint64
	}
)

func newEventsActor(of *Range) *eventsActor {
	return &eventsActor{of: of, queue: newEventQueue()}
}

func (e *eventsActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		e.self = ctx.Self()
		e.start()
	case *begin:
		if m.of == e {
			e.begun = true
			e.take(e.of.committer.unattempted())
		}
	case *announced:
		e.take(m.events)
	case *delivered:
		if m.of == e {
			e.out--
			e.queue.done(m.cursor)
		}
	}
	e.deliverAll()
	e.of.eventsWaiting.Store(int64(e.queue.waits))
	e.of.oldestEvent.Store(e.queue.oldest())
}

// deliverAll delivers what may go, as long as there are slots.
func (e *eventsActor) deliverAll() {
	for e.out < e.of.settings().Slots && e.of.slots.TryAcquire(1) {
		event, any := e.queue.next()
		if !any {
			e.of.slots.Release(1)
			return
		}
		e.out++
		e.deliver(event)
	}
}

// start begins a life of the actor, once what an earlier one had under way is over.
func (e *eventsActor) start() {
	of, self := e.of, e.self
	go func() {
		if of.awaitDeliveries(context.Background()) == nil {
			of.send(self, &begin{e})
		}
	}()
}

// take takes saved events. Those that are final already are only told of; those that are announced before the actor
// has begun are among the unattempted then.
func (e *eventsActor) take(events []lanes.Logged) {
	for _, event := range events {
		switch {
		case event.Attempt != nil:
			e.of.told(event)
		case e.of.settings().Webhook == nil: // there was one when it happened
			e.of.record(event, notSent(event.Event))
		case e.begun:
			e.queue.add(event)
		}
	}
	for e.queue.waits > e.of.settings().Queue {
		e.drop()
	}
}

// drop gives up on the oldest event that waits: the receiver has been away or slow for long.
func (e *eventsActor) drop() {
	if event, any := e.queue.drop(); any {
		e.of.record(event, lanes.Attempt{
			At: e.of.clock.Now().Wall, Error: fmt.Sprintf("%s: more than %d events waited", lanes.Dropped, e.of.settings().Queue),
		})
	}
}

// deliver makes the one attempt, in a goroutine that has a slot and outlives a panic of the actor. The attempt is
// saved as interrupted before it is made, and again when its outcome is known.
func (e *eventsActor) deliver(event lanes.Logged) {
	of, self := e.of, e.self
	go func() {
		if of.mark(event) {
			made, _ := of.attempt(event.Event)
			of.record(event, made)
		}
		of.slots.Release(1)
		of.send(self, &delivered{e, event.Cursor})
	}()
}
