package actors

import (
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

func withLaneGrace(f *fixture) {
	f.settings.Layout.Grace, f.settings.Layout.TellsExpired = 2*time.Minute, true
}

// sellGraced sells a session that has a grace, on the i-th lane.
func (f *fixture) sellGraced(i, minutes int) uuid.UUID {
	f.Helper()
	sale := f.newSale(minutes)
	sale.Grace = true
	return f.sell(i, sale)
}

// requireGrace requires that the session on the i-th lane is in its grace, which ends so long from now.
func (f *fixture) requireGrace(i int, session uuid.UUID, left time.Duration) {
	f.Helper()
	status := f.Lanes()[i]
	require.Equal(f, session, sessionOn(status.Lane))
	end, found := status.Lane.GraceEnd()
	require.True(f, found)
	require.Equal(f, left, end.Since(f.clock.Now()))
	require.Zero(f, f.remaining(session))
	if status.Link == lanes.LinkUp {
		f.requireLockedInGrace(i, session)
	}
}

func (f *fixture) requireLockedInGrace(i int, session uuid.UUID) {
	f.Helper()
	shown := f.controller(i).Shown()
	require.False(f, shown.Open)
	require.Equal(f, session, shown.Session)
	require.Equal(f, lanes.Paused, shown.Phase)
	require.Zero(f, shown.Remaining)
}

// requireEndedAt requires that the session is on record as used up at that time.
func (f *fixture) requireEndedAt(session uuid.UUID, at time.Time) {
	f.Helper()
	ended := f.endedSession(session)
	require.Equal(f, at, ended.At)
	require.Equal(f, ended.Session.Sold, ended.Used)
	require.Equal(f, 1, f.countStops(session))
}

func TestASessionStaysOnItsLaneForItsGrace(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now()
		session, without := f.sellGraced(0, 10), f.create(1, 10)
		f.advance(10*time.Minute - time.Millisecond)
		f.requireOpen(0, 1)
		f.advance(time.Millisecond)
		f.requireOpen()
		f.requireEndedAt(without, begun.Wall.Add(10*time.Minute))
		f.requireGrace(0, session, 2*time.Minute)
		require.ErrorIs(t, f.tryCreate(0, 10), lanes.ErrLaneOccupied)
		require.ErrorIs(t, f.tryPause(session), lanes.ErrInGrace)

		f.advance(time.Minute)
		f.modify(session, 5)
		require.True(t, f.isOpen(0))
		require.Equal(t, 5*time.Minute, f.remaining(session), "it counts from now")
		f.advance(5*time.Minute - time.Millisecond)
		f.requireOpen(0)
		f.advance(time.Millisecond)
		f.requireGrace(0, session, 2*time.Minute)
		f.advance(2*time.Minute - time.Millisecond)
		f.requireGrace(0, session, time.Millisecond)
		f.advance(time.Millisecond)
		require.Empty(t, f.activeSessions())
		f.requireEndedAt(session, begun.Wall.Add(16*time.Minute))
		require.Equal(t, time.Minute, f.endedSession(session).Paused)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionExpired, lanes.SessionModified,
			lanes.SessionExpired, lanes.SessionStopped,
		}, f.eventKinds(session))
	}, withLaneGrace)
}

// At zero nothing waits for the store, and while it is away the grace goes on and ends.
func TestAGraceIsInForceWhileTheStoreIsDown(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := f.clock.Now()
				over, extended := f.sellGraced(0, 10), f.sellGraced(1, 10)
				f.advance(9 * time.Minute)
				f.store.setHook(outage)
				late := time.Now()
				f.advance(2 * time.Minute)
				for i, session := range []uuid.UUID{over, extended} {
					states := recorder.sent(f.laneID(i), late)
					require.Len(t, states, 1)
					require.Equal(t, late.Add(time.Minute), states[0].at, "at its deadline")
					f.requireGrace(i, session, time.Minute)
				}
				require.ErrorIs(t, f.tryModify(over, 5), lanes.ErrStoreUnavailable, "nothing opens before it is saved")
				f.requireOpen()
				f.advance(50 * time.Second)
				f.storeReturns()
				f.modify(extended, 5)
				f.requireOpen(1)
				f.store.setHook(outage)
				f.advance(time.Minute)
				f.storeReturns()
				f.requireEndedAt(over, begun.Wall.Add(10*time.Minute))
				require.Equal(t, []uuid.UUID{extended}, f.activeSessions())
			}, withRecorder(&recorder), withLaneGrace)
		})
	}
}

// A change is being saved when the time is used up: the lane is locked, and opens only once more minutes are saved.
func TestTheTimeIsUsedUpWhileAnExtensionHangs(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				ends := f.clock.Now().Add(10 * time.Minute)
				session := f.sellGraced(0, 10)
				f.advance(10*time.Minute - time.Second)
				resolve := f.blockNextFlush(resolution.end)
				extended := f.runAsync(func() error { return f.tryModify(session, 5) })
				f.advance(time.Second)
				f.requireLockedInGrace(0, session)
				f.advance(time.Second)
				resolve()
				if err := f.answerOf(extended, 0); resolution.written {
					require.NoError(t, err)
					f.requireOpen(0)
					left := f.remaining(session)
					require.GreaterOrEqual(t, left, 5*time.Minute-2*time.Second)
					f.advance(left)
					ends = f.clock.Now()
					f.requireGrace(0, session, 2*time.Minute)
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
					f.requireGrace(0, session, 2*time.Minute-2*time.Second)
				}
				f.advance(2 * time.Minute)
				f.requireEndedAt(session, ends.Wall)
			}, withLaneGrace)
		})
	}
}

