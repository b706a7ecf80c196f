package actors

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/delivery"
	"rangegate/actors/purchases"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// What becomes of a purchase, as customer, POS and staff see it.

func TestBoughtTimeIsAddedOnceThePOSAcceptsIt(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		f.advance(10 * time.Minute)
		release := pos.blockPurchases(acceptPurchase)
		purchase := f.buy(0, minutes(15), targets(2))
		require.Equal(t, lanes.Pending, f.shownPurchase(0).Phase)
		require.Equal(t, 20*time.Minute, f.remaining(session), "no time is added before")
		sent := pos.purchases()
		require.Len(t, sent, 1, "it was sent at once")
		require.Equal(t, []lanes.Item{minutes(15), targets(2)}, sent[0].Items)
		require.Equal(t, []uuid.UUID{session, f.laneID(0)}, []uuid.UUID{sent[0].Session, sent[0].Lane})
		require.Equal(t, f.clock.Now().Wall, sent[0].At)

		f.advance(3 * time.Second)
		release()
		require.Equal(t, purchase, f.shownPurchase(0).ID)
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
		require.Equal(t, 35*time.Minute-3*time.Second, f.remaining(session))
		require.Equal(t, f.remaining(session), f.controller(0).Shown().Remaining)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.PurchaseRequest, lanes.SessionModified,
		}, pos.kinds(), "the POS gets the change of the session afterwards")
		require.Empty(t, f.Unresolved())
		require.Equal(t, 1.0, f.metricValue("rangegate_purchases_total", string(lanes.ByLane)))
		require.Equal(t, 1.0, f.metricValue("rangegate_events_total", string(lanes.PurchaseRequest)))
		require.Equal(t, 200, f.purchaseLog()[0].Attempt.Status)
	}, withWebhook(pos))
}

func TestBoughtGoodsAddNoTime(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		f.buy(0, targets(2))
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
		require.Equal(t, 30*time.Minute, f.remaining(session))
		require.NotContains(t, pos.kinds(), lanes.SessionModified)
	}, withWebhook(pos))
}

func TestACustomerReadsWhyAPurchaseFailed(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		for _, answer := range []struct {
			reply    purchaseReply
			contains string
		}{
			{declinePurchase("Your tab is full."), "Your tab is full."},
			{declinePurchase(""), "not accepted"},
			{failPurchase(lanes.Attempt{Error: lanes.Unreachable + ": no route"}), "cannot be reached"},
		} {
			pos.setPurchaseReply(answer.reply)
			purchase := f.buy(0, minutes(15))
			require.Equal(t, purchase, f.shownPurchase(0).ID)
			require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
			require.Contains(t, f.shownPurchase(0).UserMessage, answer.contains)
		}
		require.Equal(t, 30*time.Minute, f.remaining(session))
		require.Empty(t, f.Unresolved(), "no purchase waits for staff")
	}, withWebhook(pos))
}

func TestAPurchaseWithAnUnknownOutcomeIsForStaff(t *testing.T) {
	for name, answer := range map[string]purchaseReply{
		"no answer in time": timeOutPurchase,
		"cut off":           failPurchase(lanes.Attempt{Error: lanes.Interrupted}),
		"a webhook that panics": func(context.Context, lanes.Event) (lanes.Attempt, lanes.Answer) {
			panic(errDefect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			pos := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.createWithPurchasing(1, 30)
				pos.setPurchaseReply(answer)
				purchase := f.buy(1, minutes(15))
				f.advance(webhookTimeout)
				require.Equal(t, lanes.Unresolved, f.shownPurchase(1).Phase)
				require.Contains(t, f.shownPurchase(1).UserMessage, "ask the staff")
				require.Equal(t, 30*time.Minute-webhookTimeout, f.remaining(session))
				open := f.Unresolved()
				require.Len(t, open, 1)
				require.Equal(t, []uuid.UUID{purchase, session, f.laneID(1)},
					[]uuid.UUID{open[0].ID, open[0].Session, open[0].Lane})
				require.NotEmpty(t, open[0].Reason)

				require.NoError(t, f.clearPurchase("sam", purchase, true))
				f.advance(0)
				require.Equal(t, 45*time.Minute-webhookTimeout, f.remaining(session),
					"staff decided that it was bought")
				require.Equal(t, lanes.Accepted, f.shownPurchase(1).Phase)
				require.Empty(t, f.Unresolved())
				require.ErrorIs(t, f.clearPurchase("sam", purchase, true),
					lanes.ErrPurchaseNotFound, "once")
				require.Len(t, pos.purchases(), 1)
			}, withWebhook(pos))
		})
	}
}

