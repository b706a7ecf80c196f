package lanes_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// An event says by how much the clock was let jump ahead since the one before.
func TestADecisionKnowsOfJumps(t *testing.T) {
	session := uuid.New()
	lane := lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}
	now := lanes.Instant{Wall: time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)}
	decide := func(command lanes.Command) lanes.Change {
		t.Helper()
		change, err := lane.Decide(now, command)
		require.NoError(t, err)
		lane = change.Lane
		return change
	}
	decide(lanes.Create{Session: session, Customer: "Jo", Minutes: 30, AutoStart: true})
	decide(lanes.Advance{Session: session, By: 2 * time.Minute})
	decide(lanes.Advance{Session: session, By: 3 * time.Minute})
	paused := decide(lanes.Pause{Session: session})
	require.Equal(t, 5*time.Minute, paused.Events[0].Decision.Advanced)
	resumed := decide(lanes.Resume{Session: session})
	require.Zero(t, resumed.Events[0].Decision.Advanced)
}

// The record of a reservation says for how many seconds it is.
func TestTheRecordOfAReservation(t *testing.T) {
	reserve := lanes.Reserve{Reservation: &lanes.Reservation{Term: 90 * time.Second}}
	act := lanes.Did("sam", lanes.Instant{}, lanes.Lane{}, reserve, lanes.Change{})
	require.Equal(t, "90", act.Detail)
}

// Who has asked for a change is on record with its first event, unless the command has said so. A change
// without an event has nothing to put it on record with.
func TestWhoHasAskedForAChange(t *testing.T) {
	lane := lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}
	sale := lanes.Create{Session: uuid.New(), Customer: "Jo", Minutes: 30, AutoStart: true}
	change, err := lane.Decide(lanes.Instant{}, sale)
	require.NoError(t, err)
	require.Len(t, change.Events, 2)
	change.AskedBy(lanes.ByStaff)
	change.AskedBy(lanes.ByPOS)
	require.Equal(t, lanes.ByStaff, change.Events[0].Decision.By)
	require.Nil(t, change.Events[1].Decision)
	require.NotPanics(t, func() { lanes.Change{}.AskedBy(lanes.ByPOS) })
}

// An end that is decided late says by how much, and by how much the wall clock was set since it was due.
func TestADecisionKnowsThatItIsLate(t *testing.T) {
	lane := lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}
	began := lanes.Instant{Wall: time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC), Mono: time.Hour}
	sold, err := lane.Decide(began, lanes.Create{Session: uuid.New(), Customer: "Jo", Minutes: 30, AutoStart: true})
	require.NoError(t, err)
	late := began.Add(30*time.Minute + 5*time.Second)
	late.Wall = late.Wall.Add(time.Hour)
	ended, err := sold.Lane.Decide(late, lanes.Expire{})
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, ended.Events[0].Decision.Late)
	require.Equal(t, time.Hour, ended.Events[0].Decision.Stepped)
	require.Equal(t, late.Wall, ended.Events[0].Decision.MadeAt(ended.Events[0].At))
}

// Kinds of a later release go only to webhooks that name them.
func TestTheKindsThatAWebhookHasToName(t *testing.T) {
	for kind, named := range map[lanes.Kind]bool{
		lanes.SessionEnding: true, lanes.SessionExpired: true, lanes.SessionBeyond: true,
		lanes.SessionCreated: false, lanes.SessionStarted: false, lanes.SessionPaused: false,
		lanes.SessionResumed: false, lanes.SessionStopped: false, lanes.Help: false, lanes.PurchaseRequest: false,
	} {
		require.Equal(t, named, kind.OnlyNamed(), kind)
	}
}

// Whoever lifts a hold names the press that they have seen: it is refused where somebody has pressed since.
func TestWhetherAHoldWasPressedSince(t *testing.T) {
	whole, lane := lanes.Scope{Kind: lanes.OverRange}, lanes.Scope{Kind: lanes.OverLane, ID: uuid.UUID{1}}
	first, second := uuid.New(), uuid.New()
	holds := lanes.Holds{InForce: []lanes.HoldRecord{{Scope: whole, Press: second}}}
	require.True(t, holds.PressedSince(whole, first))
	require.False(t, holds.PressedSince(whole, second))
	require.False(t, holds.PressedSince(whole, uuid.Nil), "the newest is meant, whichever that is")
	require.False(t, holds.PressedSince(lane, first), "there is none over the lane alone")
	require.False(t, lanes.Holds{}.PressedSince(whole, first))
}
