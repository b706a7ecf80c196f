package actors

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"rangegate/lanes"
)

// Webhook makes the one attempt to deliver an event. It returns within its own time-out.
type Webhook interface {
	Attempt(ctx context.Context, event lanes.Event) lanes.Attempt
}

const markRetry = time.Second // before an attempt whose mark could not be saved is tried again

// eventsActor forwards the saved events of a range to its webhook. Each event is attempted once: the attempt is saved
// as interrupted before it is made, and again when its outcome is known. Per lane and per session they go in the
// order of the facts; across lanes, as many at a time as slots.
type eventsActor struct {
	of    *Range
	self  *actor.PID
	queue *eventQueue
	slots int
	free  int
}

type (
	announced struct{ events []lanes.Logged }
	marked    struct {
		event lanes.Logged
		saved bool
	}
	attempted struct{ event lanes.Logged }
	retryMark struct{ event lanes.Logged }
)

func newEventsActor(of *Range, slots int) *eventsActor {
	return &eventsActor{of: of, queue: newEventQueue(), slots: slots, free: slots}
}

func (e *eventsActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		e.self = ctx.Self()
		e.announced(e.of.committer.unattempted())
	case *announced:
		e.announced(m.events)
	case *marked:
		if m.saved {
			e.attempt(m.event)
		} else {
			time.AfterFunc(markRetry, func() { e.of.send(e.self, &retryMark{m.event}) })
		}
	case *retryMark:
		e.mark(m.event)
	case *attempted:
		e.free = min(e.free+1, e.slots)
		e.queue.done(m.event.Cursor)
		e.record(m.event)
	}
	for e.free > 0 {
		event, any := e.queue.next()
		if !any {
			return
		}
		e.free--
		e.mark(event)
	}
}

// announced takes saved events. Those that are final already are only told of.
func (e *eventsActor) announced(events []lanes.Logged) {
	for _, event := range events {
		if event.Attempt != nil {
			e.told(event)
			continue
		}
		e.queue.add(event)
	}
}

// mark saves that the event is being attempted. An event that is not pending any more was attempted in an earlier
// life of this actor.
func (e *eventsActor) mark(event lanes.Logged) {
	if !e.of.committer.isPending(event.Cursor) {
		e.free++
		e.queue.done(event.Cursor)
		return
	}
	event.Attempt = &lanes.Attempt{At: e.of.clock.Now().Wall, Error: lanes.Interrupted}
	e.of.committer.save(&write{
		events: []lanes.Logged{event},
		told: func(became outcome) {
			if became != standing { // not known yet: it will be
				e.of.send(e.self, &marked{event, became == saved})
			}
		},
	})
}

// attempt makes the one delivery, in a goroutine of its own.
func (e *eventsActor) attempt(event lanes.Logged) {
	of, self := e.of, e.self
	of.attempts.Go(func() {
		attempt := of.webhook.Attempt(of.background, event.Event)
		event.Attempt = &attempt
		of.send(self, &attempted{event})
	})
}

// record saves the outcome, whenever the store takes it.
func (e *eventsActor) record(event lanes.Logged) {
	e.of.committer.save(&write{events: []lanes.Logged{event}, stands: true, told: func(outcome) {}})
	e.told(event)
}

func (e *eventsActor) told(event lanes.Logged) {
	outcome := eventOutcome(*event.Attempt)
	e.of.metrics.events.WithLabelValues(string(event.Event.Kind), outcome).Inc()
	e.of.log.Info().Str("event", string(event.Event.Kind)).Stringer("lane", event.Event.Lane).
		Stringer("session", event.Event.Session).Uint64("cursor", event.Cursor).Str("outcome", outcome).
		Int("status", event.Attempt.Status).Dur("took", event.Attempt.Duration).Msg("event")
}

// unattempted is the events that are saved and were not attempted, oldest first.
func (c *committer) unattempted() []lanes.Logged {
	c.mu.Lock()
	defer c.mu.Unlock()
	events := make([]lanes.Logged, 0, len(c.pending))
	for _, event := range c.pending {
		events = append(events, event)
	}
	slices.SortFunc(events, func(a, b lanes.Logged) int { return cmp.Compare(a.Cursor, b.Cursor) })
	return events
}

func (c *committer) isPending(cursor uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, pending := c.pending[cursor]
	return pending
}