func TestStaffClearWhatWasNotBought(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		pos.setPurchaseReply(timeOutPurchase)
		first := f.buy(0, minutes(15))
		require.ErrorIs(t, f.clearPurchase("sam", first, false), lanes.ErrPurchaseNotFound,
			"it is still under way")
		f.advance(webhookTimeout)
		second := f.buy(0, minutes(5))
		f.advance(webhookTimeout)
		require.Equal(t, []uuid.UUID{first, second}, f.unresolvedIDs())
		f.restart()
		require.Equal(t, []uuid.UUID{first, second}, f.unresolvedIDs(), "unresolved purchases are saved")
		require.NoError(t, f.clearPurchase("sam", second, false))
		require.Equal(t, []uuid.UUID{first}, f.unresolvedIDs())
		f.stop(session)
		require.Equal(t, []uuid.UUID{first}, f.unresolvedIDs(), "also after the session has ended")
		require.ErrorIs(t, f.clearPurchase("sam", first, true), lanes.ErrSessionEnded)
		require.NoError(t, f.clearPurchase("sam", first, false))
		f.restart()
		require.Empty(t, f.Unresolved())
		require.Equal(t, 30*time.Minute, f.endedSession(session).Session.Sold)
	}, withWebhook(pos))
}

func TestAPurchaseIsRecordedBeforeItIsSent(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		pos.setPurchaseReply(func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
			saved, err := f.store.Load(ctx, store.InAnyEpoch(f.settings.Layout.Range))
			require.NoError(t, err)
			p := saved.Lanes[0].Session.Purchase
			require.Equal(t, lanes.Pending, p.Phase)
			require.Equal(t, event.ID, p.Event, "saved as sent")
			logged := f.purchaseLog()[0]
			require.Equal(t, event, logged.Event)
			require.Equal(t, lanes.UnderWay, logged.Attempt.Error)
			require.Zero(t, f.controller(0).Unacked(), "the report of the purchase is acked")
			return acceptPurchase(ctx, event)
		})
		f.buy(0, minutes(15))
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
		require.Empty(t, f.purchaseLog()[0].Attempt.Error)
	}, withWebhook(pos), withLanes(1))
}

func TestWithoutAWebhookNothingIsBought(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		f.buy(0, minutes(15))
		require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
		require.NotEmpty(t, f.shownPurchase(0).UserMessage)
		require.Equal(t, 30*time.Minute, f.remaining(session))
		require.Empty(t, f.Unresolved())
	})
}

func TestAPurchaseThatIsNotAllowedIsNotSent(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.buy(0, minutes(15))
		require.Contains(t, f.shownPurchase(0).UserMessage, "Nothing can be bought")
		session := f.createWithPurchasing(1, 470)
		f.buy(1, minutes(11))
		require.Contains(t, f.shownPurchase(1).UserMessage, "8 hours")
		f.buy(1)
		require.Equal(t, lanes.Declined, f.shownPurchase(1).Phase)
		require.Empty(t, pos.purchases())
		require.Equal(t, 470*time.Minute, f.remaining(session))
		require.Zero(t, f.controller(0).Unacked()+f.controller(1).Unacked(), "the reports are acked")
	}, withWebhook(pos))
}

// A purchase is sent within 5 s, or nothing was bought.

