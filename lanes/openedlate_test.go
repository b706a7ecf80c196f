package lanes_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What a line was locked for is counted from when it was locked, or from when its session began, and not behind the end
// of its time. Nothing is counted of a session whose time stands still.
func TestHowLongALineWasLockedWhileTimeWasCounted(t *testing.T) {
	as := func(change func(*lanes.Lane)) lanes.Lane {
		lane := runningLane()
		change(&lane)
		return lane
	}
	running := runningLane()
	for name, c := range map[string]struct {
		lane     lanes.Lane
		from, to string
		locked   time.Duration
	}{
		"since it began":              {running, "12:00", "12:02", 2 * time.Minute},
		"since before it began":       {running, "11:50", "12:02", 2 * time.Minute},
		"since it was locked":         {running, "12:10", "12:12", 2 * time.Minute},
		"longer than it lasts":        {running, "12:00", "13:00", time.Hour},
		"from the end of its time on": {running, "12:30", "12:40", 0},
		"closed again before it was":  {running, "12:10", "12:05", 0},
		"a lane without a session":    {lanes.Lane{}, "12:00", "12:02", 0},
		"under a hold":                {as(func(l *lanes.Lane) { l.Held = true }), "12:00", "12:02", 0},
		"while it is paused": {
			as(func(l *lanes.Lane) { l.Session.Phase = lanes.Paused }), "12:00", "12:02", 0,
		},
		"where its open end goes on": {
			as(func(l *lanes.Lane) { l.Session.OpenEnd = time.Hour }), "12:40", "12:45", 5 * time.Minute,
		},
		"where only hardware knows": {
			as(func(l *lanes.Lane) { l.Session.OpenEnd, l.Unproven = time.Hour, new(at("12:00")) }), "12:00",
			"12:02", 0,
		},
		"where its end is none that is open": {
			as(func(l *lanes.Lane) { l.Unproven = new(at("12:00")) }), "12:00", "12:02", 2 * time.Minute,
		},
	} {
		require.Equal(t, c.locked, c.lane.LockedFor(at(c.from), at(c.to)), name)
	}
}

// runningLane has a session of 30 minutes that runs since 12:00.
func runningLane() lanes.Lane {
	return lanes.Lane{Session: &lanes.Session{
		ID: uuid.New(), Sold: 30 * time.Minute, Left: 30 * time.Minute, Phase: lanes.Running, Since: at("12:00"),
	}}
}

// A lane is open for a session until its deadline there, and not at all for another one.
func TestUntilWhenALaneIsOpenForASession(t *testing.T) {
	lane := runningLane()
	session := lane.Session
	require.Equal(t, at("12:30"), lane.OpenUntil(session.ID, at("12:10")))
	require.Equal(t, at("12:40"), lane.OpenUntil(session.ID, at("12:40")), "it was locked before")
	require.Equal(t, at("12:10"), lane.OpenUntil(uuid.New(), at("12:10")))
	require.Equal(t, at("12:10"), lanes.Lane{}.OpenUntil(session.ID, at("12:10")))
}

// Time is given back also where all of it was used up meanwhile: the session goes on, and the record of its next event
// says what was not charged.
func TestTimeThatWasCountedWhileTheLineWasLockedIsGivenBack(t *testing.T) {
	lane := runningLane()
	session := lane.Session
	session.Sold, session.Left = time.Minute, time.Minute
	late := lanes.OpenedLate{Session: session.ID, Locked: 2 * time.Minute}
	change, err := lane.Decide(at("12:02"), late)
	require.NoError(t, err)
	require.Empty(t, change.Events)
	require.False(t, change.Closing)
	require.Equal(t, time.Minute, change.Lane.Session.Remaining(at("12:02")))
	again, err := change.Lane.Decide(at("12:03"), lanes.OpenedLate{Session: session.ID, Locked: time.Minute})
	require.NoError(t, err, "that took long to save, too")
	require.Equal(t, time.Minute, again.Lane.Session.Remaining(at("12:03")))
	stopped, err := again.Lane.Decide(at("12:03"), lanes.Stop{Session: session.ID, By: lanes.ByPOS})
	require.NoError(t, err)
	require.Zero(t, stopped.Ended.Used)
	require.Equal(t, 3*time.Minute, stopped.Events[0].Decision.Uncharged)
	_, err = lanes.Lane{}.Decide(at("12:02"), late)
	require.ErrorIs(t, err, lanes.ErrSessionNotFound)
	lane.Session.Phase = lanes.Paused
	_, err = lane.Decide(at("12:02"), late)
	require.ErrorIs(t, err, lanes.ErrNotRunning, "its time stands still")
}
