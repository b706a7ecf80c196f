package actors

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/delivery"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

const retryFor = 3 * time.Hour

func withRetries(f *fixture) { only(&f.settings).Retry = lanes.RetryPolicy{For: retryFor} }

// arrival is an attempt that reached the webhook.
type arrival struct {
	id   uuid.UUID
	late bool
}

func (w *fakeWebhook) arrivals() (all []arrival) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, event := range w.arrived {
		all = append(all, arrival{event.ID, w.late[i]})
	}
	return all
}

// fails has attempts for the events that match fail, each with its wall time, until it is called with nil.
func (w *fakeWebhook) fails(status int, match func(lanes.Event) bool) {
	w.setReply(func(_ context.Context, event lanes.Event) lanes.Attempt {
		if match == nil || match(event) {
			return lanes.Attempt{At: time.Now().UTC(), Status: status, Error: lanes.Refused}
		}
		return lanes.Attempt{At: time.Now().UTC(), Status: 204}
	})
}

func (f *fixture) logEntry(cursor uint64) lanes.Logged { return f.eventLog()[cursor-1] }

// A receiver is down for ten minutes in which sessions come and go. Afterwards it has every event once: in
// order per lane, but for those that are marked as late.
func TestAReceiverThatWasDownGetsEverything(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(503, nil)
		for i := range 5 {
			first, second := f.create(0, 30), f.create(1, 30)
			f.advance(40 * time.Second)
			f.pause(first)
			f.advance(50 * time.Second)
			f.stop(first)
			if i < 4 {
				f.stop(second)
			}
			f.advance(30 * time.Second)
		}
		failed := len(webhook.arrivals())
		webhook.setReply(nil)
		f.advance(3 * time.Minute)
		f.advance(retryFor)
		log := f.eventLog()
		got := webhook.arrivals()[failed:]
		require.Len(t, got, len(log), "each arrives once")
		place := map[uuid.UUID]int{}
		for i, a := range got {
			_, twice := place[a.id]
			require.False(t, twice)
			place[a.id] = i
		}
		late := 0
		for i, event := range log {
			require.Equal(t, "delivered", event.Attempt.Outcome(), "%+v", event)
			if got[place[event.Event.ID]].late {
				late++
				continue
			}
			for _, later := range log[i+1:] {
				if later.Event.Lane == event.Event.Lane {
					require.Less(t, place[event.Event.ID], place[later.Event.ID],
						"one that is not late is before all later ones of its lane")
				}
			}
		}
		require.Positive(t, late)
		require.Less(t, late, len(log))
		require.Empty(t, f.committer.Unattempted())
		require.Zero(t, f.retrying())
		require.Zero(t, f.counterValue("rangegate_events_given_up_total"))
	}, withWebhook(webhook), withRetries)
}

// In its first minute a failed event keeps those of its lane behind it, and no others.
func TestAFailedEventKeepsItsOrderForAMinute(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		other := f.create(1, 30)
		synctest.Wait()
		before := len(webhook.arrivals())
		webhook.fails(500, func(e lanes.Event) bool { return e.Kind == lanes.SessionStarted })
		f.enter(0)
		f.pause(session)
		f.pause(other)
		synctest.Wait()
		log := f.eventLog()
		started, paused, elsewhere := log[len(log)-3].Event, log[len(log)-2].Event, log[len(log)-1].Event
		require.Equal(t, []arrival{{started.ID, false}, {elsewhere.ID, false}}, webhook.arrivals()[before:])
		webhook.setReply(nil)
		f.advance(4 * time.Second)
		require.Len(t, webhook.arrivals()[before:], 2)
		f.advance(2 * time.Second)
		require.Equal(t, []arrival{{started.ID, false}, {paused.ID, false}}, webhook.arrivals()[before+2:])

		entry := f.logEntry(log[len(log)-3].Cursor)
		require.Equal(t, "delivered", entry.Attempt.Outcome())
		require.Len(t, entry.Earlier, 1)
		require.Equal(t, 500, entry.Earlier[0].Status)
		require.Equal(t, 1.0, f.metricValue("rangegate_events_retried_total", "delivered"))
	}, withWebhook(webhook), withRetries)
}

