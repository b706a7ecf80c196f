package actors

import (
	"context"
	"math/rand/v2"
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

// withWebhooks gives the range several: "pos" decides purchases and gets everything, "books" gets the kinds.
func withWebhooks(pos, books delivery.Webhook, kinds ...lanes.Kind) option {
	return func(f *fixture) {
		f.settings.Receivers = []delivery.Receiver{
			{Name: "pos", Webhook: pos, Purchases: true, Slots: testSlots, Queue: 10_000},
			{Name: "books", Webhook: books, Kinds: kinds, Slots: testSlots, Queue: 10_000},
		}
	}
}

// deliveries returns the whole log with its copies.
func (f *fixture) deliveries() []lanes.Logged {
	f.Helper()
	all, err := f.Deliveries(f.requestContext(), 0, 10_000)
	require.NoError(f, err)
	return all
}

func (f *fixture) deliveriesTo(webhook string) []lanes.Logged {
	f.Helper()
	all, _, err := f.DeliveriesTo(f.requestContext(), webhook, 0, 10_000)
	require.NoError(f, err)
	return all
}

func idsOf(log []lanes.Logged) (ids []uuid.UUID) {
	for _, e := range log {
		ids = append(ids, e.Event.ID)
	}
	return ids
}

// Each webhook gets the kinds that it asked for, in their order, and the log has each event once, whatever gets it.
func TestEachWebhookGetsItsKinds(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		read, next := f.FollowEvents()
		require.Zero(t, read)
		session := f.createWithPurchasing(0, 30)
		f.buy(0, minutes(10))
		f.stop(session)
		synctest.Wait()
		log := f.eventLog()
		kinds := []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.PurchaseRequest, lanes.SessionModified,
			lanes.SessionStopped,
		}
		require.Equal(t, kinds, f.eventKinds(session))
		require.Equal(t, kinds, pos.kinds())
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStopped}, books.kinds(), "never a purchase")
		require.Equal(t, []uuid.UUID{log[0].Event.ID, log[4].Event.ID}, books.sentEvents(),
			"under the ids of the events")

		require.Len(t, f.deliveries(), 7)
		require.Equal(t, idsOf(log), idsOf(f.deliveriesTo("pos")))
		require.Equal(t, books.sentEvents(), idsOf(f.deliveriesTo("books")))
		for _, e := range f.deliveries() {
			require.Equal(t, "delivered", e.Attempt.Outcome(), "%+v", e)
			require.Equal(t, e.Webhook == "books", e.Copy)
		}
		var followed []lanes.Logged
		for {
			events, wake := next()
			if wake != nil {
				break
			}
			followed = append(followed, events...)
		}
		require.Equal(t, idsOf(log), idsOf(followed), "readers of the log see each event once")
		saved, _ := f.FollowEvents()
		require.Equal(t, log[4].Cursor, saved)
		for limit := 1; limit <= 3; limit++ { // page by page
			var paged []lanes.Logged
			for after := uint64(0); ; after = paged[len(paged)-1].Cursor {
				page, err := f.Events(f.requestContext(), after, limit)
				require.NoError(t, err)
				if paged = append(paged, page...); len(page) < limit {
					break
				}
			}
			require.Equal(t, idsOf(log), idsOf(paged))
		}
	}, withWebhooks(pos, books, lanes.SessionCreated, lanes.SessionStopped))
}

// An event that no webhook wants is in the log, as not sent; one that only the second wants is its.
func TestAnEventThatTheFirstWebhookDoesNotWant(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		synctest.Wait()
		log := f.eventLog()
		require.Empty(t, pos.kinds())
		require.Equal(t, []lanes.Kind{lanes.SessionStarted}, books.kinds())
		require.Equal(t, []string{"", "books"}, []string{log[0].Webhook, log[1].Webhook})
		require.Equal(t, lanes.NotWanted, log[0].Attempt.Error)
		require.False(t, log[1].Copy)
		require.Equal(t, 1.0, f.metricValue("rangegate_events_total", "sessionCreated"))
		require.Equal(t, 1, f.redeliver(0, 100).Events, "what nobody wants is not sent again either")
		require.Empty(t, pos.kinds())
		require.Len(t, books.kinds(), 2)
	}, withWebhooks(pos, books, lanes.SessionStarted),
		func(f *fixture) { f.settings.Receivers[0].Kinds = []lanes.Kind{lanes.Help} })
}