func TestAPurchaseWaitsForNoOtherEvent(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		pos.setPurchaseReply(acceptPurchase)
		release := pos.block()
		var sessions []uuid.UUID
		for i := range testSlots + 1 {
			// Every slot is taken, and further events of these lanes wait.
			sessions = append(sessions, f.createWithPurchasing(i, 30))
		}
		require.Len(t, pos.kinds(), testSlots)
		for i := range testSlots + 1 {
			bought := time.Now()
			f.buy(i, minutes(15))
			require.Equal(t, lanes.Accepted, f.shownPurchase(i).Phase)
			require.Equal(t, bought, time.Now(), "at once")
			require.Equal(t, 45*time.Minute, f.remaining(sessions[i]))
		}
		require.Len(t, pos.purchases(), testSlots+1)
		release()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.PurchaseRequest, lanes.SessionModified,
		}, f.eventKinds(sessions[0]))
		require.Len(t, pos.kinds(), 4*(testSlots+1))
	}, withWebhook(pos), withLanes(testSlots+1))
}

func TestAPurchaseThatGetsNoSlotInTimeIsDeclinedAsBusy(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		for i := range delivery.PurchaseSlots + 2 {
			f.createWithPurchasing(i, 30)
		}
		pos.setPurchaseReply(timeOutPurchase)
		for i := range delivery.PurchaseSlots {
			f.buy(i, minutes(15))
		}
		late := delivery.PurchaseSlots
		f.buy(late, minutes(15))
		f.advance(purchases.SendWithin - time.Millisecond)
		require.Equal(t, lanes.Pending, f.shownPurchase(late).Phase)
		f.advance(time.Millisecond)
		require.Equal(t, lanes.Declined, f.shownPurchase(late).Phase)
		require.Contains(t, f.shownPurchase(late).UserMessage, "busy")
		require.Len(t, pos.purchases(), delivery.PurchaseSlots)

		f.advance(time.Second)
		f.buy(late+1, minutes(15)) // its 5 s end after the POS has timed out the others
		pos.setPurchaseReply(acceptPurchase)
		f.advance(4*time.Second - time.Millisecond)
		require.Equal(t, lanes.Pending, f.shownPurchase(late+1).Phase)
		f.advance(2 * time.Millisecond) // all others time out at the same instant
		require.Equal(t, lanes.Accepted, f.shownPurchase(late+1).Phase)
		require.Len(t, pos.purchases(), delivery.PurchaseSlots+1)
		require.Len(t, f.Unresolved(), delivery.PurchaseSlots)
	}, withWebhook(pos), withLanes(delivery.PurchaseSlots+2))
}

// All customers buy at the same time, and are served in turn.
func TestManyPurchasesUseTheSlotsInTurn(t *testing.T) {
	const customers = 4 * delivery.PurchaseSlots
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		var inside, most atomic.Int64
		pos.setPurchaseReply(func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer inside.Add(-1)
			<-time.After(time.Second)
			return acceptPurchase(ctx, event)
		})
		for i := range customers {
			f.createWithPurchasing(i, 30)
		}
		for i := range customers {
			f.buy(i, minutes(15))
		}
		f.advance(purchases.SendWithin + time.Second)
		for i := range customers {
			require.Equal(t, lanes.Accepted, f.shownPurchase(i).Phase)
			require.Equal(t, 45, f.Sessions()[i].Minutes)
		}
		require.EqualValues(t, delivery.PurchaseSlots, most.Load())
		require.False(t, f.purchases.Any(), "a purchase that has ended is kept")
	}, withWebhook(pos), withLanes(customers))
}

func TestAPurchaseThatTheCatalogueRefusesIsNotSent(t *testing.T) {
	pos := &fakeWebhook{}
	checks := fakeCatalogue(func(_ context.Context, _ uuid.UUID, items []lanes.Item) string {
		if items[0].Qty > 3 {
			return "There are 3 targets left."
		}
		return ""
	})
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		f.buy(0, targets(4))
		require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
		require.Equal(t, "There are 3 targets left.", f.shownPurchase(0).UserMessage)
		require.Empty(t, pos.purchases())
		require.Empty(t, f.purchaseLog())
		f.buy(0, targets(3))
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
	}, withWebhook(pos), withCatalogue(checks))
}

