package lanes_test

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// graceModel has what each session was sold with, and how often its time was used up.
type graceModel map[uuid.UUID]*graced

type graced struct {
	asked   bool
	never   bool // an open end excludes it
	reached int
	until   lanes.Instant // of the grace that it is in
	in      bool
}

func (m graceModel) follow(t *rapid.T, before lanes.Lane, change lanes.Change, command lanes.Command,
	now lanes.Instant,
) {
	if sale, ok := command.(lanes.Create); ok {
		m[sale.Session] = &graced{asked: sale.Grace && sale.OpenEnd == 0, never: sale.OpenEnd > 0}
	}
	if reopen, ok := command.(lanes.Reopen); ok {
		m[change.Lane.Session.ID] = &graced{asked: reopen.Ended.Session.Grace}
	}
	s := before.Session
	if s == nil {
		return
	}
	g := m[s.ID]
	used, rest := s.Phase == lanes.Running && s.RunsFor(now) == 0, time.Duration(0)
	deadline, _ := before.Deadline()
	if advance, ok := command.(lanes.Advance); ok && s.Phase == lanes.Running && advance.By >= s.RunsFor(now) {
		used, deadline, rest = true, now, advance.By-s.RunsFor(now)
	} else if ok && g.in {
		g.until.Mono -= advance.By
	}
	if _, expiry := command.(lanes.Expire); used && (expiry || deadline == now) {
		g.reached++
		lasts := time.Duration(0)
		if g.asked || before.GraceForAll && !g.never {
			lasts = max(0, before.Grace-rest)
		}
		g.in, g.until = true, deadline.Add(lasts)
	}
	after := change.Lane.Session
	switch e := change.Ended; {
	case e != nil && g.in:
		require.Equal(t, e.Session.Sold, e.Used)
		require.Equal(t, deadlineOf(before, now).UTC(), e.At, "it has ended when its time was used up")
		_, stopped := command.(lanes.Stop)
		require.True(t, stopped || now.Mono >= g.until.Mono, "a grace lasts as long as it does")
		g.in = false
	case after != nil && after.Sold > s.Sold && g.in:
		require.Equal(t, after.Sold-s.Sold, after.Remaining(now), "what is added counts from now on")
		require.Equal(t, before.Held, after.Phase == lanes.Paused && after.ByHold)
		g.in = false
	case after != nil && g.in:
		require.Less(t, now.Mono, g.until.Mono)
	}
}

// deadlineOf is when the session's time was used up; now, if a jump of its clock does that.
func deadlineOf(lane lanes.Lane, now lanes.Instant) time.Time {
	if lane.Session.InGrace() {
		return lane.Session.Since.Wall
	}
	if deadline, _ := lane.Deadline(); !now.Before(deadline) {
		return deadline.Wall
	}
	return now.Wall
}

// check checks that the session is in a grace exactly when its time was used up and nothing was added since.
func (m graceModel) check(t *rapid.T, lane lanes.Lane) {
	if lane.Session == nil {
		return
	}
	g := m[lane.Session.ID]
	end, in := lane.GraceEnd()
	require.Equal(t, g.in, in)
	if in {
		require.Equal(t, g.until.Mono, end.Mono)
		require.Zero(t, lane.Session.Left)
		expiry, found := lane.NextExpiry()
		require.True(t, found && expiry == end)
	}
}
