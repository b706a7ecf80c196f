package actors

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Holds through restarts of the gateway and panics of lanes: no lane opens because a hold was forgotten.

func TestARestartKeepsEveryHold(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		running, waiting := f.create(0, 30), f.createWaiting(1, 30)
		f.advance(time.Minute)
		f.setHold(f.bayScope(0))
		f.setHold(f.laneScope(2))
		before := f.Holds()
		for _, reboot := range []bool{false, true} {
			f.shutDown()
			if reboot {
				f.clock.Reboot()
			}
			down := time.Now()
			f.advance(5 * time.Minute)
			f.start()
			require.Equal(t, before, f.Holds())
			f.requireHeld(0, 1, 2)
			require.Equal(t, 29*time.Minute, f.remaining(running))
			for _, sent := range recorder.sent(f.laneID(0), down) {
				require.True(t, sent.state.Hold, "no other state was sent")
			}
			require.Len(t, f.eventKinds(running), 3, "it is not paused again")
		}
		f.enter(1)
		f.liftHold(f.bayScope(0))
		f.requireHeld(2)
		f.requireOpen(0, 1)
		require.Equal(t, 30*time.Minute, f.remaining(waiting))
		f.restart()
		f.requireHeld(2)
	}, withBays, withRecorder(&recorder))
}

// The lane's own record does not have the hold: the gateway crashed before it was saved. The range's record counts.
func TestARestartedLaneFollowsTheRangesRecordOfHolds(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		lane := f.Lanes()[0].Lane
		f.setHold(rangeScope)
		forgotten := make(chan commit.Outcome, 1)
		f.committer.Save(&commit.Write{Lanes: []lanes.Lane{lane}, Done: func(o commit.Outcome) { forgotten <- o }})
		require.Equal(t, commit.Saved, <-forgotten)
		f.kill()
		f.start()
		f.requireHeld(0, 1)
		require.Equal(t, lanes.Paused, f.Sessions()[0].Phase)
		f.liftHold(rangeScope)
		f.requireOpen(0)

		held := f.Lanes()[0].Lane
		held.Held = true
		f.committer.Save(&commit.Write{Lanes: []lanes.Lane{held}, Done: func(o commit.Outcome) { forgotten <- o }})
		require.Equal(t, commit.Saved, <-forgotten)
		f.kill()
		f.start()
		f.requireHeld()
		f.requireOpen(0)
		require.Equal(t, session, f.activeSessions()[0])
	})
}

func TestAHoldSurvivesTheLossOfTheStore(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		running, other := f.create(0, 30), f.create(2, 30)
		f.setHold(f.bayScope(0))
		f.setHold(f.bayScope(1))
		f.liftHold(f.bayScope(1))
		before := f.Holds()
		f.wipeStore()
		f.modify(other, 5)
		require.Equal(t, before, f.savedHolds())
		f.restart()
		require.Equal(t, before, f.Holds())
		f.requireHeld(0, 1)
		require.Equal(t, []uuid.UUID{running, other}, f.activeSessions())

		f.wipeStore() // the lift notices the loss
		f.liftHold(f.bayScope(0))
		f.restart()
		require.Empty(t, f.heldScopes())
		f.requireHeld()
		f.requireOpen(0, 2)

		f.wipeStore() // the hold notices the loss
		require.True(t, f.setHold(rangeScope).Saved)
		f.kill()
		f.start()
		f.requireHeld(0, 1, 2, 3)
	}, withBays)
}

// The gateway is killed at every flush while a hold is set and lifted. After the restart exactly those lanes
// are held that the range's record says.

func TestAHoldSurvivesAKillAtAnyFlush(t *testing.T) {
	for _, written := range []bool{false, true} {
		for at := int64(1); killUnderHold(t, at, written); at++ {
			require.Less(t, at, int64(100), "there is a last flush")
		}
	}
}

func killUnderHold(t *testing.T, at int64, written bool) (died bool) {
	t.Run(fmt.Sprintf("at flush %d, written %t", at, written), func(t *testing.T) {
		died = testKillUnderHold(t, at, written)
	})
	return died
}

