package actors

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
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
		g.pass(lastBackOff)
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
	if _, err = g.Lift(g.Context(), g.overBay(0)); err == nil {
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
