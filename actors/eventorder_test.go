package actors

import (
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A session has moved, and both lanes have something to tell of it: the one that it has left, whose controller has not
// taken that in, and the one where it is. One flush saves both. The receiver gets them in the order of the log.
func TestEventsOfASessionOnTwoLanesGoInTheOrderOfTheLog(t *testing.T) {
	const moved = 10 // sessions, each from one lane to the next
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		for i := range moved {
			session := g.create(2*i, 30)
			g.controller(2 * i).Stall(true)
			g.move(session, 2*i+1)
		}
		before := len(g.eventLog())
		release := g.holdFlushes()
		other := g.begin(func() error { return g.tryCreate(2*moved, 30) }) // has the store busy meanwhile
		for i := range moved {
			require.NoError(t, g.controller(2*i).Help())
			synctest.Wait()
			require.NoError(t, g.controller(2*i+1).HitCarrier())
			synctest.Wait()
		}
		release()
		require.NoError(t, g.answerOf(other, 0))
		synctest.Wait()

		log := map[uuid.UUID][]lanes.Kind{}
		for _, logged := range g.eventLog()[before:] {
			log[logged.Event.Session] = append(log[logged.Event.Session], logged.Event.Kind)
		}
		arrived := map[uuid.UUID][]lanes.Kind{}
		for _, event := range received.arrived[before:] {
			arrived[event.Session] = append(arrived[event.Session], event.Kind)
		}
		require.Len(t, log, moved+1)
		require.Equal(t, log, arrived)
	}, withLanes(2*moved+1), withWebhook(received))
}
