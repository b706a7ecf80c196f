package actors

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// sellOpenEnd sells a session on the i-th lane that may go on beyond its minutes, up to so many in all.
func (f *fixture) sellOpenEnd(i, minutes, upTo int) uuid.UUID {
	f.Helper()
	sale := f.newSale(minutes)
	sale.OpenEnd = upTo
	return f.sell(i, sale)
}

// beyond returns what the session on a lane has used beyond what was sold.
func (f *fixture) beyond(session uuid.UUID) lanes.Beyond {
	f.Helper()
	lane, found := f.Find(session)
	require.True(f, found)
	return lane.Session.Beyond(f.clock.Now())
}

func (f *fixture) requireBeyond(session uuid.UUID, used, settled time.Duration) {
	f.Helper()
	require.Equal(f, lanes.Beyond{Used: used, Settled: settled}, f.beyond(session))
}

func TestASessionGoesOnBeyondWhatWasSold(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now()
		session := f.sellOpenEnd(0, 10, 30)
		f.advance(10*time.Minute - time.Millisecond)
		require.NotContains(t, f.eventKinds(session), lanes.SessionBeyond)
		f.advance(time.Millisecond)
		require.Contains(t, f.eventKinds(session), lanes.SessionBeyond)
		require.Equal(t, begun.Wall.Add(10*time.Minute), f.lastEvent().Event.At)
		f.advance(5 * time.Minute)
		f.requireOpen(0)
		f.requireBeyond(session, 5*time.Minute, 0)
		f.modify(session, 2)
		f.requireBeyond(session, 5*time.Minute, 2*time.Minute)
		f.advance(15*time.Minute - time.Millisecond)
		f.requireOpen(0)
		f.advance(time.Millisecond)
		f.requireOpen()
		ended := f.endedSession(session)
		require.Equal(t, lanes.Expired, ended.Reason)
		require.Equal(t, []time.Duration{12 * time.Minute, 20 * time.Minute, 2 * time.Minute},
			[]time.Duration{ended.Used, ended.Beyond, ended.Session.Settled})
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionBeyond, lanes.SessionModified,
			lanes.SessionStopped,
		}, f.eventKinds(session))
	})
}

// While the store is away, the bound closes and a stop stops. Nothing opens: minutes that are added are not there yet.
func TestAnOpenEndWhileTheStoreIsDown(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				bound, stopped, held := f.sellOpenEnd(0, 10, 20), f.sellOpenEnd(1, 10, 20), f.sellOpenEnd(2, 10, 20)
				f.advance(9 * time.Minute)
				f.store.setHook(outage)
				f.advance(6 * time.Minute)
				f.requireOpen(0, 1, 2)
				require.ErrorIs(t, f.tryStop(stopped), lanes.ErrNotSaved)
				require.ErrorIs(t, f.tryPause(held), lanes.ErrNotSaved)
				f.requireOpen(0)
				late := time.Now()
				f.advance(5 * time.Minute)
				f.requireOpen()
				require.Equal(t, late.Add(5*time.Minute), recorder.sent(f.laneID(0), late)[0].at, "at its bound")
				f.storeReturns()
				require.Equal(t, 10*time.Minute, f.endedSession(bound).Beyond)
				require.Equal(t, 5*time.Minute, f.endedSession(stopped).Beyond)
				f.requireBeyond(held, 5*time.Minute, 0)
				for _, session := range []uuid.UUID{bound, stopped, held} {
					require.Equal(t, 1, countKind(f.eventKinds(session), lanes.SessionBeyond))
				}
			}, withRecorder(&recorder), withLanes(3))
		})
	}
}

// A purchase smaller than what is owed is refused before anybody is asked.
func TestAPurchaseBeyondWhatWasSold(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setPurchaseReply(acceptPurchase)
		sale := f.newSale(10)
		sale.OpenEnd, sale.Purchasing = 60, true
		session := f.sell(0, sale)
		f.advance(25*time.Minute + time.Second)
		f.buy(0, minutes(15))
		synctest.Wait()
		require.Equal(t, lanes.Declined, f.shownPurchase(0).Phase)
		require.Empty(t, f.purchaseLog())
		f.buy(0, minutes(16))
		synctest.Wait()
		require.Equal(t, lanes.Accepted, f.shownPurchase(0).Phase)
		f.requireBeyond(session, 15*time.Minute+time.Second, 15*time.Minute+time.Second)
		require.Equal(t, 59*time.Second, f.remaining(session))
	}, withWebhook(webhook))
}

