package lanes_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// lookedAt is when the actors of these tests are looked at, and before some time before it.
var lookedAt = at("12:00").Wall

func before(d time.Duration) time.Time { return lookedAt.Add(-d) }

// reasons are the codes of what holds an actor up, the most urgent first.
func reasons(why *lanes.Why, also []lanes.Why) (codes []lanes.WhyCode) {
	if why == nil {
		return nil
	}
	codes = []lanes.WhyCode{why.Code}
	for _, why := range also {
		codes = append(codes, why.Code)
	}
	return codes
}

// What lasts for a second holds a lane up, each reason for itself, and the most urgent one is told first.
func TestWhatHoldsALaneUp(t *testing.T) {
	type looked struct {
		row     lanes.Observed
		status  lanes.LaneStatus
		work    lanes.LaneWork
		unsaved lanes.LaneUnsaved
		held    time.Time
	}
	second := before(time.Second)
	for name, test := range map[string]struct {
		look looked
		want []lanes.WhyCode
	}{
		"nothing":       {looked{work: lanes.LaneWork{State: lanes.StateReady, Since: before(time.Hour)}}, nil},
		"parked":        {looked{work: lanes.LaneWork{State: lanes.StateParked}}, []lanes.WhyCode{lanes.WhyParked}},
		"held":          {looked{held: second}, []lanes.WhyCode{lanes.WhyHold}},
		"held just now": {looked{held: before(time.Second - 1)}, nil},
		"confirmed":     {looked{held: before(time.Hour), status: lanes.LaneStatus{Locked: true}}, nil},
		"busy": {
			looked{row: lanes.Observed{AtHand: lanes.Awaited{What: "create", Since: second}}},
			[]lanes.WhyCode{lanes.WhyAtHand},
		},
		"saving": {
			looked{work: lanes.LaneWork{State: lanes.StateSaving, Since: second}},
			[]lanes.WhyCode{lanes.WhySaving},
		},
		"unsaved": {looked{unsaved: lanes.LaneUnsaved{Since: second, Changes: 1}}, []lanes.WhyCode{lanes.WhyUnsaved}},
		"faulty": {
			looked{status: lanes.LaneStatus{Lane: lanes.Lane{Fault: "jammed"}}},
			[]lanes.WhyCode{lanes.WhyFault},
		},
		"requests": {
			looked{work: lanes.LaneWork{Oldest: lanes.Awaited{Since: second}}},
			[]lanes.WhyCode{lanes.WhyBacklog},
		},
		"starting": {
			looked{work: lanes.LaneWork{State: lanes.StateStarting, Since: second}},
			[]lanes.WhyCode{lanes.WhyStarting},
		},
		"kept for a move": {
			looked{work: lanes.LaneWork{State: lanes.StateMoving, Since: second}},
			[]lanes.WhyCode{lanes.WhyMoving},
		},
		"kept for others": {
			looked{work: lanes.LaneWork{State: lanes.StateTogether, Since: second}},
			[]lanes.WhyCode{lanes.WhyTogether},
		},
		"a panic": {
			looked{row: lanes.Observed{Panics: lanes.Panics{Count: 1, Last: before(10*time.Minute - 1)}}},
			[]lanes.WhyCode{lanes.WhyRestarted},
		},
		"a panic of long ago": {
			looked{row: lanes.Observed{Panics: lanes.Panics{Count: 1, Last: before(10 * time.Minute)}}}, nil,
		},
		"no panic, just started": {looked{row: lanes.Observed{Panics: lanes.Panics{Last: lookedAt}}}, nil},
		"all at once": {looked{
			row: lanes.Observed{
				AtHand: lanes.Awaited{Since: second}, Panics: lanes.Panics{Count: 6, Last: second},
			},
			status: lanes.LaneStatus{Lane: lanes.Lane{
				Fault: "jammed",
				Open:  []*lanes.Purchase{{At: lanes.Instant{Wall: second}}},
			}},
			work:    lanes.LaneWork{State: lanes.StateParked, Oldest: lanes.Awaited{Since: second}},
			unsaved: lanes.LaneUnsaved{Since: second}, held: second,
		}, []lanes.WhyCode{
			lanes.WhyParked, lanes.WhyHold, lanes.WhyAtHand, lanes.WhyUnsaved, lanes.WhyFault, lanes.WhyPurchases,
			lanes.WhyBacklog, lanes.WhyRestarted,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := test.look
			require.Equal(t, test.want,
				reasons(l.row.WhyLane(lookedAt, l.status, l.work, l.unsaved, lanes.StoreOutage{}, l.held)))
		})
	}
}

