package actors

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/purchases"
	"rangegate/lanes"
)

// Purchases through changes of their session and panics of their lane.

func TestASessionThatEndsWhileThePOSDecidesItsPurchase(t *testing.T) {
	for name, end := range map[string]func(*fixture, uuid.UUID){
		"stopped": func(f *fixture, session uuid.UUID) { f.stop(session) },
		"expired": func(f *fixture, _ uuid.UUID) { f.advance(5 * time.Minute) },
	} {
		for answer, reply := range map[string]purchaseReply{
			"accepted": acceptPurchase,
			"refused":  declinePurchase("No."), "no answer": timeOutPurchase,
		} {
			t.Run(name+", "+answer, func(t *testing.T) {
				pos := &fakeWebhook{}
				runFixture(t, func(t *testing.T, f *fixture) {
					session := f.createWithPurchasing(0, 5)
					release := pos.blockPurchases(reply)
					purchase := f.buy(0, minutes(15))
					end(f, session)
					next := f.createWithPurchasing(0, 30)
					release()
					f.advance(webhookTimeout)
					require.Equal(t, 5*time.Minute, f.endedSession(session).Session.Sold)
					require.Equal(t, 30*time.Minute-webhookTimeout, f.remaining(next),
						"the next session is not changed")
					require.Nil(t, f.controller(0).Shown().Purchase)
					if answer == "refused" {
						require.Empty(t, f.Unresolved())
						return
					}
					require.Equal(t, []uuid.UUID{purchase}, f.unresolvedIDs())
					require.ErrorIs(t, f.clearPurchase("sam", purchase, true), lanes.ErrSessionEnded)
					require.NoError(t, f.clearPurchase("sam", purchase, false))
				}, withWebhook(pos))
			})
		}
	}
}

func TestASessionThatMovesWhileThePOSDecidesItsPurchase(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		purchase := f.buy(0, minutes(15))
		f.move(session, 1)
		require.Equal(t, lanes.Pending, f.shownPurchase(1).Phase, "the purchase moves along")
		release()
		require.Equal(t, purchase, f.shownPurchase(1).ID)
		require.Equal(t, lanes.Accepted, f.shownPurchase(1).Phase)
		require.Equal(t, 45*time.Minute, f.remaining(session))
		require.Len(t, pos.purchases(), 1)

		pos.setPurchaseReply(failPurchase(lanes.Attempt{Error: lanes.TimedOut}))
		lost := f.buy(1, minutes(5))
		f.move(session, 0)
		require.Equal(t, f.laneID(0), f.Unresolved()[0].Lane, "an unresolved purchase moves along")
		require.NoError(t, f.clearPurchase("sam", lost, true))
		f.advance(0)
		require.Equal(t, 50*time.Minute, f.remaining(session))
	}, withWebhook(pos))
}

func TestAMoveBeforeThePurchaseIsSent(t *testing.T) {
	pos := &fakeWebhook{}
	checked := make(chan struct{})
	checks := fakeCatalogue(func(context.Context, uuid.UUID, []lanes.Item) string {
		<-checked
		return ""
	})
	synctest.Test(t, func(t *testing.T) {
		checked = make(chan struct{})
		f := startFixture(t, withWebhook(pos), withCatalogue(checks))
		session := f.createWithPurchasing(0, 30)
		f.buy(0, minutes(15))
		f.move(session, 1)
		close(checked)
		synctest.Wait()
		require.Equal(t, lanes.Accepted, f.shownPurchase(1).Phase)
		require.Equal(t, f.laneID(1), pos.purchases()[0].Lane, "the event names the new lane")
		require.Equal(t, 45*time.Minute, f.remaining(session))
	})
}

func TestASessionThatEndsBeforeThePurchaseIsSent(t *testing.T) {
	pos := &fakeWebhook{}
	slow := fakeCatalogue(func(ctx context.Context, _ uuid.UUID, _ []lanes.Item) string {
		<-time.After(time.Second)
		return ""
	})
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		f.buy(0, minutes(15))
		f.stop(session)
		f.advance(time.Minute)
		require.Empty(t, pos.purchases(), "the session has ended")
		require.Empty(t, f.Unresolved())
	}, withWebhook(pos), withCatalogue(slow))
}

// The controller repeats its report until it is acked; it is one purchase.
func TestAPurchaseThatIsReportedAgain(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		release := f.blockFlushes()
		purchase := f.buy(0, minutes(15))
		for range 3 {
			f.controller(0).Cut(errNoAnswer)
			f.advance(200 * time.Millisecond)
		}
		release()
		f.advance(lastBackoff)
		require.Zero(t, f.controller(0).Unacked())
		require.Len(t, pos.purchases(), 1)

		f.controller(0).PowerCut(true) // it forgets its reports
		f.advance(lastBackoff)
		f.buyAs(purchase, 0, minutes(15))
		require.Len(t, pos.purchases(), 1)
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
		require.Equal(t, 45, f.Sessions()[0].Minutes)
		require.Equal(t, 1, countKind(f.eventKinds(session), lanes.SessionModified))
	}, withWebhook(pos))
}

