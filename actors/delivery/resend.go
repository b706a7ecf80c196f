package delivery

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Events are sent again because their first attempt failed and the range has a lanes.RetryPolicy
// (retryschedule.go), or because somebody asked for it (redeliver.go). Both go through here at one pace, so
// that a receiver that is back is not flooded, and on a slot of their own, so that no event that happens now
// waits for them.
const (
	// ResendSize events at most are sent again at a time, one after the other, and the next ones
	// ResendInterval after that: they are in no makeAllDue, and each costs the machine as much as one that
	// happens now.
	ResendSize     = 25
	ResendInterval = 100 * time.Millisecond
	// ResendSlots is how many of them are under way.
	ResendSlots = 1
	// RetryRead is the time before records are read again that could not be read, or were not there.
	RetryRead = 10 * time.Second
	// maxMissed is how often the record of an event may be missing before the event is given up. A range saves
	// what its store has lost with its next flush, within 10 s.
	maxMissed = 3
)

// resendQueue is the events that somebody wants sent again, in the order of the requests. Only the events
// actor uses it.
type resendQueue struct {
	waiting []*lanes.Logged
	// known has the cursor of each: false for one that waits, true for one of the batch under way.
	known map[uint64]bool
	// repeated are events of the batch under way that somebody wants sent once more: their attempt has ended.
	repeated []lanes.Logged
	running  bool // a batch is under way, of these events or of retries
	paused   bool // until resume comes
}

// The messages about it. life is the instance of the actor that a message belongs to.
type (
	resume struct{ life *Actor }
	resent struct {
		life  *Actor
		batch []*lanes.Logged
	}
	passable struct{ cursors []uint64 } // of events that no later one waits for any more
)

// add queues an event. One that waits already is ignored. One of the batch under way is queued when that ends.
func (q *resendQueue) add(event lanes.Logged) {
	switch underWay, found := q.known[event.Cursor]; {
	case !found:
		q.known[event.Cursor] = false
		q.waiting = append(q.waiting, &event)
	case underWay:
		q.repeated = append(q.repeated, event)
	}
}

// take takes out at most n of the first events that may go. One that may not keeps those behind it that have
// its lane or its session.
func (q *resendQueue) take(n int, mayGo func(lanes.Event) bool) (batch []*lanes.Logged) {
	kept, behind := []*lanes.Logged{}, map[uuid.UUID]bool{}
	for i, e := range q.waiting {
		if len(batch) == n {
			kept = append(kept, q.waiting[i:]...)
			break
		}
		if behind[e.Event.Lane] || behind[e.Event.Session] || !mayGo(e.Event) {
			behind[e.Event.Lane], behind[e.Event.Session] = true, true
			kept = append(kept, e)
			continue
		}
		q.known[e.Cursor] = true
		batch = append(batch, e)
	}
	q.waiting = kept
	return batch
}

func (q *resendQueue) finish(batch []*lanes.Logged) {
	q.running = false
	for _, e := range batch {
		delete(q.known, e.Cursor)
	}
	repeated := q.repeated
	q.repeated = nil
	for _, event := range repeated {
		q.add(event)
	}
}

// resend begins the next batch, in a goroutine, if no other one is under way or was a moment ago. Retries
// that are due go first. Events that somebody asked for wait while their lane or session has one that happens
// now.
func (e *Actor) resend() {
	q, d, box, self, now := &e.again, e.d, e.box, e.self, e.d.Clock.Now().Wall
	if due := box.retries.nextDue(); !e.begun || q.running || q.paused ||
		len(q.waiting) == 0 && (due.IsZero() || due.After(now)) {
		return
	}
	q.paused = true
	time.AfterFunc(ResendInterval, func() { d.Send(self, &resume{e}) })
	if !box.slots.TryAcquire(1) {
		return
	}
	retries := box.retries.take(now, ResendSize)
	batch := q.take(ResendSize-len(retries), func(event lanes.Event) bool {
		return e.queue.newest[event.Lane] == nil && e.queue.newest[event.Session] == nil
	})
	if len(retries)+len(batch) == 0 {
		box.slots.Release(1)
		return
	}
	q.running = true
	go func() {
		due, settled := box.readRetries(retries)
		box.letPass(settled)
		box.sendAgain(append(due, batch...))
		box.slots.Release(1)
		d.Send(self, &resent{e, batch})
	}()
}

// letPass lets the events go that have waited for these.
func (b *outbox) letPass(cursors []uint64) {
	if len(cursors) > 0 {
		b.send(&passable{cursors})
	}
}