// Staff who settle a purchase read what it was made of, as the products API had it then. A crash forgets none of it.
func TestAPurchaseThatWaitsForStaffHasNamesAndPrices(t *testing.T) {
	pos := &fakeWebhook{}
	anything := fakeCatalogue(func(context.Context, uuid.UUID, []lanes.Item) string { return "" })
	runFixture(t, func(t *testing.T, f *fixture) {
		pos.setPurchaseReply(timeOutPurchase)
		f.createWithPurchasing(0, 30)
		f.buy(0, minutes(15), targets(3))
		f.advance(webhookTimeout)
		f.restart()
		require.Len(t, f.Unresolved(), 1)
		require.Equal(t, []lanes.Good{
			{Name: "name of time", Price: "0.50"},
			{Name: "name of " + targets(3).ID, Price: "0.50"},
		}, f.Unresolved()[0].Goods)
	}, withWebhook(pos), withCatalogue(anything))
}

// A catalogue that is slow is no reason not to sell: the POS decides anyway. It delays no other purchases.
func TestASlowCatalogueRefusesNothing(t *testing.T) {
	pos := &fakeWebhook{}
	var took time.Duration
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		f.createWithPurchasing(1, 30)
		for i, long := range []time.Duration{purchases.CheckWithin, time.Hour} {
			took = long
			f.buy(0, targets(2))
			took = 0
			f.buy(1, targets(1))
			require.Equal(t, lanes.Pending, f.shownPurchase(0).Phase)
			require.Equal(t, lanes.Accepted, f.shownPurchase(1).Phase)
			f.advance(purchases.CheckWithin - time.Millisecond)
			require.Len(t, pos.purchases(), 2*i+1)
			f.advance(time.Millisecond)
			require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase, "it was sent unchecked")
		}
	}, withWebhook(pos), withCatalogue(slowCatalogue(&took)))
}

// A catalogue that does not return when its context ends uses up the purchase's time to be sent.
func TestACatalogueThatIgnoresItsDeadlineCostsThePurchase(t *testing.T) {
	pos := &fakeWebhook{}
	catalogue := fakeCatalogue(func(context.Context, uuid.UUID, []lanes.Item) string {
		<-time.After(purchases.SendWithin)
		return "There are 3 targets left."
	})
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		f.buy(0, targets(4))
		f.advance(purchases.SendWithin)
		require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
		require.Empty(t, pos.purchases())
	}, withWebhook(pos), withCatalogue(catalogue))
}

func TestACatalogueThatPanicsRefusesNothing(t *testing.T) {
	pos := &fakeWebhook{}
	broken := fakeCatalogue(func(context.Context, uuid.UUID, []lanes.Item) string { panic(errDefect) })
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		f.buy(0, minutes(15))
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
		f.requireSettledOnce(pos, 30)
	}, withWebhook(pos), withCatalogue(broken))
}

// Purchases while the store is down.

// No purchase is sent before it is saved.
func TestNoPurchaseIsSentWhileTheStoreIsDown(t *testing.T) {
	for name, outage := range map[string]flushHook{
		"it refuses":               refuseFlush,
		"it refuses after a while": refuseFlushSlowly,
	} {
		t.Run(name, func(t *testing.T) {
			pos := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				f.createWithPurchasing(0, 30)
				f.store.setHook(faultFrom(savesRequest, outage))
				f.buy(0, minutes(15))
				f.advance(time.Minute)
				require.Empty(t, pos.purchases())
				f.storeReturns()
				f.advance(time.Minute)
				require.Empty(t, pos.purchases())
				require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
				require.Contains(t, f.shownPurchase(0).UserMessage, "busy")
				require.Empty(t, f.Unresolved())
				require.Equal(t, 30, f.Sessions()[0].Minutes)
				f.restart()
				require.Empty(t, f.Unresolved())
				require.Empty(t, pos.purchases())
			}, withWebhook(pos))
		})
	}
}