// Minutes that were given in time count, however long they take to be saved; the lane is locked until they are.
func TestTheGraceIsOverWhileAnExtensionHangs(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := f.clock.Now()
				session := f.sellGraced(0, 10)
				f.advance(12*time.Minute - 500*time.Millisecond)
				late := time.Now()
				resolve := f.blockNextFlush(resolution.end)
				extended := f.runAsync(func() error { return f.tryModify(session, 5) })
				f.advance(time.Second)
				f.requireOpen()
				require.False(t, recorder.everOpened(f.laneID(0), late))
				resolve()
				if err := f.answerOf(extended, 0); resolution.written {
					require.NoError(t, err)
					f.requireOpen(0)
					left := f.remaining(session)
					require.GreaterOrEqual(t, left, 5*time.Minute-2*time.Second)
					f.advance(left - time.Millisecond)
					f.requireOpen(0)
					f.advance(time.Millisecond)
					f.requireGrace(0, session, 2*time.Minute)
				} else {
					require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
					f.requireEndedAt(session, begun.Wall.Add(10*time.Minute))
				}
			}, withRecorder(&recorder), withLaneGrace)
		})
	}
}

func TestAStopThatHangsAtZeroIsNoGrace(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := f.clock.Now()
				session := f.sellGraced(0, 10)
				f.advance(10*time.Minute - 300*time.Millisecond)
				late := time.Now()
				resolve := f.blockNextFlush(resolution.end)
				stopped := f.runAsync(func() error { return f.tryStop(session) })
				f.advance(400 * time.Millisecond)
				require.Equal(t, uuid.Nil, f.controller(0).Shown().Session)
				resolve()
				if err := f.answerOf(stopped, 0); err != nil {
					require.ErrorIs(t, err, lanes.ErrNotSaved)
				}
				f.storeReturns()
				require.False(t, recorder.everOpened(f.laneID(0), late))
				require.Equal(t, begun.Wall.Add(10*time.Minute-300*time.Millisecond), f.endedSession(session).At)
				require.NotContains(t, f.eventKinds(session), lanes.SessionExpired)
			}, withRecorder(&recorder), withLaneGrace)
		})
	}
}

// A stop in the grace ends it, at the deadline.
func TestAStopEndsTheGrace(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now()
		session := f.sellGraced(0, 10)
		f.advance(11 * time.Minute)
		f.stop(session)
		f.requireEndedAt(session, begun.Wall.Add(10*time.Minute))
		require.Equal(t, lanes.EndReason(lanes.ByPOS), f.endedSession(session).Reason)
		f.create(0, 10)
	}, withLaneGrace)
}

// The gateway is down across the deadline, across the end of the grace, or both; the wall clock is set meanwhile, and
// the machine may have been started anew.
func TestAGraceWhileTheGatewayIsDown(t *testing.T) {
	for name, between := range map[string]func(f *fixture){
		"the same boot":             func(*fixture) {},
		"the wall clock is set":     func(f *fixture) { f.clock.Step(-time.Hour) },
		"the machine starts again":  func(f *fixture) { f.clock.Reboot() },
		"it is killed, and started": func(f *fixture) { f.start(); f.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				begun := f.clock.Now()
				session, other := f.sellGraced(0, 10), f.sellGraced(1, 11)
				f.advance(9 * time.Minute)
				f.shutDown()
				between(f)
				f.advance(2 * time.Minute)
				f.start()
				f.requireGrace(0, session, time.Minute)
				f.requireGrace(1, other, 2*time.Minute)
				f.shutDown()
				between(f)
				f.advance(10 * time.Second)
				f.start()
				f.requireGrace(0, session, 50*time.Second)
				f.advance(20 * time.Second)
				f.modify(session, 15)
				f.requireOpen(0)

				f.shutDown()
				f.advance(90 * time.Second)
				f.start()
				f.requireEndedAt(other, begun.Wall.Add(11*time.Minute))
				require.Equal(t, 13*time.Minute+30*time.Second, f.remaining(session))
				f.shutDown()
				f.advance(time.Hour)
				f.start()
				require.Equal(t, 25*time.Minute, f.endedSession(session).Used)
				require.Equal(t, 1, f.countStops(session))
				require.Empty(t, f.activeSessions())
			}, withLaneGrace)
		})
	}
}

