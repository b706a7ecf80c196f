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
	"rangegate/lanes/trace"
)

// sentEvents returns the ids of the events that the webhook got, in their order.
func (w *fakeWebhook) sentEvents() (ids []uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, event := range w.arrived {
		ids = append(ids, event.ID)
	}
	return ids
}

func (f *fixture) redeliver(after, until uint64, kinds ...lanes.Kind) lanes.Redelivery {
	f.Helper()
	result, err := f.Redeliver(f.requestContext(), lanes.EventSelection{After: after, Until: until, Kinds: kinds}, nil)
	require.NoError(f, err)
	f.advance(2 * delivery.ResendInterval)
	return result
}

// While one request has many events sent again, and the store takes its time, others are told to come back:
// none waits until its end.
func TestRequestsForRedeliveryWaitASecondForOneAnother(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setReply(fail)
		f.create(0, 30)
		f.advance(time.Second)
		release := f.blockFlushes()
		first := f.runAsync(func() error {
			_, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 1000}, nil)
			return err
		})
		synctest.Wait()
		begun := time.Now()
		_, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 1000}, nil)
		require.ErrorIs(t, err, lanes.ErrOverloaded)
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), 1, nil), lanes.ErrOverloaded)
		require.Equal(t, 2*time.Second, time.Since(begun))
		release()
		require.Contains(t, []error{nil, lanes.ErrTimeout}, <-first)
		f.advance(2 * delivery.ResendInterval)
		require.Positive(t, f.redeliver(0, 1000).Events)
	}, withWebhook(webhook))
}

func fail(context.Context, lanes.Event) lanes.Attempt {
	return lanes.Attempt{At: time.Now(), Error: lanes.Refused, Status: 500}
}

// A receiver that was down gets everything again, in the order of the log, and the log says what became of
// each attempt.
func TestEventsAreSentAgainInTheirOrder(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setReply(fail)
		f.stop(f.create(0, 30))
		f.stop(f.create(1, 30))
		synctest.Wait()
		log := f.eventLog()
		require.Len(t, log, 6)
		before := len(webhook.sentEvents())
		webhook.setReply(nil)
		require.Equal(t, lanes.Redelivery{Events: 6}, f.redeliver(0, 1000))
		again := webhook.sentEvents()[before:]
		require.Len(t, again, 6)
		byLane := map[uuid.UUID][]uuid.UUID{}
		lane := map[uuid.UUID]uuid.UUID{}
		for _, event := range log {
			lane[event.Event.ID] = event.Event.Lane
		}
		for _, id := range again {
			byLane[lane[id]] = append(byLane[lane[id]], id)
		}
		for id, ids := range byLane {
			require.Equal(t, eventIDs(log, id), ids)
		}
		for i, event := range f.eventLog() {
			require.Equal(t, log[i].Event, event.Event, "the same event")
			require.Equal(t, "delivered", event.Attempt.Outcome())
			require.Equal(t, []lanes.Attempt{*log[i].Attempt}, event.Earlier)
			require.False(t, event.Pending())
		}
		require.Equal(t, 6.0, f.metricValue("rangegate_events_redelivered_total", "delivered"))

		require.Equal(t, lanes.Redelivery{Events: 2}, f.redeliver(0, 1000, lanes.SessionStopped))
		require.Equal(t, lanes.Redelivery{Events: 3}, f.redeliver(1, 4), "behind the first, the last one included")
		require.Equal(t, lanes.Redelivery{}, f.redeliver(6, 1000))
	}, withWebhook(webhook))
}

// What was answered is sent, also by the gateway that is started anew after a crash: what was under way once more.
func TestARedeliverySurvivesACrash(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		synctest.Wait()
		release := webhook.block()
		require.Equal(t, lanes.Redelivery{Events: 2}, f.redeliver(0, 2))
		f.kill()
		release()
		before := len(webhook.sentEvents())
		f.start()
		synctest.Wait()
		log := f.eventLog()
		require.Equal(t, []uuid.UUID{log[0].Event.ID, log[1].Event.ID}, webhook.sentEvents()[before:])
		for _, event := range log {
			require.Equal(t, "delivered", event.Attempt.Outcome())
			require.Len(t, event.Earlier, 1)
		}
	}, withWebhook(webhook))
}

