package actors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func TestALaneIsUsableForTheGraceAfterItsLinkBroke(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		letBack := g.cutOff(0)
		broken := g.clock.Now().Wall
		status := g.Lanes()[0]
		require.Equal(t, lanes.LinkDown, status.Link)
		require.Equal(t, broken, status.LinkSince)

		g.pass(30*time.Second - time.Millisecond)
		require.True(t, g.Lanes()[0].Lane.Usable)
		require.Empty(t, g.Lanes()[0].NotUsable)
		g.pass(time.Millisecond)
		require.False(t, g.Lanes()[0].Lane.Usable)
		require.NotEmpty(t, g.Lanes()[0].NotUsable)
		require.Equal(t, broken, g.Lanes()[0].LinkSince, "since the first time")
		require.ErrorIs(t, g.tryCreate(0, 30), lanes.ErrLaneNotUsable)
		require.ErrorIs(t, g.tryMove(g.create(1, 30), 0), lanes.ErrLaneNotUsable)

		letBack()
		require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		require.True(t, g.Lanes()[0].Lane.Usable)
		require.Empty(t, g.Lanes()[0].NotUsable)
		g.create(0, 30)
	})
}

func TestALinkThatFlapsWithinTheGraceLeavesItsLaneUsable(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for range 20 {
			letBack := g.cutOff(0)
			g.pass(14 * time.Second)
			require.True(t, g.Lanes()[0].Lane.Usable)
			letBack()
			require.True(t, g.Lanes()[0].Lane.Usable)
			require.Equal(t, lanes.LinkUp, g.Lanes()[0].Link)
		}
		g.create(0, 30)
	})
}

func TestASessionGoesOnWhileItsLaneIsNotUsable(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		letBack := g.cutOff(0)
		g.pass(5 * time.Minute)
		require.False(t, g.Lanes()[0].Lane.Usable)
		g.modify(session, 10)
		require.Equal(t, 35*time.Minute, g.left(session))
		require.False(t, g.Lanes()[0].Lane.Usable, "a change of the session does not make it usable")
		letBack()
		require.Equal(t, g.left(session), g.controller(0).Shown().Remaining)
	})
}

func TestALaneWhoseLinkNeverCameUp(t *testing.T) {
	s := &switchboard{answer: fails}
	onLine(t, s, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.pass(30 * time.Second)
		require.False(t, g.Lanes()[0].Lane.Usable)
		s.answers(nil)
		g.pass(lastBackoff)
		require.True(t, g.Lanes()[0].Lane.Usable)
	})
}

func TestTheGraceIsWhatIsConfigured(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.cutOff(0)
		g.pass(5*time.Minute - time.Millisecond)
		require.True(t, g.Lanes()[0].Lane.Usable)
		g.pass(time.Millisecond)
		require.False(t, g.Lanes()[0].Lane.Usable)
	}, withGrace(5*time.Minute))
}