// Whenever the gateway dies, and whether or not the store has what it was saving: the time is the same.
func TestAGatewayIsKilledAtEachFlushOfAGrace(t *testing.T) {
	for at := int64(1); at <= 4; at++ {
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprintf("at flush %d, written %t", at, written), func(t *testing.T) {
				runFixture(t, func(t *testing.T, f *fixture) {
					begun := f.clock.Now()
					session := f.sellGraced(0, 10)
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
						f.start()
						killed = true
						return true
					}
					f.advance(time.Millisecond) // flush 1: its grace begins
					f.requireLockedInGrace(0, session)
					restarted()
					f.requireGrace(0, session, 2*time.Minute)
					f.advance(time.Minute)
					extended := f.runAsync(func() error { return f.tryModify(session, 5) }) // flush 2
					if !restarted() {
						require.NoError(t, <-extended)
						f.requireOpen(0)
					} else if !written {
						f.requireGrace(0, session, time.Minute)
						f.modify(session, 5)
					}
					f.advance(5*time.Minute - f.clock.Now().Since(begun) + 11*time.Minute) // flush 3
					f.requireLockedInGrace(0, session)
					restarted()
					f.requireGrace(0, session, 2*time.Minute)
					f.advance(2 * time.Minute) // flush 4: its end
					restarted()
					f.requireEndedAt(session, begun.Wall.Add(16*time.Minute))
					require.Empty(t, f.activeSessions())
				}, withLaneGrace)
			})
		}
	}
}

// A controller that the gateway does not reach closes by itself at zero, as it does without a grace.
func TestAControllerThatIsOfflineAtZeroClosesByItself(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.sellGraced(0, 10)
		f.advance(9 * time.Minute)
		restoreLink := f.cutLink(0)
		f.advance(time.Minute - time.Millisecond)
		require.True(t, f.isOpen(0))
		f.advance(time.Millisecond)
		require.False(t, f.isOpen(0))
		f.requireGrace(0, session, 2*time.Minute)
		restoreLink()
		f.requireGrace(0, session, 2*time.Minute-lastBackoff)
		f.modify(session, 1)
		require.True(t, f.isOpen(0))
	}, withLaneGrace)
}

// A ceasefire changes nothing of a grace. A session that gets minutes under it is held with them.
func TestACeasefireInAGrace(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now()
		extended, over := f.sellGraced(0, 10), f.sellGraced(1, 10)
		f.advance(10 * time.Minute)
		f.setHold(rangeScope)
		f.requireGrace(0, extended, 2*time.Minute)
		f.modify(extended, 5)
		f.requireOpen()
		f.advance(2 * time.Minute)
		f.requireEndedAt(over, begun.Wall.Add(10*time.Minute))
		f.liftHold(rangeScope)
		f.requireOpen(0)
		require.Equal(t, 5*time.Minute, f.remaining(extended))
	}, withLaneGrace)
}

// A session in its grace moves with what is left of it.
func TestAGraceMovesWithItsSession(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now()
		session := f.sellGraced(0, 10)
		f.advance(11 * time.Minute)
		f.move(session, 1)
		f.requireGrace(1, session, time.Minute)
		f.create(0, 10)
		f.advance(time.Minute)
		f.requireEndedAt(session, begun.Wall.Add(10*time.Minute))
	}, withLaneGrace)
}

// Time that a customer buys in the grace opens the lane once it is saved.
func TestTimeIsBoughtInAGrace(t *testing.T) {
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.setPurchaseReply(acceptPurchase)
		sale := f.newSale(10)
		sale.Grace, sale.Purchasing = true, true
		session := f.sell(0, sale)
		f.advance(11 * time.Minute)
		release := f.blockFlushesFrom(savesSettlement)
		f.buy(0, minutes(15))
		f.advance(500 * time.Millisecond)
		f.requireOpen()
		release()
		synctest.Wait()
		f.requireOpen(0)
		require.Equal(t, 15*time.Minute-500*time.Millisecond, f.remaining(session))
	}, withWebhook(webhook), withLaneGrace)
}

// A reload changes what a session gets at zero, and no grace that is under way.
func TestAReloadChangesTheGrace(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		first, second, third := f.sellGraced(0, 10), f.create(1, 11), f.sellGraced(2, 30)
		f.advance(10 * time.Minute)
		require.NoError(t, f.reload(false,
			func(s *Settings) { s.Layout.Grace, s.Layout.GraceForAll = 5*time.Minute, true }))
		f.requireGrace(0, first, 2*time.Minute-time.Second)
		f.advance(time.Minute - time.Second)
		f.requireGrace(1, second, 5*time.Minute)
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.Grace, s.Layout.GraceForAll = 0, false }))
		f.advance(19 * time.Minute)
		require.Equal(t, 30*time.Minute, f.endedSession(third).Used)
		require.Empty(t, f.activeSessions())
	}, withLanes(3), withLaneGrace)
}

// A lane that leaves the layout ends a grace as it ends a session.
func TestALaneIsRetiredInAGrace(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now()
		session := f.sellGraced(0, 10)
		f.advance(11 * time.Minute)
		f.shutDown()
		f.settings.Retire = []uuid.UUID{f.laneID(0)}
		f.settings.Layout.Lanes = f.settings.Layout.Lanes[1:]
		f.start()
		f.requireEndedAt(session, begun.Wall.Add(10*time.Minute))
	}, withLanes(3), withLaneGrace)
}
