package actors

import (
	"context"
	"fmt"
	"testing"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"

	"github.com/stretchr/testify/require"
)

// Controllers that are there and not in order: another lane's, one that refuses the hello, one that breaks the rules.

var errAnothers = fmt.Errorf("%w: it is another lane's", link.ErrFaulty)

func isFaulty(context.Context) error { return errAnothers }

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
				g.pass(firstBackoff)
				status := g.Lanes()[0]
				require.Equal(t, lanes.LinkFaulty, status.Link)
				require.WithinRange(t, status.LinkSince, broken, broken.Add(firstBackoff))
				require.True(t, status.Lane.Usable, "for the grace")
				g.pass(30*time.Second - firstBackoff - time.Nanosecond)
				require.Empty(t, g.Lanes()[0].NotUsable)
				g.pass(time.Nanosecond)
				require.False(t, g.Lanes()[0].Lane.Usable)
				require.Equal(t, "its controller is faulty", g.Lanes()[0].NotUsable)
				require.Positive(t, g.metric("rangegate_links_total", "faulty"))
				g.modify(session, 5)
				g.stop(session)
				require.ErrorIs(t, g.tryCreate(0, 30), lanes.ErrLaneNotUsable)

				s.answers(nil)
				g.pass(lastFaultyBackoff)
				status = g.Lanes()[0]
				require.Equal(t, lanes.LinkUp, status.Link)
				require.True(t, status.Lane.Usable)
				require.Empty(t, status.NotUsable)
				g.create(0, 30)
			})
		})
	}
}

func TestAFaultyControllerIsTriedRarely(t *testing.T) {
	s := &switchboard{answer: isFaulty}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.pass(10 * time.Hour)
		ceiling, long, longest := firstFaultyBackoff, 0, time.Duration(0)
		for _, gap := range s.gaps() {
			require.LessOrEqual(t, gap, ceiling)
			if gap > lastFaultyBackoff/2 {
				long++
			}
			longest = max(longest, gap)
			ceiling = min(2*ceiling, lastFaultyBackoff)
		}
		require.Greater(t, long, 10)
		require.Greater(t, longest, lastFaultyBackoff*3/4, "with full jitter, bounded by 5 min")
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
		g.pass(lastFaultyBackoff)
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		g.create(0, 30)
	})
}
