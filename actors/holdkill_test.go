package actors

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// A gateway is killed at every flush while a hold is set and lifted. What the next one finds is the record of the
// holds: every lane is held exactly if that says so.

func TestAHoldThroughAKill(t *testing.T) {
	for _, written := range []bool{false, true} {
		for at := int64(1); dieUnderAHold(t, at, written); at++ {
			require.Less(t, at, int64(100), "it comes to an end")
		}
	}
}

func dieUnderAHold(t *testing.T, at int64, written bool) (died bool) {
	t.Run(fmt.Sprintf("at flush %d, written %t", at, written), func(t *testing.T) {
		died = toldOfAKillUnderAHold(t, at, written)
	})
	return died
}

// acknowledged is what staff were told before the power failed.
type acknowledged struct{ held, lifted bool }

func toldOfAKillUnderAHold(t *testing.T, at int64, written bool) bool {
	var hardware witness
	power := &power{failsAt: at, written: written}
	inFakeTime(t, func(t *testing.T, g *rig) {
		for i := range 4 {
			g.create(i, 30)
		}
		g.pass(time.Minute)
		g.on(power)
		staff := g.holdAndLift()
		g.dies(power)

		restarted := time.Now()
		g.start()
		g.pass(lastBackoff)
		g.requireAsRecorded(staff)
		if staff.held && !staff.lifted && g.onRecord().Has(g.overBay(0)) {
			require.False(t, hardware.opened(g.lane(0), restarted), "never open where a hold was saved")
		}
		before := g.Holds()
		g.restart()
		require.Equal(t, before, g.Holds())
		g.requireAsRecorded(staff)
		for _, over := range g.inForce() {
			g.lift(over)
		}
		g.requireHeld()
		g.requireOpen(0, 1, 2, 3)
	}, withBays, watchedBy(&hardware))
	return power.failed()
}

// holdAndLift sets a hold over a bay and ends it, with a command to one of its lanes on the way.
func (g *rig) holdAndLift() (told acknowledged) {
	g.Helper()
	reached, err := g.Hold(g.Context(), g.overBay(0), "sam")
	require.NoError(g, err)
	require.Equal(g, g.theLanes(0, 1), reached.Confirmed, "whatever the store does")
	told.held = reached.Saved
	g.pass(2 * time.Second)
	_ = g.tryModify(g.onBoard()[0], 1)
	if _, err = g.Lift(g.Context(), g.overBay(0), "kim"); err == nil {
		told.lifted = true
	}
	synctest.Wait()
	g.pass(time.Second)
	return told
}

// requireAsRecorded wants the lanes to be held that the record says, which knows what staff know. A hold that was lost
// was in force on the hardware: that still holds, and staff are shown it.
func (g *rig) requireAsRecorded(staff acknowledged) {
	g.Helper()
	record := g.onRecord()
	require.Equal(g, g.Holds(), record)
	switch {
	case staff.lifted:
		require.Empty(g, record.InForce)
	case staff.held && len(record.Lifted) == 0:
		require.True(g, record.Has(g.overBay(0)))
	}
	for _, hold := range record.InForce {
		require.Equal(g, map[string]string{lanes.OverBay: "sam", lanes.OverLane: "controller"}[hold.Kind], hold.Who)
	}
	var held, open []int
	for i, place := range g.settings.Layout.Lanes {
		if record.Over(place) {
			held = append(held, i)
		} else {
			open = append(open, i)
		}
	}
	g.requireHeld(held...)
	g.requireOpen(open...)
	require.Subset(g, []int{0, 1}, held)
}

// The same while a hold crosses the lift of another, and of its own scope.
func TestAHoldThatCrossesALiftThroughAKill(t *testing.T) {
	for name, crossing := range map[string]func(*rig) lanes.Scope{
		"of another scope": func(*rig) lanes.Scope { return everywhere },
		"of its own scope": func(g *rig) lanes.Scope { return g.overBay(0) },
	} {
		for _, written := range []bool{false, true} {
			power := &power{failsAt: 1, written: written}
			for {
				t.Run(fmt.Sprintf("%s, at flush %d, written %t", name, power.failsAt, written), func(t *testing.T) {
					toldOfAKillAtTheCrossing(t, power, crossing)
				})
				if !power.failed() || t.Failed() {
					break
				}
				power.failsAt++
				power.flushes.Store(0)
			}
		}
	}
}

func toldOfAKillAtTheCrossing(t *testing.T, power *power, crossing func(*rig) lanes.Scope) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for i := range 4 {
			g.create(i, 30)
		}
		require.True(t, g.hold(g.overBay(0)).Saved)
		g.pass(2 * time.Second) // a checkpoint comes later
		g.on(power)
		g.store.hook(func(ctx context.Context, batch store.Batch, flush func() error) error {
			<-time.After(100 * time.Millisecond) // so that the lift is under way
			return power.hook(ctx, batch, flush)
		})
		lifted := make(chan lanes.Reached, 1)
		go func() {
			if reached, err := g.Lift(t.Context(), g.overBay(0), "kim"); err == nil {
				lifted <- reached
			}
			close(lifted)
		}()
		synctest.Wait()
		over := crossing(g)
		held, err := g.Hold(t.Context(), over, "kim")
		require.NoError(t, err)
		lift := <-lifted
		g.dies(power)
		g.start()
		g.pass(lastBackoff)
		record := g.onRecord()
		require.Equal(t, g.Holds(), record)
		if held.Saved {
			require.True(t, record.Has(over))
		}
		if lift.Saved && over != g.overBay(0) {
			require.False(t, record.Has(g.overBay(0)))
		}
		var want []int
		for i, place := range g.settings.Layout.Lanes {
			if record.Over(place) {
				want = append(want, i)
			}
		}
		g.requireHeld(want...)
	}, withBays)
}
