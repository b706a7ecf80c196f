// Package delivery kills the real gateway again and again while it delivers events to a receiver that is slow, refuses,
// hangs and hangs up, and compares what the receiver wrote down with the gateway's event log (DESIGN.md, law 3): per
// lane the right order, no event twice, none missing but those whose attempt a kill interrupted.
//
//	kill_test.go   the story        judge.go          the log against what arrived
//	clients.go     POS clients      retry_test.go     the same with retries, and what they promise
//	                                several_test.go   the same with several webhooks
package delivery

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/test/support"
)

// verdict is what the comparison found, beside faults.
type verdict struct{ delivered, refused, lost, unanswered int }

// gaveUp reports whether the attempt ended before the receiver answered. On a busy machine the receiver may read
// the request after that, or never.
func gaveUp(event support.Event) bool {
	failed := event.Attempt.Error
	return failed != nil &&
		(strings.HasPrefix(*failed, lanes.TimedOut) || strings.HasPrefix(*failed, lanes.Unreachable))
}

// judge compares the log with what arrived.
func judge(t testing.TB, log []support.Event, arrived []support.Arrival) (v verdict) {
	place := map[string]int{} // webhook-id → place in the log
	for i, event := range log {
		require.NotNil(t, event.Attempt, "every event was attempted: %+v", event)
		place["msg_"+event.ID] = i
	}
	seen := map[string]support.Arrival{}
	newest := map[string]int{} // lane → place in the log of the newest that arrived
	for _, a := range arrived {
		i, found := place[a.ID]
		require.True(t, found, "nothing arrives that is not in the log: %+v", a)
		_, again := seen[a.ID]
		require.False(t, again, "no event arrives twice: %+v", a)
		seen[a.ID] = a
		if !gaveUp(log[i]) {
			if before, found := newest[a.Lane]; found {
				require.Less(t, before, i, "lane %s: %s arrived after a later event", a.Lane, a.Event)
			}
			newest[a.Lane] = i
		}
		require.Equal(t, log[i].Payload.Event, a.Event)
		require.Equal(t, log[i].Payload.Session, a.Session)
	}
	for _, event := range log {
		a, arrived := seen["msg_"+event.ID]
		switch {
		case event.Interrupted() && !arrived:
			v.lost++
		case event.Interrupted():
			v.unanswered++
		case event.Attempt.Error == nil:
			require.True(t, arrived, "an event that is recorded as delivered did not arrive: %+v", event)
			require.Equal(t, 204, a.Status)
			v.delivered++
		default:
			require.True(t, gaveUp(event) || arrived && a.Status != 204, "%+v %s", event, *event.Attempt.Error)
			v.refused++
		}
	}
	return v
}
