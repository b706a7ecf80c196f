package actors

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Controllers that are there and not in order: another lane's, one that refuses the hello, one that breaks the rules.

var errAnothers = fmt.Errorf("%w: it is another lane's", link.ErrFaulty)

func isFaulty(context.Context) error { return errAnothers }

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

func TestAFaultyControllerIsShownAndCostsItsLaneTheGrace(t *testing.T) {
	s := &switchboard{}
	for name, goesWrong := range map[string]func(){
		"from one dial to the next": func() { s.newest().breaks() },
		"while it is connected":     func() { s.newest().to.Down(errAnothers) },
	} {
		t.Run(name, func(t *testing.T) {
			onLine(t, s, func(t *testing.T, g *rig) {
				session := g.create(0, 60)
				s.answers(isFaulty)
				broken := g.clock.Now().Wall
				goesWrong()
				g.pass(firstBackOff)
				status := g.Lanes()[0]
				require.Equal(t, lanes.LinkFaulty, status.Link)
				require.WithinRange(t, status.LinkSince, broken, broken.Add(firstBackOff))
				require.True(t, status.Lane.Usable, "for the grace")
				g.pass(30*time.Second - firstBackOff - time.Nanosecond)
				require.Empty(t, g.Lanes()[0].NotUsable)
				g.pass(time.Nanosecond)
				require.False(t, g.Lanes()[0].Lane.Usable)
				require.Equal(t, "its controller is faulty", g.Lanes()[0].NotUsable)
				require.Positive(t, g.metric("rangegate_links_total", "faulty"))
				g.modify(session, 5)
				g.stop(session)
				require.ErrorIs(t, g.tryCreate(0, 30), lanes.ErrLaneNotUsable)

				s.answers(nil)
				g.pass(lastFaulty)
				status = g.Lanes()[0]
				require.Equal(t, lanes.LinkUp, status.Link)
				require.True(t, status.Lane.Usable)
				require.Empty(t, status.NotUsable)
				g.create(0, 30)
			})
		})
	}
}

// The grace counts from when the link was up, however it fails meanwhile; the reason is the newest one.
func TestTheGraceOfALinkThatIsNowDownNowFaulty(t *testing.T) {
	s := &switchboard{}
	onLine(t, s, func(t *testing.T, g *rig) {
		s.answers(fails)
		s.newest().breaks()
		broken := time.Now()
		g.pass(10 * time.Second)
		require.Equal(t, lanes.LinkDown, g.Lanes()[0].Link)
		for i := 0; i < 19; i++ { // the two take turns
			state := []lanes.LinkState{lanes.LinkFaulty, lanes.LinkDown}[i%2]
			g.toLane(0, &linkStands{state: state, since: g.clock.Now()})
			g.pass(time.Second)
			require.Equal(t, state, g.Lanes()[0].Link)
		}
		g.pass(time.Second - time.Nanosecond)
		require.Empty(t, g.Lanes()[0].NotUsable)
		g.pass(time.Nanosecond)
		require.Equal(t, broken.Add(30*time.Second), time.Now())
		require.NotEmpty(t, g.Lanes()[0].NotUsable)
		s.answers(isFaulty)
		g.pass(lastFaulty)
		require.Equal(t, "its controller is faulty", g.Lanes()[0].NotUsable)
		s.answers(fails)
		g.pass(lastFaulty)
		require.Equal(t, lanes.LinkDown, g.Lanes()[0].Link)
		require.Equal(t, "its link is down", g.Lanes()[0].NotUsable)
	})
}

func TestAFaultyControllerIsTriedRarely(t *testing.T) {
	s := &switchboard{answer: isFaulty}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.pass(10 * time.Hour)
		ceiling, long, longest := firstFaulty, 0, time.Duration(0)
		for _, gap := range s.gaps() {
			require.LessOrEqual(t, gap, ceiling)
			if gap > lastFaulty/2 {
				long++
			}
			longest = max(longest, gap)
			ceiling = min(2*ceiling, lastFaulty)
		}
		require.Greater(t, long, 10)
		require.Greater(t, longest, lastFaulty*3/4, "with full jitter, bounded by 5 min")
		require.Less(t, len(s.gaps()), 1000)
	})
}

func TestAFaultyLaneDisturbsNoOther(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(1, 60)
		g.controller(0).Pose(true)
		g.controller(0).Cut(errAnothers)
		before := g.Lanes()[1]
		g.pass(10 * time.Minute)
		require.Equal(t, lanes.LinkFaulty, g.Lanes()[0].Link)
		require.False(t, g.Lanes()[0].Lane.Usable)
		require.Equal(t, before, g.Lanes()[1])
		g.controller(0).Pose(false)
		g.pass(lastFaulty)
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		g.create(0, 30)
	})
}

// A switch that comes back brings all lanes at once: so many are dialled at a time, and each has its time from when it
// is its turn.
func TestSoManyControllersAreDialledAtOnce(t *testing.T) {
	var under, most atomic.Int64
	s := &switchboard{answer: func(ctx context.Context) error {
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		<-ctx.Done()
		return ctx.Err()
	}}
	inFakeTime(t, func(t *testing.T, g *rig) {
		require.EqualValues(t, dialsAtOnce, under.Load())
		g.pass(time.Minute)
		require.EqualValues(t, dialsAtOnce, most.Load())
		require.Greater(t, len(s.dialled()), 200, "everybody has a turn")
		for _, dial := range s.dialled() {
			require.Equal(t, dialTimeout, dial.took)
		}
		s.answers(nil)
		g.pass(time.Minute)
		for _, lane := range g.Lanes() {
			require.Equal(t, lanes.LinkUp, lane.Link)
		}
		synctest.Wait()
	}, withLanes(200), withDriver(s))
}

// What waits for its turn holds up no stop of the gateway.
func TestAStopDoesNotWaitForDials(t *testing.T) {
	s := &switchboard{answer: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	inFakeTime(t, func(t *testing.T, g *rig) {
		stopped := time.Now()
		g.shutDown()
		require.Equal(t, stopped, time.Now())
		require.Len(t, s.dialled(), dialsAtOnce)
	}, withLanes(200), withDriver(s))
}
