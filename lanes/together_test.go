package lanes_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// For any operations on any lanes: no session is lost, doubled or given time, those that are refused change
// nothing and leave the others as they are, and one operation comes to what it comes to alone.
func TestOperationsAreDecidedTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Mono: time.Hour}
		on := map[uuid.UUID]lanes.Lane{}
		var ids []uuid.UUID
		at := map[uuid.UUID]uuid.UUID{} // session → its lane
		var sessions []uuid.UUID
		for i := range rapid.IntRange(1, 5).Draw(t, "lanes") {
			lane := lanes.Lane{
				ID: uuid.UUID{15: byte(i + 1)}, Accessible: true,
				Usable: rapid.IntRange(0, 5).Draw(t, "usable") > 0,
			}
			lane.Held = rapid.IntRange(0, 5).Draw(t, "held") == 0
			ids = append(ids, lane.ID)
			if rapid.IntRange(0, 3).Draw(t, "occupied") > 0 {
				session := uuid.UUID{0: 1, 15: byte(i)}
				phase := rapid.SampledFrom([]lanes.Phase{lanes.Waiting, lanes.Running, lanes.Paused}).Draw(t, "phase")
				lane.Session = &lanes.Session{
					ID: session, Phase: phase, Sold: time.Hour, Left: time.Hour,
					Since: now, Created: now,
				}
				if phase != lanes.Waiting {
					lane.Session.Began = &now
				}
				if lane.Held && phase == lanes.Running {
					lane.Session.Phase, lane.Session.ByHold = lanes.Paused, true
				}
				at[session], sessions = lane.ID, append(sessions, session)
			}
			on[lane.ID] = lane
		}
		now = now.Add(10 * time.Minute)
		ops := operations(t, ids, sessions, at)

		decided, became, err := lanes.DecideTogether(now, on, ops)
		require.NoError(t, err)
		requireEverySession(t, on, ops, decided, became)

		again := append([]lanes.Operation(nil), ops...)
		for i, d := range decided {
			if d.Err != nil {
				again[i].Refusal = d.Err
			}
		}
		second, same, err := lanes.DecideTogether(now, on, again)
		require.NoError(t, err)
		for id, lane := range became {
			require.Equal(t, lane, same[id])
		}
		for i := range decided {
			require.Equal(t, decided[i].Err, second[i].Err)
		}

		if ops[0].To == uuid.Nil && ops[0].Refusal == nil {
			alone, err := on[ops[0].Lane].Decide(now, ops[0].Command)
			require.Equal(t, err, decided[0].Err)
			require.Equal(t, alone.Lane, decided[0].Change.Lane)
		}
	})
}

// operations draws some.
func operations(t *rapid.T, ids, sessions []uuid.UUID, at map[uuid.UUID]uuid.UUID) (ops []lanes.Operation) {
	for i := range rapid.IntRange(1, 8).Draw(t, "operations") {
		lane := rapid.SampledFrom(ids).Draw(t, "lane")
		kind := rapid.SampledFrom([]string{
			"create", "move", "move", "move", "stop", "pause", "modify", "enter",
			"resume",
		}).Draw(t, "kind")
		if kind == "create" || len(sessions) == 0 {
			ops = append(ops, lanes.Operation{Lane: lane, Command: lanes.Create{
				Session: uuid.UUID{0: 2, 15: byte(i)}, Customer: "Jo", Minutes: 60, AutoStart: rapid.Bool().
						Draw(t, "auto-start"),
			}})
			continue
		}
		session := rapid.SampledFrom(sessions).Draw(t, "session")
		op := lanes.Operation{Lane: at[session], Session: session, By: lanes.ByPOS}
		switch kind {
		case "move":
			op.To, op.Command = lane, lanes.Move{Session: session}
		case "stop":
			op.Command = lanes.Stop{Session: session, By: lanes.ByPOS}
		case "pause":
			op.Command = lanes.Pause{Session: session}
		case "resume":
			op.Command = lanes.Resume{Session: session}
		case "enter":
			op.Command = lanes.Enter{Session: session}
		case "modify":
			op.Command = lanes.Modify{Session: session, Minutes: rapid.IntRange(-70, 70).Draw(t, "minutes")}
		}
		ops = append(ops, op)
	}
	return ops
}