// What the POS has accepted is added once, however long it takes to save it.
func TestAnAcceptedPurchaseIsSettledWhenTheStoreReturns(t *testing.T) {
	faults := map[string]flushHook{"replies are lost": flushAndLoseReply, "it writes and hangs": flushAndHang}
	for name, outage := range outages {
		faults[name] = outage
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			pos := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.createWithPurchasing(0, 120)
				f.store.setHook(faultFrom(savesSettlement, fault))
				f.buy(0, minutes(15))
				f.advance(10 * time.Minute)
				require.Len(t, pos.purchases(), 1)
				require.Equal(t, lanes.Pending, f.shownPurchase(0).Phase, "an unsaved settlement is not shown")
				f.storeReturns()
				f.advance(time.Minute)
				require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
				require.Equal(t, 135, f.Sessions()[0].Minutes)
				require.Equal(t, []lanes.Kind{
					lanes.SessionCreated, lanes.SessionStarted, lanes.PurchaseRequest, lanes.SessionModified,
				}, f.eventKinds(session))
				require.Len(t, pos.purchases(), 1)
				f.restart()
				require.Equal(t, 135, f.Sessions()[0].Minutes)
				require.Empty(t, f.Unresolved())
			}, withWebhook(pos))
		})
	}
}

// The session may end while the store is down: then there is nothing to add the time to.
func TestASessionThatEndsBeforeItsPurchaseCouldBeSettled(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 5)
		f.store.setHook(faultFrom(savesSettlement, refuseFlush))
		purchase := f.buy(0, minutes(15))
		f.advance(10 * time.Minute)
		require.Empty(t, f.activeSessions())
		require.Empty(t, f.Unresolved(), "an unsaved purchase is not shown")
		f.storeReturns()
		f.advance(time.Minute)
		require.Equal(t, 5*time.Minute, f.endedSession(session).Used)
		require.Equal(t, []uuid.UUID{purchase}, f.unresolvedIDs())
		f.restart()
		require.Equal(t, []uuid.UUID{purchase}, f.unresolvedIDs())
	}, withWebhook(pos))
}

// A settlement that was on its way to the store before the deadline counts, however long the store takes. The line was
// locked meanwhile, for which nobody pays.
func TestBoughtTimeThatIsBeingSavedAtTheDeadlineCounts(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 5)
		f.store.setHook(faultFrom(savesSettlement, hangFlush))
		f.buy(0, minutes(15))
		f.advance(10 * time.Minute)
		require.False(t, f.isOpen(0), "the saved time is over")
		f.storeReturns()
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
		require.True(t, f.isOpen(0))
		require.LessOrEqual(t, f.remaining(session), 15*time.Minute)
		require.GreaterOrEqual(t, f.remaining(session), 15*time.Minute-8*time.Second)
		require.Empty(t, f.Unresolved())
	}, withWebhook(pos))
}

// A purchase is sent within 5 s or declined as busy, also when the store is slow to save it as sent.
func TestAPurchaseThatTookTooLongToSaveIsNotSent(t *testing.T) {
	for name, outage := range map[string]flushHook{"it hangs": hangFlush, "it writes and hangs": flushAndHang} {
		t.Run(name, func(t *testing.T) {
			pos := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				f.createWithPurchasing(0, 30)
				f.store.setHook(faultFrom(savesRequest, outage))
				f.buy(0, minutes(15))
				f.advance(time.Minute)
				require.Empty(t, pos.purchases())
				f.storeReturns()
				f.advance(time.Minute)
				require.Empty(t, pos.purchases(), "the customer asked two minutes ago")
				require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
				require.Contains(t, f.shownPurchase(0).UserMessage, "busy")
				require.Equal(t, "not_sent", f.purchaseLog()[0].Attempt.Outcome())
				f.restart()
				f.requireSettledOnce(pos, 30)
			}, withWebhook(pos))
		})
	}
}

// A lane panics while the purchase is being saved as sent: it is declined as busy, and the event log must not
// say that an attempt was begun.
func TestAPurchaseThatWasNeverSentIsNotRecordedAsSent(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		release := f.blockFlushesFrom(savesRequest)
		f.buy(0, minutes(15))
		f.panicLane(0)
		release()
		f.advance(lastBackoff)
		require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
		require.Empty(t, pos.purchases())
		require.Equal(t, "not_sent", f.purchaseLog()[0].Attempt.Outcome())
	}, withWebhook(pos))
}

