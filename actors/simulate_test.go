package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Simulated events: an integrator tries out a receiver.

// simulated is what came of simulating an event.
type simulated struct {
	logged lanes.Logged
	err    error
}

// simulates begins to simulate the event. What comes of it comes through the channel.
func (g *rig) simulates(kind lanes.Kind, session uuid.UUID, items ...lanes.Item) <-chan simulated {
	came := make(chan simulated, 1)
	go func() {
		logged, err := g.Simulate(g.Context(), kind, session, items)
		came <- simulated{logged, err}
	}()
	synctest.Wait()
	return came
}

// simulate simulates the event, which the receiver answers at once.
func (g *rig) simulate(kind lanes.Kind, session uuid.UUID, items ...lanes.Item) lanes.Logged {
	g.Helper()
	select {
	case came := <-g.simulates(kind, session, items...):
		require.NoError(g, came.err)
		return came.logged
	default:
		require.FailNow(g, "no answer")
		return lanes.Logged{}
	}
}

// last is the newest event in the log.
func (g *rig) last() lanes.Logged {
	g.Helper()
	log := g.eventLog()
	return log[len(log)-1]
}

func TestASimulatedEventIsSentAndMarked(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(1, 30)
		before := g.Lanes()
		for _, kind := range []lanes.Kind{lanes.Help, lanes.CarrierHit, lanes.SessionStopped, lanes.SessionPaused} {
			logged := g.simulate(kind, session)
			require.Equal(t, logged, g.last())
			require.Equal(t, []uuid.UUID{session, g.lane(1)}, []uuid.UUID{logged.Event.Session, logged.Event.Lane})
			require.Equal(t, kind, logged.Event.Kind)
			require.True(t, logged.Simulated)
			require.Equal(t, 200, logged.Attempt.Status)
			require.Equal(t, kind, received.kinds()[len(received.kinds())-1])
		}
		require.Equal(t, before, g.Lanes(), "nothing has changed")
		for _, logged := range g.eventLog()[:2] {
			require.False(t, logged.Simulated)
		}
		g.restart()
		require.Len(t, received.kinds(), 6, "none is sent again")
	}, withWebhook(received))
}

func TestASimulatedEventOfNoSessionHasMadeUpIds(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		seen := map[uuid.UUID]bool{uuid.Nil: true, g.lane(0): true, g.lane(1): true}
		for _, session := range []uuid.UUID{uuid.Nil, uuid.New(), uuid.New()} {
			seen[session] = true
			logged := g.simulate(lanes.PurchaseRequest, session, minutes(500))
			for _, id := range []uuid.UUID{logged.Event.Session, logged.Event.Lane, logged.Event.ID} {
				require.False(t, seen[id])
				seen[id] = true
			}
			require.Equal(t, []lanes.Item{minutes(500)}, logged.Event.Items, "no bound: it adds to nothing")
			require.Equal(t, logged, g.last())
		}
	}, withWebhook(received))
}

func TestASimulatedEventRefusedIsAnAnswer(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		received.sells(declines("No."))
		logged := g.simulate(lanes.PurchaseRequest, session, minutes(15))
		require.Equal(t, 402, logged.Attempt.Status)
		require.Equal(t, logged, g.last())
		require.Equal(t, 30*time.Minute, g.left(session))
	}, withWebhook(received))
}

func TestASimulatedEventWaitsForNoOther(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		session := g.create(0, 30) // its first event hangs, the second waits for it
		for i := 1; i < testSlots; i++ {
			g.create(i, 30)
		}
		require.Len(t, received.kinds(), testSlots, "every slot is taken")
		received.answers(nil)
		g.simulate(lanes.SessionStopped, session)
		require.Len(t, received.kinds(), testSlots+1)

		received.hold()
		came := g.simulates(lanes.SessionPaused, session)
		received.answers(nil)
		release()
		require.Equal(t, g.happened(session)[1], lanes.SessionStarted)
		require.Equal(t, 200, g.eventLog()[1].Attempt.Status, "nor does any wait for it")
		require.Empty(t, came)
	}, withWebhook(received), withLanes(testSlots))
}