// A webhook that hangs holds up no other one, and its waiting events are counted as its own.
func TestAWebhookThatHangsHoldsUpNoOther(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := books.block()
		for range 10 {
			for i := range 3 {
				f.stop(f.create(i, 30))
			}
		}
		synctest.Wait()
		require.Len(t, pos.kinds(), 90)
		require.Len(t, books.kinds(), 3, "the first event of each lane")
		waiting := f.gaugeValues("events_waiting")
		require.Equal(t, map[string]float64{"events_waiting pos": 0, "events_waiting books": 87}, waiting)
		require.Equal(t, 87, f.Health().Waiting)
		release()
		f.advance(time.Second)
		require.Equal(t, pos.idsByLane(), books.idsByLane(), "in the same order per lane")
		require.Zero(t, f.Health().Waiting)
	}, withLanes(3), withWebhooks(pos, books))
}

// Each has its own retries. One that answers 410 gets nothing any more, and the others do.
func TestRetriesAreOfOneWebhook(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		books.fails(503, nil)
		f.stop(f.create(0, 30))
		f.advance(10 * time.Second)
		require.Len(t, pos.kinds(), 3)
		require.Equal(t, map[string]float64{"events_awaiting_retry pos": 0, "events_awaiting_retry books": 1},
			f.gaugeValues("events_awaiting_retry"))
		f.kill()
		f.start()
		books.setReply(nil)
		f.advance(10 * time.Minute)
		require.Len(t, pos.kinds(), 3, "it had everything")
		for _, e := range f.deliveries() {
			require.Equal(t, "delivered", e.Attempt.Outcome(), "%+v", e)
			require.Equal(t, e.Webhook == "books" && e.Event.Kind == lanes.SessionCreated, len(e.Earlier) > 0, "%+v", e)
		}

		books.fails(410, nil)
		f.create(1, 30)
		f.advance(2 * time.Minute)
		f.create(2, 30)
		f.advance(2 * time.Minute)
		require.Len(t, pos.kinds(), 7)
		require.Equal(t, map[string]float64{"webhook_gone pos": 0, "webhook_gone books": 1},
			f.gaugeValues("webhook_gone"))
		last := f.deliveriesTo("books")
		require.Equal(t, lanes.WebhookGone, last[len(last)-1].Attempt.Error)
		_, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 100, Webhook: "books"}, nil)
		require.ErrorIs(t, err, lanes.ErrWebhookGone)
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), last[0].Cursor, nil), lanes.ErrWebhookGone)
		require.Equal(t, 7, f.redeliver(0, 100).Events, "the first webhook's")
		f.advance(time.Minute)
		require.Len(t, pos.kinds(), 14)
	}, withLanes(3), withWebhooks(pos, books),
		func(f *fixture) { f.settings.Receivers[1].Retry = lanes.RetryPolicy{For: retryFor} })
}

// Somebody has events sent again to one of the webhooks.
func TestEventsAreSentAgainToOneWebhook(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.stop(f.create(0, 30))
		synctest.Wait()
		result, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 100, Webhook: "books"}, nil)
		require.NoError(t, err)
		require.Equal(t, lanes.Redelivery{Events: 3}, result)
		f.advance(time.Second)
		require.Len(t, pos.kinds(), 3)
		require.Equal(t, append(idsOf(f.eventLog()), idsOf(f.eventLog())...), books.sentEvents())
		cursor := f.deliveriesTo("books")[1].Cursor
		require.NoError(t, f.RedeliverOne(f.requestContext(), cursor, nil))
		require.NoError(t, f.StaffRedeliver(f.requestContext(), "sam", f.eventLog()[2].Cursor))
		f.advance(time.Second)
		require.Len(t, books.kinds(), 7)
		require.Len(t, pos.kinds(), 4)
		_, err = f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 100, Webhook: "nobody"}, nil)
		require.ErrorIs(t, err, lanes.ErrWebhookNotConfigured)
	}, withWebhooks(pos, books))
}

// Crashes at any moment take no event from a webhook, and none gets one twice that was not interrupted.
func TestEveryWebhookHasEverythingAfterCrashes(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 30 {
			slow := []*fakeWebhook{pos, books}[random.IntN(2)]
			release := slow.block()
			session := f.create(random.IntN(3), 30)
			if random.IntN(2) == 0 {
				synctest.Wait()
			}
			f.kill()
			release()
			f.start()
			synctest.Wait()
			f.stop(session)
		}
		f.advance(time.Minute)
		for name, webhook := range map[string]*fakeWebhook{"pos": pos, "books": books} {
			entries := f.deliveriesTo(name)
			require.Equal(t, idsOf(f.eventLog()), idsOf(entries))
			arrived := map[uuid.UUID]int{}
			for _, id := range webhook.sentEvents() {
				arrived[id]++
			}
			for _, e := range entries {
				require.False(t, e.Pending(), "%+v", e)
				require.LessOrEqual(t, arrived[e.Event.ID], 1)
				require.True(t, arrived[e.Event.ID] == 1 || e.Attempt.Outcome() == "interrupted", "%+v", e)
			}
		}
	}, withLanes(3), withWebhooks(pos, books))
}

