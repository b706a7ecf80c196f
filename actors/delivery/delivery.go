package delivery

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"rangegate/actors/clock"
	"rangegate/actors/commit"
	"rangegate/actors/logline"
	"rangegate/actors/metrics"
	"rangegate/lanes"
)

const (
	// PurchaseSlots is how many purchases of a range may be under way, beside its other events.
	PurchaseSlots = 16
	// cutOffWithin is how long Close waits for attempts that it has cut off. They end at once, unless the store
	// does not take their mark.
	cutOffWithin = 100 * time.Millisecond
)

// Deps is what a Delivery needs of its range.
type Deps struct {
	Life      context.Context // until the range stops: no attempt outlives it
	Clock     clock.Clock
	Log       zerolog.Logger
	Lanes     logline.Lanes
	Metrics   *metrics.Metrics // with the range as their label
	Committer *commit.Committer
	// Read reads at most limit entries of the event log behind the cursor, of those that are known to be
	// durable. It logs why it cannot, and returns the error for the client.
	Read func(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error)
	Send func(to *actor.PID, message any)                  // never blocks
	Stop func(ctx context.Context, child *actor.PID) error // and waits until the actor has stopped
}

// Delivery sends the saved events of one range to its webhooks. Its methods may be called from any goroutine.
type Delivery struct {
	Deps

	outboxes      atomic.Pointer[outboxes]
	underWay      attemptsUnderWay
	purchaseSlots *semaphore.Weighted
	attempting    context.Context // of what the queues attempt: Life, until Close ends it
	endAttempts   context.CancelFunc
	redelivering  chan struct{} // of one: the request that has events sent again; see redeliverAlone
	closing       atomic.Bool
}

// Producer makes an actor of one webhook, again after each panic.
type Producer func() *Actor

// Open begins with the events that were loaded: pending are those that are not attempted, await their retry
// or are to be sent again. heir is that of the last lanes.Checkpoint. Nothing is sent before the Actors run.
func Open(deps Deps, receivers []Receiver, pending []lanes.Logged, heir string) *Delivery {
	d := &Delivery{
		Deps: deps, purchaseSlots: semaphore.NewWeighted(PurchaseSlots),
		redelivering: make(chan struct{}, 1),
	}
	d.attempting, d.endAttempts = context.WithCancel(deps.Life)
	d.openOutboxes(receivers, pending, heir)
	return d
}

// Actors are to be run by the range: one for each webhook.
func (d *Delivery) Actors() (all []Producer) {
	for _, to := range *d.outboxes.Load() {
		all = append(all, to.box.newActor)
	}
	return all
}

// Rearrange has the range send to webhooks that are configured anew. What waits for one that is taken out is
// recorded as not sent. It returns the actors that are to be run in addition.
func (d *Delivery) Rearrange(receivers []Receiver) (added []Producer) {
	for _, box := range d.rearrange(receivers) {
		added = append(added, box.newActor)
	}
	d.wakeActors() // there may be more slots
	return added
}

// Append appends the event as it enters the log: once for each webhook that gets it, unattempted, or final
// when nothing is sent. A purchase is sent at once by whoever asked for it. trace is that of the request that
// caused it, and span its place there.
func (d *Delivery) Append(log []lanes.Logged, event lanes.Event, trace string, span lanes.Span) []lanes.Logged {
	first, why := len(log), lanes.NoWebhook
	for _, to := range *d.outboxes.Load() {
		if to.receiver.Webhook == nil {
			continue
		}
		if why = lanes.NotWanted; !to.receiver.gets(event.Kind) {
			continue
		}
		entry := lanes.Logged{Event: event, Trace: trace, Span: span}
		entry.Webhook, entry.Copy = to.receiver.Name, len(log) > first
		switch why := to.box.whyNotSent(); {
		case why != "":
			entry.Attempt = new(notSent(event, why))
		case event.Kind == lanes.PurchaseRequest:
			d.underWay.begin(entry)
			entry.Attempt = &lanes.Attempt{At: event.At, Error: lanes.Interrupted}
		}
		log = append(log, entry)
	}
	if len(log) == first {
		unsent := lanes.Delivery{Attempt: new(notSent(event, why))}
		log = append(log, lanes.Logged{Event: event, Trace: trace, Span: span, Delivery: unsent})
	}
	return log
}