// Staff see when the receiver can be level.
func TestWhenTheReceiverIsLevelAgain(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(503, func(e lanes.Event) bool { return e.Kind == lanes.SessionStopped })
		require.Zero(t, f.Health().LevelAt)
		f.stop(f.create(0, 30))
		health := f.Health()
		require.Equal(t, 1, health.Retrying)
		require.WithinRange(t, health.LevelAt, f.Now().Wall.Add(5*time.Second), f.Now().Wall.Add(7*time.Second))
		webhook.setReply(nil)
		f.advance(7 * time.Second)
		require.Zero(t, f.Health().Retrying)
		require.Zero(t, f.Health().LevelAt)
	}, withWebhook(webhook), withRetries)
}

// A receiver that refuses one kind has every other event at once, and the refused ones again as late ones.
func TestARefusedKindStallsNoLane(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(422, func(e lanes.Event) bool { return e.Kind == lanes.SessionPaused })
		session := f.create(0, 30)
		f.pause(session)
		f.resume(session)
		f.pause(session)
		f.stop(session)
		synctest.Wait()
		log, first := f.eventLog(), webhook.arrivals()
		require.Len(t, first, len(log), "nothing waits for what is refused")
		for i, event := range log {
			require.Equal(t, arrival{event.Event.ID, false}, first[i], "in the order of the facts")
		}
		f.advance(6 * time.Second)
		require.Equal(t, []arrival{{log[2].Event.ID, true}, {log[4].Event.ID, true}}, webhook.arrivals()[len(log):])
	}, withWebhook(webhook), withRetries)
}

// What a receiver put off and then refuses has held its lane until then, and no longer.
func TestARefusalEndsTheWaitingForAFailedEvent(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(503, func(e lanes.Event) bool { return e.Kind == lanes.SessionCreated })
		f.create(0, 30)
		synctest.Wait()
		log := f.eventLog()
		created, started := log[0].Event.ID, log[1].Event.ID
		require.Equal(t, []arrival{{created, false}}, webhook.arrivals())
		webhook.fails(404, func(e lanes.Event) bool { return e.Kind == lanes.SessionCreated })
		f.advance(6 * time.Second)
		require.Equal(t, []arrival{{created, false}, {started, false}}, webhook.arrivals()[1:])
		require.Equal(t, 1, f.retrying(), "it is tried again all the same")
	}, withWebhook(webhook), withRetries)
}

// Every delivery says where the event is in the log, simulated ones and purchases too, and each after the
// first that it is one. A receiver that keeps the highest number of a session thereby knows what is older, in
// whatever order deliveries come.
func TestADeliverySaysWhereItsEventIsInTheLog(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		f.buy(0, minutes(10))
		_, err := f.Simulate(f.requestContext(), lanes.Help, session, nil)
		require.NoError(t, err)
		webhook.fails(503, func(e lanes.Event) bool { return e.Kind == lanes.SessionPaused })
		f.pause(session)
		f.advance(2 * time.Minute) // its retry fails too, and the stop passes it
		f.stop(session)
		webhook.setReply(nil)
		f.advance(10 * time.Minute)
		require.Equal(t, len(f.eventLog()), f.redeliver(0, 1000).Events+1, "all but the purchase")
		f.advance(10 * time.Second)

		log, times := f.eventLog(), map[uint64]int{}
		newest := map[uuid.UUID]uint64{} // session → as a receiver keeps it
		var older []lanes.Kind
		for _, arrived := range webhook.entries {
			require.NotZero(t, arrived.Cursor)
			require.Equal(t, log[arrived.Cursor-1].Event, arrived.Event)
			require.Equal(t, times[arrived.Cursor] > 0, arrived.Redelivered(), "%s, time %d", arrived.Event.Kind,
				times[arrived.Cursor])
			times[arrived.Cursor]++
			if times[arrived.Cursor] == 1 || arrived.Event.Kind == lanes.SessionPaused {
				if arrived.Cursor < newest[arrived.Event.Session] {
					older = append(older, arrived.Event.Kind)
				}
				newest[arrived.Event.Session] = max(newest[arrived.Event.Session], arrived.Cursor)
			}
		}
		require.Len(t, times, len(log))
		require.Equal(t, []lanes.Kind{lanes.SessionPaused, lanes.SessionPaused}, older, "what came late, and again")
	}, withWebhook(webhook), withRetries)
}