// Of the purchases that staff have to settle the oldest is told, and how many there are.
func TestPurchasesForStaffHoldALaneUp(t *testing.T) {
	purchase := func(ago time.Duration) *lanes.Purchase {
		return &lanes.Purchase{ID: uuid.New(), At: lanes.Instant{Wall: before(ago)}}
	}
	status := lanes.LaneStatus{Lane: lanes.Lane{Open: []*lanes.Purchase{purchase(time.Minute), purchase(time.Hour)}}}
	why, _ := lanes.Observed{}.WhyLane(lookedAt, status, lanes.LaneWork{}, lanes.LaneUnsaved{},
		lanes.StoreOutage{}, time.Time{})
	require.Equal(t, &lanes.Why{Code: lanes.WhyPurchases, Count: 2, Since: before(time.Hour)}, why)
}

// A link that is not up is dialled, is to be dialled later, or is waited for.
func TestWhatHoldsAConnectionUp(t *testing.T) {
	down := lanes.LinkHealth{Link: lanes.LinkDown, Since: before(time.Minute)}
	for name, test := range map[string]struct {
		link    lanes.LinkProblem
		contest *lanes.Contest
		want    []lanes.WhyCode
	}{
		"up":       {lanes.LinkProblem{LinkHealth: lanes.LinkHealth{Link: lanes.LinkUp}}, nil, nil},
		"dialling": {lanes.LinkProblem{LinkHealth: down}, nil, []lanes.WhyCode{lanes.WhyDialling}},
		"dials again": {
			lanes.LinkProblem{LinkHealth: down, RetryAt: lookedAt.Add(1)},
			nil,
			[]lanes.WhyCode{lanes.WhyDials},
		},
		"due by now": {
			lanes.LinkProblem{LinkHealth: down, RetryAt: lookedAt},
			nil,
			[]lanes.WhyCode{lanes.WhyDialling},
		},
		"is waited for": {lanes.LinkProblem{LinkHealth: down, Awaits: true}, nil, []lanes.WhyCode{lanes.WhyAwaits}},
		"contested": {
			lanes.LinkProblem{LinkHealth: lanes.LinkHealth{Link: lanes.LinkUp}},
			&lanes.Contest{At: lookedAt},
			[]lanes.WhyCode{lanes.WhyContested},
		},
	} {
		require.Equal(t, test.want, reasons(lanes.Observed{}.WhyConnection(lookedAt, test.link, test.contest)), name)
	}
}

// A range is held up by its store, by lanes that are not loaded, and by more than nine tenths of the keys that
// it may keep.
func TestWhatHoldsARangeUp(t *testing.T) {
	why := func(outage lanes.StoreOutage, notLoaded, keys int) []lanes.WhyCode {
		return reasons(lanes.Observed{}.WhyRange(lookedAt, outage, notLoaded, 0, keys, 1000))
	}
	require.Empty(t, why(lanes.StoreOutage{}, 0, 900))
	require.Equal(t, []lanes.WhyCode{lanes.WhyKeys}, why(lanes.StoreOutage{}, 0, 901))
	require.Equal(t, []lanes.WhyCode{lanes.WhyStarting}, why(lanes.StoreOutage{}, 1, 0))
	require.Equal(t, []lanes.WhyCode{lanes.WhyStoreDown, lanes.WhyKeys, lanes.WhyStarting},
		why(lanes.StoreOutage{Since: lookedAt}, 7, 1000))
}

// Events are held up by what their webhook answers, three times in a row, and by waiting for ten seconds.
func TestWhatHoldsEventsUp(t *testing.T) {
	why := func(o lanes.Observed, failures, retrying int) []lanes.WhyCode {
		return reasons(o.WhyEvents(lookedAt, lanes.Failing{Count: failures}, retrying, lookedAt))
	}
	require.Empty(t, why(lanes.Observed{State: lanes.StateReady}, 2, 0))
	require.Equal(t, []lanes.WhyCode{lanes.WhyFailing}, why(lanes.Observed{}, 3, 0))
	require.Equal(t, []lanes.WhyCode{lanes.WhyRetrying}, why(lanes.Observed{}, 0, 1))
	require.Equal(t, []lanes.WhyCode{lanes.WhyGone}, why(lanes.Observed{State: lanes.StateGone}, 0, 0))
	waits := func(d time.Duration) lanes.Observed { return lanes.Observed{Oldest: lanes.Awaited{Since: before(d)}} }
	require.Empty(t, why(waits(10*time.Second-1), 0, 0))
	require.Equal(t, []lanes.WhyCode{lanes.WhyBehind}, why(waits(10*time.Second), 0, 0))
}
