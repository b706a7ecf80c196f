package actors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

const (
	markRetry = time.Second // before an attempt whose mark could not be saved is tried again
	// maxDeliverySlots is the size of the semaphore; the settings say how many deliveries may be under way.
	maxDeliverySlots = 1 << 30
)

// Webhook makes one attempt to deliver an event and returns what the integrator answered: its status in the attempt, and in the answer its
// reply to a purchaseRequest and when it wants to be tried again. late says that later events of the lane may have been sent before. It
// returns within its own time-out, and when ctx ends. Webhooks are comparable: the same value is the same receiver.
type Webhook interface {
	Attempt(ctx context.Context, event lanes.Event, late bool) (lanes.Attempt, lanes.Answer)
}

// eventsActor forwards the saved events of a range to its webhook. Each event is attempted once (see deliver), again if that failed and the
// range has a lanes.RetryPolicy, and once more each time that somebody asks for it (resend.go). Per lane and per session they go in the
// order of the facts, but for those that are sent again; across lanes, as many at a time as there are slots.
type eventsActor struct {
	r       *Range
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
		failed bool // it awaits its retry, and later events of its lane wait for it
	}
	ring struct{ life *eventsActor } // the alarm
)

func newEventsActor(r *Range) *eventsActor {
	return &eventsActor{r: r, queue: newEventQueue(), again: resendQueue{known: map[uint64]struct{}{}}}
}