// After a minute later events pass, and the one that they have passed is marked.
func TestAfterAMinuteLaterEventsPass(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, func(e lanes.Event) bool { return e.Kind == lanes.SessionCreated })
		f.create(0, 30)
		synctest.Wait()
		log := f.eventLog()
		created, started := log[0].Event.ID, log[1].Event.ID
		f.advance(59 * time.Second)
		require.Equal(t, []arrival{{created, false}, {created, false}}, webhook.arrivals())
		f.advance(time.Second)
		require.Equal(t, []arrival{{started, false}}, webhook.arrivals()[2:])
		webhook.setReply(nil)
		f.advance(6 * time.Minute)
		require.Equal(t, []arrival{{created, true}}, webhook.arrivals()[3:])
	}, withWebhook(webhook), withRetries)
}

// The schedule, and the order in the first minute, are as they were after a crash. What was being attempted
// is attempted again.
func TestRetriesSurviveACrash(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		f.create(0, 30)
		f.advance(10 * time.Second)
		created := f.logEntry(1).Event.ID
		require.Equal(t, []arrival{{created, false}, {created, false}}, webhook.arrivals(),
			"tried again after 5 s, and then in 5 minutes")
		due := f.logEntry(1).Attempt.RetryAt
		f.kill()
		webhook.setReply(nil)
		f.start()
		f.advance(30 * time.Second)
		require.Len(t, webhook.arrivals(), 2, "neither earlier than it was due, nor one behind it")
		require.Equal(t, 1.0, f.gaugeValues("events_awaiting_retry")["events_awaiting_retry"])
		f.advance(30 * time.Second)
		require.Equal(t, []arrival{{f.logEntry(2).Event.ID, false}}, webhook.arrivals()[2:])
		f.advance(due.Sub(f.Now().Wall) - time.Second)
		require.Len(t, webhook.arrivals(), 3)
		f.advance(2 * time.Second)
		require.Equal(t, []arrival{{created, true}}, webhook.arrivals()[3:])

		release := webhook.block()
		session := f.create(1, 30)
		synctest.Wait()
		f.kill()
		release()
		before := len(webhook.arrivals())
		f.start()
		f.advance(time.Minute)
		log := f.eventLog()
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, f.eventKinds(session))
		require.Equal(t, []arrival{{log[2].Event.ID, false}, {log[3].Event.ID, false}}, webhook.arrivals()[before:])
		require.Equal(t, []string{"interrupted"}, []string{log[2].Earlier[0].Outcome()})
	}, withWebhook(webhook), withRetries)
}

