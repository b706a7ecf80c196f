package delivery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"rangegate/actors/commit"
	"rangegate/actors/logline"
	"rangegate/lanes"
)

// outbox is what a range sends to one of its webhooks. Its slots, its schedule of retries and its actor,
// which has the queue, are of no other one: a webhook that hangs holds up no other. It outlives its actor. It
// also outlives its webhook: what still waits when the configuration does not have the webhook any more is
// recorded as not sent.
type outbox struct {
	d       *Delivery
	actor   atomic.Pointer[actor.PID]
	slots   *semaphore.Weighted // of deliveries
	retries *retrySchedule
	gone    atomic.Pointer[goneWebhook]
	resumes atomic.Uint64 // calls of Resume

	// For the range's health.
	waiting      atomic.Int64 // events that wait for their delivery
	redeliveries atomic.Int64 // events that somebody wants sent again
	// when the oldest event happened that waits for its delivery; nil when none waits
	oldest           atomic.Pointer[time.Time]
	givenUp, dropped atomic.Uint64 // see lanes.LostEvents

	failuresMu sync.Mutex
	failures   lanes.Failing
}

// newOutbox begins with those of the events that were loaded.
func (d *Delivery) newOutbox(pending []lanes.Logged) *outbox {
	return &outbox{
		d: d, slots: semaphore.NewWeighted(maxDeliverySlots),
		retries: newRetrySchedule(pending, d.Clock.Now().Wall),
	}
}

// receiver returns the webhook as it is configured now; of one that was taken out it has only the name.
func (b *outbox) receiver() *Receiver {
	routes := *b.d.outboxes.Load()
	return &routes[slices.IndexFunc(routes, func(to route) bool { return to.box == b })].receiver
}

func (b *outbox) send(message any) {
	if events := b.actor.Load(); events != nil {
		b.d.Send(events, message)
	}
}

// unattempted returns the saved events that are not attempted yet, or that somebody wants sent again. Oldest
// first.
func (b *outbox) unattempted() []lanes.Logged {
	return slices.DeleteFunc(b.d.Committer.Unattempted(), func(e lanes.Logged) bool {
		return b.d.outboxOf(e.Webhook) != b
	})
}

// goneWebhook is a webhook that has answered 410 to an attempt that began after so many calls of Resume. It
// gets no events until the next one, or until the range has another webhook.
type goneWebhook struct {
	Webhook
	resumes uint64
}

// whyNotSent returns why no event is sent now, the error of its attempt; empty if they are.
func (b *outbox) whyNotSent() string {
	webhook := b.receiver().Webhook
	if webhook == nil {
		return lanes.NoWebhook
	}
	if gone := b.gone.Load(); gone != nil && *gone == (goneWebhook{webhook, b.resumes.Load()}) {
		return lanes.WebhookGone
	}
	return ""
}

// awaitDeliveries waits until no delivery is under way, or ctx ends.
func (b *outbox) awaitDeliveries(ctx context.Context) error {
	return awaitFree(ctx, b.slots, maxDeliverySlots)
}

// awaitFree waits until all slots are free, or ctx ends.
func awaitFree(ctx context.Context, slots *semaphore.Weighted, n int64) error {
	err := slots.Acquire(ctx, n)
	if err == nil {
		slots.Release(n)
	}
	return err
}

// decide returns the event with what follows from its newest attempt.
func (b *outbox) decide(event lanes.Logged, answer lanes.Answer) lanes.Logged {
	attempt := b.receiver().Retry.Decide(event, b.d.Clock.Now().Wall, answer.RetryAfter, rand.Float64())
	if !attempt.RetryAt.IsZero() && b.retries.count() >= maxRetries {
		attempt.RetryAt, attempt.GivenUp = time.Time{}, true
	}
	if attempt.GivenUp {
		b.countGivenUp()
	}
	event.Attempt = &attempt
	return event
}

// markAttempted saves that the event is being attempted, as soon as the store takes it. It returns false for
// an event that needs no attempt any more, and when the range stops first.
func (b *outbox) markAttempted(event lanes.Logged) bool {
	d := b.d
	for d.Committer.IsUnattempted(event.Cursor) && d.attempting.Err() == nil {
		now := d.Clock.Now().Wall
		event.Attempt = &lanes.Attempt{At: now, Error: lanes.Interrupted}
		event.Attempt = new(b.receiver().Retry.Decide(event, now, 0, 0)) // a crash leaves it so
		result := make(chan commit.Outcome, 1)
		d.Committer.Save(&commit.Write{
			Events: []lanes.Logged{event}, Trace: event.Trace,
			Done: func(outcome commit.Outcome) {
				if outcome != commit.Unresolved { // its outcome follows
					result <- outcome
				}
			},
		})
		select {
		case outcome := <-result:
			if outcome == commit.Saved {
				return true
			}
		case <-d.Life.Done():
			return false
		}
		select {
		case <-time.After(markRetry):
		case <-d.attempting.Done():
			return false
		}
	}
	return false
}