// holdReplies is what staff were answered before the kill. ended is whether the end of the hold was saved,
// whatever they were answered.
type holdReplies struct{ held, lifted, ended bool }

func testKillUnderHold(t *testing.T, at int64, written bool) bool {
	var recorder driverRecorder
	point := &killPoint{flush: at, written: written}
	runFixture(t, func(t *testing.T, f *fixture) {
		for i := range 4 {
			f.create(i, 30)
		}
		f.advance(time.Minute)
		f.setKillPoint(point)
		staff := f.holdAndLift()
		f.killAt(point)

		restarted := time.Now()
		f.start()
		staff.ended = len(f.Holds().Lifted) > 0 // before the lanes have confirmed it
		f.advance(lastBackoff)
		f.requireSavedHolds(staff)
		if staff.held && !staff.lifted && f.savedHolds().Has(f.bayScope(0)) {
			require.False(t, recorder.everOpened(f.laneID(0), restarted), "never open where a hold was saved")
		}
		before := f.Holds()
		f.restart()
		require.Equal(t, before, f.Holds())
		f.requireSavedHolds(staff)
		for _, scope := range f.heldScopes() {
			f.liftHold(scope)
		}
		f.requireHeld()
		f.requireOpen(0, 1, 2, 3)
	}, withBays, withRecorder(&recorder))
	return point.reached()
}

// holdAndLift sets a hold over a bay and ends it, with a command to one of its lanes in between.
func (f *fixture) holdAndLift() (replies holdReplies) {
	f.Helper()
	reached, err := f.Hold(f.Context(), f.bayScope(0), "sam")
	require.NoError(f, err)
	require.Equal(f, f.laneIDs(0, 1), reached.Confirmed, "the hold is confirmed although the store failed")
	replies.held = reached.Saved
	f.advance(2 * time.Second)
	_ = f.tryModify(f.activeSessions()[0], 1)
	if _, err = f.Lift(f.Context(), f.bayScope(0), uuid.Nil, "kim"); err == nil {
		replies.lifted = true
	}
	synctest.Wait()
	f.advance(time.Second)
	return replies
}

// requireSavedHolds requires that exactly the lanes in the record are held, and that the record agrees with
// what staff were answered. A hold that was lost was in force on the hardware: that still holds, and staff
// are shown it.
func (f *fixture) requireSavedHolds(staff holdReplies) {
	f.Helper()
	record := f.savedHolds()
	require.Equal(f, f.Holds(), record)
	switch {
	case staff.lifted:
		require.Empty(f, record.InForce)
	case staff.held && !staff.ended:
		require.True(f, record.Has(f.bayScope(0)))
	}
	for _, hold := range record.InForce {
		require.Equal(f, map[string]string{lanes.OverBay: "sam", lanes.OverLane: "controller"}[hold.Kind], hold.Who)
	}
	var held, open []int
	for i, place := range f.settings.Layout.Lanes {
		if record.Over(place) {
			held = append(held, i)
		} else {
			open = append(open, i)
		}
	}
	f.requireHeld(held...)
	f.requireOpen(open...)
	require.Subset(f, []int{0, 1}, held)
}

// The same while a hold is set during the lift of another scope, and of its own scope.
func TestAHoldSetDuringALiftSurvivesAKillAtAnyFlush(t *testing.T) {
	for name, crossing := range map[string]func(*fixture) lanes.Scope{
		"of another scope": func(*fixture) lanes.Scope { return rangeScope },
		"of its own scope": func(f *fixture) lanes.Scope { return f.bayScope(0) },
	} {
		for _, written := range []bool{false, true} {
			point := &killPoint{flush: 1, written: written}
			for {
				t.Run(fmt.Sprintf("%s, at flush %d, written %t", name, point.flush, written), func(t *testing.T) {
					testKillDuringLift(t, point, crossing)
				})
				if !point.reached() || t.Failed() {
					break
				}
				point.flush++
				point.flushes.Store(0)
			}
		}
	}
}