// A ceasefire, a pause and a move keep the count exact.
func TestACeasefireStopsTheCountBeyond(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.sellOpenEnd(0, 10, 60)
		f.advance(12 * time.Minute)
		f.setHold(rangeScope)
		f.requireOpen()
		f.advance(time.Hour)
		f.requireBeyond(session, 2*time.Minute, 0)
		f.liftHold(rangeScope)
		f.requireOpen(0)
		f.advance(time.Minute)
		f.move(session, 1)
		f.requireOpen(1)
		f.advance(time.Minute)
		f.pause(session)
		f.advance(time.Minute)
		f.resume(session)
		f.requireBeyond(session, 4*time.Minute, 0)
		f.advance(46*time.Minute - time.Millisecond)
		f.requireOpen(1)
		f.advance(time.Millisecond)
		f.requireOpen()
		require.Equal(t, 50*time.Minute, f.endedSession(session).Beyond)
	})
}

// The link is lost beyond what was sold. Whether that time counts, the hardware says when it is back.
func TestTimeBeyondOfAControllerThatIsNotReached(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile     func(f *fixture)
		before, until bool // the time before what happens meanwhile, and until it is back
		then          bool // the time from then on
	}{
		"its line was open":        {func(*fixture) {}, true, true, true},
		"it was off":               {func(f *fixture) { f.controller(0).PowerCut(false) }, false, false, true},
		"it is another controller": {func(f *fixture) { f.controller(0).CloseAtZero(true) }, false, false, false},
		"the gateway was killed":   {func(f *fixture) { f.kill(); f.start() }, true, true, true},
		"both were off": {func(f *fixture) {
			f.kill()
			f.controller(0).PowerCut(true)
			f.start()
		}, false, false, true},
		"a ceasefire comes before it is back": {func(f *fixture) {
			f.setHold(rangeScope)
			f.liftHold(rangeScope)
		}, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.sellOpenEnd(0, 10, 60)
				f.advance(12 * time.Minute)
				restoreLink := f.cutLink(0)
				lost := f.clock.Now()
				f.advance(4 * time.Minute)
				f.requireBeyond(session, 2*time.Minute, 0)
				require.True(t, f.isOpen(0), "what runs goes on")
				c.meanwhile(f)
				restoreLink()
				f.advance(time.Minute)
				now, up := f.clock.Now().Wall, f.Lanes()[0].LinkSince
				used := 2 * time.Minute
				if c.before {
					used += 4 * time.Minute
				}
				if c.until {
					used += up.Sub(lost.Add(4 * time.Minute).Wall)
				}
				if c.then {
					used += now.Sub(up)
				}
				f.requireBeyond(session, used, 0)
				require.Equal(t, c.then, f.isOpen(0))
				f.stop(session)
				require.Equal(t, f.endedSession(session).Beyond, f.lastEvent().Event.Beyond.Used)
			})
		})
	}
}

// A ceasefire is decided before what the lane was told of its link, which waits for the store: it counts all the same.
func TestALinkIsLostWhileTheStoreHangs(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.sellOpenEnd(0, 10, 60)
		f.advance(12 * time.Minute)
		resolve := f.blockNextFlush(func(flush func() error) error { return flush() })
		modified := f.runAsync(func() error { return f.tryModify(session, 1) })
		synctest.Wait()
		restoreLink := f.cutLink(0)
		f.advance(500 * time.Millisecond)
		hold := f.startHold(rangeScope)
		f.advance(100 * time.Millisecond)
		resolve()
		require.NoError(t, <-modified)
		f.awaitHold(hold)
		f.requireBeyond(session, 2*time.Minute, time.Minute)
		restoreLink()
		f.liftHold(rangeScope)
		f.requireBeyond(session, 2*time.Minute, time.Minute)
	})
}

