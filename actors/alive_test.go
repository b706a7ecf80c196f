package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// answers reports whether the gateway is alive within that long.
func (g *rig) answers(within time.Duration) error {
	ctx, cancel := context.WithTimeout(g.Context(), within)
	defer cancel()
	return g.gateway.Alive(ctx)
}

func TestAGatewayThatWorksIsAlive(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		begun := time.Now()
		for range 3 {
			require.NoError(t, g.answers(time.Second))
		}
		require.Zero(t, time.Since(begun))
		g.letGo()
		synctest.Wait()
		require.NoError(t, g.answers(time.Second), "a range that another process owns is none of ours")
	}, withLanes(50))
}

// endless is a command that a lane does not come to the end of before the gate is opened.
type endless struct {
	lanes.Command
	gate chan struct{}
}

func (e endless) Name() string {
	<-e.gate
	return e.Command.Name()
}

// A deadlock: one lane of fifty waits for a lock that nobody gives back. What is asked of it later stays unanswered too,
// until the lock is free.
func TestAGatewayWithALaneThatIsStuckIsNotAlive(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		gate := make(chan struct{})
		g.toLane(7, &request{ctx: g.Context(), command: endless{lanes.Pause{}, gate}})
		synctest.Wait()
		for range 2 {
			require.ErrorContains(t, g.answers(time.Second), "1 of 1 ranges have actors that do not answer, "+g.settings.Layout.Range.String())
		}
		close(gate)
		require.NoError(t, g.answers(time.Second))
	}, withLanes(50))
}
