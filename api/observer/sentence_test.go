package observer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// Every code has a sentence that needs no other source to be understood.
func TestEveryReasonHasASentence(t *testing.T) {
	now := noon
	ago, in := func(d time.Duration) time.Time { return now.Add(-d) },
		func(d time.Duration) time.Time { return now.Add(d) }
	explained := map[lanes.WhyCode]bool{}
	for sentence, why := range map[string]lanes.Why{
		"The store has taken nothing for 14 s: 6 attempts failed, the last: i/o timeout. 3 changes are not saved, " +
			"lanes keep their time and take closings only.": {
			Code: lanes.WhyStoreDown, Since: ago(14 * time.Second), Count: 3, Attempts: 6, Error: "i/o timeout",
		},
		"The range does not run: another process has the range.": {
			Code:  lanes.WhyNotRunning,
			Error: "another process has the range",
		},
		"It is parked and holds its hardware after 6 panics, the last on modify: nil pointer. It is " +
			"tried again in 40 s.": {
			Code: lanes.WhyParked, Next: in(40 * time.Second), What: "modify", Count: 6, Error: "nil pointer",
		},
		"It has been under a hold for 1 min 5 s, and its hardware has not confirmed that its fire line is locked: " +
			"look at the lane.": {
			Code: lanes.WhyHold, Since: ago(65 * time.Second),
		},
		"It has been busy with create for 2 h 3 min, and takes nothing else meanwhile.": {
			Code: lanes.WhyAtHand,
			What: "create", Since: ago(2*time.Hour + 3*time.Minute),
		},
		"It has been saving modify for 14 s: the store has not answered yet.": {
			Code: lanes.WhySaving, What: "modify",
			Since: ago(14 * time.Second),
		},
		"It has been saving stop for 1 h: 1 attempt failed, the last: refused.": {
			Code: lanes.WhySaving, What: "stop", Since: ago(time.Hour), Attempts: 1, Error: "refused",
		},
		"1 change is in force and not saved for 2 min: the store takes longer than a second.": {
			Code: lanes.WhyUnsaved, Count: 1, Since: ago(2 * time.Minute),
			Error: "the store takes longer than a second",
		},
		"The webhook books has answered 410 Gone: nothing is sent before the configuration is " +
			"reloaded.": {Code: lanes.WhyGone, Other: "books"},
		"The webhook books has taken nothing for 2 min, failed 5 times: timed out.": {
			Code: lanes.WhyFailing, Other: "books", Since: ago(2 * time.Minute), Attempts: 5, Error: "timed out",
		},
		"It keeps 95000 idempotency keys: at 100000 requests with new keys are " +
			"refused.": {Code: lanes.WhyKeys, Count: 95000},
		"Its hardware reports: the carrier does not move.": {Code: lanes.WhyFault, Error: "the carrier does not move"},
		"A second controller dialled 9 s ago from 10.0.0.9:40000 and was refused: the link is that to " +
			"10.0.0.12:40000.": {
			Code: lanes.WhyContested, Since: ago(9 * time.Second), Address: "10.0.0.12:40000", Other: "10.0.0.9:40000",
		},
		"It dials 10.0.0.12:8443 again in 8 s, failed 31 times, not linked for 40 min: connection refused.": {
			Code: lanes.WhyDials, Since: ago(40 * time.Minute), Next: in(8 * time.Second), Attempts: 31,
			Error: "connection refused", Address: "10.0.0.12:8443",
		},
		"It is dialling, for the first time, not linked for less than a second: it has not answered " +
			"yet.": {Code: lanes.WhyDialling, Since: now},
		"It has waited for its controller to dial for 3 s: the lane's key is another one.": {
			Code: lanes.WhyAwaits, Since: ago(3 * time.Second), Error: "the lane's key is another one",
		},
		"1 purchase has waited for 9 s for staff to settle it.": {
			Code: lanes.WhyPurchases, Count: 1, Since: ago(9 * time.Second),
		},
		"2 purchases have waited for staff to settle them, the oldest for 9 s.": {
			Code: lanes.WhyPurchases, Count: 2, Since: ago(9 * time.Second),
		},
		"1 event waits for the webhook pos, the oldest for 12 s.": {
			Code:  lanes.WhyBehind,
			Count: 1, Other: "pos", Since: ago(12 * time.Second),
		},
		"2 requests wait, the oldest (stop) for 4 s.": {
			Code:  lanes.WhyBacklog,
			Count: 2, What: "stop", Since: ago(4 * time.Second),
		},
		"7 lanes are not loaded " +
			"yet.": {Code: lanes.WhyStarting, Count: 7},
		"It has waited for its last saved state for " +
			"5 s.": {Code: lanes.WhyStarting, Since: ago(5 * time.Second)},
		"It has been kept free for a session that moves here for 4 s.": {
			Code:  lanes.WhyMoving,
			Since: ago(4 * time.Second),
		},
		"It has been part of an operation of several lanes for 4 s, and waits for the " +
			"others.": {Code: lanes.WhyTogether, Since: ago(4 * time.Second)},
		"20 events for the webhook pos are sent again later; it can be level in 5 min 30 s.": {
			Code: lanes.WhyRetrying, Count: 20, Other: "pos", Next: in(330 * time.Second),
		},
		"It was started again 3 min ago, after it had panicked on hold (2 panics since the start): " +
			"index out of range.": {
			Code: lanes.WhyRestarted, Since: ago(3 * time.Minute), What: "hold", Count: 2, Error: "index out of range",
		},
	} {
		explained[why.Code] = true
		require.Equal(t, sentence, sentenceOf(why, now))
	}
	require.Len(t, explained, len(lanes.Urgency))
	for _, code := range lanes.Urgency {
		require.True(t, explained[code], code)
	}
}