// The link is lost once more before its first hello is saved: what was dark from then on is not charged.
func TestALinkIsLostTwiceWhileTheStoreIsAway(t *testing.T) {
	for name, c := range map[string]struct{ storeFirst, thrice bool }{
		"the link is back before the store": {false, false},
		"the store is back before the link": {true, false},
		"and a third time":                  {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := f.clock.Now().Wall
				session := f.sellOpenEnd(0, 10, 60)
				f.advance(12 * time.Minute)
				f.store.setHook(refuseFlush)
				f.cutLink(0)()
				f.advance(time.Minute)
				lost, restoreLink := f.clock.Now().Wall, f.cutLink(0)
				f.controller(0).PowerCut(false)
				f.advance(4 * time.Minute)
				if c.storeFirst {
					f.storeReturns()
					f.requireBeyond(session, lost.Sub(begun)-10*time.Minute, 0)
				}
				restoreLink()
				dark := f.Lanes()[0].LinkSince.Sub(lost)
				if c.thrice {
					lost, restoreLink = f.clock.Now().Wall, f.cutLink(0)
					f.controller(0).PowerCut(false)
					f.advance(time.Minute)
					restoreLink()
					dark += f.Lanes()[0].LinkSince.Sub(lost)
				}
				f.storeReturns()
				f.requireBeyond(session, f.clock.Now().Wall.Sub(begun)-10*time.Minute-dark, 0)
				require.NotContains(t, f.eventKinds(session), lanes.SessionStopped)
			})
		})
	}
}

// What the hardware has said of its line counts before it is saved: what closes is decided before it.
func TestAHelloWaitsForTheStore(t *testing.T) {
	const sold, upTo = 10, 23
	for name, hook := range map[string]flushHook{"it refuses": refuseFlush, "it hangs": hangFlush} {
		for _, wasOff := range []bool{false, true} {
			for closes, c := range map[string]struct {
				by   func(f *fixture, session uuid.UUID)
				at   time.Duration // in minutes
				ends bool
			}{
				"a stop": {func(f *fixture, session uuid.UUID) {
					require.ErrorIs(f, f.tryStop(session), lanes.ErrNotSaved)
				}, 22, true},
				"a pause": {func(f *fixture, session uuid.UUID) {
					require.ErrorIs(f, f.tryPause(session), lanes.ErrNotSaved)
				}, 22, false},
				"a ceasefire": {func(f *fixture, _ uuid.UUID) { f.setHold(rangeScope) }, 22, false},
				"the bound":   {func(f *fixture, _ uuid.UUID) { f.advance(time.Minute) }, upTo, true},
			} {
				t.Run(fmt.Sprintf("%s, %s, it was off: %t", name, closes, wasOff), func(t *testing.T) {
					runFixture(t, func(t *testing.T, f *fixture) {
						begun := f.clock.Now().Wall
						session := f.sellOpenEnd(0, sold, upTo)
						f.advance(12 * time.Minute)
						f.store.setHook(hook)
						lost, restoreLink := f.clock.Now().Wall, f.cutLink(0)
						if wasOff {
							f.controller(0).PowerCut(false)
							f.advance(3 * time.Minute)
						}
						restoreLink()
						var dark time.Duration
						if wasOff {
							dark = f.Lanes()[0].LinkSince.Sub(lost)
						}
						f.advance(22*time.Minute - f.clock.Now().Wall.Sub(begun))
						c.by(f, session)
						f.requireOpen()
						f.advance(time.Minute)
						f.storeReturns()
						f.requireOpen()
						used := c.at*time.Minute - sold*time.Minute - dark
						if c.ends {
							require.Equal(t, used, f.endedSession(session).Beyond)
						} else {
							f.requireBeyond(session, used, 0)
						}
					})
				})
			}
		}
	}
}