// readRetries returns the records of events that are due, and the events that no later one waits for any more.
// Those that cannot be read are due again later. So is one that the log does not have, or not as attempted: the
// store has lost its last writes, and gets them again from the range's memory. After maxMissed such reads it is
// given up.
func (b *outbox) readRetries(cursors []uint64) (events []*lanes.Logged, settled []uint64) {
	d := b.d
	var page []lanes.Logged
	for i, cursor := range cursors {
		if len(page) == 0 || page[len(page)-1].Cursor < cursor {
			var err error
			if page, err = d.Read(d.Life, cursor-1, len(cursors)); err != nil {
				b.retries.addAgain(cursors[i:], d.Clock.Now().Wall.Add(RetryRead))
				return events, settled
			}
		}
		at, found := slices.BinarySearchFunc(page, cursor, func(e lanes.Logged, cursor uint64) int {
			return cmp.Compare(e.Cursor, cursor)
		})
		switch {
		case !found || page[at].Attempt == nil:
			if b.retries.missed(cursor, d.Clock.Now().Wall.Add(RetryRead)) {
				continue
			}
			b.countGivenUp()
			settled = append(settled, cursor)
			d.Log.Warn().Uint64("cursor", cursor).
				Msg("an event that awaited its retry is not in the event log any more; it is given up")
		case page[at].AwaitsRetry():
			events = append(events, &page[at])
		default: // it was settled meanwhile
			b.retries.settle(cursor)
			settled = append(settled, cursor)
		}
	}
	return events, settled
}

// sendAgain sends events one after the other, and saves what came of them, several in one write. Nothing is
// saved before: after a crash those without an outcome are sent once more. While the range stops they stay
// pending: retries are put back. So does one whose attempt is cut off then, with that attempt on record: the
// receiver may have taken it. What waits for an event goes on as soon as that is settled: the attempts behind
// it may take long.
func (b *outbox) sendAgain(batch []*lanes.Logged) {
	d := b.d
	var sent []lanes.Logged
	var settled []uint64
	saved := d.Clock.Now()
	save := func() {
		b.saveOutcomes(sent)
		b.letPass(settled)
		sent, settled, saved = nil, nil, d.Clock.Now()
	}
	for i, e := range batch {
		if d.attempting.Err() != nil {
			b.putBack(batch[i:])
			break
		}
		event, retried := *e, e.AwaitsRetry()
		if !retried && !d.Committer.IsUnattempted(e.Cursor) {
			continue
		}
		if retried && (!b.receiver().Retry.Enabled() || b.whyNotSent() != "") {
			event.Attempt = new(*e.Attempt)
			event.Attempt.RetryAt, event.Attempt.GivenUp = time.Time{}, true
			b.countGivenUp()
			d.logOutcome(event)
		} else {
			event = e.Reopened()
			if retried {
				b.retries.begin(e.Cursor)
			}
			late := b.receiver().Retry.Enabled() && event.Late(d.Clock.Now().Wall)
			attempt, answer := b.attempt(d.attempting, b.receiver(), event, late)
			event.Attempt = &attempt
			if d.attempting.Err() != nil && attempt.Error != "" { // it was cut off
				event.Again, attempt.RetryAt = e.Again, e.Attempt.RetryAt
			} else {
				event = b.decide(event, answer)
			}
			if retried {
				d.Metrics.Retried.WithLabelValues(attempt.Outcome(), event.Webhook).Inc()
			} else {
				d.Metrics.Redelivered.WithLabelValues(attempt.Outcome(), event.Webhook).Inc()
			}
			d.logOutcome(event)
		}
		sent = append(sent, event)
		isAwaited := false
		switch {
		case !event.AwaitsRetry():
			isAwaited = b.retries.settle(event.Cursor)
			settled = append(settled, event.Cursor)
		case event.HoldsUntil().IsZero():
			isAwaited = b.retries.isAwaited(event.Cursor)
			settled = append(settled, event.Cursor)
		}
		if isAwaited || d.Clock.Now().Since(saved) >= ResendInterval {
			save()
		}
	}
	save()
}

// putBack schedules those of the events again that await their retry.
func (b *outbox) putBack(events []*lanes.Logged) {
	var retries []uint64
	for _, e := range events {
		if e.AwaitsRetry() {
			retries = append(retries, e.Cursor)
		}
	}
	b.retries.addAgain(retries, b.d.Clock.Now().Wall)
}
