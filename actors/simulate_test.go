package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/simulation"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Simulated time that a receiver accepted is added although the store is down for a while.
func TestSimulatedTimeIsAddedWhenTheStoreReturns(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		result := f.startSimulation(lanes.PurchaseRequest, session, minutes(15))
		f.store.setHook(refuseFlush)
		release()
		f.advance(2 * time.Second)
		f.storeReturns()
		f.advance(2 * time.Second)
		require.NoError(t, (<-result).err)
		require.Equal(t, 45, f.Sessions()[0].Minutes)
	}, withWebhook(pos))
}

// More simulations than may run at once are refused.
func TestABoundedNumberOfSimulationsRunsAtOnce(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		var result []<-chan error
		for range simulation.Slots {
			result = append(result, f.runAsync(func() error {
				_, err := f.Simulate(f.requestContext(), lanes.Help, uuid.Nil, nil)
				return err
			}))
		}
		_, err := f.Simulate(f.requestContext(), lanes.Help, uuid.Nil, nil)
		require.ErrorIs(t, err, lanes.ErrOverloaded)
		release()
		for _, one := range result {
			require.NoError(t, <-one)
		}
	}, withWebhook(webhook))
}

// Simulated events: an integrator tests a receiver.

// simulationResult is the result of simulating an event.
type simulationResult struct {
	logged lanes.Logged
	err    error
}

// startSimulation begins to simulate the event. Its result comes through the channel.
func (f *fixture) startSimulation(kind lanes.Kind, session uuid.UUID, items ...lanes.Item) <-chan simulationResult {
	result := make(chan simulationResult, 1)
	go func() {
		logged, err := f.Simulate(f.Context(), kind, session, items)
		result <- simulationResult{logged, err}
	}()
	synctest.Wait()
	return result
}

// simulate simulates the event, which the receiver answers at once.
func (f *fixture) simulate(kind lanes.Kind, session uuid.UUID, items ...lanes.Item) lanes.Logged {
	f.Helper()
	select {
	case result := <-f.startSimulation(kind, session, items...):
		require.NoError(f, result.err)
		return result.logged
	default:
		require.FailNow(f, "no answer")
		return lanes.Logged{}
	}
}

// lastEvent returns the newest event in the log.
func (f *fixture) lastEvent() lanes.Logged {
	f.Helper()
	log := f.eventLog()
	return log[len(log)-1]
}

func TestASimulatedEventIsSentAndMarked(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(1, 30)
		before := f.Lanes()
		for _, kind := range []lanes.Kind{lanes.Help, lanes.CarrierHit, lanes.SessionStopped, lanes.SessionPaused} {
			logged := f.simulate(kind, session)
			require.Equal(t, logged, f.lastEvent())
			require.Equal(t, []uuid.UUID{session, f.laneID(1)}, []uuid.UUID{logged.Event.Session, logged.Event.Lane})
			require.Equal(t, kind, logged.Event.Kind)
			require.True(t, logged.Simulated)
			require.Equal(t, 200, logged.Attempt.Status)
			require.Equal(t, kind, webhook.kinds()[len(webhook.kinds())-1])
		}
		require.Equal(t, before, f.Lanes(), "nothing has changed")
		for _, logged := range f.eventLog()[:2] {
			require.False(t, logged.Simulated)
		}
		f.restart()
		require.Len(t, webhook.kinds(), 6, "none is sent again")
	}, withWebhook(webhook))
}

func TestASimulatedEventWithoutASessionHasRandomIDs(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		seen := map[uuid.UUID]bool{uuid.Nil: true, f.laneID(0): true, f.laneID(1): true}
		for _, session := range []uuid.UUID{uuid.Nil, uuid.New(), uuid.New()} {
			seen[session] = true
			logged := f.simulate(lanes.PurchaseRequest, session, minutes(500))
			for _, id := range []uuid.UUID{logged.Event.Session, logged.Event.Lane, logged.Event.ID} {
				require.False(t, seen[id])
				seen[id] = true
			}
			require.Equal(t, []lanes.Item{minutes(500)}, logged.Event.Items, "without a session there is no bound")
			require.Equal(t, logged, f.lastEvent())
		}
	}, withWebhook(webhook))
}