// An event that nobody takes is given up at the end of its term: the log, the metric and the log of the gateway say so.
func TestAnEventIsGivenUp(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, func(e lanes.Event) bool { return e.Kind == lanes.SessionCreated })
		f.create(0, 30)
		f.advance(retryFor - time.Minute)
		require.True(t, f.logEntry(1).AwaitsRetry())
		f.advance(2 * time.Minute)
		entry := f.logEntry(1)
		require.True(t, entry.Attempt.GivenUp)
		require.False(t, entry.Pending())
		require.Len(t, entry.Earlier, 5)
		require.Equal(t, 1.0, f.counterValue("rangegate_events_given_up_total"))
		require.Equal(t, lanes.LostEvents{GivenUp: 1}, f.observed(eventsKind, -1).Lost)
		require.Equal(t, 5.0, f.metricValue("rangegate_events_retried_total", "refused"))
		arrived := len(webhook.arrivals())
		f.advance(retryFor)
		require.Len(t, webhook.arrivals(), arrived)
		webhook.setReply(nil)
		require.Equal(t, 1, f.redeliver(0, 1).Events, "it can be asked for")
		require.Equal(t, arrival{entry.Event.ID, true}, webhook.arrivals()[arrived])
	}, withWebhook(webhook), withRetries)
}

// A receiver that says when it wants to be tried again is tried then.
func TestTheReceiverSaysWhen(t *testing.T) {
	webhook := &fakeWebhook{retryAfter: 20 * time.Second}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(429, nil)
		f.create(0, 30)
		f.advance(19 * time.Second)
		require.Len(t, webhook.arrivals(), 1)
		f.advance(4 * time.Second)
		require.Len(t, webhook.arrivals(), 2)
		f.advance(time.Minute)
		require.Greater(t, len(webhook.arrivals()), 4, "again and again")
	}, withWebhook(webhook), withRetries)
}

// A webhook that answers 410 gets nothing any more, purchases included, until its operator reloads. What
// happens meanwhile stays in the log.
func TestAWebhookThatIsGone(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		f.create(1, 30)
		synctest.Wait()
		webhook.fails(410, nil)
		session := f.createWithPurchasing(0, 30)
		f.advance(10 * time.Second)
		arrived := len(webhook.arrivals())
		f.pause(session)
		f.resume(session)
		f.buy(0, minutes(10))
		f.advance(10 * time.Minute)
		require.Len(t, webhook.arrivals(), arrived)
		require.Equal(t, 1.0, f.gaugeValues("webhook_gone")["webhook_gone"])
		require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
		for _, event := range f.eventLog() {
			require.False(t, event.Pending(), "%+v", event)
			require.True(t, event.Attempt.GivenUp || event.Attempt.Error == lanes.WebhookGone, "%+v", event)
		}
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), 1, nil), lanes.ErrWebhookGone)
		logged := len(f.eventLog())
		_, err := f.Simulate(f.requestContext(), lanes.Help, uuid.New(), nil)
		require.ErrorIs(t, err, lanes.ErrWebhookGone)
		require.Len(t, f.eventLog(), logged, "what is not sent is not recorded")

		webhook.setReply(nil)
		f.gateway.ResumeDeliveries()
		f.stop(session)
		synctest.Wait()
		require.Len(t, webhook.arrivals(), arrived+1)
		require.Zero(t, f.gaugeValues("webhook_gone")["webhook_gone"])
		require.Equal(t, len(f.eventLog()), f.redeliver(0, 1000).Events)
	}, withWebhook(webhook), withRetries)
}

// What was under way when the configuration was reloaded may still be answered 410: that is of before.
func TestA410OfBeforeAReload(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		answers := map[uuid.UUID]chan struct{}{f.laneID(0): make(chan struct{}), f.laneID(1): make(chan struct{})}
		webhook.setReply(func(_ context.Context, event lanes.Event) lanes.Attempt {
			<-answers[event.Lane]
			return lanes.Attempt{At: event.At, Status: 410, Error: lanes.Refused}
		})
		session := f.create(0, 30)
		f.create(1, 30)
		close(answers[f.laneID(0)])
		synctest.Wait()
		require.Equal(t, 1.0, f.gaugeValues("webhook_gone")["webhook_gone"])

		webhook.setReply(nil)
		f.gateway.ResumeDeliveries()
		close(answers[f.laneID(1)])
		synctest.Wait()
		require.Zero(t, f.gaugeValues("webhook_gone")["webhook_gone"])
		arrived := len(webhook.arrivals())
		f.pause(session)
		synctest.Wait()
		require.Len(t, webhook.arrivals(), arrived+1)
	}, withWebhook(webhook), withRetries)
}