// A lane begins anew while the purchase is being saved as sent, and the store refuses that: the event log has no
// request, and no two events with one id.
func TestARequestThatWasNotSavedIsNotInTheLog(t *testing.T) {
	begins := map[string]func(f *fixture){
		"after a panic":  func(f *fixture) { f.panicLane(0) },
		"by an operator": func(f *fixture) { f.restartLane(0) },
		"by an operator, twice": func(f *fixture) {
			for range 2 {
				f.restartLane(0)
				f.advance(time.Millisecond)
			}
		},
	}
	for how, begin := range begins {
		t.Run(how, func(t *testing.T) {
			pos := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.createWithPurchasing(0, 30)
				refuse := make(chan struct{})
				f.store.setHook(func(_ context.Context, batch store.Batch, flush func() error) error {
					if savesRequest(batch) {
						<-refuse
						return store.ErrRefused
					}
					return flush()
				})
				f.buy(0, minutes(15))
				begin(f)
				f.advance(100 * time.Millisecond)
				close(refuse)
				f.advance(lastBackoff)
				f.store.setHook(nil)
				f.advance(lastBackoff)
				f.pause(session)
				require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
				require.Empty(t, pos.purchases())
				require.Empty(t, f.purchaseLog())
				logged := map[uuid.UUID]lanes.Kind{}
				for _, e := range f.eventLog() {
					require.NotContains(t, logged, e.Event.ID, "%s has the id of another event", e.Event.Kind)
					logged[e.Event.ID] = e.Event.Kind
				}
			}, withWebhook(pos))
		})
	}
}

// A controller that was cut off reports a purchase long after it was made: the customer has given up.
func TestAPurchaseThatIsReportedLateIsDeclined(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 60)
		restoreLink := f.cutLink(0)
		f.buy(0, minutes(15))
		f.advance(10 * time.Minute)
		restoreLink()
		f.advance(lastBackoff)
		require.Empty(t, pos.purchases())
		require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
	}, withWebhook(pos))
}

// A move is being saved when the purchase is due to be sent: it is sent from the destination.
func TestAMoveJustBeforeThePurchaseIsSent(t *testing.T) {
	pos := &fakeWebhook{}
	took := time.Second / 2
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		f.buy(0, minutes(15))
		release := f.blockFlushes()
		moved := f.runAsync(func() error { return f.tryMove(session, 1) })
		f.advance(took) // the purchase is due to be sent now
		release()
		require.NoError(t, <-moved)
		f.advance(time.Second)
		require.Equal(t, lanes.Accepted, f.shownPurchase(1).Phase, f.shownPurchase(1).Reason)
	}, withWebhook(pos), withCatalogue(slowCatalogue(&took)))
}

// The lanes make the ids of purchases: two may make the same.
func TestTwoLanesWithTheSameIDForAPurchase(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 120)
		f.createWithPurchasing(1, 120)
		release := pos.blockPurchases(acceptPurchase)
		id := uuid.New()
		f.buyAs(id, 0, minutes(15))
		f.buyAs(id, 1, minutes(30))
		release()
		f.advance(time.Minute)
		for i, sold := range []int{135, 150} {
			require.Equal(t, lanes.Accepted, f.shownPurchase(i).Phase)
			require.Equal(t, sold, f.Sessions()[i].Minutes)
		}
		require.Len(t, pos.purchases(), 2)
	}, withWebhook(pos))
}

// Staff settle the one that they mean. Without its session, an id that two have is refused.
func TestStaffSettleOneOfTwoPurchasesWithTheSameID(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.createWithPurchasing(0, 120), f.createWithPurchasing(1, 120)
		pos.setPurchaseReply(timeOutPurchase)
		id := uuid.New()
		f.buyAs(id, 0, minutes(15))
		f.buyAs(id, 1, minutes(30))
		f.advance(webhookTimeout)
		require.Equal(t, []uuid.UUID{id, id}, f.unresolvedIDs())

		for _, credit := range []bool{true, false} {
			require.ErrorIs(t, f.clearPurchase("sam", id, credit), lanes.ErrPurchaseNotUnique)
		}
		drop := lanes.Clear{Session: second, Purchase: id}
		require.NoError(t, f.Clear(f.requestContext(), "sam", drop))
		require.Equal(t, lanes.Declined, f.shownPurchase(1).Phase)
		require.Equal(t, lanes.Unresolved, f.shownPurchase(0).Phase, "the one of the other lane waits")
		require.ErrorIs(t, f.Clear(f.requestContext(), "sam", drop), lanes.ErrPurchaseNotFound, "once")
		require.Equal(t, first, f.Unresolved()[0].Session)

		require.NoError(t, f.clearPurchase("sam", id, true), "no other one has the id any more")
		require.Equal(t, []int{135, 120}, []int{f.Sessions()[0].Minutes, f.Sessions()[1].Minutes})
		require.Empty(t, f.Unresolved())
	}, withWebhook(pos))
}

