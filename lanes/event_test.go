package lanes

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// An event that is sent again keeps what became of it before: the first attempt, and the last of the others.
func TestAnEventThatIsSentAgainKeepsItsAttempts(t *testing.T) {
	event := Logged{Cursor: 1, Event: Event{ID: uuid.New(), Kind: Help}}
	require.True(t, event.Pending())
	for n := 1; n <= 50; n++ {
		reopened := event.Reopened()
		require.True(t, reopened.Pending())
		before := len(event.Earlier)
		event = reopened
		event.Attempt = &Attempt{Error: fmt.Sprint(n)}
		require.False(t, event.Pending())
		event.Again = true
		require.True(t, event.Pending())
		require.LessOrEqual(t, before, len(event.Earlier))
	}
	require.Len(t, event.Earlier, 20)
	require.Equal(t, "1", event.Earlier[0].Error)
	require.Equal(t, "31", event.Earlier[1].Error)
	require.Equal(t, "49", event.Earlier[19].Error)
	require.Equal(t, "50", event.Attempt.Error)
}

// What was begun may have arrived, whatever became of it. What never was begun has not.
func TestWhatTheReceiverMayHaveAlready(t *testing.T) {
	for name, c := range map[string]struct {
		before      []string // errors of the attempts before the newest
		redelivered bool
	}{
		"the first attempt":      {nil, false},
		"delivered":              {[]string{""}, true},
		"refused":                {[]string{Refused}, true},
		"interrupted":            {[]string{Interrupted + ": the connection broke"}, true},
		"never to be sent":       {[]string{NoWebhook}, false},
		"dropped":                {[]string{Dropped + ": more than 10 events waited"}, false},
		"dropped, then sent":     {[]string{Dropped, Unreachable}, true},
		"not sent, then dropped": {[]string{NotWanted, Dropped}, false},
	} {
		event := Delivery{Attempt: &Attempt{}}
		for _, words := range c.before {
			event.Earlier = append(event.Earlier, Attempt{Error: words})
		}
		require.Equal(t, c.redelivered, event.Redelivered(), name)
	}
}

// Staff and the integrator may have an event sent again once its delivery has ended, or while it waits for a retry.
func TestWhichEventsMayBeSentAgain(t *testing.T) {
	retry := time.Date(2026, 5, 1, 18, 0, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		event               Logged
		awaits, pending, ok bool
	}{
		"not attempted": {Logged{}, false, true, false},
		"delivered":     {Logged{Delivery: Delivery{Attempt: &Attempt{Status: 204}}}, false, false, true},
		"failed":        {Logged{Delivery: Delivery{Attempt: &Attempt{Error: Refused}}}, false, false, true},
		"waits for a retry": {
			Logged{Delivery: Delivery{Attempt: &Attempt{Error: Refused, RetryAt: retry}}},
			true, true, true,
		},
		"is sent again already": {Logged{Delivery: Delivery{
			Attempt: &Attempt{Error: Refused, RetryAt: retry},
			Again:   true,
		}}, false, true, false},
		"is sent again after all": {
			Logged{Delivery: Delivery{Attempt: &Attempt{Status: 204}, Again: true}},
			false, true, false,
		},
		"is being sent": {Logged{Delivery: Delivery{Attempt: &Attempt{Error: UnderWay}}}, false, false, false},
		"a purchase": {Logged{
			Event:    Event{Kind: PurchaseRequest},
			Delivery: Delivery{Attempt: &Attempt{Status: 204}},
		}, false, false, false},
	} {
		require.Equal(t, c.awaits, c.event.AwaitsRetry(), name)
		require.Equal(t, c.pending, c.event.Pending(), name)
		require.Equal(t, c.ok, c.event.Redeliverable(), name)
	}
}