// A reload takes webhooks away and adds others. What waits for one that is taken away is recorded as not
// sent; nothing of the others is lost.
func TestAReloadChangesTheWebhooks(t *testing.T) {
	pos, books, third := &fakeWebhook{}, &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		blocked, released := f.laneID(0), books.block()
		f.create(0, 30)
		synctest.Wait()
		require.NoError(t, f.reload(false, func(s *Settings) {
			s.Receivers = []delivery.Receiver{
				s.Receivers[0],
				{Name: "third", Webhook: third, Slots: testSlots, Queue: 10},
			}
		}))
		synctest.Wait()
		entries := f.deliveriesTo("books")
		require.Equal(t, []lanes.Kind{lanes.SessionCreated}, books.kinds())
		require.Equal(t, lanes.NoWebhook, entries[1].Attempt.Error)
		released()
		require.Equal(t, "delivered", f.deliveriesTo("books")[0].Attempt.Outcome(), "it was under way")
		f.create(1, 30)
		synctest.Wait()
		require.Len(t, books.kinds(), 1)
		require.Len(t, pos.kinds(), 4)
		require.Equal(t, pos.sentEvents()[2:], third.sentEvents())
		require.NotContains(t, third.idsByLane(), blocked, "what happened before is not its")
		require.NoError(t, f.reload(false, func(s *Settings) { s.Receivers = nil }))
		f.create(2, 30)
		require.Equal(t, lanes.NoWebhook, f.logEntry(5).Attempt.Error)
		require.Len(t, pos.kinds(), 4)
	}, withLanes(3), withWebhooks(pos, books))
}

// configuredAnew are the ways in which another configuration takes effect.
var configuredAnew = map[string]func(f *fixture, to func(*Settings)){
	"reload": func(f *fixture, to func(*Settings)) { require.NoError(f, f.reload(false, to)) },
	"restart": func(f *fixture, to func(*Settings)) {
		f.kill()
		to(&f.settings)
		f.start()
	},
}

// A range's only webhook becomes the first of several, by a reload or a restart: what waits for it goes there.
func TestTheOnlyWebhookBecomesTheFirstOfSeveral(t *testing.T) {
	for name, change := range configuredAnew {
		t.Run(name, func(t *testing.T) {
			pos, books := &fakeWebhook{}, &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				release := pos.block()
				session := f.create(0, 30)
				f.pause(session)
				synctest.Wait()
				change(f, func(s *Settings) {
					s.Receivers = []delivery.Receiver{
						{Name: "pos", Webhook: pos, Purchases: true, Slots: testSlots, Queue: 10_000},
						{Name: "books", Webhook: books, Slots: testSlots, Queue: 10_000},
					}
				})
				release()
				f.stop(session)
				f.advance(time.Minute)
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused,
					lanes.SessionStopped,
				}, pos.kinds())
				require.Equal(t, []lanes.Kind{lanes.SessionStopped}, books.kinds())
				require.False(t, slices.ContainsFunc(f.deliveries(), lanes.Logged.Pending))
			}, withWebhook(pos))
		})
	}
}

// A list is replaced by one webhook without a name: what waits for the one that decided purchases goes on there, and
// what it had can be sent again, after further restarts too. What waits for the others is not sent.
func TestOneOfSeveralBecomesTheOnlyWebhook(t *testing.T) {
	for name, change := range configuredAnew {
		t.Run(name, func(t *testing.T) {
			pos, books := &fakeWebhook{}, &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				f.stop(f.create(1, 30))
				synctest.Wait()
				before := len(pos.kinds())
				releasePOS, releaseBooks := pos.block(), books.block()
				session := f.create(0, 30)
				f.pause(session)
				synctest.Wait()
				change(f, receivers(configured("", pos, true)))
				releasePOS()
				releaseBooks()
				f.stop(session)
				f.advance(time.Minute)
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused, lanes.SessionStopped,
				}, pos.kinds()[before:])
				require.NotContains(t, books.kinds(), lanes.SessionPaused)
				for range 2 {
					f.restart()
					before, of := len(pos.kinds()), f.deliveries()[1]
					require.Equal(t, "pos", of.Webhook)
					require.NoError(t, f.RedeliverOne(f.requestContext(), of.Cursor, nil))
					f.advance(time.Second)
					require.Equal(t, []lanes.Kind{of.Event.Kind}, pos.kinds()[before:])
				}
			}, func(f *fixture) {
				receivers(configured("books", books, false), configured("pos", pos, true))(&f.settings)
			})
		})
	}
}

