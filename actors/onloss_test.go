package actors

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A controller that is to hold when it loses the gateway locks its lane after 15 s, and the gateway that told it so
// before opens it again: nobody has to come for that. After a restart nobody knows why it holds, and staff have to.
func TestAControllerThatHeldForWantOfItsGateway(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		lose := func(d time.Duration, meanwhile func()) {
			g.controller(0).Refuse(true)
			g.controller(0).Cut(errors.New("cut by the test"))
			g.pass(d)
			require.False(t, g.open(0), "nobody shoots without the gateway")
			meanwhile()
			g.controller(0).Refuse(false)
			g.pass(lastBackoff)
		}
		lose(time.Minute, func() {})
		require.True(t, g.open(0))
		require.Empty(t, g.Holds().InForce)
		require.Equal(t, 30*time.Minute-time.Minute-lastBackoff, g.left(session), "its time goes on all the while")

		lose(time.Minute, g.restart)
		require.False(t, g.open(0))
		require.Len(t, g.Holds().InForce, 1)
		_, err := g.Lift(g.request(), g.Holds().InForce[0].Scope, "kim")
		require.NoError(t, err)
		g.pass(time.Second)
		require.True(t, g.open(0))
	}, func(g *rig) { g.settings.HoldOnLoss = true })
}