// A restart cuts off the first delivery of an event that was not sent when it happened, and that somebody has asked
// for. The receiver may have taken it: it is on record, and the next one says so. What it took before is not sent
// once more.
func TestARedeliveryThatAStopCutsOffIsOnRecord(t *testing.T) {
	for name, options := range map[string][]option{"without retries": nil, "with retries": {withRetries}} {
		t.Run(name, func(t *testing.T) {
			webhook := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				f.create(0, 30)
				synctest.Wait()
				require.NoError(t, f.reload(false, func(s *Settings) { only(s).Webhook = webhook }))
				webhook.setReply(func(ctx context.Context, event lanes.Event) lanes.Attempt {
					if event.Kind == lanes.SessionStarted {
						<-ctx.Done()
						return lanes.Attempt{At: event.At, Error: lanes.Interrupted + ": given up"}
					}
					return lanes.Attempt{At: event.At, Status: 200}
				})
				require.Equal(t, 2, f.redeliver(0, 2).Events)
				require.Len(t, webhook.entries, 2)
				stopped := time.Now()
				f.shutDown()
				require.LessOrEqual(t, time.Since(stopped), lastAttempts, "it takes no longer for that")
				webhook.setReply(nil)
				f.start()
				f.advance(time.Second)
				require.Len(t, webhook.entries, 3)
				require.Equal(t, lanes.SessionStarted, webhook.entries[2].Event.Kind)
				require.True(t, webhook.entries[2].Redelivered())
				var outcomes []string
				for _, attempt := range f.logEntry(2).Earlier {
					outcomes = append(outcomes, attempt.Outcome())
				}
				require.Equal(t, []string{"not_sent", "interrupted"}, outcomes)
				require.Equal(t, "delivered", f.logEntry(2).Attempt.Outcome())
			}, options...)
		})
	}
}

// Whoever asks again for what is going to be sent has it sent once.
func TestARedeliveryThatWaitsIsNotDoubled(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		synctest.Wait()
		release := webhook.block()
		require.Equal(t, 2, f.redeliver(0, 2).Events)
		require.Equal(t, 0, f.redeliver(0, 2).Events)
		require.NoError(t, f.RedeliverOne(f.requestContext(), 2, nil))
		require.NoError(t, f.RedeliverOne(f.requestContext(), 1, nil), "it is being sent")
		release()
		f.advance(2 * delivery.ResendInterval)
		require.Len(t, webhook.sentEvents(), 4)
		require.Empty(t, f.committer.Unattempted())
	}, withWebhook(webhook))
}

// Whoever asks once more for an event whose attempt has failed, while others of its batch are still sent, has it
// sent once more.
func TestARedeliveryThatFailedIsAskedForAgainDuringItsBatch(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.create(1, 30)
		synctest.Wait()
		before := len(webhook.sentEvents())
		webhook.setReply(func(ctx context.Context, event lanes.Event) lanes.Attempt {
			time.Sleep(150 * time.Millisecond)
			return fail(ctx, event)
		})
		_, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 4}, nil)
		require.NoError(t, err)
		f.advance(400 * time.Millisecond)
		require.Len(t, webhook.sentEvents()[before:], 3, "the batch is under way")
		webhook.setReply(nil)
		require.NoError(t, f.RedeliverOne(f.requestContext(), 1, nil))
		f.advance(time.Second)
		first := f.logEntry(1)
		require.Equal(t, "delivered", first.Attempt.Outcome())
		require.Len(t, webhook.sentEvents()[before:], 5)
		require.Empty(t, f.committer.Unattempted())
	}, withWebhook(webhook))
}