func TestASimulatedEventThatIsRefusedReturnsTheResponse(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		webhook.setPurchaseReply(declinePurchase("No."))
		logged := f.simulate(lanes.PurchaseRequest, session, minutes(15))
		require.Equal(t, 402, logged.Attempt.Status)
		require.Equal(t, logged, f.lastEvent())
		require.Equal(t, 30*time.Minute, f.remaining(session))
	}, withWebhook(webhook))
}

func TestASimulatedEventWaitsForNoOther(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		session := f.create(0, 30) // its first event hangs, the second waits for it
		for i := 1; i < testSlots; i++ {
			f.create(i, 30)
		}
		require.Len(t, webhook.kinds(), testSlots, "every slot is taken")
		webhook.setReply(nil)
		f.simulate(lanes.SessionStopped, session)
		require.Len(t, webhook.kinds(), testSlots+1)

		webhook.block()
		result := f.startSimulation(lanes.SessionPaused, session)
		webhook.setReply(nil)
		release()
		require.Equal(t, f.eventKinds(session)[1], lanes.SessionStarted)
		require.Equal(t, 200, f.eventLog()[1].Attempt.Status, "no event waits for it")
		require.Empty(t, result)
	}, withWebhook(webhook), withLanes(testSlots))
}

func TestSimulatedTimeIsAddedOnceItIsAccepted(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.create(1, 30)
		release := pos.blockPurchases(acceptPurchase)
		result := f.startSimulation(lanes.PurchaseRequest, session, minutes(10), targets(3), minutes(5))
		require.Equal(t, lanes.UnderWay, f.lastEvent().Attempt.Error, "saved before it is sent")
		require.True(t, f.lastEvent().Simulated)
		require.Equal(t, 30*time.Minute, f.remaining(session))

		var flushed []store.Batch
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			flushed = append(flushed, batch)
			return flush()
		})
		release()
		require.Equal(t, 200, (<-result).logged.Attempt.Status)
		require.Equal(t, 45*time.Minute, f.remaining(session))
		var with []lanes.Kind
		for _, event := range flushed[0].Events {
			with = append(with, event.Event.Kind)
		}
		require.Equal(t, []lanes.Kind{lanes.SessionModified, lanes.PurchaseRequest}, with, "in one write")
		require.Equal(t, 45*time.Minute, flushed[0].Lanes[0].Session.Sold)
		require.Equal(t, 1, countKind(pos.kinds(), lanes.SessionModified))
		f.restart()
		require.Equal(t, 45, f.Sessions()[0].Minutes)
		require.Equal(t, 30, f.Sessions()[1].Minutes)
	}, withWebhook(pos))
}

// What the receiver has accepted is added although the range closes before that.
func TestSimulatedTimeIsAddedAfterClosing(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.settings.Layout.Hours = &lanes.Hours{Zone: time.UTC} // the bubble's clock begins at midnight
		for day := range f.settings.Layout.Hours.Week {
			f.settings.Layout.Hours.Week[day] = []lanes.Opening{{From: 0, To: 50}}
		}
		f.restart()
		session := f.create(0, 20)
		pos.setPurchaseReply(acceptPurchase)
		f.simulate(lanes.PurchaseRequest, session, minutes(60))
		require.Equal(t, 80, f.Sessions()[0].Minutes)
	}, withWebhook(pos))
}

func TestSimulatedTimeFollowsASessionThatMoves(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		result := f.startSimulation(lanes.PurchaseRequest, session, minutes(15))
		f.move(session, 1)
		release()
		require.NoError(t, (<-result).err)
		require.Equal(t, 45*time.Minute, f.remaining(session))
	}, withWebhook(pos))
}

func TestSimulatedTimeOfASessionThatEnded(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		result := f.startSimulation(lanes.PurchaseRequest, session, minutes(15))
		f.stop(session)
		release()
		answer := <-result
		synctest.Wait()
		require.NoError(t, answer.err)
		require.Equal(t, 30*time.Minute, f.endedSession(session).Session.Sold)
		require.Equal(t, 200, f.eventLog()[answer.logged.Cursor-1].Attempt.Status, "its outcome is saved all the same")
	}, withWebhook(pos))
}