// A lane has two purchases with one id after a session has come to it with the second.
func TestALaneWithTwoPurchasesOfOneID(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second := f.createWithPurchasing(0, 120), f.createWithPurchasing(1, 120)
		pos.setPurchaseReply(timeOutPurchase)
		id := uuid.New()
		f.buyAs(id, 0, minutes(15))
		f.buyAs(id, 1, minutes(30))
		f.advance(webhookTimeout)
		f.stop(first)
		f.move(second, 0)
		require.Equal(t, []uuid.UUID{f.laneID(0), f.laneID(0)},
			[]uuid.UUID{f.Unresolved()[0].Lane, f.Unresolved()[1].Lane})

		require.ErrorIs(t, f.clearPurchase("sam", id, true), lanes.ErrPurchaseNotUnique)
		require.NoError(t, f.Clear(f.requestContext(), "sam",
			lanes.Clear{Session: second, Purchase: id, Credit: true}))
		require.Equal(t, 150, f.Sessions()[0].Minutes)
		require.Len(t, f.Unresolved(), 1)
		require.Equal(t, first, f.Unresolved()[0].Session)
	}, withWebhook(pos))
}

// buyUnanswered sells an hour on the first lane, whose customer buys the items. The POS does not answer in time.
func (f *fixture) buyUnanswered(pos *fakeWebhook, items ...lanes.Item) (session, purchase uuid.UUID) {
	f.Helper()
	session = f.createWithPurchasing(0, 60)
	pos.setPurchaseReply(timeOutPurchase)
	purchase = f.buy(0, items...)
	f.advance(webhookTimeout)
	require.Equal(f, []uuid.UUID{purchase}, f.unresolvedIDs())
	return session, purchase
}

// A session is stopped by mistake while nobody knows whether its customer has paid, and goes on: what was paid is in
// the session that goes on, on whichever lane, and however often it was reopened and moved.
func TestAPurchaseOfASessionThatGoesOn(t *testing.T) {
	for name, test := range map[string]struct {
		way  func(f *fixture, session uuid.UUID) (goesOn uuid.UUID)
		lane int // that has the session then
		acts []string
	}{
		"on its lane": {
			func(f *fixture, session uuid.UUID) uuid.UUID { return f.reopen(session, 0) },
			0,
			[]string{"reopen 60", "settle credit"},
		},
		"on another lane": {
			func(f *fixture, session uuid.UUID) uuid.UUID { return f.reopen(session, 1) },
			1,
			[]string{"reopen 60", "settle credit", "modify +15"},
		},
		"reopened twice": {
			func(f *fixture, session uuid.UUID) uuid.UUID {
				first := f.reopen(session, 1)
				f.stop(first)
				f.create(1, 30)
				return f.reopen(first, 2)
			},
			2,
			[]string{"reopen 60", "reopen 60", "settle credit", "modify +15"},
		},
		"moved from its lane": {
			func(f *fixture, session uuid.UUID) uuid.UUID {
				goesOn := f.reopen(session, 0)
				f.move(goesOn, 2)
				f.create(0, 30)
				return goesOn
			},
			2,
			[]string{"reopen 60", "settle credit"},
		},
		"moved back to its lane": {
			func(f *fixture, session uuid.UUID) uuid.UUID {
				goesOn := f.reopen(session, 1)
				f.move(goesOn, 0)
				return goesOn
			},
			0,
			[]string{"reopen 60", "settle credit"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pos := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				session, bought := f.buyUnanswered(pos, minutes(15))
				f.stop(session)
				require.Zero(t, f.Unresolved()[0].CreditLane)
				require.ErrorIs(t, f.clearPurchase("sam", bought, true), lanes.ErrSessionEnded)

				goesOn := test.way(f, session)
				require.Equal(t, []uuid.UUID{goesOn, f.laneID(test.lane)},
					[]uuid.UUID{f.Unresolved()[0].CreditSession, f.Unresolved()[0].CreditLane})
				before := f.remaining(goesOn)
				f.restart()
				require.NoError(t, f.clearPurchase("sam", bought, true))
				require.Equal(t, before+15*time.Minute, f.remaining(goesOn))
				require.Empty(t, f.Unresolved())
				require.ErrorIs(t, f.clearPurchase("sam", bought, true), lanes.ErrPurchaseNotFound)
				require.Equal(t, test.acts, f.actSummaries())
				synctest.Wait()
				require.EqualValues(t, 1, f.metricValue("rangegate_purchases_total", string(lanes.ByStaff)))
				f.restart()
				require.Equal(t, before+15*time.Minute, f.remaining(goesOn))
			}, withWebhook(pos), withLanes(3))
		})
	}
}

