package lanes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

var firstAttemptAt = time.Date(2026, 5, 1, 18, 0, 0, 0, time.UTC)

func failedEvent(status int) lanes.Logged {
	return lanes.Logged{
		Cursor: 1, Event: lanes.Event{Kind: lanes.SessionStarted},
		Delivery: lanes.Delivery{Attempt: &lanes.Attempt{At: firstAttemptAt, Status: status, Error: lanes.Refused}},
	}
}

// tryUntilEnd lets every attempt of the event fail, each as soon as it is due, and returns when they were.
func tryUntilEnd(
	t require.TestingT, policy lanes.RetryPolicy, event lanes.Logged,
	took func() (attempt, asked time.Duration, jitter float64),
) (made []time.Time, end lanes.Logged) {
	for {
		made = append(made, event.Attempt.At)
		attempt, asked, jitter := took()
		now := event.Attempt.At.Add(attempt)
		decided := policy.Decide(event, now, asked, jitter)
		event.Attempt = &decided
		require.NotEqual(t, event.AwaitsRetry(), decided.GivenUp, "it is one or the other")
		require.Equal(t, event.AwaitsRetry(), event.Pending())
		if decided.GivenUp {
			return made, event
		}
		require.True(t, decided.RetryAt.After(now))
		require.GreaterOrEqual(t, decided.RetryAt.Sub(now), asked, "the receiver is left alone for as long as it asked")
		event = event.Reopened()
		event.Attempt = &lanes.Attempt{At: decided.RetryAt, Status: 503, Error: lanes.Refused}
	}
}

// The schedule is that of Standard Webhooks, with a last attempt at the end of the term.
func TestTheScheduleOfRetries(t *testing.T) {
	atOnce := func() (time.Duration, time.Duration, float64) { return 0, 0, 0 }
	made, event := tryUntilEnd(t, lanes.RetryPolicy{For: 24 * time.Hour}, failedEvent(500), atOnce)
	const s, m, h = time.Second, time.Minute, time.Hour
	want := []time.Duration{0, 5 * s, 5*m + 5*s, 35*m + 5*s, 2*h + 35*m + 5*s, 7*h + 35*m + 5*s, 17*h + 35*m + 5*s}
	require.Equal(t, append(want, 24*h), since(made))
	require.Len(t, event.Earlier, 7)
	for _, earlier := range event.Earlier {
		require.Zero(t, earlier.RetryAt, "what follows is known of the newest attempt alone")
	}

	made, _ = tryUntilEnd(t, lanes.RetryPolicy{For: 5 * 24 * time.Hour}, failedEvent(500), atOnce)
	want = append(want, 31*h+35*m+5*s, 51*h+35*m+5*s, 75*h+35*m+5*s, 99*h+35*m+5*s) // the last delay repeats
	require.Equal(t, append(want, 5*24*h), since(made))
}

// since is how long after the first attempt each of them was made.
func since(made []time.Time) (after []time.Duration) {
	for _, at := range made {
		after = append(after, at.Sub(firstAttemptAt))
	}
	return after
}

// Events that failed together do not come back together: each waits up to a tenth longer, what the receiver asks for
// included.
func TestRetriesAreSpread(t *testing.T) {
	for _, c := range []struct {
		asked  time.Duration
		jitter float64
		after  time.Duration
	}{
		{0, 0, 5 * time.Second},
		{0, 0.5, 5250 * time.Millisecond},
		{time.Minute, 0.5, 63 * time.Second},
		{time.Millisecond, 0.5, 1050 * time.Millisecond}, // a second is the least that it can ask for
	} {
		decided := lanes.RetryPolicy{For: time.Hour}.Decide(failedEvent(503), firstAttemptAt, c.asked, c.jitter)
		require.Equal(t, c.after, decided.RetryAt.Sub(firstAttemptAt), "%+v", c)
	}
}

// Whatever the receiver asks for and however long attempts take: an event that never arrives is given up
// within its term, and none is tried more often than once a second.
func TestRetriesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := lanes.RetryPolicy{For: time.Duration(rapid.Int64Range(int64(time.Minute),
			int64(7*24*time.Hour)).Draw(t, "for"))}
		left := 200 // with a time of its own; after that as the schedule says
		made, _ := tryUntilEnd(t, policy, failedEvent(503), func() (took, asked time.Duration, jitter float64) {
			took = time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "took"))
			if left--; left > 0 && rapid.Bool().Draw(t, "asks") {
				asked = time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "asked"))
			}
			return took, asked, rapid.Float64Range(0, 0.999).Draw(t, "jitter")
		})
		for i, at := range made {
			require.False(t, at.After(firstAttemptAt.Add(policy.For)), "attempt %d", i)
			if i > 0 && i < len(made)-1 {
				require.GreaterOrEqual(t, at.Sub(made[i-1]), time.Second)
			}
		}
	})
}