func notSent(event lanes.Event, why string) lanes.Attempt {
	return lanes.Attempt{At: event.At, Error: why}
}

// Announce queues saved events for their attempts, except purchases, whose attempt SendNow makes.
// The committer calls it in the order of the log; it does not block. Before such an actor has started
// there is no need to: it begins with what is unattempted.
func (d *Delivery) Announce(events []lanes.Logged) {
	d.distribute(events, func(e lanes.Logged) bool { return e.Attempt == nil || e.Attempt.Error != lanes.Interrupted })
}

// Settle ends the attempts that a write with these events has ended: it is called with each outcome of the
// write, before Announce.
func (d *Delivery) Settle(events []lanes.Logged, outcome commit.Outcome) {
	d.underWay.settle(events, outcome)
}

// Receives returns the name of the first webhook that gets events of the kind, and why nothing is sent to it
// now: lanes.NoWebhook (also if there is none), lanes.WebhookGone, or "".
func (d *Delivery) Receives(kind lanes.Kind) (webhook, why string) {
	for _, to := range *d.outboxes.Load() {
		if to.receiver.Webhook != nil && to.receiver.gets(kind) {
			return to.receiver.Name, to.box.whyNotSent()
		}
	}
	return "", lanes.NoWebhook
}

// PurchaseSlot waits for one of the slots of purchases, until ctx ends. Close waits a moment for those that
// are not released.
func (d *Delivery) PurchaseSlot(ctx context.Context) (release func(), err error) {
	if err := d.purchaseSlots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { d.purchaseSlots.Release(1) }, nil
}

// Begin is called before the mark of an event is saved that SendNow is to attempt, Abandon when it is not
// attempted after all.
func (d *Delivery) Begin(event lanes.Logged) { d.underWay.begin(event) }

// Abandon ends every attempt of the event, of which nobody will see the end.
func (d *Delivery) Abandon(event uuid.UUID) { d.underWay.abandon(event) }

// SendNow makes the one attempt of an event that passes all others and is saved as being attempted: a
// purchase, or a simulated one. It is not sent when its webhook does not get its kind any more since a
// reload. The caller saves the outcome.
func (d *Delivery) SendNow(event lanes.Logged) (lanes.Attempt, lanes.Answer) {
	box := d.outboxOf(event.Webhook)
	to := box.receiver()
	if !to.gets(event.Event.Kind) {
		return notSent(event.Event, lanes.NotWanted), lanes.Answer{}
	}
	return box.attempt(d.Life, to, event, false)
}

// Record saves the attempt of an event that SendNow has attempted, whenever the store takes it, and counts
// it.
func (d *Delivery) Record(event lanes.Logged) {
	d.outboxOf(event.Webhook).recordAttempt(event, *event.Attempt)
}

// WebhookHealth is how the delivery to one webhook is doing.
type WebhookHealth struct {
	Webhook  string // its name
	Waiting  int    // events that wait for their first attempt
	Retrying int    // events that await their retry
	Gone     bool   // it has answered 410
	Failing  lanes.Failing
	Lost     lanes.LostEvents
	Oldest   *time.Time // when the oldest event happened that waits; nil when none does
	LevelAt  time.Time  // when the last of those that await their retry can have been sent; zero: none does
	Actor    string     // the id of its actor in the library, empty before it runs
}

// Health asks no actor.
func (d *Delivery) Health() (all []WebhookHealth) {
	now := d.Clock.Now().Wall
	for _, to := range *d.outboxes.Load() {
		all = append(all, WebhookHealth{
			Webhook: to.receiver.Name, Waiting: int(to.box.waiting.Load()), Retrying: to.box.retries.count(),
			Gone: to.box.whyNotSent() == lanes.WebhookGone, Failing: to.box.failing(), Oldest: to.box.oldest.Load(),
			LevelAt: to.box.retries.levelAt(now), Actor: to.box.actor.Load().GetId(),
			Lost: lanes.LostEvents{GivenUp: to.box.givenUp.Load(), Dropped: to.box.dropped.Load()},
		})
	}
	return all
}