// A move waits for the store: until the session has arrived, no line is known to be open for it if the lane that it
// leaves is not reached.
func TestAMoveWaitsForTheStore(t *testing.T) {
	moved := func(f *fixture, session uuid.UUID) { _ = f.tryMove(session, 1) }
	inBatch := func(f *fixture, session uuid.UUID) { _, _ = f.batch(true, f.moveTo(1, session)) }
	nothing := func(*fixture) {}
	isLost := func(f *fixture) { f.cutLink(0) }
	bothBlink := func(f *fixture) { isLost(f); f.cutLink(1)() }
	for name, c := range map[string]struct {
		move              func(f *fixture, session uuid.UUID)
		before, meanwhile func(f *fixture)
		used              time.Duration // before it arrives; 0: all that ran
		killed            bool          // the gateway is, before it knows that the move is saved
	}{
		"its link is lost before":                {moved, isLost, nothing, 2 * time.Minute, false},
		"its link is lost meanwhile":             {moved, nothing, isLost, 4 * time.Minute, false},
		"its link is up":                         {moved, nothing, nothing, 0, false},
		"the gateway is killed":                  {moved, isLost, nothing, 2 * time.Minute, true},
		"the other link is lost too, and back":   {moved, isLost, bothBlink, 2 * time.Minute, false},
		"both links are lost meanwhile":          {moved, nothing, bothBlink, 4 * time.Minute, false},
		"its link is lost before, in a batch":    {inBatch, isLost, nothing, 2 * time.Minute, false},
		"its link is lost meanwhile, in a batch": {inBatch, nothing, isLost, 4 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := time.Now()
				session := f.sellOpenEnd(0, 10, 60)
				f.advance(12 * time.Minute)
				c.before(f)
				f.advance(time.Minute)
				point := &killPoint{flush: 1, written: true, released: make(chan struct{})}
				hook := hangFlush
				if c.killed {
					hook = point.hook
				}
				f.store.setHook(faultFrom(func(b store.Batch) bool { return len(b.Lanes) > 1 }, hook))
				f.runAsync(func() error { c.move(f, session); return nil })
				f.advance(time.Minute)
				c.meanwhile(f)
				f.advance(18*time.Minute - time.Since(begun))
				back := time.Now()
				if c.killed {
					f.killAt(point)
					f.start()
				}
				f.storeReturns()
				require.True(t, f.isOpen(1))
				arrived := recorder.sent(f.laneID(1), back)[0].at
				used := cmp.Or(c.used, arrived.Sub(begun)-10*time.Minute) + time.Since(arrived)
				f.requireBeyond(session, used, 0)
				f.stop(session)
				require.Equal(t, used, f.endedSession(session).Beyond)
			}, withRecorder(&recorder))
		})
	}
}

// A batch waits for another lane. It knows what becomes of the link of its session's lane meanwhile.
func TestALinkChangesWhileABatchWaits(t *testing.T) {
	for name, c := range map[string]struct {
		before, meanwhile func(f *fixture)
		used              time.Duration
	}{
		"it is back": {func(f *fixture) { f.cutLink(0) }, func(f *fixture) {
			f.controller(0).Refuse(false)
			require.NoError(f, f.Reconnect(f.requestContext(), "root", f.laneID(0)))
			synctest.Wait()
			require.Equal(f, lanes.LinkUp, f.Lanes()[0].Link)
		}, 12*time.Minute + time.Second},
		"it is lost": {func(*fixture) {}, func(f *fixture) { f.cutLink(0) }, 12 * time.Minute},
		"it is back, and lost again": {func(f *fixture) { f.cutLink(0) }, func(f *fixture) {
			f.controller(0).Refuse(false)
			require.NoError(f, f.Reconnect(f.requestContext(), "root", f.laneID(0)))
			synctest.Wait()
			f.cutLink(0)
		}, 12 * time.Minute},
	} {
		for _, pauses := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the batch pauses: %t", name, pauses), func(t *testing.T) {
				runFixture(t, func(t *testing.T, f *fixture) {
					session := f.sellOpenEnd(0, 10, 60)
					f.advance(12 * time.Minute)
					c.before(f)
					f.advance(10 * time.Minute)
					ticket, err := f.askTicket(f.requestContext(), lanes.ByPOS, f.laneID(1))
					require.NoError(t, err)
					require.True(t, ticket.take())
					operation, settled := modifyOf(session, 1), time.Minute
					if pauses {
						operation, settled = pauseOf(session), 0
					}
					done := f.batchAsync(true, operation, f.saleOn(1, f.newSale(30)))
					c.meanwhile(f)
					f.advance(time.Second)
					ticket.drop()
					require.NoError(t, <-done)
					synctest.Wait()
					f.requireBeyond(session, c.used, settled)
				}, sortedByID)
			})
		}
	}
}