// Receive takes one message, and then starts as many deliveries as may run.
func (e *eventsActor) Receive(ctx actor.Context) {
	defer e.r.guard(ctx, eventsKind, nil)
	switch m := e.r.received(ctx, eventsKind).(type) {
	case *actor.Started:
		e.self = ctx.Self()
		e.r.events.Store(e.self) // before begin reads what is unattempted: what is announced later comes here
		e.start()
	case *actor.Stopping, *actor.Restarting:
		if e.alarm != nil {
			e.alarm.Stop()
		}
		return
	case *begin:
		if m.life == e {
			e.begun = true
			for cursor, held := range e.r.retries.holding() {
				e.queue.hold(cursor, held.lane, held.session)
			}
			e.add(e.r.committer.Unattempted())
		}
	case *announced:
		e.add(m.events)
	case *delivered:
		if m.life == e {
			e.running--
			if !m.failed {
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
	for _, cursor := range e.r.retries.release(e.r.clock.Now().Wall) {
		e.queue.done(cursor)
	}
	e.deliverAll()
	e.resend()
	e.setAlarm()
	e.r.eventsWaiting.Store(int64(e.queue.waiting))
	e.r.oldestEvent.Store(e.queue.oldest())
	e.r.redeliveries.Store(int64(len(e.again.known)))
}

// start begins a life of the actor once the deliveries of an earlier one have ended.
func (e *eventsActor) start() {
	r, self := e.r, e.self
	go func() {
		if r.awaitDeliveries(context.Background()) == nil {
			r.send(self, &begin{e})
		}
	}()
}

// add queues saved events. Those that are final already are only logged; those that come before the actor has begun are among the
// unattempted then.
func (e *eventsActor) add(events []lanes.Logged) {
	for _, event := range events {
		why := e.r.whyNotSent()
		switch {
		case !event.Pending():
			e.r.finish(event)
		case why != "": // there was a webhook when it happened, or when somebody asked for it
			e.r.recordAttempt(event.Reopened(), notSent(event.Event, why))
		case e.begun && event.Again:
			e.again.add(event)
		case e.begun:
			e.queue.add(event)
		}
	}
	for limit := e.r.settings().Queue; e.queue.waiting > limit; {
		if event, found := e.queue.dropOldest(); found {
			event.Attempt = &lanes.Attempt{At: e.r.clock.Now().Wall, Error: fmt.Sprintf("%s: more than %d events waited", lanes.Dropped, limit)}
			e.r.saveOutcomes([]lanes.Logged{e.r.finish(e.r.decide(event, lanes.Answer{}))})
		}
	}
}

// deliverAll delivers what may go, as long as there are slots.
func (e *eventsActor) deliverAll() {
	for e.running < e.r.settings().Slots && e.r.deliverySlots.TryAcquire(1) {
		event, found := e.queue.next()
		if !found {
			e.r.deliverySlots.Release(1)
			return
		}
		e.running++
		e.deliver(event)
	}
}

// deliver makes the first attempt, in a goroutine that has a slot and outlives a panic of the actor. The attempt is saved as
// interrupted before it is made, and again when its outcome is known. Its failure keeps the later events of the lane waiting, until the
// schedule of retries releases them.
func (e *eventsActor) deliver(event lanes.Logged) {
	r, self := e.r, e.self
	go func() {
		r.underWay.begin(event.Event.ID)
		if r.markAttempted(event) {
			attempt, answer := r.attempt(event.Event, false)
			event.Attempt = &attempt
			event = r.finish(r.decide(event, answer))
			r.saveOutcomes([]lanes.Logged{event})
		} else {
			r.underWay.end(event.Event.ID)
		}
		r.deliverySlots.Release(1)
		r.send(self, &delivered{e, event.Cursor, event.AwaitsRetry()})
	}()
}

// setAlarm has the actor look again when an event is due, or when those behind one need not wait any more. A batch that is under way, or was a
// moment ago, wakes it by itself.
func (e *eventsActor) setAlarm() {
	at := e.r.retries.nextRelease()
	if due := e.r.retries.nextDue(); e.begun && !e.again.running && !e.again.paused && !due.IsZero() && (at.IsZero() || due.Before(at)) {
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

// decide returns the event with what follows from its newest attempt.
func (r *Range) decide(event lanes.Logged, answer lanes.Answer) lanes.Logged {
	attempt := r.settings().Retry.Decide(event, r.clock.Now().Wall, answer.RetryAfter, rand.Float64())
	if !attempt.RetryAt.IsZero() && r.retries.count() >= maxRetries {
		attempt.RetryAt, attempt.GivenUp = time.Time{}, true
	}
	if attempt.GivenUp {
		r.metrics.GivenUp.Inc()
	}
	event.Attempt = &attempt
	return event
}

// goneWebhook is a webhook that has answered 410: it gets no events until ResumeDeliveries, or until the range has another one.
type goneWebhook struct{ Webhook }

// whyNotSent returns why no event is sent now, the error of its attempt; empty if they are.
func (r *Range) whyNotSent() string {
	webhook := r.settings().Webhook
	if webhook == nil {
		return lanes.NoWebhook
	}
	if gone := r.gone.Load(); gone != nil && gone.Webhook == webhook {
		return lanes.WebhookGone
	}
	return ""
}

// ResumeDeliveries has the webhooks called again that have answered 410, because their operator has looked at the configuration.
func (g *Gateway) ResumeDeliveries() {
	for _, r := range g.running() {
		if r.gone.Swap(nil) != nil {
			r.log.Info().Msg("the webhook that has answered 410 is called again")
			r.sendEvents(&announced{})
		}
	}
}

// announce sends saved events to the events actor, except purchases, whose attempt runPurchase makes. Before that actor has started
// there is no need to: it begins with what is unattempted.
func (r *Range) announce(events []lanes.Logged) {
	mine := slices.DeleteFunc(slices.Clone(events), func(e lanes.Logged) bool {
		return e.Attempt != nil && e.Attempt.Error == lanes.Interrupted
	})
	if len(mine) > 0 {
		r.sendEvents(&announced{mine})
	}
}

func (r *Range) sendEvents(message any) {
	if events := r.events.Load(); events != nil {
		r.send(events, message)
	}
}

// awaitDeliveries waits until no delivery is under way, or ctx ends.
func (r *Range) awaitDeliveries(ctx context.Context) error {
	return awaitFree(ctx, r.deliverySlots, maxDeliverySlots)
}

// awaitFree waits until all slots are free, or ctx ends.
func awaitFree(ctx context.Context, slots *semaphore.Weighted, n int64) error {
	err := slots.Acquire(ctx, n)
	if err == nil {
		slots.Release(n)
	}
	return err
}

// markAttempted saves that the event is being attempted, as soon as the store takes it. It returns false for an event that needs no
// attempt any more, and when the range stops first.
func (r *Range) markAttempted(event lanes.Logged) bool {
	for r.committer.IsUnattempted(event.Cursor) {
		now := r.clock.Now().Wall
		event.Attempt = &lanes.Attempt{At: now, Error: lanes.Interrupted}
		event.Attempt = new(r.settings().Retry.Decide(event, now, 0, 0)) // a crash leaves it so
		result := make(chan commit.Outcome, 1)
		r.committer.Save(&commit.Write{Events: []lanes.Logged{event}, Trace: event.Trace, Done: func(outcome commit.Outcome) {
			if outcome != commit.Unresolved { // its outcome follows
				result <- outcome
			}
		}})
		select {
		case outcome := <-result:
			if outcome == commit.Saved {
				return true
			}
		case <-r.life.Done():
			return false
		}
		if !r.sleep(markRetry) {
			return false
		}
	}
	return false
}

// attempt makes the attempt. A webhook that panics costs only this event. Where events are tried again, one that is gone is not called any
// more; as the answer to a purchase 410 decides that alone.
func (r *Range) attempt(event lanes.Event, late bool) (attempt lanes.Attempt, answer lanes.Answer) {
	began := r.clock.Now()
	defer func() {
		if defect := recover(); defect != nil {
			r.log.Error().Stringer("lane_id", event.Lane).Stringer("session_id", event.Session).Stringer("event_id", event.ID).
				Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).Msg("the webhook panicked")
			attempt = lanes.Attempt{At: began.Wall, Error: lanes.Interrupted + ": a defect of the gateway"}
		}
	}()
	settings := r.settings()
	if why := r.whyNotSent(); why != "" { // they were sent when it happened
		return notSent(event, why), lanes.Answer{}
	}
	attempt, answer = settings.Webhook.Attempt(r.life, event, late)
	if attempt.Gone() && settings.Retry.Enabled() && event.Kind != lanes.PurchaseRequest {
		if before := r.gone.Swap(&goneWebhook{settings.Webhook}); before == nil || before.Webhook != settings.Webhook {
			r.log.Error().Stringer("event_id", event.ID).Msg("the webhook has answered 410: no event is sent before the configuration is reloaded")
		}
	}
	return attempt, answer
}

// recordAttempt saves the attempt of an event that is final, whenever the store takes it.
func (r *Range) recordAttempt(event lanes.Logged, attempt lanes.Attempt) {
	event.Attempt = &attempt
	r.saveOutcomes([]lanes.Logged{r.finish(event)})
}

// saveOutcomes saves what came of attempts, whenever the store takes it. Those that await their retry are scheduled then.
func (r *Range) saveOutcomes(events []lanes.Logged) {
	if len(events) == 0 {
		return
	}
	w := &commit.Write{Events: events, MustSave: true}
	if len(events) == 1 {
		w.Trace = events[0].Trace
	}
	w.Done = func(outcome commit.Outcome) {
		if outcome != commit.Saved {
			return
		}
		scheduled := false
		for _, event := range events {
			r.underWay.end(event.Event.ID)
			if event.AwaitsRetry() {
				r.retries.add(event, r.clock.Now().Wall)
				scheduled = true
			}
		}
		if scheduled {
			r.sendEvents(&announced{})
		}
	}
	r.committer.Save(w)
}

// finish counts and logs what came of the first attempt of an event, or of one that somebody asked for, and returns the event.
func (r *Range) finish(event lanes.Logged) lanes.Logged {
	outcome := event.Attempt.Outcome()
	if len(event.Earlier) > 0 {
		r.metrics.Redelivered.WithLabelValues(outcome).Inc()
	} else {
		r.metrics.Events.WithLabelValues(string(event.Event.Kind), outcome).Inc()
	}
	r.logOutcome(event)
	return event
}

func (r *Range) logOutcome(event lanes.Logged) {
	attempt := event.Attempt
	line := traced(r.log.Info(), event.Trace).Str("event", string(event.Event.Kind)).Stringer("event_id", event.Event.ID).
		Stringer("lane_id", event.Event.Lane).Stringer("session_id", event.Event.Session).Uint64("cursor", event.Cursor).
		Str("outcome", attempt.Outcome()).Int("status", attempt.Status).Dur("duration_ms", attempt.Duration)
	if event.AwaitsRetry() {
		line = line.Time("retry_at", attempt.RetryAt)
	}
	if attempt.GivenUp {
		line = line.Bool("given_up", true)
	}
	line.Msg("event")
}

// logged is the event as it enters the log: unattempted, or final when nothing is sent. A purchase is sent at once by whoever
// asked for it. trace is that of the request that caused it.
func (r *Range) logged(event lanes.Event, trace string) lanes.Logged {
	logged := lanes.Logged{Event: event, Trace: trace}
	switch why := r.whyNotSent(); {
	case why != "":
		attempt := notSent(event, why)
		logged.Attempt = &attempt
	case event.Kind == lanes.PurchaseRequest:
		r.underWay.begin(event.ID)
		logged.Attempt = &lanes.Attempt{At: event.At, Error: lanes.Interrupted}
	}
	return logged
}

func notSent(event lanes.Event, why string) lanes.Attempt {
	return lanes.Attempt{At: event.At, Error: why}
}

// attemptsUnderWay are the events whose attempt is saved as interrupted because it is being made, until its outcome is durable. The zero
// value is empty.
type attemptsUnderWay struct {
	mu     sync.Mutex
	events map[uuid.UUID]struct{}
	ended  uint64 // so far
}

// begin is called before the mark is saved, end once the outcome is durable or the mark is known not to be.
func (a *attemptsUnderWay) begin(event uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.events == nil {
		a.events = map[uuid.UUID]struct{}{}
	}
	a.events[event] = struct{}{}
}

func (a *attemptsUnderWay) end(event uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, found := a.events[event]; found {
		delete(a.events, event)
		a.ended++
	}
}

// settle ends those that a write with these events has ended: the outcome is saved, or the mark is not.
func (a *attemptsUnderWay) settle(events []lanes.Logged, outcome commit.Outcome) {
	for _, event := range events {
		if event.Attempt == nil || outcome == commit.Unresolved {
			continue
		}
		if mark := event.Attempt.Error == lanes.Interrupted; mark != (outcome == commit.Saved) {
			a.end(event.Event.ID)
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
		if _, found := a.events[events[i].Event.ID]; !found {
			stale = a.ended != before || stale
			continue
		}
		attempt := *events[i].Attempt
		attempt.Error, attempt.RetryAt = lanes.UnderWay, time.Time{}
		events[i].Attempt = &attempt
	}
	return stale
}