// Another webhook in the configuration is called although the one before was gone; and as the answer to a
// purchase 410 says no more than any refusal.
func TestAnotherWebhookIsNotGone(t *testing.T) {
	webhook, next := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		synctest.Wait()
		webhook.setPurchaseReply(failPurchase(lanes.Attempt{Status: 410, Error: lanes.Refused}))
		f.buy(0, minutes(10))
		synctest.Wait()
		f.pause(session)
		synctest.Wait()
		require.Contains(t, webhook.kinds(), lanes.SessionPaused)

		webhook.fails(410, nil)
		f.resume(session)
		synctest.Wait()
		require.NoError(t, f.reload(false, func(s *Settings) { only(s).Webhook = next }))
		f.pause(session)
		synctest.Wait()
		require.Equal(t, []lanes.Kind{lanes.SessionPaused}, next.kinds())
	}, withWebhook(webhook), withRetries)
}

func TestAPurchaseIsNotTriedAgain(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setPurchaseReply(failPurchase(lanes.Attempt{Error: lanes.TimedOut}))
		f.createWithPurchasing(0, 30)
		f.buy(0, minutes(10))
		f.advance(retryFor)
		require.Len(t, webhook.purchases(), 1)
		require.False(t, f.purchaseLog()[0].Pending())
	}, withWebhook(webhook), withRetries)
}

// Whoever asks for an event that awaits its retry has it tried now.
func TestARetryThatSomebodyAsksFor(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		f.create(0, 30)
		f.advance(2 * time.Minute)
		webhook.setReply(nil)
		require.Equal(t, 2, f.redeliver(0, 2).Events)
		for _, event := range f.eventLog() {
			require.Equal(t, "delivered", event.Attempt.Outcome())
		}
		require.Zero(t, f.retrying())
	}, withWebhook(webhook), withRetries)
}

// A receiver that hangs on what is tried again keeps no slot from what happens now.
func TestRetriesHaveASlotOfTheirOwn(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		f.create(0, 30)
		synctest.Wait()
		release := webhook.block(f.laneID(0))
		f.advance(10 * time.Second)
		session := f.create(1, 30)
		synctest.Wait()
		require.Equal(t, f.eventKinds(session), webhook.kinds()[2:], "its events pass the retry")
		release()
	}, withWebhook(webhook), withDelivery(1, 10_000), withRetries)
}

// Many that are due at once go out at the pace of what is sent again.
func TestAReceiverThatIsBackIsNotFlooded(t *testing.T) {
	webhook := &fakeWebhook{}
	const many = 3 * delivery.ResendSize
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, func(e lanes.Event) bool { return e.Kind == lanes.SessionCreated })
		for i := range many {
			f.createWaiting(i, 30)
		}
		f.advance(2 * time.Minute)
		f.kill()
		webhook.setReply(nil)
		before := len(webhook.arrivals())
		f.advance(time.Hour)
		f.start()
		for n := 1; n <= 3; n++ {
			require.Len(t, webhook.arrivals(), before+n*delivery.ResendSize)
			f.advance(delivery.ResendInterval)
		}
		require.Len(t, webhook.arrivals(), before+many)
	}, withLanes(many), withWebhook(webhook), withRetries)
}

// Where events are tried again, those beyond the queue are not lost: they leave their order and are sent later.
func TestEventsBeyondTheQueueAreTriedLater(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		session := f.create(0, 30)
		f.pauseAndResume(session, 5)
		synctest.Wait()
		require.Positive(t, f.retrying())
		release()
		f.advance(10 * time.Second)
		log := f.eventLog()
		require.Len(t, webhook.arrivals(), len(log))
		for _, a := range webhook.arrivals() {
			i := slices.IndexFunc(log, func(e lanes.Logged) bool { return e.Event.ID == a.id })
			require.Equal(t, len(log[i].Earlier) > 0, a.late)
		}
		require.Zero(t, f.counterValue("rangegate_events_given_up_total"))
	}, withWebhook(webhook), withDelivery(1, 3), withRetries)
}