// One purchase at a time: another one meanwhile is acked and comes to nothing.
func TestAPurchaseWhileAnotherIsUnderWay(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		first := f.buy(0, minutes(15))
		f.buy(0, minutes(5))
		require.Equal(t, first, f.shownPurchase(0).ID)
		require.ErrorIs(t, f.tryModify(session, 440), lanes.ErrDurationOutOfRange, "the pending purchase needs room")
		release()
		require.Equal(t, 45*time.Minute, f.remaining(session))
		require.Len(t, pos.purchases(), 1)
		f.buy(0, minutes(5))
		require.Equal(t, 50*time.Minute, f.remaining(session))
	}, withWebhook(pos))
}

// purchaseStage is a point in the course of a purchase, where it waits until it is released.
type purchaseStage struct {
	name  string
	block func(*fixture, *fakeWebhook) (release func())
}

// purchaseStages are all points at which a lane can panic during a purchase.
var purchaseStages = []purchaseStage{
	{"before it is saved", func(f *fixture, _ *fakeWebhook) func() { return f.blockFlushes() }},
	{"before it is saved as sent", func(f *fixture, _ *fakeWebhook) func() { return f.blockFlushesFrom(savesRequest) }},
	{"while the POS decides", func(_ *fixture, pos *fakeWebhook) func() { return pos.blockPurchases(acceptPurchase) }},
	{"before its end is saved", func(f *fixture, _ *fakeWebhook) func() { return f.blockFlushesFrom(savesSettlement) }},
}

func TestALaneThatPanicsWhileAPurchaseIsUnderWay(t *testing.T) {
	for _, stage := range purchaseStages {
		for _, panics := range []int{1, 3} {
			t.Run(stage.name, func(t *testing.T) {
				pos := &fakeWebhook{}
				runFixture(t, func(t *testing.T, f *fixture) {
					f.createWithPurchasing(0, 30)
					release := stage.block(f, pos)
					purchase := f.buy(0, minutes(15))
					for range panics {
						f.panicLane(0)
					}
					release()
					f.advance(lastBackoff)
					require.Equal(t, purchase, f.shownPurchase(0).ID)
					f.requireSettledOnce(pos, 30)
					f.restart()
					f.requireSettledOnce(pos, 30)
					f.buy(0, minutes(5))
					require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase, "the next purchase works")
				}, withWebhook(pos))
			})
		}
	}
}

// requireSettledOnce requires that the one purchase of 15 minutes on lane 0 has ended: either the POS was
// asked once and the time is added, or it was not asked and nothing is added.
func (f *fixture) requireSettledOnce(pos *fakeWebhook, before int) {
	f.Helper()
	sold := before
	if f.shownPurchase(0).Phase == lanes.Accepted {
		sold += 15
		require.Len(f, pos.purchases(), 1)
	} else {
		require.Equal(f, lanes.Declined, f.shownPurchase(0).Phase)
		require.Empty(f, pos.purchases())
	}
	require.Equal(f, sold, f.Sessions()[0].Minutes)
	require.Empty(f, f.Unresolved())
}

// A parked lane takes no request for a minute. Its purchase is settled afterwards.
func TestALaneThatIsParkedWhileThePOSDecidesItsPurchase(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		f.buy(0, minutes(15))
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		release()
		f.advance(parkedFor / 2)
		require.NotEmpty(t, f.Lanes()[0].NotUsable)
		f.advance(parkedFor)
		f.requireSettledOnce(pos, 30)
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
	}, withWebhook(pos))
}

// Purchases through restarts of the gateway.

func TestAPurchaseThatWasNotSentGoesOnAfterARestart(t *testing.T) {
	for name, restart := range map[string]func(*fixture){
		"stopped": (*fixture).shutDown, "killed": (*fixture).kill,
		"killed, and the machine reboots": func(f *fixture) { f.kill(); f.clock.Reboot() },
	} {
		t.Run(name, func(t *testing.T) {
			pos := &fakeWebhook{}
			took := purchases.CheckWithin - time.Millisecond
			runFixture(t, func(t *testing.T, f *fixture) {
				f.createWithPurchasing(0, 30)
				purchase := f.buy(0, minutes(15))
				f.advance(time.Second)
				restart(f)
				took = 0
				f.advance(time.Second)
				f.start()
				f.advance(lastBackoff)
				require.Equal(t, purchase, f.shownPurchase(0).ID)
				require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
				f.requireSettledOnce(pos, 30)
				f.restart()
				f.requireSettledOnce(pos, 30)
			}, withWebhook(pos), withCatalogue(slowCatalogue(&took)))
		})
	}
}