// Waiting returns how many events wait for their first attempt, to all webhooks.
func (d *Delivery) Waiting() (n int) {
	for _, to := range *d.outboxes.Load() {
		n += int(to.box.waiting.Load())
	}
	return n
}

// LevelAt returns when all webhooks will be level if they take what is sent from now on, zero if nothing
// awaits its retry.
func (d *Delivery) LevelAt(now time.Time) (level time.Time) {
	for _, to := range *d.outboxes.Load() {
		if at := to.box.retries.levelAt(now); at.After(level) {
			level = at
		}
	}
	return level
}

// Resume has the webhooks called again that have answered 410, because their operator has looked at the
// configuration. A 410 that answers an attempt of before does not count any more.
func (d *Delivery) Resume() {
	for _, to := range *d.outboxes.Load() {
		to.box.resumes.Add(1)
		if to.box.gone.Swap(nil) != nil {
			to.box.named(d.Log.Info()).Msg("the webhook that has answered 410 is called again")
			to.box.send(&announced{})
		}
	}
}

// ClockSet has what is due and what waits looked at anew: the wall clock was set by so much, or the machine was
// suspended, by 0, while the alarms stood still.
func (d *Delivery) ClockSet(by time.Duration) {
	for _, to := range *d.outboxes.Load() {
		to.box.retries.clockSet(by)
		to.box.send(&rearm{})
	}
}

// Close stops the actors: no event of the queues is attempted any more. Attempts and purchases under way have
// within to end. Attempts that have not are cut off, and what came of them is saved like any other outcome.
func (d *Delivery) Close(ctx context.Context, within time.Duration) (err error) {
	d.closing.Store(true)
	for _, to := range *d.outboxes.Load() {
		if events := to.box.actor.Load(); events != nil {
			err = cmp.Or(d.Stop(ctx, events), err)
		}
	}
	attempts, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_ = d.AwaitAttempts(attempts)
	_ = awaitFree(attempts, d.purchaseSlots, PurchaseSlots)
	d.endAttempts()
	ends, cancelEnds := context.WithTimeout(ctx, cutOffWithin)
	defer cancelEnds()
	_ = d.AwaitAttempts(ends)
	return err
}

// IsClosed reports whether the actor is one that Close stops: it must not be restarted.
func (d *Delivery) IsClosed(child *actor.PID) bool {
	return d.closing.Load() && slices.ContainsFunc(*d.outboxes.Load(), func(to route) bool {
		return child.Equal(to.box.actor.Load())
	})
}

// AwaitAttempts waits until no attempt of the queues is under way, or ctx ends.
func (d *Delivery) AwaitAttempts(ctx context.Context) (err error) {
	for _, to := range *d.outboxes.Load() {
		err = cmp.Or(to.box.awaitDeliveries(ctx), err)
	}
	return err
}

// Drop makes the events final that are not delivered and never will be, as the range leaves the
// configuration: call it after Close. What came of the attempts that Close has cut off is saved first, so that
// nothing is left that awaits its retry. The records stay in the store.
func (d *Delivery) Drop(ctx context.Context) error {
	err := cmp.Or(d.AwaitAttempts(ctx), d.Committer.Drain(ctx))
	now, farAhead := d.Clock.Now().Wall, time.Unix(1<<40, 0) // when every retry is due
	dropped := lanes.Attempt{At: now, Error: lanes.Dropped + ": the range was taken out of the configuration"}
	for _, to := range *d.outboxes.Load() {
		box := to.box
		for _, event := range box.unattempted() {
			box.recordAttempt(event.Reopened(), dropped)
		}
		for range 1 + box.retries.count()/redeliveryPage { // those that cannot be read are put back
			events, _ := box.readRetries(box.retries.take(farAhead, redeliveryPage))
			for _, event := range events {
				box.recordAttempt(event.Reopened(), dropped)
			}
		}
	}
	return err
}