// Events that wait for a webhook which the configuration does not have after a restart are recorded as not sent.
func TestAWebhookThatIsMissingAfterARestart(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := books.block()
		f.create(0, 30)
		synctest.Wait()
		f.kill()
		release()
		f.settings.Receivers = f.settings.Receivers[:1]
		f.start()
		f.advance(time.Second)
		require.Len(t, books.kinds(), 1)
		entries := f.deliveriesTo("books")
		require.Equal(t, []string{"interrupted", "not_sent"},
			[]string{entries[0].Attempt.Outcome(), entries[1].Attempt.Outcome()})
		require.Len(t, pos.kinds(), 2)
	}, withWebhooks(pos, books))
}

// A simulated event goes to the first webhook that gets its kind, and a purchase to the one that decides it.
func TestASimulatedEventGoesToOneWebhook(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		_, err := f.Simulate(f.requestContext(), lanes.Help, uuid.New(), nil)
		require.NoError(t, err)
		_, err = f.Simulate(f.requestContext(), lanes.PurchaseRequest, uuid.New(), []lanes.Item{minutes(10)})
		require.NoError(t, err)
		require.Equal(t, []lanes.Kind{lanes.Help}, pos.kinds())
		require.Equal(t, []lanes.Kind{lanes.PurchaseRequest}, books.kinds())
	}, withWebhooks(pos, books, lanes.SessionCreated), func(f *fixture) {
		f.settings.Receivers[0].Purchases, f.settings.Receivers[1].Purchases = false, true
	})
}

func configured(name string, w delivery.Webhook, purchases bool) delivery.Receiver {
	return delivery.Receiver{Name: name, Webhook: w, Purchases: purchases, Slots: testSlots, Queue: 10_000}
}

func receivers(all ...delivery.Receiver) func(*Settings) {
	return func(s *Settings) { s.Receivers = all }
}

// A purchase that is being saved while the webhooks change is sent to no webhook that does not decide it,
// also if that has the name of the one that did.
func TestAPurchaseGoesToWhoeverDecidesIt(t *testing.T) {
	for name, before := range map[string]string{
		"a webhook without a name":        "",
		"a name that changes its webhook": "pos",
	} {
		t.Run(name, func(t *testing.T) {
			pos, books := &fakeWebhook{}, &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				f.createWithPurchasing(0, 30)
				release := f.blockFlushesFrom(savesRequest)
				f.buy(0, minutes(10))
				receivers(configured("pos", books, false), configured("shop", pos, true))(&f.settings)
				require.NoError(t, f.gateway.Reload(t.Context(), Reload{Change: []Changed{{f.settings, nil}}}))
				release()
				f.advance(3 * time.Second)
				require.Empty(t, books.purchases())
			}, func(f *fixture) { receivers(configured(before, pos, true))(&f.settings) })
		})
	}
}

// The only webhook becomes one of several and is the only one again: what waits for it goes on there, in
// order, and what it had can be sent again.
func TestTheWebhooksAreSeveralAndOneAgain(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := pos.block()
		session := f.create(0, 30)
		f.pause(session)
		several := receivers(configured("books", books, false), configured("pos", pos, true))
		for _, change := range []func(*Settings){several, receivers(configured("", pos, true)), several} {
			require.NoError(t, f.reload(false, change))
		}
		release()
		f.advance(time.Minute)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused}, pos.kinds())
		require.Empty(t, books.kinds())
		for _, e := range f.deliveries() {
			require.Equal(t, "delivered", e.Attempt.Outcome(), "%+v", e)
		}
		require.NoError(t, f.RedeliverOne(f.requestContext(), 1, nil))
		require.Equal(t, 2, f.redeliver(1, 100).Events)
		require.Len(t, pos.kinds(), 6)
		require.Len(t, f.deliveriesTo("pos"), 3, "under the name that it has now")
	}, withWebhook(pos))
}

// A webhook that is put before the others gets nothing of what waits for them.
func TestAnotherFirstWebhook(t *testing.T) {
	pos, first := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := pos.block()
		f.pause(f.create(0, 30))
		require.NoError(t, f.reload(false, receivers(configured("pos", pos, true))))
		require.NoError(t, f.reload(false, receivers(configured("first", first, false), configured("pos", pos, true))))
		f.advance(time.Second)
		release()
		f.advance(time.Minute)
		require.Empty(t, first.kinds(), "nothing has happened since it is there")
		require.Len(t, pos.kinds(), 3)
	}, withWebhook(pos))
}

