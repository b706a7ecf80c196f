package actors

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// onlooker is a screen that follows what changes on the board.
type onlooker struct {
	*rig
	version uint64
	wake    <-chan struct{}
}

// looksOn begins with the whole picture.
func (g *rig) looksOn() *onlooker {
	g.Helper()
	o := &onlooker{rig: g}
	require.Equal(g, g.theLanes(0, 1), o.sees())
	return o
}

// sees is the lanes that changed since it last looked.
func (o *onlooker) sees() (ids []uuid.UUID) {
	changed, version, wake := o.Changes(o.version)
	require.GreaterOrEqual(o, version, o.version)
	o.version, o.wake = version, wake
	for _, lane := range changed {
		ids = append(ids, lane.ID)
	}
	return ids
}

func (o *onlooker) isWoken() bool {
	synctest.Wait()
	select {
	case <-o.wake:
		return true
	default:
		return false
	}
}

func TestAScreenIsGivenWhatChanged(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		screen := g.looksOn()
		require.False(t, screen.isWoken())
		pos.sells(silent)
		var session uuid.UUID
		for _, step := range []struct {
			name    string
			do      func()
			changes []uuid.UUID
		}{
			{"a session", func() { session = g.shop(1, 60) }, g.theLanes(1)},
			{"time that goes by", func() { g.pass(time.Minute) }, nil},
			{"a pause", func() { g.pause(session) }, g.theLanes(1)},
			{"what is refused", func() { _ = g.tryPause(session) }, nil},
			{"a sale that staff close", func() { g.staffLane(0, lanes.Offer{Sale: lanes.OffSale}) }, g.theLanes(0)},
			{"a call for help", func() { _, _ = g.LaneOn(g.request(), g.lane(0), lanes.CallHelp{}) }, g.theLanes(0)},
			{"a link that breaks", func() { g.cutOff(0) }, g.theLanes(0)},
			{"a lane that is not usable any more", func() { g.pass(g.settings.Grace) }, g.theLanes(0)},
			{"a purchase", func() { g.buys(1, minutes(1)) }, g.theLanes(1)},
			{"one for staff to see to", func() { g.pass(patience) }, g.theLanes(1)},
			{"one that staff settle", func() { _ = g.Clear(g.request(), "sam", g.unresolved()[0], false) }, g.theLanes(1)},
			{"a hold", func() { g.hold(everywhere) }, g.theLanes(0, 1)},
			{"its end", func() { g.lift(everywhere) }, g.theLanes(0, 1)},
			{"a stop", func() { g.stop(session) }, g.theLanes(1)},
		} {
			step.do()
			synctest.Wait()
			require.Equal(t, len(step.changes) > 0, screen.isWoken(), step.name)
			require.Equal(t, step.changes, screen.sees(), step.name)
			require.Empty(t, screen.sees(), "once")
		}
	}, withWebhook(pos))
}

// A hold over nothing that anybody sees change is a change all the same, and there by the time that it is said.
func TestAChangeOfTheHoldsWakes(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.hold(g.overLane(0))
		g.hold(g.overLane(1))
		screen := g.looksOn()
		var holds []int
		var following sync.WaitGroup
		following.Go(func() {
			for range 2 {
				select {
				case <-screen.wake:
				case <-time.After(time.Minute):
				}
				holds = append(holds, len(g.Holds().InForce))
				screen.sees()
			}
		})
		g.hold(everywhere)
		g.lift(everywhere)
		following.Wait()
		require.Equal(t, []int{3, 2}, holds)
	})
}

// However slow a screen is, it comes to show what there is.
func TestASlowScreenSkips(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		slow, session := g.looksOn(), g.create(0, 30)
		for range 100 {
			g.modify(session, 1)
		}
		require.True(t, slow.isWoken())
		changed, _, _ := g.Changes(slow.version)
		require.Len(t, changed, 1)
		require.Equal(t, g.Lanes()[0], changed[0])
	})
}

// Screens look on while lanes change: each change reaches each of them, and both lanes of a move together.
func TestScreensFollowEveryChange(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 480)
		const moves = 100
		var screens sync.WaitGroup
		done := make(chan struct{})
		for range 8 {
			screens.Go(func() {
				shown := map[uuid.UUID]*lanes.Session{}
				var version uint64
				for {
					changed, now, wake := g.Changes(version)
					version = now
					for _, lane := range changed {
						shown[lane.ID] = lane.Lane.Session
					}
					require.NotEqual(t, shown[g.lane(0)] == nil, shown[g.lane(1)] == nil, "it is on one lane")
					select {
					case <-wake:
					case <-done:
						last, _, _ := g.Changes(version)
						require.Empty(t, last)
						require.Equal(t, g.Lanes()[0].Lane.Session, shown[g.lane(0)])
						return
					}
				}
			})
		}
		for i := range moves {
			g.move(session, (i+1)%2)
		}
		close(done)
		screens.Wait()
	})
}
