package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func TestAHoldClosesWhatItCoversAndNothingElse(t *testing.T) {
	for name, story := range map[string]struct {
		over       func(*rig) lanes.Scope
		held, free []int
	}{
		"the range": {func(*rig) lanes.Scope { return everywhere }, []int{0, 1, 2, 3}, nil},
		"a bay":     {func(g *rig) lanes.Scope { return g.overBay(1) }, []int{2, 3}, []int{0, 1}},
		"a lane":    {func(g *rig) lanes.Scope { return g.overLane(1) }, []int{1}, []int{0, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				var sessions []uuid.UUID
				for i := range 4 {
					sessions = append(sessions, g.create(i, 30))
				}
				g.pass(10 * time.Minute)
				reached := g.hold(story.over(g))
				require.Equal(t, lanes.Reached{Confirmed: g.theLanes(story.held...), Saved: true}, reached)
				g.requireHeld(story.held...)
				g.requireOpen(story.free...)
				require.Equal(t, []lanes.HoldRecord{{Scope: story.over(g), Who: "sam", Since: g.clock.Now().Wall}}, g.Holds().InForce)

				g.pass(5 * time.Minute)
				for _, i := range story.held {
					require.Equal(t, 20*time.Minute, g.left(sessions[i]))
					require.Equal(t, 20*time.Minute, g.controller(i).Shown().Remaining)
				}
				for _, i := range story.free {
					require.Equal(t, 15*time.Minute, g.left(sessions[i]))
				}

				reached = g.lift(story.over(g))
				require.Equal(t, lanes.Reached{Confirmed: g.theLanes(story.held...), Saved: true}, reached)
				g.requireHeld()
				g.requireOpen(0, 1, 2, 3)
				require.Empty(t, g.inForce())
				g.pass(20 * time.Minute)
				for _, i := range story.held {
					require.Equal(t, []lanes.Kind{
						lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed, lanes.SessionStopped,
					}, g.happened(sessions[i]))
					require.Equal(t, 30*time.Minute, g.ended(sessions[i]).Used)
					require.Equal(t, 5*time.Minute, g.ended(sessions[i]).Paused)
				}
				for _, i := range story.free {
					require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, g.happened(sessions[i]))
				}
			}, withBays)
		})
	}
}

func TestTheEndOfAHoldResumesOnlyWhatAHoldPaused(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		paused, waiting := g.create(0, 30), g.book(1, 30)
		g.pause(paused)
		g.hold(everywhere)
		_, err := g.On(g.request(), paused, lanes.Resume{Session: paused}, nil)
		require.ErrorIs(t, err, lanes.ErrCeasefire)
		g.pass(time.Minute)
		g.lift(everywhere)
		g.requireOpen()
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused}, g.happened(paused))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated}, g.happened(waiting))
		g.resume(paused)
		g.enter(1)
		g.requireOpen(0, 1)
	})
}

func TestAHoldThatIsSetAgainStaysAsItIs(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		first := g.hold(everywhere)
		since := g.Holds()
		g.pass(time.Minute)
		require.Equal(t, first, g.hold(everywhere))
		require.Equal(t, since, g.Holds())
		g.lift(everywhere)
		g.requireOpen(0)
		require.Equal(t, first, g.lift(everywhere), "lifting again is safe")
		require.Len(t, g.happened(session), 4)
	})
}

func TestOverlappingHoldsEndOneByOne(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for i := range 4 {
			g.create(i, 30)
		}
		session := g.onBoard()[0]
		g.hold(g.overLane(0))
		g.pass(time.Minute)
		g.hold(g.overBay(0))
		g.hold(everywhere)
		g.requireHeld(0, 1, 2, 3)

		require.Equal(t, g.theLanes(2, 3), g.lift(everywhere).Confirmed, "the others are not opened")
		g.requireHeld(0, 1)
		g.requireOpen(2, 3)
		g.pass(time.Minute)
		require.Equal(t, g.theLanes(1), g.lift(g.overBay(0)).Confirmed)
		g.requireHeld(0)
		g.requireOpen(1, 2, 3)
		g.pass(time.Minute)
		require.Equal(t, 30*time.Minute, g.left(session))
		g.lift(g.overLane(0))
		g.requireOpen(0, 1, 2, 3)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionResumed,
		}, g.happened(session), "paused once and resumed once")
	}, withBays)
}

func TestWhatIsSoldAndEnteredUnderAHold(t *testing.T) {
	var hardware witness
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.hold(everywhere)
		begun := time.Now()
		sold, booked := g.create(0, 30), g.book(1, 30)
		g.pass(time.Minute)
		g.enter(1)
		g.pass(time.Minute)
		for i, session := range []uuid.UUID{sold, booked} {
			require.Equal(t, 30*time.Minute, g.left(session), "no time is used")
			require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused}, g.happened(session))
			require.False(t, hardware.opened(g.lane(i), begun), "not for a moment")
		}
		g.modify(sold, 5)
		g.lift(everywhere)
		g.requireOpen(0, 1)
		g.pass(30 * time.Minute)
		require.Equal(t, 30*time.Minute, g.ended(booked).Used)
		require.Equal(t, 5*time.Minute, g.left(sold))
	}, watchedBy(&hardware))
}

// The hold over the lane where the session is counts, not the one over the lane where it was.
func TestMovingIntoAHoldAndOutOfIt(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, paused := g.create(0, 30), g.create(1, 30)
		g.pause(paused)
		g.hold(g.overBay(1))
		g.move(session, 2)
		g.move(paused, 3)
		g.requireHeld(2, 3)
		g.requireOpen()
		g.pass(5 * time.Minute)
		require.Equal(t, 30*time.Minute, g.left(session))
		_, err := g.On(g.request(), paused, lanes.Resume{Session: paused}, nil)
		require.ErrorIs(t, err, lanes.ErrCeasefire)

		g.move(session, 0)
		g.move(paused, 1)
		g.requireHeld(2, 3)
		g.requireOpen(0)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused,
			lanes.SessionModified, lanes.SessionResumed,
		}, g.happened(session))
		g.move(session, 2)
		g.lift(g.overBay(1))
		synctest.Wait()
		g.requireOpen(2)
		require.Equal(t, 30*time.Minute, g.left(session))
	}, withBays)
}