// A request whose reading or saving took too long may be repeated with its key: nobody waits for an answer that
// never comes.
func TestARedeliveryThatTookTooLongIsRepeatedWithItsKey(t *testing.T) {
	webhook := &fakeWebhook{}
	for name, tooLong := range map[string]func(f *fixture) (release func()){
		"to read": func(f *fixture) func() { return f.store.blockEvents() },
		"to save": (*fixture).blockFlushes,
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				f.pauseAndResume(f.create(0, 30), 260) // more than a page
				synctest.Wait()
				key := &lanes.KeyOf[lanes.Redelivery]{
					Name: "again", Fingerprint: "the same request",
					Render: func(lanes.Redelivery) (int, []byte) { return 202, nil },
				}
				release := tooLong(f)
				_, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 1000}, key)
				require.ErrorIs(t, err, lanes.ErrTimeout)
				release()
				f.advance(time.Minute)
				_, err = f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 1000}, key)
				require.NotErrorIs(t, err, lanes.ErrTimeout, "it is done again, or was saved after all")
			}, withWebhook(webhook))
		})
	}
}

// An event whose first delivery has not ended is not sent again before that.
func TestAnEventThatIsBeingDeliveredIsNotSentAgain(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		release := webhook.block()
		f.create(0, 30)
		synctest.Wait()
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), 1, nil), lanes.ErrNotRedeliverable, "under way")
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), 2, nil), lanes.ErrNotRedeliverable, "it waits")
		require.Equal(t, 0, f.redeliver(0, 2).Events)
		release()
		require.Equal(t, 2, f.redeliver(0, 2).Events)
	}, withWebhook(webhook))
}

// Many are sent some at a time, so that the gateway has time for what happens now.
func TestManyEventsAreSentAgainSomeAtATime(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.pauseAndResume(f.create(0, 30), 3*delivery.ResendSize)
		synctest.Wait()
		log := f.eventLog()
		before := len(webhook.sentEvents())
		result, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 1000}, nil)
		require.NoError(t, err)
		require.Equal(t, len(log), result.Events)
		synctest.Wait()
		for n := 1; n <= 3; n++ {
			require.Len(t, webhook.sentEvents(), before+n*delivery.ResendSize)
			f.advance(delivery.ResendInterval)
		}
		require.Equal(t, eventIDs(log, f.laneID(0)), webhook.sentEvents()[before:])
	}, withWebhook(webhook))
}

// Events that happen now do not wait for those that are sent again, whose receiver hangs: not on another
// lane, and not on the same one.
func TestLiveEventsPassThoseThatAreSentAgain(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		first := f.create(0, 30)
		f.create(1, 30)
		synctest.Wait()
		log := f.eventLog()
		released := make(chan struct{})
		webhook.setReply(func(_ context.Context, event lanes.Event) lanes.Attempt {
			if slices.ContainsFunc(log, func(e lanes.Logged) bool { return e.Event.ID == event.ID }) {
				<-released
			}
			return lanes.Attempt{At: event.At, Status: 200}
		})
		require.Equal(t, 4, f.redeliver(0, 4).Events)
		before := len(webhook.sentEvents())
		f.pause(first)
		synctest.Wait()
		sent := webhook.sentEvents()[before:]
		require.Len(t, sent, 1)
		require.Equal(t, f.eventLog()[4].Event.ID, sent[0])
		close(released)
		synctest.Wait()
		require.Empty(t, f.committer.Unattempted())
	}, withWebhook(webhook))
}

func TestWhatIsNotSentAgain(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setPurchaseReply(acceptPurchase)
		f.createWithPurchasing(0, 30)
		f.buy(0, minutes(10))
		synctest.Wait()
		purchase := f.purchaseLog()[0]
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), purchase.Cursor, nil), lanes.ErrNotRedeliverable)
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), 1000, nil), lanes.ErrEventNotFound)
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), 0, nil), lanes.ErrEventNotFound)
		require.Equal(t, len(f.eventLog())-1, f.redeliver(0, 1000).Events, "all but the purchase")
		require.Len(t, webhook.purchases(), 1)
	}, withWebhook(webhook))
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		_, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 10}, nil)
		require.ErrorIs(t, err, lanes.ErrWebhookNotConfigured)
		require.ErrorIs(t, f.RedeliverOne(f.requestContext(), 1, nil), lanes.ErrWebhookNotConfigured)
	})
}

