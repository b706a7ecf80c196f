package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/purchases"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

func TestAnEventIsMarkedThenAttemptedThenItsOutcomeSaved(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		outcomes := []lanes.Attempt{
			{Status: 204, Duration: time.Millisecond},
			{Status: 500, Duration: time.Second},
			{Error: "connection refused"},
		}
		var marks []lanes.Logged
		webhook.setReply(func(_ context.Context, event lanes.Event) lanes.Attempt {
			marks = append(marks, f.eventLog()[len(marks)])
			return outcomes[len(marks)-1]
		})
		session := f.create(0, 30)
		f.pause(session)
		require.Len(t, marks, 3)
		for i, logged := range f.eventLog() {
			require.Equal(t, logged.Event, marks[i].Event)
			require.Equal(t, lanes.UnderWay, marks[i].Attempt.Error, "saved before it was attempted")
			require.Equal(t, outcomes[i], *logged.Attempt, "a failed attempt is not repeated")
		}
	}, withWebhook(webhook))
}

func TestAMarkThatTheStoreRefusesIsTriedAgain(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
			for _, event := range batch.Events {
				if event.Attempt != nil {
					return store.ErrRefused
				}
			}
			return flush()
		})
		f.create(0, 30)
		f.advance(10 * time.Second)
		require.Empty(t, webhook.kinds(), "no event is sent before its mark is saved")
		f.storeReturns()
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, webhook.kinds())
	}, withWebhook(webhook))
}

func TestOutcomesAreSavedWhenTheStoreReturns(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			webhook := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				release := webhook.block()
				session := f.create(0, 30)
				f.store.setHook(outage)
				require.ErrorIs(t, f.answerOf(f.runAsync(func() error { return f.tryStop(session) }), time.Second),
					lanes.ErrNotSaved)
				release()
				f.advance(time.Minute)
				require.Len(t, webhook.kinds(), 1, "the mark of the next event cannot be saved")
				f.storeReturns()
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped},
					webhook.kinds())
				for _, logged := range f.eventLog() {
					require.Equal(t, 200, logged.Attempt.Status)
				}
			}, withWebhook(webhook))
		})
	}
}

func TestAHangingReceiverDelaysOnlyTheLanesItHangsOn(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		var hanging []uuid.UUID
		for i := range testSlots - 1 {
			hanging = append(hanging, f.laneID(i))
		}
		release := webhook.block(hanging...)
		for i := range testSlots - 1 {
			f.create(i, 30)
		}
		free := f.create(testSlots, 30)
		require.Equal(t, f.eventKinds(free), webhook.kinds()[testSlots-1:], "one slot is left")

		slow := webhook.block() // now every slot is taken
		f.create(testSlots+1, 30)
		f.create(testSlots+2, 30)
		require.Len(t, webhook.kinds(), testSlots+2)
		slow()
		require.Len(t, webhook.kinds(), testSlots+5)
		release()
		require.Len(t, webhook.kinds(), 2*(testSlots+2))
		delivered := webhook.idsByLane()
		for i := range testSlots + 3 {
			if i == testSlots-1 {
				continue // this lane has no session
			}
			require.Equal(t, eventIDs(f.eventLog(), f.laneID(i)), delivered[f.laneID(i)])
		}
	}, withLanes(testSlots+3), withWebhook(webhook))
}

// eventIDs returns the ids of the lane's events, in the order of the log.
func eventIDs(log []lanes.Logged, lane uuid.UUID) (ids []uuid.UUID) {
	for _, logged := range log {
		if logged.Event.Lane == lane {
			ids = append(ids, logged.Event.ID)
		}
	}
	return ids
}

func TestEventsOfASessionThatMovedWaitForItsEarlierOnes(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block(f.laneID(0))
		session := f.create(0, 30)
		_, err := f.Move(t.Context(), session, f.laneID(1), nil)
		require.NoError(t, err)
		f.pause(session)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated}, webhook.kinds())
		release()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused,
		}, webhook.kinds())
	}, withWebhook(webhook))
}