// Without the setting, after a reload, what awaits its retry is given up when it is due. A range that is
// taken out drops it.
func TestRetriesThatAreTurnedOff(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		session := f.createWaiting(0, 30)
		synctest.Wait()
		require.NoError(t, f.reload(false, func(s *Settings) { only(s).Retry = lanes.RetryPolicy{} }))
		f.advance(10 * time.Second)
		require.Len(t, webhook.arrivals(), 1)
		require.True(t, f.logEntry(1).Attempt.GivenUp)
		require.Equal(t, 500, f.logEntry(1).Attempt.Status)

		require.NoError(t, f.reload(false, withRetriesIn))
		f.stop(session)
		f.advance(2 * time.Minute)
		require.True(t, f.logEntry(2).AwaitsRetry())
		require.NoError(t, f.gateway.Reload(t.Context(), Reload{End: []uuid.UUID{f.settings.Layout.Range}}))
		log, err := f.store.Events(t.Context(), store.InAnyEpoch(f.settings.Layout.Range), 0, 10)
		require.NoError(t, err)
		require.Equal(t, "dropped", log[1].Attempt.Outcome())
		require.False(t, log[1].Pending())
	}, withWebhook(webhook), withRetries)
}

func withRetriesIn(s *Settings) { only(s).Retry = lanes.RetryPolicy{For: retryFor} }

// What cannot be read when it is due is tried when it can be.
func TestRetriesThatCannotBeRead(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		f.createWaiting(0, 30)
		synctest.Wait()
		webhook.setReply(nil)
		f.store.unreadable.Store(true)
		f.advance(10 * time.Second)
		require.Len(t, webhook.arrivals(), 1)
		f.store.unreadable.Store(false)
		f.advance(delivery.RetryRead)
		require.Len(t, webhook.arrivals(), 2)

		require.Zero(t, f.retrying())
	}, withWebhook(webhook), withRetries)
}

// An events actor that panics knows afterwards what it has to try again, and what waits for that.
func TestRetriesSurviveAPanic(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		f.create(0, 30)
		f.advance(time.Second)
		f.panicEventsActor()
		webhook.setReply(nil)
		f.advance(time.Second)
		require.Len(t, webhook.arrivals(), 1)
		f.advance(5 * time.Second)
		log := f.eventLog()
		require.Equal(t, []arrival{{log[0].Event.ID, false}, {log[1].Event.ID, false}}, webhook.arrivals()[1:])
	}, withWebhook(webhook), withRetries)
}

// An attempt that begins just before the minute is over, and takes longer, has no mark that later events may
// have passed: none passes it.
func TestNothingPassesAnAttemptThatIsUnderWay(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		webhook.retryAfter = 58 * time.Second // and up to a tenth more: in the last seconds of the minute, or after it
		f.create(0, 30)
		synctest.Wait()
		created := f.logEntry(1)
		f.advance(time.Until(created.Attempt.At.Add(55 * time.Second)))
		release := webhook.block()
		require.NoError(t, f.RedeliverOne(f.requestContext(), 1, nil)) // it is due now
		f.advance(time.Second)
		require.Len(t, webhook.arrivals(), 2, "it is being sent again")
		f.advance(20 * time.Second)
		require.Len(t, webhook.arrivals(), 2, "the minute is over, and the next event of the lane waits")
		release()
		f.advance(time.Second)
		require.Equal(t, []arrival{{created.Event.ID, false}, {f.logEntry(2).Event.ID, false}}, webhook.arrivals()[1:])
	}, withWebhook(webhook), withRetries)
}

