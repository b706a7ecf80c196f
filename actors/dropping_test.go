package actors

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// So many events may wait for a receiver; beyond them the oldest are dropped.

func withDelivery(slots, queue int) option {
	return func(g *rig) { g.settings.Delivery = Delivery{Slots: slots, Queue: queue} }
}

// dropped is the cursors of the events in the log that were dropped.
func (g *rig) dropped() (cursors []uint64) {
	g.Helper()
	for _, logged := range g.eventLog() {
		if logged.Attempt != nil && logged.Attempt.Outcome() == "dropped" {
			cursors = append(cursors, logged.Cursor)
		}
	}
	return cursors
}

// eventsThat is the number of events of whatever kind that came to that outcome, as the metric has it.
func (g *rig) eventsThat(became string) (n float64) {
	g.Helper()
	families, err := g.registry.Gather()
	require.NoError(g, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "rangegate_events_total" && m.GetLabel()[1].GetValue() == became {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// fiddles pauses and resumes the session: so many events.
func (g *rig) fiddles(session uuid.UUID, events int) {
	g.Helper()
	for i := range events {
		if i%2 == 0 {
			g.pause(session)
		} else {
			g.resume(session)
		}
	}
}

func count(from, to uint64) (cursors []uint64) {
	for c := from; c <= to; c++ {
		cursors = append(cursors, c)
	}
	return cursors
}

func TestTheOldestEventsThatWaitAreDropped(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		one, other := g.create(0, 30), g.create(1, 30) // events 1 and 3 are under way, 2 and 4 wait
		g.fiddles(one, 4)
		g.fiddles(other, 4)
		require.Empty(t, g.dropped(), "ten may wait")
		require.Zero(t, g.eventsThat("dropped"))

		g.fiddles(one, 2) // events 13 and 14
		require.Equal(t, []uint64{2, 4}, g.dropped())
		g.fiddles(other, 6)
		require.Equal(t, []uint64{2, 4, 5, 6, 7, 8, 9, 10}, g.dropped(), "those under way are not")
		require.Equal(t, 8.0, g.eventsThat("dropped"))
		require.Equal(t, "dropped: more than 10 events waited", g.eventLog()[1].Attempt.Error)

		release()
		delivered := received.byLane()
		for i := range 2 {
			var want []uuid.UUID
			for _, logged := range g.eventLog() {
				if logged.Event.Lane == g.lane(i) && logged.Attempt.Error == "" {
					want = append(want, logged.Event.ID)
				}
			}
			require.Equal(t, want, delivered[g.lane(i)], "the others are, in the order of the lane")
		}
		require.Len(t, received.kinds(), 12)
		require.Equal(t, 12.0, g.eventsThat("delivered"))
		g.fiddles(one, 2)
		require.Len(t, received.kinds(), 14, "it goes on as before")
		g.restart()
		require.Len(t, received.kinds(), 14, "and what was dropped is gone")
	}, withWebhook(received), withDelivery(2, 10))
}

// Dropping an event does not let those behind it overtake the one that is under way.
func TestWhatIsLeftWaitsForTheEventUnderWay(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		session := g.create(0, 30) // event 1 is under way, one slot is free
		g.fiddles(session, 20)     // 2 to 22 wait
		require.Len(t, received.kinds(), 1, "the next one starts when the one before has its answer")
		require.Equal(t, count(2, 12), g.dropped())
		release()
		require.Equal(t, g.happened(session)[12:], received.kinds()[1:])
	}, withWebhook(received), withDelivery(2, 10))
}

// What is dropped is final, whenever it is saved.
func TestDroppedEventsAreSavedWhenTheStoreReturns(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold()
		one := g.create(0, 30)
		g.create(1, 30)
		g.fiddles(one, 8)
		drops := func(b store.Batch) bool {
			return len(b.Events) > 0 && b.Events[0].Attempt != nil && b.Events[0].Attempt.Outcome() == "dropped"
		}
		g.store.hook(onlyWith(drops, refuses))
		g.pause(one)
		g.pass(time.Minute)
		require.Empty(t, g.dropped())
		g.storeReturns()
		require.Equal(t, []uint64{2}, g.dropped())
		release()
		require.Len(t, received.kinds(), 12)
	}, withWebhook(received), withDelivery(2, 10))
}

func TestARestartWithMoreEventsThanMayWaitDropsTheOldest(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		received.hold()
		session := g.create(0, 30) // event 1 is under way
		g.fiddles(session, 23)     // 2 to 25 wait
		g.kill()
		g.settings.Delivery = Delivery{Slots: 2, Queue: 10}
		received.answers(nil)
		g.start()
		require.Equal(t, count(2, 15), g.dropped())
		require.Equal(t, 14.0, g.eventsThat("dropped"))
		require.Equal(t, g.happened(session)[15:], received.kinds()[1:], "the newest ten, in order")
		g.restart()
		require.Len(t, received.kinds(), 11)
	}, withWebhook(received))
}

// A purchase is asked for by whoever waits for the answer: it is in no queue.
func TestAPurchaseIsNotDropped(t *testing.T) {
	pos := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		pos.sells(accepts)
		pos.hold()
		g.shop(0, 30)
		session := g.shop(1, 30)
		g.fiddles(session, 20)
		g.buys(1, minutes(15))
		require.Equal(t, lanes.Accepted, g.shown(1).Phase)
		require.Equal(t, 200, g.requests()[0].Attempt.Status)
	}, withWebhook(pos), withDelivery(2, 10))
}

// A receiver that never answers, and a range that goes on all day.
func TestDroppingHoldsNobodyUp(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		received.answers(func(ctx context.Context, event lanes.Event) lanes.Attempt {
			<-ctx.Done()
			return lanes.Attempt{At: event.At, Error: lanes.Interrupted}
		})
		session := g.create(0, 60)
		begun := time.Now()
		g.fiddles(session, 500)
		require.Equal(t, begun, time.Now(), "no command waits for a receiver")
		require.Equal(t, count(2, 492), g.dropped())
		require.Len(t, received.kinds(), 1)
	}, withWebhook(received), withDelivery(1, 10))
}