func requireEverySession(
	t *rapid.T, on map[uuid.UUID]lanes.Lane, ops []lanes.Operation, decided []lanes.Decided,
	became map[uuid.UUID]lanes.Lane,
) {
	expected, sold := map[uuid.UUID]bool{}, map[uuid.UUID]time.Duration{}
	for _, lane := range on {
		if lane.Session != nil {
			expected[lane.Session.ID], sold[lane.Session.ID] = true, lane.Session.Sold
		}
	}
	for i, d := range decided {
		require.NotErrorIs(t, d.Err, lanes.ErrSessionNotFound, "each finds its session")
		if d.Err != nil {
			if session := ops[i].Session; session != uuid.Nil {
				require.Equal(t, !expected[session], errors.Is(d.Err, lanes.ErrSessionEnded))
			}
			continue
		}
		switch command := ops[i].Command.(type) {
		case lanes.Create:
			expected[command.Session], sold[command.Session] = true, time.Duration(command.Minutes)*time.Minute
		case lanes.Stop:
			require.NotNil(t, d.Change.Ended)
			delete(expected, command.Session)
		case lanes.Modify:
			sold[command.Session] += time.Duration(command.Minutes) * time.Minute
		}
	}
	found := map[uuid.UUID]bool{}
	require.Len(t, became, len(on))
	for id, lane := range became {
		require.Equal(t, id, lane.ID)
		require.False(t, lane.AwaitsMove)
		if lane.Session == nil {
			continue
		}
		require.False(t, found[lane.Session.ID], "a session on two lanes")
		found[lane.Session.ID] = true
		require.Equal(t, sold[lane.Session.ID], lane.Session.Sold)
		require.False(t, lane.Held && lane.Session.Phase == lanes.Running)
	}
	require.Equal(t, expected, found)
}

// A session that a hold had paused goes on where there is none, and one that changes places with it is paused there.
func TestSessionsChangePlacesUnderAHold(t *testing.T) {
	now := lanes.Instant{Wall: time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), Mono: time.Hour}
	began := now
	session := func(id byte, phase lanes.Phase, byHold bool) *lanes.Session {
		return &lanes.Session{
			ID: uuid.UUID{id}, Phase: phase, ByHold: byHold, Sold: time.Hour, Left: time.Hour, Since: now,
			Began: &began, Created: now,
		}
	}
	held := lanes.Lane{
		ID: uuid.UUID{1}, Accessible: true, Usable: true, Held: true,
		Session: session(11, lanes.Paused, true),
	}
	open := lanes.Lane{ID: uuid.UUID{2}, Accessible: true, Usable: true, Session: session(12, lanes.Running, false)}
	move := func(from, to lanes.Lane) lanes.Operation {
		return lanes.Operation{
			Lane: from.ID, Session: from.Session.ID, To: to.ID, By: lanes.ByPOS,
			Command: lanes.Move{Session: from.Session.ID},
		}
	}
	decided, became, err := lanes.DecideTogether(now.Add(time.Minute),
		map[uuid.UUID]lanes.Lane{held.ID: held, open.ID: open},
		[]lanes.Operation{move(held, open), move(open, held)})
	require.NoError(t, err)
	require.NoError(t, decided[0].Err)
	require.NoError(t, decided[1].Err)
	require.Equal(t, lanes.Running, became[open.ID].Session.Phase)
	require.Equal(t, time.Hour, became[open.ID].Session.Left)
	require.Equal(t, lanes.Paused, became[held.ID].Session.Phase)
	require.Equal(t, 59*time.Minute, became[held.ID].Session.Left)
	require.True(t, became[held.ID].Held)
	require.False(t, became[open.ID].Held)
}

// A stop that the hardware has closed for before it is decided counts from then, unless the session has begun
// anew since; one of a lane whose session is gone finds none.
func TestAStopCountsFromWhenTheHardwareClosed(t *testing.T) {
	session := uuid.New()
	sold, err := (lanes.Lane{ID: uuid.New(), Accessible: true, Usable: true}).Decide(at("12:00"), lanes.Create{
		Session: session, Minutes: 30, AutoStart: true,
	})
	require.NoError(t, err)
	used := func(lane lanes.Lane, closed lanes.Instant) (time.Duration, error) {
		decided, _, err := lanes.DecideTogether(at("12:10"), map[uuid.UUID]lanes.Lane{lane.ID: lane},
			[]lanes.Operation{{
				Lane: lane.ID, Session: session, Command: lanes.Stop{Session: session, By: lanes.ByPOS}, Closed: closed,
			}})
		require.NoError(t, err)
		if decided[0].Err != nil {
			return 0, decided[0].Err
		}
		return decided[0].Change.Ended.Used, nil
	}
	for closed, want := range map[lanes.Instant]time.Duration{
		{}:          10 * time.Minute,
		at("12:04"): 4 * time.Minute,
		at("11:59"): 10 * time.Minute, // for a session of before
	} {
		got, err := used(sold.Lane, closed)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	free := sold.Lane
	free.Session = nil
	_, err = used(free, at("12:04"))
	require.ErrorIs(t, err, lanes.ErrSessionNotFound)
}