func testKillDuringLift(t *testing.T, point *killPoint, crossing func(*fixture) lanes.Scope) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for i := range 4 {
			f.create(i, 30)
		}
		require.True(t, f.setHold(f.bayScope(0)).Saved)
		f.advance(2 * time.Second) // the next checkpoint comes later
		f.setKillPoint(point)
		f.store.setHook(func(ctx context.Context, batch store.Batch, flush func() error) error {
			<-time.After(100 * time.Millisecond) // so that the lift is under way
			return point.hook(ctx, batch, flush)
		})
		lifted := make(chan lanes.Reached, 1)
		go func() {
			if reached, err := f.Lift(t.Context(), f.bayScope(0), uuid.Nil, "kim"); err == nil {
				lifted <- reached
			}
			close(lifted)
		}()
		synctest.Wait()
		scope := crossing(f)
		held, err := f.Hold(t.Context(), scope, "kim")
		require.NoError(t, err)
		lift := <-lifted
		f.killAt(point)
		f.start()
		f.advance(lastBackoff)
		record := f.savedHolds()
		require.Equal(t, f.Holds(), record)
		if held.Saved {
			require.True(t, record.Has(scope))
		}
		if lift.Saved && scope != f.bayScope(0) {
			require.False(t, record.Has(f.bayScope(0)))
		}
		var want []int
		for i, place := range f.settings.Layout.Lanes {
			if record.Over(place) {
				want = append(want, i)
			}
		}
		f.requireHeld(want...)
	}, withBays)
}

// A lane has confirmed the end of one hold, which other lanes still have to confirm. It is not reached when the next
// one ends: that explains why its controller comes back locked.
func TestALaneIsReleasedThatHadConfirmedAnEarlierEnd(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.cutLink(1)
		f.cutLink(2)
		f.setHold(rangeScope)
		f.liftHold(rangeScope)
		f.advance(500 * time.Millisecond)
		f.requireOpen(0)
		f.setHold(rangeScope)
		restoreLink := f.cutLink(0)
		f.liftHold(rangeScope)
		f.advance(5 * time.Second)
		require.True(t, f.controller(0).Shown().Hold)
		restoreLink()
		require.Empty(t, f.heldScopes())
		f.requireOpen(0)
	}, withLanes(3))
}

// The range stops while the end of a hold is on its way to the store: whoever has asked for it is not told that nothing
// was changed.
func TestTheEndOfAHoldIsBeingSavedAsItsRangeStops(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(rangeScope)
		release := f.blockFlushes()
		lifted := f.runAsync(func() error { return f.tryLiftHold(rangeScope) })
		ctx, cancel := withDeadline(t, 300*time.Millisecond)
		defer cancel()
		stopped := f.runAsync(func() error {
			_, err := f.gateway.StopRange(ctx, f.settings.Layout.Range)
			return err
		})
		require.ErrorIs(t, f.answerOf(lifted, 300*time.Millisecond), lanes.ErrTimeout)
		release()
		require.Error(t, f.answerOf(stopped, time.Second), "what was asked for is not known to be saved")
		require.NoError(t, f.gateway.StartRange(f.Context(), f.settings))
		synctest.Wait()
		again, err := f.gateway.Range(f.settings.Layout.Range)
		require.NoError(t, err)
		require.Empty(t, again.Holds().InForce)
	})
}

// The configuration loses a lane that is under a hold while the gateway is stopped. The hold keeps no reload from
// taking effect, and is there for the lane when that comes back, until staff lift it.
func TestAHoldOverWhatTheConfigurationHasLostStaysUntilItIsLifted(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		whole := slices.Clone(f.settings.Layout.Lanes)
		f.setHold(f.laneScope(2))
		lost := f.heldScopes()
		f.settings.Layout.Lanes = whole[:2]
		f.restart()
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Name = "Renamed" }))
		require.Equal(t, lost, f.heldScopes())

		f.settings.Layout.Lanes = whole
		f.restart()
		f.advance(lastBackoff)
		require.True(t, f.controller(2).Shown().Hold)
		f.settings.Layout.Lanes = whole[:2]
		f.restart()
		f.liftHold(lost[0])
		require.Empty(t, f.Holds().InForce)
	}, withLanes(3))
}
