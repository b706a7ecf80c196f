package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// beside does everything at once and tells how each ended.
func beside(do ...func() error) []error {
	answers := make([]chan error, len(do))
	for i := range do {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- do[i]() }()
	}
	errs := make([]error, len(do))
	for i := range answers {
		errs[i] = <-answers[i]
	}
	synctest.Wait()
	return errs
}

func (g *rig) tryStop(session uuid.UUID) error {
	_, err := g.On(g.request(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
	return err
}

func (g *rig) stopsOf(session uuid.UUID) (stops int) {
	for _, kind := range g.happened(session) {
		if kind == lanes.SessionStopped {
			stops++
		}
	}
	return stops
}

func TestAStopThatRacesAMoveEndsTheSessionOnce(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for round := range 50 {
			session := g.create(0, 30)
			errs := beside(
				func() error { return g.tryMove(session, 1) },
				func() error { return g.tryStop(session) },
			)
			require.NoError(t, errs[1], "round %d", round)
			require.Empty(t, g.onBoard())
			require.Equal(t, 1, g.stopsOf(session))
			for i := range 2 {
				require.Equal(t, uuid.Nil, g.controller(i).Shown().Session)
			}
		}
	})
}

// The stop arrives at the lane that the session is just leaving, or at the one that waits for it.
func TestAStopFollowsAMovingSession(t *testing.T) {
	for at, what := range []string{"to the lane it leaves", "to the lane it goes to"} {
		t.Run(what, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				g.pass(10 * time.Minute)
				release := g.holdFlushes()
				moved := g.begin(func() error { return g.tryMove(session, 1) })
				stopped := g.begin(func() error {
					stop := &request{command: lanes.Stop{Session: session, By: lanes.ByPOS}, by: lanes.ByPOS}
					stop.ctx = g.request()
					_, err := g.ask(stop.ctx, g.lane(at), stop)
					return err
				})
				g.pass(500 * time.Millisecond)
				release()
				require.NoError(t, <-moved)
				require.NoError(t, <-stopped)
				synctest.Wait()
				require.False(t, g.open(0))
				require.False(t, g.open(1))
				require.Equal(t, g.lane(1), g.ended(session).Lane)
				require.Equal(t, 10*time.Minute, g.ended(session).Used, "from when it arrived")
				g.create(0, 30)
				g.create(1, 30)
			})
		})
	}
}

// A hold that comes over the destination in the midst of the move finds the session there and pauses it.
func TestAHoldOverTheLaneThatASessionMovesTo(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(10 * time.Minute)
		release := g.holdFlushes()
		moved := g.begin(func() error { return g.tryMove(session, 1) })
		over := func(command lanes.Command) func() error {
			return func() error {
				ctx := g.request()
				_, err := g.ask(ctx, g.lane(1), &request{ctx: ctx, command: command, by: lanes.ByStaff})
				return err
			}
		}
		held := g.begin(over(lanes.Hold{}))
		require.True(t, g.controller(1).Shown().Hold, "at once")
		release()
		require.NoError(t, <-moved)
		require.NoError(t, <-held)
		g.pass(time.Minute)
		require.False(t, g.open(1))
		require.Equal(t, 20*time.Minute, g.left(session))
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused,
		}, g.happened(session))
		require.NoError(t, over(lanes.Release{})())
		synctest.Wait()
		require.True(t, g.open(1))
	})
}

func TestTwoSessionsCannotSwapLanes(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		a, b := g.create(0, 30), g.create(1, 30)
		for range 50 {
			errs := beside(
				func() error { return g.tryMove(a, 1) },
				func() error { return g.tryMove(b, 0) },
			)
			require.Equal(t, []error{lanes.ErrLaneOccupied, lanes.ErrLaneOccupied}, errs)
		}
		require.Equal(t, []uuid.UUID{a, b}, g.onBoard())
		g.modify(a, 1)
		g.modify(b, 1)
	})
}

func TestOneOfTwoSessionsGetsTheFreeLane(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for range 50 {
			a, b := g.create(0, 30), g.create(1, 30)
			errs := beside(
				func() error { return g.tryMove(a, 2) },
				func() error { return g.tryMove(b, 2) },
				func() error { return g.tryMove(a, 1) },
			)
			require.ElementsMatch(t, []error{nil, lanes.ErrLaneOccupied}, errs[:2])
			require.Len(t, g.onBoard(), 2)
			g.stop(a)
			g.stop(b)
			require.Empty(t, g.onBoard())
		}
		require.NoError(t, g.tryCreate(2, 30), "no lane stays reserved")
	}, withLanes(3))
}

// Whichever of the two lanes panics, and whenever, the session is on one of them.
func TestAPanicInTheMidstOfAMove(t *testing.T) {
	for crashing, what := range []string{"of the lane it leaves", "of the lane it goes to"} {
		t.Run(what+", while it is saved", func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				release := g.holdFlushes()
				moved := g.begin(func() error { return g.tryMove(session, 1) })
				g.crash(crashing)
				require.Equal(t, []uuid.UUID{session}, g.onBoard())
				release()
				<-moved
				g.pass(time.Second)
				require.Equal(t, []uuid.UUID{session}, g.onBoard())
				require.Equal(t, g.lane(1), g.Sessions()[0].Lane)
				require.False(t, g.open(0))
				require.True(t, g.open(1))
				g.create(0, 30)
				g.modify(session, 1)
			})
		})
		t.Run(what+", before it is decided", func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				session := g.create(0, 30)
				release := g.holdFlushes()
				g.begin(func() error { return g.tryModify(session, 1) })
				moved := g.begin(func() error { return g.tryMove(session, 1) })
				g.crash(crashing)
				release()
				require.Error(t, <-moved)
				g.pass(time.Second)
				require.Equal(t, g.lane(0), g.Sessions()[0].Lane)
				require.True(t, g.open(0))
				g.create(1, 30)
			})
		})
	}
}