// The store loses its last writes and is refilled with the next flush. A retry that is due before that is made
// afterwards, and what waits for it follows.
func TestARetryThatIsDueBeforeTheStoreIsRefilled(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		session := f.create(0, 30)
		synctest.Wait()
		require.Len(t, webhook.arrivals(), 1)
		webhook.setReply(nil)
		f.wipeStore()
		f.advance(7 * time.Second)
		require.Len(t, webhook.arrivals(), 1, "its record is lost")
		f.noticeLoss()
		f.advance(2 * delivery.RetryRead)
		require.Equal(t, f.eventKinds(session), webhook.kinds()[1:])
		require.Zero(t, f.counterValue("rangegate_events_given_up_total"))
	}, withWebhook(webhook), withRetries)
}

// Events of many lanes time out together, and do so once more when they are sent again, one after the other. The
// later events of each lane wait for a minute, and not until its turn has come.
func TestManyAttemptsThatHangKeepEachLaneForAMinute(t *testing.T) {
	webhook := &fakeWebhook{}
	const many = delivery.ResendSize
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setReply(func(ctx context.Context, event lanes.Event) lanes.Attempt {
			if event.Kind == lanes.SessionCreated {
				select {
				case <-time.After(10 * time.Second):
				case <-ctx.Done():
				}
				return lanes.Attempt{At: time.Now().UTC(), Error: lanes.TimedOut}
			}
			return lanes.Attempt{At: time.Now().UTC(), Status: 204}
		})
		for i := range many {
			f.create(i, 30)
		}
		f.advance(90 * time.Second)
		started := 0
		for _, kind := range webhook.kinds() {
			if kind == lanes.SessionStarted {
				started++
			}
		}
		require.Equal(t, many, started)
	}, withLanes(many), withWebhook(webhook), withDelivery(many, 10_000), withRetries)
}

// failsAt has every attempt fail, at the time of the machine's clock.
func (w *fakeWebhook) failsAt(now func() lanes.Instant) {
	w.setReply(func(context.Context, lanes.Event) lanes.Attempt {
		return lanes.Attempt{At: now().Wall, Error: lanes.Unreachable}
	})
}

// A wall clock that is set back after a delivery failed keeps nothing waiting until it shows that time again:
// neither the event, which is due as long after its attempt as before, nor those behind it.
func TestRetriesWhenTheWallClockIsSetBack(t *testing.T) {
	for _, while := range []string{"running", "down", "rebooting"} {
		for _, step := range []time.Duration{-2 * time.Hour, -90 * time.Second} {
			t.Run(while+" "+step.String(), func(t *testing.T) {
				webhook := &fakeWebhook{}
				runFixture(t, func(t *testing.T, f *fixture) {
					webhook.failsAt(f.clock.Now)
					session := f.create(0, 30)
					synctest.Wait()
					require.Len(t, webhook.arrivals(), 1)
					webhook.setReply(nil)
					f.setClock(while, step)
					f.pause(session)
					f.advance(30 * time.Second)
					log, got := f.eventLog(), webhook.arrivals()[1:]
					require.Len(t, got, len(log), "all of the lane")
					require.Contains(t, got, arrival{log[0].Event.ID, true}, "later ones may have passed it")
					require.Contains(t, got, arrival{log[2].Event.ID, false})
					require.Zero(t, f.retrying())
				}, withWebhook(webhook), withRetries)
			})
		}
	}
}

// What was to come again minutes later does so, and neither earlier nor when the wall clock, which is set back
// meanwhile, shows that time again.
func TestALaterRetryWhenTheWallClockIsSetBack(t *testing.T) {
	for _, while := range []string{"running", "down", "rebooting"} {
		t.Run(while, func(t *testing.T) {
			webhook := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				webhook.failsAt(f.clock.Now)
				f.create(0, 30)
				f.advance(10 * time.Second)
				require.Len(t, webhook.arrivals(), 2, "the next time is in 5 minutes")
				f.setClock(while, -2*time.Hour)
				again := arrival{f.logEntry(1).Event.ID, true}
				f.advance(4 * time.Minute)
				require.NotContains(t, webhook.arrivals(), again)
				f.advance(2 * time.Minute)
				require.Contains(t, webhook.arrivals(), again)
			}, withWebhook(webhook), withRetries)
		})
	}
}