func TestWithoutAWebhookEventsAreNeverSent(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		require.Len(t, f.eventLog(), 2)
		for _, logged := range f.eventLog() {
			require.Equal(t, lanes.NoWebhook, logged.Attempt.Error)
		}
		webhook := &fakeWebhook{}
		only(&f.settings).Webhook = webhook
		f.restart()
		require.Empty(t, webhook.kinds(), "events from before the webhook was configured are not sent later")
	})
}

func TestAWebhookThatPanicsCostsOneEvent(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setReply(func(context.Context, lanes.Event) lanes.Attempt { panic(errDefect) })
		f.createWaiting(0, 30)
		webhook.setReply(nil)
		require.NotEmpty(t, f.eventLog()[0].Attempt.Error)
		f.enter(0)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, webhook.kinds())
	}, withWebhook(webhook))
}

// A session has moved, and both lanes save an event of it in one flush: the lane it left, whose controller
// has not applied that yet, and the lane it is on. The receiver gets them in the order of the log.
func TestEventsOfASessionOnTwoLanesAreSentInTheOrderOfTheLog(t *testing.T) {
	const moved = 10 // sessions, each of which moves to the next lane
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		for i := range moved {
			session := f.create(2*i, 30)
			f.controller(2 * i).Stall(true)
			f.move(session, 2*i+1)
		}
		before := len(f.eventLog())
		release := f.blockFlushes()
		other := f.runAsync(func() error { return f.tryCreate(2*moved, 30) }) // keeps the store busy meanwhile
		for i := range moved {
			require.NoError(t, f.controller(2*i).Help())
			synctest.Wait()
			require.NoError(t, f.controller(2*i+1).HitCarrier())
			synctest.Wait()
		}
		release()
		require.NoError(t, f.answerOf(other, 0))
		synctest.Wait()

		log := map[uuid.UUID][]lanes.Kind{}
		for _, logged := range f.eventLog()[before:] {
			log[logged.Event.Session] = append(log[logged.Event.Session], logged.Event.Kind)
		}
		arrived := map[uuid.UUID][]lanes.Kind{}
		for _, event := range webhook.arrived[before:] {
			arrived[event.Session] = append(arrived[event.Session], event.Kind)
		}
		require.Len(t, log, moved+1)
		require.Equal(t, log, arrived)
	}, withLanes(2*moved+1), withWebhook(webhook))
}

// A bounded number of events may wait for a receiver; beyond it the oldest are dropped.

// droppedCursors returns the cursors of the events in the log that were dropped.
func (f *fixture) droppedCursors() (cursors []uint64) {
	f.Helper()
	for _, logged := range f.eventLog() {
		if logged.Attempt != nil && logged.Attempt.Outcome() == "dropped" {
			cursors = append(cursors, logged.Cursor)
		}
	}
	return cursors
}