// A request with a key has its effect once, and its answer is kept with it.
func TestARedeliveryWithAKey(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		synctest.Wait()
		key := func() *lanes.KeyOf[lanes.Redelivery] {
			return &lanes.KeyOf[lanes.Redelivery]{
				Name: "k", Fingerprint: "f",
				Render: func(r lanes.Redelivery) (int, []byte) {
					return 200, []byte{byte('0' + r.Events)}
				},
			}
		}
		result, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 10}, key())
		require.NoError(t, err)
		require.Equal(t, 2, result.Events)
		f.advance(2 * delivery.ResendInterval)
		f.restart()
		_, err = f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 10}, key())
		var repeat *lanes.Repeat
		require.ErrorAs(t, err, &repeat)
		require.Equal(t, "2", repeat.Kept.Body)
		synctest.Wait()
		require.Len(t, webhook.sentEvents(), 4)
	}, withWebhook(webhook))
}

// Who names a part of the log is told if some of it is gone; a repeat with the key has the answer of the first time.
func TestARedeliveryOfWhatIsNotKept(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		synctest.Wait()
		key := &lanes.KeyOf[lanes.Redelivery]{
			Name: "k", Fingerprint: "f",
			Render: func(lanes.Redelivery) (int, []byte) { return 200, []byte("2") },
		}
		result, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 10, Whole: true}, key)
		require.NoError(t, err)
		require.Equal(t, 2, result.Events)
		f.advance(2 * delivery.ResendInterval)
		f.store.dropped = 1
		_, err = f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 10, Whole: true}, nil)
		require.ErrorIs(t, err, lanes.ErrEventsGone)
		var repeat *lanes.Repeat
		_, err = f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 10, Whole: true}, key)
		require.ErrorAs(t, err, &repeat)
		for _, selection := range []lanes.EventSelection{{Until: 10}, {After: 1, Until: 10, Whole: true}} {
			result, err := f.Redeliver(f.requestContext(), selection, nil)
			require.NoError(t, err)
			require.Equal(t, 1, result.Events)
			f.advance(2 * delivery.ResendInterval)
		}
		require.Len(t, webhook.sentEvents(), 6)
	}, withWebhook(webhook))
}

func TestARedeliveryWithoutAStore(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		synctest.Wait()
		f.store.setHook(refuseFlush)
		_, err := f.Redeliver(f.requestContext(), lanes.EventSelection{Until: 10},
			&lanes.KeyOf[lanes.Redelivery]{
				Name: "k", Fingerprint: "f",
				Render: func(lanes.Redelivery) (int, []byte) { return 200, nil },
			})
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		f.store.setHook(nil)
		f.storeReturns()
		require.Len(t, webhook.sentEvents(), 2, "nothing was changed")
		require.Equal(t, 2, f.redeliver(0, 2).Events)
		require.Len(t, webhook.sentEvents(), 4)
	}, withWebhook(webhook))
}

// What staff ask for is among the acts, and what a POS asks for whose token has a name.
func TestWhoSentAnEventAgain(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		synctest.Wait()
		require.NoError(t, f.StaffRedeliver(f.requestContext(), "sam", 2))
		f.advance(delivery.ResendInterval)
		require.Len(t, webhook.sentEvents(), 3)
		require.NoError(t, f.RedeliverOne(f.requestContext(), 1, nil))
		synctest.Wait()
		require.NoError(t, f.RedeliverOne(trace.WithWho(f.requestContext(), "till 1"), 2, nil))
		f.advance(delivery.ResendInterval)
		require.Len(t, webhook.sentEvents(), 5)
		_, err := f.Redeliver(trace.WithWho(f.requestContext(), "till 1"), lanes.EventSelection{Until: 1000}, nil)
		require.NoError(t, err)
		acts := f.acts()
		require.Len(t, acts, 3)
		require.Equal(t, []string{"till 1", lanes.DidRedeliverPart, "2"},
			[]string{acts[2].Who, acts[2].What, acts[2].Detail})
		for i, who := range []string{"sam", "till 1"} {
			require.Equal(t, who, acts[i].Who)
			require.Equal(t, lanes.DidRedeliver, acts[i].What)
			require.Equal(t, "sessionStarted", acts[i].Detail)
		}
	}, withWebhook(webhook))
}