// What is due, and those that have waited for long enough, go as soon as the machine wakes.
func TestRetriesAfterASuspend(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.failsAt(f.clock.Now)
		f.create(0, 30)
		f.advance(10 * time.Second)
		require.Len(t, webhook.arrivals(), 2, "one of them waits for a minute, and the other for 5")
		webhook.setReply(nil)
		f.clock.Suspend(10 * time.Minute)
		f.advance(2 * time.Second)
		require.Len(t, webhook.arrivals(), 4)
		require.Zero(t, f.retrying())
	}, withWebhook(webhook), withRetries)
}

// A receiver takes the first of many events that are sent again, and hangs at the others. What waits for that one goes
// on at once, and not when the last of them has timed out.
func TestARetryThatIsTakenLetsItsLaneGoOn(t *testing.T) {
	webhook := &fakeWebhook{}
	const many = delivery.ResendSize
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.fails(500, nil)
		for i := range many {
			f.create(i, 30)
		}
		synctest.Wait()
		var others []uuid.UUID
		for i := 1; i < many; i++ {
			others = append(others, f.laneID(i))
		}
		defer webhook.block(others...)()
		f.advance(8 * time.Second)
		log := f.eventLog()
		require.Equal(t, []uuid.UUID{log[0].Event.ID, log[0].Event.ID, log[1].Event.ID},
			webhook.idsByLane()[f.laneID(0)])
	}, withLanes(many), withWebhook(webhook), withDelivery(many, 10_000), withRetries)
}

// An events actor begins anew while the store is away, before the failure of an event is saved: the later events of its
// lane wait for it all the same.
func TestAFailureThatIsNotSavedYetKeepsItsPlaceOverAPanic(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		var release func()
		webhook.setReply(func(context.Context, lanes.Event) lanes.Attempt {
			webhook.setReply(nil)
			release = f.blockFlushes()
			return lanes.Attempt{At: f.clock.Now().Wall, Error: lanes.Unreachable}
		})
		f.create(0, 30)
		f.advance(100 * time.Millisecond)
		f.panicEventsActor()
		f.advance(100 * time.Millisecond)
		release()
		f.advance(10 * time.Second)
		log := f.eventLog()
		require.Equal(t, []arrival{{log[0].Event.ID, false}, {log[0].Event.ID, false}, {log[1].Event.ID, false}},
			webhook.arrivals())
	}, withWebhook(webhook), withRetries)
}

// The range stops while it is being saved that an event is attempted: it is sent by the next start, and not any more by
// this one.
func TestAnEventWhoseAttemptAStopPreventsIsSentByTheNextStart(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		synctest.Wait()
		before := len(webhook.arrivals())
		f.store.setHook(func(_ context.Context, _ store.Batch, flush func() error) error {
			time.Sleep(4 * time.Second) // longer than a stop waits for attempts
			return flush()
		})
		require.ErrorIs(t, f.tryPause(f.activeSessions()[0]), lanes.ErrNotSaved)
		f.advance(4 * time.Second) // now it is
		stopped := f.runAsync(func() error { return f.gateway.stopRange(context.Background(), f.Range) })
		f.advance(30 * time.Second)
		require.NoError(t, <-stopped)
		require.Len(t, webhook.arrivals(), before, "it is not sent while the range stops")
		f.store.setHook(nil)
		require.NoError(t, f.gateway.StartRange(f.Context(), f.settings))
		f.advance(time.Second)
		require.Len(t, webhook.arrivals(), before+1)
	}, withWebhook(webhook))
}