// countEvents returns how many events of any kind had that outcome, as the metric counts them.
func (f *fixture) countEvents(became string) (n float64) {
	f.Helper()
	families, err := f.registry.Gather()
	require.NoError(f, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "rangegate_events_total" && m.GetLabel()[1].GetValue() == became {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// pauseAndResume pauses and resumes the session in turns, until that many events have come of it.
func (f *fixture) pauseAndResume(session uuid.UUID, events int) {
	f.Helper()
	for i := range events {
		if i%2 == 0 {
			f.pause(session)
		} else {
			f.resume(session)
		}
	}
}

func cursorRange(first, last uint64) (cursors []uint64) {
	for c := first; c <= last; c++ {
		cursors = append(cursors, c)
	}
	return cursors
}

func TestTheOldestWaitingEventsAreDropped(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		one, other := f.create(0, 30), f.create(1, 30) // events 1 and 3 are under way, 2 and 4 wait
		f.pauseAndResume(one, 4)
		f.pauseAndResume(other, 4)
		require.Empty(t, f.droppedCursors(), "ten events may wait")
		require.Zero(t, f.countEvents("dropped"))

		f.pauseAndResume(one, 2) // events 13 and 14
		require.Equal(t, []uint64{2, 4}, f.droppedCursors())
		f.pauseAndResume(other, 6)
		require.Equal(t, []uint64{2, 4, 5, 6, 7, 8, 9, 10}, f.droppedCursors(), "events under way are not dropped")
		require.Equal(t, 8.0, f.countEvents("dropped"))
		require.Equal(t, lanes.LostEvents{Dropped: 8}, f.observed(eventsKind, -1).Lost)
		require.Equal(t, "dropped: more than 10 events waited", f.eventLog()[1].Attempt.Error)

		release()
		delivered := webhook.idsByLane()
		for i := range 2 {
			var want []uuid.UUID
			for _, logged := range f.eventLog() {
				if logged.Event.Lane == f.laneID(i) && logged.Attempt.Error == "" {
					want = append(want, logged.Event.ID)
				}
			}
			require.Equal(t, want, delivered[f.laneID(i)], "the others are sent, in the order of the lane")
		}
		require.Len(t, webhook.kinds(), 12)
		require.Equal(t, 12.0, f.countEvents("delivered"))
		f.pauseAndResume(one, 2)
		require.Len(t, webhook.kinds(), 14, "it goes on as before")
		f.restart()
		require.Len(t, webhook.kinds(), 14, "dropped events are not sent")
	}, withWebhook(webhook), withDelivery(2, 10))
}

// Dropping an event does not let those behind it overtake the one that is under way.
func TestDroppingKeepsTheOrderBehindTheAttemptUnderWay(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		session := f.create(0, 30)    // event 1 is under way, one slot is free
		f.pauseAndResume(session, 20) // 2 to 22 wait
		require.Len(t, webhook.kinds(), 1, "the next one starts when the one before has its answer")
		require.Equal(t, cursorRange(2, 12), f.droppedCursors())
		release()
		require.Equal(t, f.eventKinds(session)[12:], webhook.kinds()[1:])
	}, withWebhook(webhook), withDelivery(2, 10))
}

// A drop is final, whenever it is saved.
func TestDroppedEventsAreSavedWhenTheStoreReturns(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		one := f.create(0, 30)
		f.create(1, 30)
		f.pauseAndResume(one, 8)
		drops := func(b store.Batch) bool {
			return len(b.Events) > 0 && b.Events[0].Attempt != nil && b.Events[0].Attempt.Outcome() == "dropped"
		}
		f.store.setHook(faultFrom(drops, refuseFlush))
		f.pause(one)
		f.advance(time.Minute)
		require.Empty(t, f.droppedCursors())
		f.storeReturns()
		require.Equal(t, []uint64{2}, f.droppedCursors())
		release()
		require.Len(t, webhook.kinds(), 12)
	}, withWebhook(webhook), withDelivery(2, 10))
}

func TestARestartWithMoreEventsThanMayWaitDropsTheOldest(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.block()
		session := f.create(0, 30)    // event 1 is under way
		f.pauseAndResume(session, 23) // 2 to 25 wait
		f.kill()
		withDelivery(2, 10)(f)
		webhook.setReply(nil)
		f.start()
		require.Equal(t, cursorRange(2, 15), f.droppedCursors())
		require.Equal(t, 14.0, f.countEvents("dropped"))
		require.Equal(t, f.eventKinds(session)[15:], webhook.kinds()[1:], "the newest ten, in order")
		f.restart()
		require.Len(t, webhook.kinds(), 11)
	}, withWebhook(webhook))
}

// A purchase is sent by the goroutine that waits for its answer: it is in no queue.
func TestAPurchaseIsNotDropped(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		pos.setPurchaseReply(acceptPurchase)
		pos.block()
		f.createWithPurchasing(0, 30)
		session := f.createWithPurchasing(1, 30)
		f.pauseAndResume(session, 20)
		f.buy(1, minutes(15))
		require.Equal(t, lanes.Accepted, f.shownPurchase(1).Phase)
		require.Equal(t, 200, f.purchaseLog()[0].Attempt.Status)
	}, withWebhook(pos), withDelivery(2, 10))
}

