package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// What the hardware says of itself: its faults, and the time that it has.

// counted is the value of a counter that has no labels.
func (g *rig) counted(name string) (value float64) {
	g.Helper()
	families, err := g.registry.Gather()
	require.NoError(g, err)
	for _, family := range families {
		if family.GetName() == name {
			value += family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return value
}

// fault is something of the i-th lane's hardware going wrong, clearFaults that being put right.
func (g *rig) fault(i int, detail string) {
	g.controller(i).Fault(detail)
	synctest.Wait()
}

func (g *rig) clearFaults(i int) {
	g.controller(i).ClearFaults()
	synctest.Wait()
}

// requireFaulty wants the lane not usable for what its hardware reports, or usable if that is nothing.
func (g *rig) requireFaulty(i int, detail string) {
	g.Helper()
	status := g.Lanes()[i]
	require.Equal(g, lanes.LinkUp, status.Link)
	require.Equal(g, detail == "", status.Lane.Usable)
	if detail == "" {
		require.Empty(g, status.NotUsable)
	} else {
		require.Equal(g, "its hardware reports: "+detail, status.NotUsable)
	}
}

func TestALaneWhoseHardwareReportsAFaultIsNotUsable(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.fault(0, "the target motor is blocked")
		require.Zero(t, g.controller(0).Unacked())
		g.requireFaulty(0, "the target motor is blocked")
		g.requireFaulty(1, "")
		require.ErrorIs(t, g.tryCreate(0, 30), lanes.ErrLaneNotUsable)
		require.ErrorIs(t, g.tryMove(g.create(1, 30), 0), lanes.ErrLaneNotUsable)

		g.restart()
		g.requireFaulty(0, "the target motor is blocked")
		g.crash(0)
		g.pass(time.Second)
		g.requireFaulty(0, "the target motor is blocked")
		require.ErrorIs(t, g.tryCreate(0, 30), lanes.ErrLaneNotUsable)

		g.clearFaults(0)
		g.requireFaulty(0, "")
		g.create(0, 30)
		g.restart()
		g.requireFaulty(0, "")
	})
}

func TestASessionGoesOnWhereTheHardwareReportsAFault(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.fault(0, "lamp")
		g.requireOpen(0)
		g.pause(session)
		g.resume(session)
		g.modify(session, 5)
		g.requireFaulty(0, "lamp")
		g.requireOpen(0)
		g.move(session, 1)
		g.requireFaulty(0, "lamp")
		g.requireFaulty(1, "")
		require.NotContains(t, g.happened(session), lanes.Help, "a fault is no event")
	})
}

// A link that comes up says what is in force: what was reported before no longer counts.
func TestWhatIsWrongWhenTheLinkComesUp(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		letBack := g.cutOff(0)
		g.fault(0, "lamp")
		g.fault(0, "door open")
		g.requireFaulty(1, "")
		letBack()
		require.False(t, g.Lanes()[0].Lane.Usable)
		require.Contains(t, g.Lanes()[0].NotUsable, "door open")

		letBack = g.cutOff(0)
		g.clearFaults(0)
		letBack()
		g.requireFaulty(0, "")

		g.fault(0, "lamp")
		g.shutDown()
		g.clearFaults(0)
		g.controller(0).PowerCut(true) // and nothing is left of its reports
		g.start()
		g.requireFaulty(0, "")
	})
}

// A lane that is away and has a fault is not usable for either; for the fault alone once it is back.
func TestAFaultOutlivesTheGrace(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.fault(0, "lamp")
		letBack := g.cutOff(0)
		g.pass(10 * time.Second)
		require.Equal(t, "its hardware reports: lamp", g.Lanes()[0].NotUsable)
		g.pass(20 * time.Second)
		require.Equal(t, "its link is down", g.Lanes()[0].NotUsable)
		letBack()
		g.requireFaulty(0, "lamp")
	})
}

func TestAFaultInAnOutageIsTakenInWhenTheStoreIsBack(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, g *rig) {
				g.store.hook(outage)
				g.fault(0, "lamp")
				require.Equal(t, 1, g.controller(0).Unacked())
				g.storeReturns()
				g.pass(time.Second)
				g.requireFaulty(0, "lamp")
				require.Zero(t, g.controller(0).Unacked())
			})
		})
	}
}

func TestATimeThatIsOffIsCountedAndOursHolds(t *testing.T) {
	const metric = "rangegate_controller_times_off_total"
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.pass(time.Minute)
		for _, story := range []struct {
			more    time.Duration
			counted float64
		}{{0, 0}, {0, 0}, {10 * time.Minute, 1}} {
			letBack := g.cutOff(0)
			if story.more > 0 { // it does not hear of it
				g.modify(session, int(story.more.Minutes()))
			}
			letBack()
			require.Equal(t, story.counted, g.counted(metric))
			require.Equal(t, g.left(session), g.controller(0).Shown().Remaining, "ours holds")
		}
		letBack := g.cutOff(0)
		g.pause(session)
		g.pass(time.Second)
		letBack()
		require.Equal(t, 2.0, g.counted(metric), "it ran on")

		letBack = g.cutOff(0)
		g.stop(session)
		g.create(0, 30)
		letBack()
		require.Equal(t, 2.0, g.counted(metric), "another session says nothing of this one")
		require.Len(t, g.happened(session), 5)
	})
}

// The grace counts from when the link was up, however it fails meanwhile.
func TestTheGraceOfALinkThatIsNowDownNowFaulty(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		broken := time.Now()
		s.newest().breaks()
		s.answers(func(context.Context) error { // as they are tried again within the grace
			if len(s.dialled())%2 == 0 {
				return errNoAnswer
			}
			return link.ErrFaulty
		})
		g.pass(30*time.Second - time.Nanosecond)
		require.Greater(t, len(s.dialled()), 2)
		require.Empty(t, g.Lanes()[0].NotUsable)
		g.pass(time.Nanosecond)
		require.Equal(t, broken.Add(30*time.Second), time.Now())
		said := map[lanes.LinkState]string{}
		for range 600 {
			said[g.Lanes()[0].Link] = g.Lanes()[0].NotUsable
			g.pass(100 * time.Millisecond)
		}
		require.Equal(t, map[lanes.LinkState]string{
			lanes.LinkFaulty: "its controller is faulty", lanes.LinkDown: "its link is down",
		}, said)
	})
}