// attempt makes an attempt, which ends with ctx at the latest. A webhook that panics costs only this event. Where
// events are tried again, one that is gone is not called any more; as the answer to a purchase 410 decides that
// alone.
func (b *outbox) attempt(
	ctx context.Context, to *Receiver, event lanes.Logged, late bool,
) (attempt lanes.Attempt, answer lanes.Answer) {
	d := b.d
	began := d.Clock.Now()
	defer func() {
		if defect := recover(); defect != nil {
			d.Lanes.Of(d.Log.Error(), event.Event.Lane).Stringer("session_id", event.Event.Session).
				Stringer("event_id", event.Event.ID).
				Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).Msg("the webhook panicked")
			attempt = lanes.Attempt{At: began.Wall, Error: lanes.Interrupted + ": a defect of the gateway"}
		}
	}()
	if why := b.whyNotSent(); why != "" { // they were sent when it happened
		return notSent(event.Event, why), lanes.Answer{}
	}
	gone := goneWebhook{to.Webhook, b.resumes.Load()}
	attempt, answer = to.Webhook.Attempt(ctx, event, late)
	b.noteOutcome(ctx, event, attempt)
	isOutdated := gone.resumes != b.resumes.Load() // of the receiver as it was before the operator looked at it
	if attempt.Gone() && !isOutdated && to.Retry.Enabled() && event.Event.Kind != lanes.PurchaseRequest {
		if before := b.gone.Swap(&gone); before == nil || *before != gone {
			b.named(d.Log.Error()).Stringer("event_id", event.Event.ID).
				Msg("the webhook has answered 410: no event is sent before the configuration is reloaded")
		}
	}
	return attempt, answer
}

// noteOutcome notes whether the webhook takes what is sent to it. What it decides about a purchase does not tell.
func (b *outbox) noteOutcome(ctx context.Context, event lanes.Logged, attempt lanes.Attempt) {
	if event.Event.Kind == lanes.PurchaseRequest || ctx.Err() != nil {
		return
	}
	b.failuresMu.Lock()
	defer b.failuresMu.Unlock()
	if attempt.Error == "" {
		b.failures = lanes.Failing{}
		return
	}
	if b.failures.Count == 0 {
		b.failures.Since = attempt.At
	}
	b.failures.Count++
	b.failures.Error = attempt.Error
}

// failing is zero for a webhook that was taken out.
func (b *outbox) failing() lanes.Failing {
	if b.receiver().Webhook == nil {
		return lanes.Failing{}
	}
	b.failuresMu.Lock()
	defer b.failuresMu.Unlock()
	return b.failures
}

// recordAttempt saves the attempt of an event that is final, whenever the store takes it.
func (b *outbox) recordAttempt(event lanes.Logged, attempt lanes.Attempt) {
	event.Attempt = &attempt
	b.saveOutcomes([]lanes.Logged{b.d.finish(event)})
}

// saveOutcomes saves what came of attempts, whenever the store takes it. Those that await their retry are
// scheduled then.
func (b *outbox) saveOutcomes(events []lanes.Logged) {
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
			b.d.underWay.end(event)
			if event.AwaitsRetry() {
				b.retries.add(event, b.d.Clock.Now().Wall)
				scheduled = true
			}
		}
		if scheduled && b.receiver().Webhook == nil { // it was taken out meanwhile: they are given up
			b.retries.makeAllDue(b.d.Clock.Now().Wall)
		}
		if scheduled {
			b.send(&announced{})
		}
	}
	b.d.Committer.Save(w)
}

func (b *outbox) countGivenUp() {
	b.givenUp.Add(1)
	b.d.Metrics.GivenUp.WithLabelValues(b.receiver().Name).Inc()
}

// named says in a log line which webhook it is about.
func (b *outbox) named(line *zerolog.Event) *zerolog.Event { return ofWebhook(line, b.receiver().Name) }

func ofWebhook(line *zerolog.Event, name string) *zerolog.Event {
	if name != "" {
		line = line.Str("webhook", name)
	}
	return line
}

// finish counts and logs what came of the first attempt of an event, or of one that somebody asked for, and
// returns the event.
func (d *Delivery) finish(event lanes.Logged) lanes.Logged {
	outcome := event.Attempt.Outcome()
	if len(event.Earlier) > 0 {
		d.Metrics.Redelivered.WithLabelValues(outcome, event.Webhook).Inc()
	} else {
		d.Metrics.Events.WithLabelValues(string(event.Event.Kind), outcome, event.Webhook).Inc()
	}
	d.logOutcome(event)
	return event
}

func (d *Delivery) logOutcome(event lanes.Logged) {
	attempt := event.Attempt
	line := logline.Traced(d.Log.Info(), event.Trace)
	line = line.Str("event", string(event.Event.Kind)).Stringer("event_id", event.Event.ID)
	line = d.Lanes.Of(line, event.Event.Lane).Stringer("session_id", event.Event.Session).
		Uint64("cursor", event.Cursor).
		Str("outcome", attempt.Outcome()).Int("status", attempt.Status).Dur("duration_ms", attempt.Duration)
	line = ofWebhook(line, event.Webhook)
	if event.AwaitsRetry() {
		line = line.Time("retry_at", attempt.RetryAt)
	}
	if attempt.GivenUp {
		line = line.Bool("given_up", true)
	}
	line.Msg("event")
}