// The receiver never answers, and the range runs on all day.
func TestDroppingDelaysNoCommand(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setReply(func(ctx context.Context, event lanes.Event) lanes.Attempt {
			<-ctx.Done()
			return lanes.Attempt{At: event.At, Error: lanes.Interrupted}
		})
		session := f.create(0, 60)
		begun := time.Now()
		f.pauseAndResume(session, 500)
		require.Equal(t, begun, time.Now(), "no command waits for a receiver")
		require.Equal(t, cursorRange(2, 492), f.droppedCursors())
		require.Len(t, webhook.kinds(), 1)
	}, withWebhook(webhook), withDelivery(1, 10))
}

// Events through restarts of the gateway and panics of the events actor.

func TestStoppingTheGatewayLetsAttemptsUnderWayFinish(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setReply(func(ctx context.Context, event lanes.Event) lanes.Attempt {
			select {
			case <-time.After(time.Second):
				return lanes.Attempt{At: event.At, Status: 202}
			case <-ctx.Done():
				return lanes.Attempt{At: event.At, Error: lanes.Interrupted}
			}
		})
		f.create(0, 30)
		f.restart()
		log := f.eventLog()
		require.Equal(t, 202, log[0].Attempt.Status)
		f.advance(time.Second)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, webhook.kinds())
	}, withWebhook(webhook))
}

func TestStoppingTheGatewayDoesNotWaitLongForAReceiver(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		f.create(0, 30)
		begun := time.Now()
		f.shutDown()
		require.LessOrEqual(t, time.Since(begun), 3*time.Second)
		release()
		f.start()
		require.Equal(t, lanes.Interrupted, f.eventLog()[0].Attempt.Error)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, webhook.kinds(), "each event once")
	}, withWebhook(webhook))
}

func TestACrashDuringAnAttemptLeavesItInterrupted(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		session := f.create(0, 30)
		f.pause(session)
		f.kill()
		release()
		f.start()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused,
		}, webhook.kinds(), "events without a mark are attempted, in order; the marked one is not attempted again")
		log := f.eventLog()
		require.Equal(t, lanes.Interrupted, log[0].Attempt.Error)
		require.Equal(t, 200, log[1].Attempt.Status)
		require.Equal(t, 200, log[2].Attempt.Status)
		f.restart()
		require.Len(t, webhook.kinds(), 3)
	}, withWebhook(webhook))
}

func TestEventsOfARemovedWebhookAreNeverSent(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.block()
		f.create(0, 30)
		f.kill()
		only(&f.settings).Webhook = nil
		f.start()
		require.Equal(t, lanes.Interrupted, f.eventLog()[0].Attempt.Error)
		require.Equal(t, lanes.NoWebhook, f.eventLog()[1].Attempt.Error)
		f.restart()
	}, withWebhook(webhook))
}

func TestAPanicDuringAnAttemptLosesAndRepeatsNoEvent(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		session := f.create(0, 30)
		f.panicEventsActor()
		f.pause(session)
		f.panicEventsActor()
		require.Len(t, webhook.kinds(), 1, "in order: the next event waits for the one that hangs")
		release()
		f.stop(session)
		require.Equal(t, f.eventKinds(session), webhook.kinds())
		for _, logged := range f.eventLog() {
			require.Equal(t, 200, logged.Attempt.Status)
		}
	}, withWebhook(webhook))
}

func TestAPanicDuringTheSaveOfAMarkLosesAndRepeatsNoEvent(t *testing.T) {
	for name, fault := range map[string]flushHook{"slow": nil, "refused": refuseFlush, "hanging": flushAndHang} {
		t.Run(name, func(t *testing.T) {
			webhook := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				release := webhook.block()
				session := f.create(0, 30)
				hold := f.blockFlushes()
				release() // the mark of the next event is being saved
				require.Len(t, webhook.kinds(), 1)
				for range 3 {
					f.panicEventsActor()
				}
				hold()
				if fault != nil {
					f.store.setHook(fault)
					f.advance(7 * time.Second)
					f.panicEventsActor()
				}
				f.storeReturns()
				require.Equal(t, f.eventKinds(session), webhook.kinds())
			}, withWebhook(webhook))
		})
	}
}