// A first webhook that is gone keeps nobody from having sent again what the others got.
func TestAGoneFirstWebhookKeepsNothingFromTheOthers(t *testing.T) {
	display, pos := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		display.fails(410, nil)
		session := f.create(0, 30)
		f.callHelp(0)
		f.advance(time.Second)
		f.stop(session)
		synctest.Wait()
		arrived := len(pos.kinds())
		require.Equal(t, 3, f.redeliver(0, 100).Events, "all but the call for help")
		require.Len(t, pos.kinds(), arrived+3)
	}, func(f *fixture) {
		receivers(configured("display", display, false), configured("pos", pos, true))(&f.settings)
		f.settings.Receivers[0].Kinds, f.settings.Receivers[0].Retry = []lanes.Kind{lanes.Help},
			lanes.RetryPolicy{For: retryFor}
	})
}

// What no webhook wants is not sent by whoever asks for it either.
func TestOneIsNotSentToAWebhookThatDoesNotWantIt(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		synctest.Wait()
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), 1, nil), lanes.ErrWebhookNotConfigured)
		f.advance(time.Second)
		require.Empty(t, pos.kinds())
	}, withWebhooks(pos, books, lanes.SessionStarted),
		func(f *fixture) { f.settings.Receivers[0].Kinds = []lanes.Kind{lanes.Help} })
}

// What awaits its retry by a webhook that is taken away is given up, and is not kept until it would have been due.
func TestRetriesOfAWebhookThatIsTakenAway(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		books.fails(503, nil)
		f.create(0, 30)
		f.advance(10 * time.Second)
		require.NoError(t, f.reload(false, func(s *Settings) { s.Receivers = s.Receivers[:1] }))
		f.advance(10 * time.Second)
		for _, e := range f.deliveriesTo("books") {
			require.False(t, e.Pending(), "%+v", e)
		}
		require.Equal(t, 1.0, f.metricValue("rangegate_events_given_up_total", "books"))
		for _, webhook := range f.delivery.Health() {
			require.Zero(t, webhook.Failing, "nobody can mend it any more")
		}
	}, withWebhooks(pos, books), func(f *fixture) { f.settings.Receivers[1].Retry = lanes.RetryPolicy{For: retryFor} })
}

// The failure of an event is on its way to the store when its webhook is taken out. It is given up all the same, and
// does not wait for the hours of its retry.
func TestAFailureThatIsSavedAfterItsWebhookWasTakenAwayIsGivenUp(t *testing.T) {
	pos, books := &fakeWebhook{}, &fakeWebhook{}
	books.retryAfter = time.Hour
	runFixture(t, func(t *testing.T, f *fixture) {
		books.setReply(func(context.Context, lanes.Event) lanes.Attempt {
			if len(books.arrivals()) == 1 {
				f.store.setHook(func(_ context.Context, _ store.Batch, flush func() error) error {
					time.Sleep(2 * time.Second)
					return flush()
				})
			}
			return lanes.Attempt{At: f.clock.Now().Wall, Error: lanes.Unreachable}
		})
		f.create(0, 30)
		f.advance(time.Second)
		require.NoError(t, f.gateway.Reload(f.Context(), Reload{Change: []Changed{{func() Settings {
			changed := f.settings
			changed.Receivers = changed.Receivers[:1]
			return changed
		}(), nil}}}))
		f.advance(5 * time.Second)
		f.store.setHook(nil)
		f.advance(30 * time.Second)
		for _, e := range f.deliveriesTo("books") {
			require.False(t, e.Pending(), "%+v", e)
		}
	}, withWebhooks(pos, books), func(f *fixture) { f.settings.Receivers[1].Retry = lanes.RetryPolicy{For: retryFor} })
}

// While reloads give the purchases to the other webhook and back, each purchase has exactly one.
func TestAReloadNeverLeavesAPurchaseToBothOrNone(t *testing.T) {
	a, b := &fakeWebhook{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for toA := true; ; toA = !toA {
				select {
				case <-stop:
					return
				default:
					f.delivery.Rearrange([]delivery.Receiver{configured("a", a, toA), configured("b", b, !toA)})
				}
			}
		}()
		for range 20_000 {
			log := f.delivery.Append(nil, lanes.Event{Kind: lanes.PurchaseRequest}, "", lanes.Span{})
			require.Len(t, log, 1)
			require.NotEmpty(t, log[0].Webhook)
		}
		close(stop)
		<-stopped
	}, func(f *fixture) { receivers(configured("a", a, true), configured("b", b, false))(&f.settings) })
}