// Goods that were paid need no session: whether that goes on elsewhere changes nothing.
func TestGoodsOfASessionThatGoesOn(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session, bought := f.buyUnanswered(pos, lanes.Item{ID: "water", Qty: 1})
		f.stop(session)
		goesOn := f.reopen(session, 1)
		require.NoError(t, f.clearPurchase("sam", bought, true))
		require.Equal(t, time.Hour, f.remaining(goesOn))
		require.Empty(t, f.Unresolved())
	}, withWebhook(pos), withLanes(3))
}

// The session moves on while its minutes are being added: they are found where it goes, once.
func TestMinutesAreAddedToASessionThatIsMoving(t *testing.T) {
	for name, reopenedOn := range map[string]int{"its purchase goes along": 0, "its purchase stays": 1} {
		t.Run(name, func(t *testing.T) {
			pos := &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				session, bought := f.buyUnanswered(pos, minutes(15))
				f.stop(session)
				goesOn := f.reopen(session, reopenedOn)
				release := f.blockNextFlush(func(flush func() error) error { return flush() })
				moved := f.runAsync(func() error { return f.tryMove(goesOn, 2) })
				credited := f.runAsync(func() error { return f.clearPurchase("sam", bought, true) })
				release()
				require.NoError(t, f.answerOf(moved, time.Minute))
				require.NoError(t, f.answerOf(credited, time.Minute))
				require.Equal(t, 2, f.laneOfSession(goesOn))
				require.Equal(t, 75*time.Minute, f.remaining(goesOn).Round(time.Minute))
				require.Empty(t, f.Unresolved())
			}, withWebhook(pos), withLanes(3))
		})
	}
}

// A session of eight hours takes no more: nothing is settled then, on either lane.
func TestMinutesThatASessionElsewhereCannotTake(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session, bought := f.buyUnanswered(pos, minutes(15))
		f.stop(session)
		goesOn := f.reopen(session, 1)
		f.modify(goesOn, lanes.MaxMinutes-60)
		require.ErrorIs(t, f.clearPurchase("sam", bought, true), lanes.ErrDurationOutOfRange)
		require.Equal(t, []uuid.UUID{bought}, f.unresolvedIDs())
	}, withWebhook(pos), withLanes(3))
}

// The store hangs so long that the session ends: its customer is not charged afterwards.
func TestASessionThatEndsWhileItsPurchaseWaitsForTheStore(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 5)
		f.store.setHook(faultFrom(savesRequest, hangFlush))
		f.buy(0, minutes(15))
		f.advance(30 * time.Minute)
		f.storeReturns()
		f.advance(time.Minute)
		require.Empty(t, pos.purchases())
		require.Empty(t, f.Unresolved())
		require.Empty(t, f.Sessions())
	}, withWebhook(pos))
}