func TestWhatCannotBeSimulatedIsNotSent(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 470)
		result := <-f.startSimulation(lanes.PurchaseRequest, session, minutes(6), minutes(5))
		require.ErrorIs(t, result.err, lanes.ErrDurationOutOfRange)
		for name, outage := range outages {
			f.store.setHook(outage)
			asked := f.startSimulation(lanes.Help, session)
			f.advance(2 * time.Second)
			require.ErrorIs(t, (<-asked).err, lanes.ErrStoreUnavailable, name)
			f.storeReturns()
		}
		require.Len(t, webhook.kinds(), 2)
		require.NotContains(t, webhook.kinds(), lanes.Help)

		only(&f.settings).Webhook = nil
		f.restart()
		result = <-f.startSimulation(lanes.Help, session)
		require.ErrorIs(t, result.err, lanes.ErrWebhookNotConfigured)
	}, withWebhook(webhook))
}

// The minutes of a pending purchase at the lane count in a simulation too.
func TestASimulationLeavesRoomForPendingPurchases(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 460)
		pos.blockPurchases(acceptPurchase)
		f.buy(0, minutes(15))
		pos.setPurchaseReply(acceptPurchase)
		result := <-f.startSimulation(lanes.PurchaseRequest, session, minutes(10))
		require.ErrorIs(t, result.err, lanes.ErrDurationOutOfRange)
		require.Len(t, pos.purchases(), 1)
	}, withWebhook(pos))
}

func TestASimulatedEventThatNobodyAnswersIsRecorded(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		for _, attempt := range []lanes.Attempt{
			{Error: lanes.Unreachable + ": no route"},
			{Error: lanes.TimedOut + ": after 10s", Duration: webhookTimeout},
		} {
			webhook.setPurchaseReply(failPurchase(attempt))
			result := <-f.startSimulation(lanes.PurchaseRequest, session, minutes(15))
			require.ErrorIs(t, result.err, lanes.ErrWebhookFailed)
			synctest.Wait()
			require.Equal(t, attempt, *f.lastEvent().Attempt)
		}
		require.Equal(t, 30*time.Minute, f.remaining(session))
	}, withWebhook(webhook))
}

// The client may have given up: what was sent is followed to its end.
func TestASimulationIsFinishedAlthoughItsClientGaveUp(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		clientContext, giveUp := context.WithCancel(t.Context())
		asked := f.runAsync(func() error {
			_, err := f.Simulate(clientContext, lanes.PurchaseRequest, session, []lanes.Item{minutes(15)})
			return err
		})
		giveUp()
		synctest.Wait()
		release()
		require.NoError(t, <-asked)
		require.Equal(t, 45*time.Minute, f.remaining(session))
	}, withWebhook(pos))
}

// The minutes of simulations that are under way count too: what a receiver accepts can be added.
func TestSimulationsLeaveRoomForEachOther(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 460)
		release := pos.blockPurchases(acceptPurchase)
		first := f.startSimulation(lanes.PurchaseRequest, session, minutes(15))
		second := <-f.startSimulation(lanes.PurchaseRequest, session, minutes(10))
		require.ErrorIs(t, second.err, lanes.ErrDurationOutOfRange)
		require.Len(t, pos.purchases(), 1, "it was not sent")
		third := f.startSimulation(lanes.PurchaseRequest, session, minutes(5))
		release()
		require.NoError(t, (<-first).err)
		require.NoError(t, (<-third).err)
		require.Equal(t, 480, f.Sessions()[0].Minutes)

		f.modify(session, -30) // what was added or refused leaves its room again
		pos.setPurchaseReply(declinePurchase("No."))
		f.simulate(lanes.PurchaseRequest, session, minutes(30))
		f.store.setHook(refuseFlush)
		require.ErrorIs(t, (<-f.startSimulation(lanes.PurchaseRequest, session, minutes(30))).err,
			lanes.ErrStoreUnavailable)
		f.storeReturns()
		pos.setPurchaseReply(acceptPurchase)
		f.simulate(lanes.PurchaseRequest, session, minutes(30))
		require.Equal(t, 480, f.Sessions()[0].Minutes)
	}, withWebhook(pos))
}