func TestAnOpenEndNeedsAControllerThatCan(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.controller(1).CloseAtZero(true)
		f.reconnect(1)
		sale := f.newSale(10)
		sale.OpenEnd = 60
		_, err := f.Create(f.requestContext(), f.laneID(1), sale, nil)
		require.ErrorIs(t, err, lanes.ErrNoOpenEnd)
		session := f.sellOpenEnd(0, 10, 60)
		require.ErrorIs(t, f.tryMove(session, 1), lanes.ErrNoOpenEnd)
		f.create(1, 10)

		restoreLink := f.cutLink(0)
		f.stop(session)
		_, err = f.Create(f.requestContext(), f.laneID(0), sale, nil)
		require.ErrorIs(t, err, lanes.ErrNoOpenEnd, "nobody knows whether it can")
		restoreLink()
		f.sellOpenEnd(0, 10, 60)
	})
}

// Whenever the gateway dies, and whether or not the store has what it was saving: what was used beyond is exact to the
// millisecond, as the hardware ran on.
func TestAGatewayIsKilledAtEachFlushOfAnOpenEnd(t *testing.T) {
	for at := int64(1); at <= 4; at++ {
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprintf("at flush %d, written %t", at, written), func(t *testing.T) {
				runFixture(t, func(t *testing.T, f *fixture) {
					begun := f.clock.Now()
					session := f.sellOpenEnd(0, 10, 30)
					f.advance(10*time.Minute - time.Millisecond)
					point := &killPoint{flush: at, written: written, released: make(chan struct{})}
					f.store.setHook(func(ctx context.Context, b store.Batch, flush func() error) error {
						if len(b.Lanes) == 0 { // a checkpoint
							return flush()
						}
						return point.hook(ctx, b, flush)
					})
					killed := false
					restarted := func() bool {
						if killed || !point.reached() {
							return false
						}
						f.killAt(point)
						f.advance(7*time.Second + 123*time.Millisecond)
						f.start()
						killed = true
						return true
					}
					ran := func() time.Duration { return f.clock.Now().Since(begun) }
					f.advance(time.Millisecond) // flush 1: it goes beyond
					restarted()
					require.Equal(t, 1, countKind(f.eventKinds(session), lanes.SessionBeyond))
					f.requireBeyond(session, ran()-10*time.Minute, 0)
					f.advance(2 * time.Minute)
					settled := 5 * time.Minute
					extended := f.runAsync(func() error { return f.tryModify(session, 5) }) // flush 2
					switch {
					case !restarted():
						require.NoError(t, <-extended)
					case !written:
						settled = 0
					}
					f.requireOpen(0)
					f.advance(15*time.Minute - ran()) // flush 3: it goes beyond once more
					restarted()
					f.advance(time.Minute)
					require.Equal(t, ran()-10*time.Minute-settled, f.beyond(session).Owed())
					f.advance(30*time.Minute - ran()) // flush 4: the bound
					f.requireOpen()
					unsaved := at == 4 && restarted() && !written
					ended := f.endedSession(session)
					require.Equal(t, begun.Wall.Add(30*time.Minute), ended.At)
					// it ends before its hardware can prove anything
					if used := ended.Used + ended.Beyond - ended.Session.Settled; unsaved {
						require.InDelta(t, 30*time.Minute, used, float64(checkpointEvery))
					} else {
						require.Equal(t, 30*time.Minute, used)
					}
					require.Empty(t, f.activeSessions())
					require.Equal(t, 1, f.countStops(session))
				})
			})
		}
	}
}