func TestAPurchaseThatWasNotSentInTimeIsNotSentAfterARestart(t *testing.T) {
	for name, restart := range map[string]func(*fixture){
		"stopped": (*fixture).shutDown, "killed": (*fixture).kill,
		"killed, and the machine reboots": func(f *fixture) { f.kill(); f.clock.Reboot() },
	} {
		t.Run(name, func(t *testing.T) {
			pos := &fakeWebhook{}
			took := purchases.CheckWithin - time.Millisecond
			runFixture(t, func(t *testing.T, f *fixture) {
				f.createWithPurchasing(0, 30)
				f.buy(0, minutes(15))
				f.advance(time.Second)
				restart(f)
				took = 0
				f.advance(purchases.SendWithin)
				f.start()
				f.advance(lastBackoff)
				require.Empty(t, pos.purchases())
				require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
				require.Contains(t, f.shownPurchase(0).UserMessage, "busy")
				f.requireSettledOnce(pos, 30)
			}, withWebhook(pos), withCatalogue(slowCatalogue(&took)))
		})
	}
}

// Stopping the gateway lets the POS finish, if it does not take long.
func TestStoppingTheGatewayWaitsAMomentForAPurchase(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		pos.setPurchaseReply(func(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
			select {
			case <-time.After(lastAttempts - time.Millisecond):
				return acceptPurchase(ctx, event)
			case <-ctx.Done():
				return timeOutPurchase(ctx, event)
			}
		})
		f.buy(0, minutes(15))
		f.restart()
		f.advance(lastBackoff)
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
		f.requireSettledOnce(pos, 30)
	}, withWebhook(pos))
}

func TestAPurchaseThatWasSentIsForStaffAfterARestart(t *testing.T) {
	for name, restart := range map[string]func(*fixture){"stopped": (*fixture).shutDown, "killed": (*fixture).kill} {
		for during, wait := range map[string]func(*fixture, *fakeWebhook) func(){
			"while the POS decides": func(_ *fixture,
				pos *fakeWebhook,
			) func() {
				return pos.blockPurchases(acceptPurchase)
			},
			"while the POS does not answer": func(_ *fixture, pos *fakeWebhook) func() {
				pos.setPurchaseReply(timeOutPurchase)
				return func() {}
			},
		} {
			t.Run(name+" "+during, func(t *testing.T) {
				pos := &fakeWebhook{}
				runFixture(t, func(t *testing.T, f *fixture) {
					session := f.createWithPurchasing(0, 30)
					wait(f, pos)
					purchase := f.buy(0, minutes(15))
					f.advance(time.Second)
					restart(f)
					pos.setPurchaseReply(acceptPurchase)
					f.start()
					f.advance(lastBackoff)
					require.Equal(t, []uuid.UUID{purchase}, f.unresolvedIDs())
					require.Equal(t, lanes.Unresolved, f.shownPurchase(0).Phase)
					require.Len(t, pos.purchases(), 1, "it is not sent again")
					require.Equal(t, lanes.Interrupted, f.purchaseLog()[0].Attempt.Error)
					require.Equal(t, 30, f.Sessions()[0].Minutes)
					require.NoError(t, f.clearPurchase("sam", purchase, true))
					f.advance(0)
					require.Equal(t, 45, f.Sessions()[0].Minutes)
					f.stop(session)
				}, withWebhook(pos))
			})
		}
	}
}

// The session had ended by the time that the gateway was up again.
func TestAPurchaseOfASessionThatEndedWhileTheGatewayWasDown(t *testing.T) {
	for name, purchase := range map[string]struct {
		took time.Duration // by the catalogue: decides whether it was sent
		open int
	}{"sent": {0, 1}, "not sent": {purchases.CheckWithin, 0}} {
		t.Run(name, func(t *testing.T) {
			pos := &fakeWebhook{}
			took := purchase.took
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.createWithPurchasing(0, 5)
				pos.blockPurchases(acceptPurchase)
				f.buy(0, minutes(15))
				f.advance(time.Second)
				f.kill()
				f.advance(time.Hour)
				f.start()
				f.advance(lastBackoff)
				require.Equal(t, 5*time.Minute, f.endedSession(session).Used)
				require.Len(t, f.Unresolved(), purchase.open)
				require.Len(t, pos.purchases(), purchase.open)
			}, withWebhook(pos), withCatalogue(slowCatalogue(&took)))
		})
	}
}