func TestWhatIsNotTriedAgain(t *testing.T) {
	day := lanes.RetryPolicy{For: 24 * time.Hour}
	for name, c := range map[string]struct {
		policy  lanes.RetryPolicy
		change  func(*lanes.Logged)
		asked   time.Duration
		givenUp bool
	}{
		"nobody asked for retries": {policy: lanes.RetryPolicy{}, change: func(*lanes.Logged) {}},
		"a purchase": {
			policy: day,
			change: func(e *lanes.Logged) { e.Event.Kind = lanes.PurchaseRequest },
		},
		"it was delivered": {policy: day, change: func(e *lanes.Logged) {
			e.Attempt.Error,
				e.Attempt.Status = "", 204
		}},
		"it is not to be sent": {policy: day, change: func(e *lanes.Logged) {
			e.Attempt.Error,
				e.Attempt.Status = lanes.WebhookGone, 0
		}},
		"410": {
			policy: day, change: func(e *lanes.Logged) { e.Attempt.Status = 410 },
			givenUp: true,
		},
		"asked for beyond the term": {
			policy: day, change: func(*lanes.Logged) {}, asked: 25 * time.Hour,
			givenUp: true,
		},
		"sent again after its term": {
			policy:  day,
			change:  func(e *lanes.Logged) { e.Earlier = []lanes.Attempt{{At: firstAttemptAt.Add(-day.For)}} },
			givenUp: true,
		},
		"the attempt ended the term": {
			policy: lanes.RetryPolicy{For: time.Second}, change: func(*lanes.Logged) {},
			givenUp: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			event := failedEvent(503)
			c.change(&event)
			before := *event.Attempt
			decided := c.policy.Decide(event, firstAttemptAt.Add(time.Second), c.asked, 0)
			require.Zero(t, decided.RetryAt)
			require.Equal(t, c.givenUp, decided.GivenUp)
			decided.GivenUp = false
			require.Equal(t, before, decided)
		})
	}
}

// Later events of its lane wait for a failed one for a minute from its first attempt on; whatever is sent
// after that is late.
func TestHowLongAFailedEventHoldsOthers(t *testing.T) {
	event := failedEvent(500)
	require.False(t, lanes.Logged{}.Late(firstAttemptAt.Add(time.Hour)), "its first attempt is in its order")
	require.Equal(t, firstAttemptAt.Add(time.Minute), event.HoldsUntil())
	again := event.Reopened()
	require.False(t, again.Late(firstAttemptAt))
	require.False(t, again.Late(firstAttemptAt.Add(time.Minute-1)))
	require.True(t, again.Late(firstAttemptAt.Add(time.Minute)))
	require.True(t, again.Late(firstAttemptAt.Add(-1)), "the clock was set back: those behind it have gone")

	event.Attempt.Error = lanes.Dropped + ": more than 10 events waited"
	require.Zero(t, event.HoldsUntil(), "it left its order when it was dropped")
	require.True(t, event.Reopened().Late(firstAttemptAt))

	delivered := failedEvent(204)
	delivered.Attempt.Error = ""
	again = delivered.Reopened()
	again.Attempt = &lanes.Attempt{At: firstAttemptAt.Add(time.Second), Error: lanes.Refused, Status: 500}
	require.Zero(t, again.HoldsUntil(), "those behind it went when it was delivered")
}

// A receiver that refuses an event will refuse it again: later events of its lane do not wait. They wait for
// one that asks for another time.
func TestWhichAnswersHoldNoOrder(t *testing.T) {
	for status, holds := range map[int]bool{
		400: false, 401: false, 404: false, 409: false, 422: false, 499: false,
		408: true, 425: true, 429: true, 0: true, 302: true, 500: true, 503: true,
	} {
		event := failedEvent(status)
		require.Equal(t, holds, !event.HoldsUntil().IsZero(), "%d", status)
		require.Equal(t, !holds, event.Reopened().Late(firstAttemptAt.Add(time.Second)),
			"%d: what it is sent again behind has passed it", status)

		again := failedEvent(503).Reopened()
		again.Attempt = &lanes.Attempt{At: firstAttemptAt.Add(5 * time.Second), Status: status, Error: lanes.Refused}
		require.Equal(t, holds, !again.HoldsUntil().IsZero(), "%d after 503", status)
	}
}