// A dropped event whose drop is not saved yet is not sent by the restarted events actor.
func TestADroppedEventIsNotSentAfterAPanic(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		session := f.create(0, 30)
		f.pauseAndResume(session, 9) // 2 to 11 wait
		hold := f.blockFlushes()
		f.delivery.Announce([]lanes.Logged{{Cursor: 12, Event: lanes.Event{ID: uuid.New(), Lane: f.laneID(1)}}})
		synctest.Wait() // 2 is dropped, and the drop is being saved
		f.panicEventsActor()
		release()
		hold()
		f.advance(time.Second)
		require.NotContains(t, webhook.kinds(), lanes.SessionStarted)
		require.Equal(t, []uint64{2}, f.droppedCursors())
	}, withWebhook(webhook), withDelivery(1, 10))
}

// outcomes returns what the event log says of each event, "pending" for those that wait.
func (f *fixture) outcomes() (all []string) {
	f.Helper()
	for _, logged := range f.eventLog() {
		if logged.Attempt == nil {
			all = append(all, "pending")
		} else {
			all = append(all, logged.Attempt.Outcome())
		}
	}
	return all
}

// An attempt that is being made is no interrupted one, until a crash interrupts it.
func TestAnAttemptUnderWayIsShownAsSuch(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		f.create(0, 30)
		require.Equal(t, []string{"under_way", "pending"}, f.outcomes())
		f.store.setHook(refuseFlush)
		release()
		f.advance(time.Second)
		require.Equal(t, "under_way", f.outcomes()[0], "its outcome is not durable yet")
		f.storeReturns()
		require.Equal(t, []string{"delivered", "delivered"}, f.outcomes())
		require.Zero(t, f.underWay())

		webhook.block()
		f.create(1, 30)
		require.Equal(t, "under_way", f.outcomes()[2])
		f.kill()
		webhook.setReply(nil)
		f.start()
		require.Equal(t, []string{"delivered", "delivered", "interrupted", "delivered"}, f.outcomes())
	}, withWebhook(webhook))
}

func TestAPurchaseUnderWayIsShownAsSuch(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		f.buy(0, minutes(15))
		require.Equal(t, []string{"delivered", "delivered", "under_way"}, f.outcomes())
		release()
		require.Equal(t, "delivered", f.outcomes()[2])
		require.Zero(t, f.underWay())

		release = pos.blockPurchases(acceptPurchase)
		simulated := f.startSimulation(lanes.PurchaseRequest, session, minutes(15))
		require.Equal(t, "under_way", f.outcomes()[4])
		release()
		require.NoError(t, (<-simulated).err)
		require.Equal(t, "delivered", f.outcomes()[4])
		require.NoError(t, (<-f.startSimulation(lanes.Help, session)).err)

		f.store.setHook(refuseFlush)
		require.ErrorIs(t, (<-f.startSimulation(lanes.Help, session)).err, lanes.ErrStoreUnavailable)
		f.storeReturns()
		f.store.setHook(faultFrom(savesRequest, refuseFlush))
		f.buy(0, minutes(15)) // it cannot be saved as sent
		f.advance(2 * purchases.SendWithin)
		f.storeReturns()
		f.advance(2 * purchases.SendWithin)
		require.Zero(t, f.underWay())
		require.NotContains(t, f.outcomes(), "under_way")
	}, withWebhook(pos))
}

// eventReader is a store that calls read after each read of the event log, before its result is returned.
type eventReader struct {
	store.Store
	read func()
}

func (s *eventReader) Events(
	ctx context.Context, of store.RangeEpoch, after uint64, limit int,
) ([]lanes.Logged, error) {
	events, err := s.Store.Events(ctx, of, after, limit)
	s.read()
	return events, err
}

// An attempt ends just while the log is being read: it is not shown as interrupted, which a POS would never read again.
func TestAnAttemptThatEndsDuringAReadIsNotShownAsInterrupted(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		f.create(0, 30)
		reads := 0
		f.store.Store = &eventReader{f.store.Store, func() {
			if reads++; reads == 1 {
				release()
			}
		}}
		require.Equal(t, []string{"delivered", "delivered"}, f.outcomes())
		require.Equal(t, 2, reads)
	}, withWebhook(webhook))
}