// A purchase that waits for staff keeps its lane in the layout, like paid time.
func TestALaneWithAnUnresolvedPurchaseCannotLeaveTheLayout(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		pos.setPurchaseReply(failPurchase(lanes.Attempt{Error: lanes.TimedOut}))
		f.buy(0, minutes(15))
		f.stop(session)
		all := f.settings.Layout.Lanes
		f.shutDown()
		f.settings.Layout.Lanes = all[1:]
		err := f.tryStart()
		require.ErrorIs(t, err, ErrLayout)
		require.ErrorContains(t, err, all[0].ID.String())
		require.ErrorContains(t, err, "1 purchases")
		f.settings.Retire = []uuid.UUID{all[0].ID}
		f.advance(time.Second)
		f.start()
		f.settings.Retire = nil
		f.restart()
		require.Empty(t, f.Unresolved())
	}, withWebhook(pos))
}

// The purchase was made with a webhook configured, and was never sent.
func TestAPurchaseWhoseWebhookIsRemoved(t *testing.T) {
	pos := &fakeWebhook{}
	took := purchases.CheckWithin - time.Millisecond
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		f.buy(0, minutes(15))
		f.kill()
		only(&f.settings).Webhook = nil
		f.start()
		f.advance(lastBackoff)
		require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
		f.requireSettledOnce(pos, 30)
	}, withWebhook(pos), withCatalogue(slowCatalogue(&took)))
}

// posRecord is what the POS knows of the one purchase of 15 minutes.
type posRecord struct {
	asked, accepted atomic.Int64
}

// accept takes a second to decide, and accepts, also when the request was cancelled meanwhile.
func (l *posRecord) accept(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	l.asked.Add(1)
	l.accepted.Add(1)
	select {
	case <-time.After(time.Second):
		return acceptPurchase(ctx, event)
	case <-ctx.Done():
		return lanes.Attempt{At: event.At, Error: lanes.Interrupted}, lanes.Answer{}
	}
}

// requireNothingLost requires what must hold after any kill: what the POS accepted is in the session, or
// waits for staff.
func (f *fixture) requireNothingLost(l *posRecord) {
	f.Helper()
	require.LessOrEqual(f, l.asked.Load(), int64(1), "the POS is asked at most once")
	added := (f.Sessions()[0].Minutes - 30) / 15
	switch open := len(f.Unresolved()); open {
	case 0:
		require.EqualValues(f, l.accepted.Load(), added, "what was accepted is added, and nothing else")
	default:
		require.Equal(f, 1, open)
		require.Zero(f, added, "what waits for staff is not added")
	}
	shown := f.shownPurchase(0)
	require.NotEqual(f, lanes.Pending, shown.Phase, "every purchase comes to an end")
	require.Equal(f, shown.Phase == lanes.Unresolved, len(f.Unresolved()) == 1)
	require.Equal(f, added, countKind(f.eventKinds(f.activeSessions()[0]), lanes.SessionModified))
	require.Equal(f, added == 1, shown.Phase == lanes.Accepted)
	require.Zero(f, f.controller(0).Unacked())
}

// The gateway is killed at each flush of a purchase, and the next gateway again at each flush. The controller
// repeats what was not acked.
func TestAPurchaseSurvivesTwoKillsAtAnyFlushes(t *testing.T) {
	for _, written := range []bool{false, true} {
		for first := int64(1); ; first++ {
			second := int64(0)
			for killTwice(t, first, second, written) {
				second++
			}
			if second == 0 { // the purchase ended before that flush
				break
			}
		}
	}
}

// killTwice reports whether the gateways died, both if both should. It is false as well when the test has failed.
func killTwice(t *testing.T, first, second int64, written bool) (died bool) {
	t.Run(fmt.Sprintf("at flushes %d and %d, written %t", first, second, written), func(t *testing.T) {
		died = testTwoKills(t, first, second, written)
	})
	return died
}

func testTwoKills(t *testing.T, first, second int64, written bool) (died bool) {
	pos, record := &fakeWebhook{}, &posRecord{}
	pos.setPurchaseReply(record.accept)
	runFixture(t, func(t *testing.T, f *fixture) {
		f.createWithPurchasing(0, 30)
		firstKill, secondKill := &killPoint{flush: first, written: written}, &killPoint{flush: second, written: written}
		f.setKillPoint(firstKill)
		f.buy(0, minutes(15))
		f.advance(3 * time.Second) // before the next checkpoint
		died = firstKill.reached()
		f.killAt(firstKill)
		if second > 0 {
			f.setKillPoint(secondKill)
			require.NoError(t, f.tryStart())
			f.advance(3 * time.Second)
			died = died && secondKill.reached()
			f.killAt(secondKill)
		}
		f.start()
		f.advance(lastBackoff)
		f.requireNothingLost(record)
		f.restart()
		f.advance(lastBackoff)
		f.requireNothingLost(record)
	}, withWebhook(pos), withLanes(1))
	return died
}