func TestSimulatedTimeIsAddedOnceItIsAccepted(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.create(1, 30)
		give := pos.thinks(accepts)
		came := g.simulates(lanes.PurchaseRequest, session, minutes(10), targets(3), minutes(5))
		require.Equal(t, lanes.Interrupted, g.last().Attempt.Error, "saved before it is sent")
		require.True(t, g.last().Simulated)
		require.Equal(t, 30*time.Minute, g.left(session))

		var flushed []store.Batch
		g.store.hook(func(_ context.Context, batch store.Batch, flush func() error) error {
			flushed = append(flushed, batch)
			return flush()
		})
		give()
		require.Equal(t, 200, (<-came).logged.Attempt.Status)
		require.Equal(t, 45*time.Minute, g.left(session))
		var with []lanes.Kind
		for _, event := range flushed[0].Events {
			with = append(with, event.Event.Kind)
		}
		require.Equal(t, []lanes.Kind{lanes.SessionModified, lanes.PurchaseRequest}, with, "in one write")
		require.Equal(t, 45*time.Minute, flushed[0].Lanes[0].Session.Sold)
		require.Equal(t, 1, countKind(pos.kinds(), lanes.SessionModified))
		g.restart()
		require.Equal(t, 45, g.Sessions()[0].Minutes)
		require.Equal(t, 30, g.Sessions()[1].Minutes)
	}, withWebhook(pos))
}

func TestSimulatedTimeFollowsASessionThatMoves(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		give := pos.thinks(accepts)
		came := g.simulates(lanes.PurchaseRequest, session, minutes(15))
		g.moves(session, 1)
		give()
		require.NoError(t, (<-came).err)
		require.Equal(t, 45*time.Minute, g.left(session))
	}, withWebhook(pos))
}

func TestSimulatedTimeOfASessionThatEnded(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		give := pos.thinks(accepts)
		came := g.simulates(lanes.PurchaseRequest, session, minutes(15))
		g.stop(session)
		give()
		answer := <-came
		synctest.Wait()
		require.NoError(t, answer.err)
		require.Equal(t, 30*time.Minute, g.ended(session).Session.Sold)
		require.Equal(t, 200, g.eventLog()[answer.logged.Cursor-1].Attempt.Status, "its outcome is on record all the same")
	}, withWebhook(pos))
}

func TestWhatCannotBeSimulatedIsNotSent(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 470)
		came := <-g.simulates(lanes.PurchaseRequest, session, minutes(6), minutes(5))
		require.ErrorIs(t, came.err, lanes.ErrDurationOutOfRange)
		for name, outage := range outages {
			g.store.hook(outage)
			asked := g.simulates(lanes.Help, session)
			g.pass(2 * time.Second)
			require.ErrorIs(t, (<-asked).err, lanes.ErrStoreUnavailable, name)
			g.storeReturns()
		}
		require.Len(t, received.kinds(), 2)
		require.NotContains(t, received.kinds(), lanes.Help)

		g.settings.Webhook = nil
		g.restart()
		came = <-g.simulates(lanes.Help, session)
		require.ErrorIs(t, came.err, lanes.ErrWebhookNotConfigured)
	}, withWebhook(received))
}

// Minutes that are being bought at the lane count in a simulation too.
func TestASimulationLeavesRoomForWhatIsBeingBought(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 460)
		pos.thinks(accepts)
		g.buys(0, minutes(15))
		pos.sells(accepts)
		came := <-g.simulates(lanes.PurchaseRequest, session, minutes(10))
		require.ErrorIs(t, came.err, lanes.ErrDurationOutOfRange)
		require.Len(t, pos.purchases(), 1)
	}, withWebhook(pos))
}

func TestASimulatedEventThatNobodyAnswersIsRecorded(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		for _, attempt := range []lanes.Attempt{
			{Error: lanes.Unreachable + ": no route"}, {Error: lanes.TimedOut + ": after 10s", Duration: patience},
		} {
			received.sells(failing(attempt))
			came := <-g.simulates(lanes.PurchaseRequest, session, minutes(15))
			require.ErrorIs(t, came.err, lanes.ErrWebhookFailed)
			synctest.Wait()
			require.Equal(t, attempt, *g.last().Attempt)
		}
		require.Equal(t, 30*time.Minute, g.left(session))
	}, withWebhook(received))
}

// Whoever asked may have gone: what was sent is followed to its end.
func TestASimulatedEventOutlivesItsRequest(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		give := pos.thinks(accepts)
		asking, giveUp := context.WithCancel(t.Context())
		asked := g.begin(func() error {
			_, err := g.Simulate(asking, lanes.PurchaseRequest, session, []lanes.Item{minutes(15)})
			return err
		})
		giveUp()
		synctest.Wait()
		give()
		require.NoError(t, <-asked)
		require.Equal(t, 45*time.Minute, g.left(session))
	}, withWebhook(pos))
}
