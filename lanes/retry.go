package lanes

import (
	"slices"
	"strings"
	"time"
)

// RetryPolicy says when an event whose delivery failed is tried again. The zero value tries nothing again.
type RetryPolicy struct {
	For time.Duration // from the first attempt on
}

// Enabled reports whether anything is tried again.
func (p RetryPolicy) Enabled() bool { return p.For > 0 }

// retryDelays are the times between attempts: the schedule of Standard Webhooks. The last one repeats.
var retryDelays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute,
	2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// OrderKeptFor is how long, from its first attempt on, an event keeps the later ones of its lane and its
	// session behind it.
	OrderKeptFor = time.Minute
	// minRetryAfter is the shortest time that a receiver can ask for.
	minRetryAfter = time.Second
	// retryJitter is by which part of it a delay is lengthened at most, so that events which failed together
	// do not come back together.
	retryJitter = 0.1
)

// Decide returns the event's newest attempt, which ended at now, with what follows from it. A failed event
// has RetryAt, the last one at the end of the term; after that, and after 410, it has GivenUp. Neither is set
// if it was delivered or is not to be sent, decides a purchase, or nothing is tried again. asked is the time
// for which the receiver wants to be left alone: it replaces that of the schedule, and beyond the term the
// event is given up. 0 is none. jitter is from 0 up to 1.
func (p RetryPolicy) Decide(event Logged, now time.Time, asked time.Duration, jitter float64) Attempt {
	attempt := *event.Attempt
	attempt.RetryAt, attempt.GivenUp = time.Time{}, false
	if !p.Enabled() || event.Event.Kind == PurchaseRequest || attempt.Error == "" ||
		strings.HasPrefix(attempt.Error, NotSent) {
		return attempt
	}
	end, delay := event.firstAttempt().At.Add(p.For), retryDelays[min(len(event.Earlier), len(retryDelays)-1)]
	if asked > 0 {
		delay = max(asked, minRetryAfter)
	}
	at := now.Add(delay + time.Duration(jitter*retryJitter*float64(delay)))
	if asked == 0 && at.After(end) {
		at = end
	}
	if attempt.Gone() || at.After(end) || !at.After(now) {
		attempt.GivenUp = true
	} else {
		attempt.RetryAt = at
	}
	return attempt
}

// firstAttempt returns the first of the attempts that were made.
func (d Delivery) firstAttempt() Attempt {
	if len(d.Earlier) > 0 {
		return d.Earlier[0]
	}
	return *d.Attempt
}

// HoldsUntil returns until when later events of its lane and its session wait for an event that failed. It is
// zero if they do not wait: the event was not attempted as too many waited, the receiver has refused it, or
// it is sent again after its delivery had ended.
func (d Delivery) HoldsUntil() time.Time {
	if d.Attempt == nil && len(d.Earlier) == 0 {
		return time.Time{}
	}
	first := d.firstAttempt()
	if strings.HasPrefix(first.Error, Dropped) || d.Attempt != nil && d.Attempt.refusesEvent() ||
		slices.ContainsFunc(d.Earlier, Attempt.refusesEvent) {
		return time.Time{}
	}
	for _, earlier := range d.Earlier {
		if earlier.Error == "" || earlier.GivenUp {
			return time.Time{}
		}
	}
	return first.At.Add(OrderKeptFor)
}

// refusesEvent reports whether the receiver's answer is about this event and not about the moment: a 4xx but
// those that ask for another time or end everything. A receiver that refuses one kind would otherwise stall
// each lane with every event of that kind.
func (a Attempt) refusesEvent() bool {
	switch a.Status {
	case 408, 410, 425, 429:
		return false
	}
	return a.Status/100 == 4
}

// OrderKept reports whether at now later events still wait for one that HoldsUntil then. One that would hold them for
// longer than OrderKeptFor failed before the wall clock was set back: they do not wait until it shows that time again.
func OrderKept(until, now time.Time) bool {
	left := until.Sub(now)
	return 0 < left && left <= OrderKeptFor
}

// Late reports whether later events of its lane or its session may have been sent before an attempt that begins at now.
func (d Delivery) Late(now time.Time) bool {
	return len(d.Earlier) > 0 && !OrderKept(d.HoldsUntil(), now)
}
