package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// A purchase begins its attempt within 5 s or answers busy, also when the store is slow to save it as sent.
func TestAPurchaseThatTookTooLongToSaveIsNotSent(t *testing.T) {
	for name, outage := range map[string]flushHook{"it hangs": hangs, "it goes silent": goesSilent} {
		t.Run(name, func(t *testing.T) {
			pos := &inbox{}
			inFakeTime(t, func(t *testing.T, g *rig) {
				g.shop(0, 30)
				g.store.hook(onlyWith(asks, outage))
				g.buys(0, minutes(15))
				g.pass(time.Minute)
				require.Empty(t, pos.purchases())
				g.storeReturns()
				g.pass(time.Minute)
				require.Empty(t, pos.purchases(), "the customer asked two minutes ago")
				require.Equal(t, lanes.Declined, g.shown(0).Phase)
				require.Contains(t, g.shown(0).UserMessage, "busy")
				require.Equal(t, "not_sent", g.requests()[0].Attempt.Outcome())
				g.restart()
				g.requireOnce(pos, 30)
			}, withWebhook(pos))
		})
	}
}

// What was dropped and is not saved yet is not sent by the next life of whoever forwards events.
func TestAPanicAfterADrop(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		session := g.create(0, 30)
		g.fiddles(session, 9) // 2 to 11 wait
		hold := g.holdFlushes()
		g.sendEvents(&announced{[]lanes.Logged{{Cursor: 12, Event: lanes.Event{ID: uuid.New(), Lane: g.lane(1)}}}})
		synctest.Wait() // 2 is dropped, which is being saved
		g.panicEvents()
		release()
		hold()
		g.pass(time.Second)
		require.NotContains(t, received.kinds(), lanes.SessionStarted)
		require.Equal(t, []uint64{2}, g.dropped())
	}, withWebhook(received), withDelivery(1, 10))
}

// What a receiver has accepted in simulation is added although the store is away for a while.
func TestSimulatedTimeIsAddedWhenTheStoreReturns(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		give := pos.thinks(accepts)
		came := g.simulates(lanes.PurchaseRequest, session, minutes(15))
		g.store.hook(refuses)
		give()
		g.pass(2 * time.Second)
		g.storeReturns()
		g.pass(2 * time.Second)
		require.NoError(t, (<-came).err)
		require.Equal(t, 45, g.Sessions()[0].Minutes)
	}, withWebhook(pos))
}

// A lane panics while the purchase is being saved as sent: it is busy, and the event log must not say that an
// attempt was begun.
func TestAPurchaseThatWasNeverSentIsNotOnRecordAsSent(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 30)
		letGo := g.holdFlushesWith(asks)
		g.buys(0, minutes(15))
		g.crash(0)
		letGo()
		g.pass(lastBackoff)
		require.Equal(t, lanes.Declined, g.shown(0).Phase)
		require.Empty(t, pos.purchases())
		require.Equal(t, "not_sent", g.requests()[0].Attempt.Outcome())
	}, withWebhook(pos))
}

// A controller that was cut off reports a purchase long after it was asked for: the customer has given up.
func TestAPurchaseThatIsReportedLate(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 60)
		letBack := g.cutOff(0)
		g.buys(0, minutes(15))
		g.pass(10 * time.Minute)
		letBack()
		g.pass(lastBackoff)
		require.Empty(t, pos.purchases())
		require.Equal(t, lanes.Declined, g.shown(0).Phase)
	}, withWebhook(pos))
}

// A move that is being saved when the purchase is to be sent: it is sent from the next lane.
func TestAMoveJustBeforeThePurchaseIsSent(t *testing.T) {
	pos := &inbox{}
	took := time.Second / 2
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.shop(0, 30)
		g.buys(0, minutes(15))
		release := g.holdFlushes()
		moved := g.begin(func() error { return g.tryMove(session, 1) })
		g.pass(took) // and now it is to be sent
		release()
		require.NoError(t, <-moved)
		g.pass(time.Second)
		require.Equal(t, lanes.Accepted, g.shown(1).Phase, g.shown(1).Reason)
	}, withWebhook(pos), withCatalogue(checking(&took)))
}

// Ids of purchases are made at the lanes: two may make the same.
func TestTwoLanesWithTheSameIDForAPurchase(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 120)
		g.shop(1, 120)
		give := pos.thinks(accepts)
		id := uuid.New()
		g.buysAs(id, 0, minutes(15))
		g.buysAs(id, 1, minutes(30))
		give()
		g.pass(time.Minute)
		for i, sold := range []int{135, 150} {
			require.Equal(t, lanes.Accepted, g.shown(i).Phase)
			require.Equal(t, sold, g.Sessions()[i].Minutes)
		}
		require.Len(t, pos.purchases(), 2)
	}, withWebhook(pos))
}

// The store hangs so long that the session ends: its customer is not charged afterwards.
func TestASessionThatEndsWhileItsPurchaseWaitsForTheStore(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.shop(0, 5)
		g.store.hook(onlyWith(asks, hangs))
		g.buys(0, minutes(15))
		g.pass(30 * time.Minute)
		g.storeReturns()
		g.pass(time.Minute)
		require.Empty(t, pos.purchases())
		require.Empty(t, g.Unresolved())
		require.Empty(t, g.Sessions())
	}, withWebhook(pos))
}

// More simulated events than may be under way are turned away.
func TestACrowdOfSimulatedEvents(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		var came []<-chan error
		for range SimulationSlots {
			came = append(came, g.begin(func() error {
				_, err := g.Simulate(g.request(), lanes.Help, uuid.Nil, nil)
				return err
			}))
		}
		_, err := g.Simulate(g.request(), lanes.Help, uuid.Nil, nil)
		require.ErrorIs(t, err, lanes.ErrOverloaded)
		release()
		for _, one := range came {
			require.NoError(t, <-one)
		}
	}, withWebhook(received))
}
