package actors

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// screen follows the changes of the board.
type screen struct {
	*fixture
	version uint64
	wake    <-chan struct{}
}

// openScreen returns a screen that has read the whole board.
func (f *fixture) openScreen() *screen {
	f.Helper()
	s := &screen{fixture: f}
	require.Equal(f, f.laneIDs(0, 1), s.changedLanes())
	return s
}

// changedLanes returns the lanes that changed since the last call.
func (s *screen) changedLanes() (ids []uuid.UUID) {
	changed, version, wake := s.Changes(s.version)
	require.GreaterOrEqual(s, version, s.version)
	s.version, s.wake = version, wake
	for _, lane := range changed {
		ids = append(ids, lane.ID)
	}
	return ids
}

func (s *screen) isWoken() bool {
	synctest.Wait()
	select {
	case <-s.wake:
		return true
	default:
		return false
	}
}

func TestAScreenGetsTheLanesThatChanged(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		screen := f.openScreen()
		require.False(t, screen.isWoken())
		pos.setPurchaseReply(timeOutPurchase)
		var session uuid.UUID
		for _, step := range []struct {
			name    string
			do      func()
			changes []uuid.UUID
		}{
			{"a session", func() { session = f.createWithPurchasing(1, 60) }, f.laneIDs(1)},
			{"time that passes", func() { f.advance(time.Minute) }, nil},
			{"a pause", func() { f.pause(session) }, f.laneIDs(1)},
			{"a command that is refused", func() { _ = f.tryPause(session) }, nil},
			{
				"a sale that staff close", func() { f.staffLaneCommand(0, lanes.Offer{Sale: lanes.OffSale}) },
				f.laneIDs(0),
			},
			{
				"a call for help", func() { _, _ = f.LaneOn(f.requestContext(), f.laneID(0), lanes.CallHelp{}) },
				f.laneIDs(0),
			},
			{"a link that breaks", func() { f.cutLink(0) }, f.laneIDs(0)},
			{"a lane that is not usable any more", func() { f.advance(f.settings.Grace) }, f.laneIDs(0)},
			{"a purchase", func() { f.buy(1, minutes(1)) }, f.laneIDs(1)},
			{"a purchase that becomes unresolved", func() { f.advance(webhookTimeout) }, f.laneIDs(1)},
			{
				"a purchase that staff settle",
				func() { _ = f.clearPurchase("sam", f.unresolvedIDs()[0], false) }, f.laneIDs(1),
			},
			{"a hold", func() { f.setHold(rangeScope) }, f.laneIDs(0, 1)},
			{"the end of the hold", func() { f.liftHold(rangeScope) }, f.laneIDs(0, 1)},
			{"a stop", func() { f.stop(session) }, f.laneIDs(1)},
		} {
			step.do()
			synctest.Wait()
			require.Equal(t, len(step.changes) > 0, screen.isWoken(), step.name)
			require.Equal(t, step.changes, screen.changedLanes(), step.name)
			require.Empty(t, screen.changedLanes(), "once")
		}
	}, withWebhook(pos))
}

// A hold that changes no lane wakes screens all the same, and they see it as soon as they are woken.
func TestAChangeOfTheHoldsWakesScreens(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(f.laneScope(0))
		f.setHold(f.laneScope(1))
		screen := f.openScreen()
		var holds []int
		var following sync.WaitGroup
		following.Go(func() {
			for range 2 {
				select {
				case <-screen.wake:
				case <-time.After(time.Minute):
				}
				holds = append(holds, len(f.Holds().InForce))
				screen.changedLanes()
			}
		})
		f.setHold(rangeScope)
		f.liftHold(rangeScope)
		following.Wait()
		require.Equal(t, []int{3, 2}, holds)
	})
}

// A slow screen sees the newest state, however much it missed.
func TestASlowScreenSkipsChanges(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		slow, session := f.openScreen(), f.create(0, 30)
		for range 100 {
			f.modify(session, 1)
		}
		require.True(t, slow.isWoken())
		changed, _, _ := f.Changes(slow.version)
		require.Len(t, changed, 1)
		require.Equal(t, f.Lanes()[0], changed[0])
	})
}

// Screens read while lanes change: each change reaches each of them, and both lanes of a move together.
func TestScreensFollowEveryChange(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 480)
		const moves = 100
		var screens sync.WaitGroup
		done := make(chan struct{})
		for range 8 {
			screens.Go(func() {
				shown := map[uuid.UUID]*lanes.Session{}
				var version uint64
				for {
					changed, now, wake := f.Changes(version)
					version = now
					for _, lane := range changed {
						shown[lane.ID] = lane.Lane.Session
					}
					require.NotEqual(t, shown[f.laneID(0)] == nil, shown[f.laneID(1)] == nil,
						"the session is on exactly one lane")
					select {
					case <-wake:
					case <-done:
						last, _, _ := f.Changes(version)
						require.Empty(t, last)
						require.Equal(t, f.Lanes()[0].Lane.Session, shown[f.laneID(0)])
						return
					}
				}
			})
		}
		for i := range moves {
			f.move(session, (i+1)%2)
		}
		close(done)
		screens.Wait()
	})
}

// What a customer does at the lane screen.

func TestACustomerStartsTheSessionAtTheLaneScreen(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		_, err := f.LaneOn(f.requestContext(), f.laneID(1), lanes.Enter{Session: session})
		require.ErrorIs(t, err, lanes.ErrSessionNotFound, "the session is on another lane")
		_, err = f.LaneOn(f.requestContext(), uuid.New(), lanes.Enter{Session: session})
		require.ErrorIs(t, err, lanes.ErrLaneNotFound)
		view, err := f.LaneOn(f.requestContext(), f.laneID(0), lanes.Enter{Session: session})
		require.NoError(t, err)
		require.Equal(t, lanes.Running, view.Phase)
		synctest.Wait()
		require.True(t, f.isOpen(0))
		_, err = f.LaneOn(f.requestContext(), f.laneID(0), lanes.Enter{Session: session})
		require.ErrorIs(t, err, lanes.ErrNotWaiting)
		require.Empty(t, f.acts(), "the customer's commands are no acts of staff")
	})
}

func TestACallForHelpIsShownUntilStaffEndIt(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		help := func(i int) *lanes.HelpCall { return f.Lanes()[i].Lane.Help }
		call := func(i int) {
			_, err := f.LaneOn(f.requestContext(), f.laneID(i), lanes.CallHelp{})
			require.NoError(t, err)
		}
		session := f.create(0, 30)
		call(0)
		call(0)
		call(1)
		synctest.Wait()
		require.Equal(t, 1, len(pos.kinds())-2, "one event for two calls, and none without a session")
		require.Equal(t, &lanes.HelpCall{At: f.clock.Now().Wall}, help(0))
		require.Equal(t, help(0), help(1))
		f.staffLaneCommand(0, lanes.HelpComing{})
		require.True(t, help(0).Coming)
		require.False(t, help(1).Coming)
		f.restart()
		require.True(t, help(0).Coming, "it is saved")
		f.staffLaneCommand(1, lanes.HelpDone{})
		require.Nil(t, help(1))
		f.stop(session)
		require.Nil(t, help(0))
		require.Equal(t, []string{"help_coming ", "help_done "}, f.actSummaries())
	}, withWebhook(pos))
}

func TestAHitWithoutASessionIsNotedByStaff(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		driver.newest().receiver.Reported(lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportCarrierHit})
		synctest.Wait()
		require.Equal(t, f.clock.Now().Wall, *f.Lanes()[0].Lane.Stray)
		f.restart()
		require.NotNil(t, f.Lanes()[0].Lane.Stray)
		f.staffLaneCommand(0, lanes.HitNoted{})
		require.Nil(t, f.Lanes()[0].Lane.Stray)
		require.Equal(t, []string{"hit_noted "}, f.actSummaries())
		require.Empty(t, f.eventLog())
	})
}

// The time of a session is up, and its customer may still be there: staff or the controller say when the lane
// is clear, and it counts as clear after a while. A crash forgets none of it.
func TestALaneIsClearedAfterItsTime(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		toClear := func(i int) time.Duration { return f.Lanes()[i].Lane.ToClear(f.clock.Now()) }
		uncleared := func() float64 { return f.gaugeValues("lanes_not_clear")["lanes_not_clear"] }
		for i := range 3 {
			f.create(i, 1)
		}
		stopped := f.create(3, 1)
		require.Zero(t, toClear(0))
		f.stop(stopped)
		f.advance(time.Minute + 20*time.Second)
		for i := range 3 {
			require.Equal(t, 100*time.Second, toClear(i))
		}
		require.Zero(t, toClear(3), "whoever stops a session knows that it has ended")
		require.Equal(t, 3, f.Health().Uncleared)
		f.kill()
		f.start()
		synctest.Wait()
		require.Equal(t, 3.0, uncleared())

		f.staffLaneCommand(0, lanes.Cleared{Session: f.Lanes()[0].Lane.Uncleared.Session})
		f.controller(1).Leave()
		synctest.Wait()
		require.Zero(t, toClear(0))
		require.Zero(t, toClear(1))
		require.Equal(t, []string{"cleared "}, f.actSummaries())
		require.Equal(t, 1.0, uncleared())
		f.restart()
		require.Equal(t, 1, f.Health().Uncleared)
		f.advance(100 * time.Second)
		require.Zero(t, toClear(2))
		require.Equal(t, 0.0, uncleared())
	}, withLanes(4), withClearing(2*time.Minute, false))
}

// Where the range says so, the POS sells a lane only once it is clear. Staff may sell it, and a reload
// changes the rule.
func TestALaneThatIsNotClearIsNotSoldByThePOS(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 1)
		session := f.create(1, 30)
		f.advance(time.Minute)
		require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrLaneNotClear)
		require.ErrorIs(t, f.tryMove(session, 0), lanes.ErrLaneNotClear)
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.ClearFirst = false }))
		f.stop(f.create(0, 30))
		require.NoError(t, f.reload(false, func(s *Settings) { s.Layout.ClearFirst = true }))

		f.create(0, 1)
		f.advance(time.Minute)
		require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrLaneNotClear)
		sold, err := f.StaffCreate(f.requestContext(), "sam", f.laneID(0), f.newSale(1))
		require.NoError(t, err)
		require.Equal(t, f.laneID(0), sold.Lane)
		f.advance(time.Minute)
		f.staffLaneCommand(0, lanes.Cleared{})
		f.move(session, 0)
	}, withClearing(2*time.Minute, true))
}

// A session that was stopped by mistake goes on, once: as another session, with what was left of its time and
// what the POS knew it by.
func TestAStoppedSessionIsReopenedOnce(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		sale := f.newSale(30)
		sale.Correlation = &lanes.Correlation{ExternalID: "till 7"}
		session := f.sell(0, sale)
		reopen := func(i int) (*lanes.SessionView, error) {
			return f.StaffReopen(f.requestContext(), "sam", session, f.laneID(i))
		}
		_, err := reopen(1)
		require.ErrorIs(t, err, lanes.ErrNotReopenable, "it has not ended")
		f.advance(10*time.Minute + time.Second)
		f.stop(session)
		f.restart()
		f.create(0, 30)
		_, err = reopen(0)
		require.ErrorIs(t, err, lanes.ErrLaneOccupied)
		view, err := reopen(1)
		require.NoError(t, err)
		require.Equal(t, lanes.ReopenedAs(session), view.ID)
		require.Equal(t, "till 7", view.Correlation.IDOrNone())
		require.Equal(t, 20*time.Minute, f.remaining(view.ID))
		require.True(t, f.isOpen(1))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, f.eventKinds(view.ID))
		require.Equal(t, []string{"reopen 20"}, f.actSummaries())
		_, err = reopen(0)
		require.ErrorIs(t, err, lanes.ErrNotReopenable, "it goes on already")
		f.stop(view.ID)
		f.restart()
		_, err = reopen(1)
		require.ErrorIs(t, err, lanes.ErrNotReopenable, "it has gone on before")
		_, err = f.StaffReopen(f.requestContext(), "sam", uuid.New(), f.laneID(1))
		require.ErrorIs(t, err, lanes.ErrSessionNotFound)
	})
}

// Nobody knows what came of it while the store is down: it goes on where that was asked for, and nowhere else.
func TestASessionThatMayBeReopenedIsOnOneLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.stop(session)
		release := f.blockFlushes()
		reopen := func(i int) func() error {
			return func() error {
				_, err := f.StaffReopen(f.requestContext(), "sam", session, f.laneID(i))
				return err
			}
		}
		require.ErrorIs(t, f.answerOf(f.runAsync(reopen(0)), time.Minute), lanes.ErrTimeout)
		require.ErrorIs(t, reopen(1)(), lanes.ErrNotReopenable)
		release()
		f.storeReturns()
		require.NoError(t, reopen(0)(), "nothing of it was saved")
		require.ErrorIs(t, reopen(1)(), lanes.ErrNotReopenable)
		require.Equal(t, []uuid.UUID{lanes.ReopenedAs(session)}, f.activeSessions())
	})
}

// Once it is known that nothing came of it, the session goes on wherever a lane is free.
func TestASessionThatWasNotReopenedGoesOnAnywhere(t *testing.T) {
	for name, begin := range map[string]func(f *fixture) (resolve func()){
		"the store refuses it": func(f *fixture) func() {
			return f.blockNextFlush(func(func() error) error { return store.ErrRefused })
		},
		"its turn comes too late": func(f *fixture) func() {
			resolve := f.blockNextFlush(func(flush func() error) error { return flush() })
			f.runAsync(func() error {
				return f.StaffLane(f.requestContext(), "sam", f.laneID(0), lanes.Offer{Sale: lanes.OnSale})
			})
			return resolve
		},
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.stop(session)
				resolve := begin(f)
				ctx, cancel := withDeadline(t, 500*time.Millisecond)
				defer cancel()
				_, err := f.StaffReopen(ctx, "sam", session, f.laneID(0))
				require.ErrorIs(t, err, lanes.ErrTimeout)
				reopen := func() error {
					_, err := f.StaffReopen(f.requestContext(), "sam", session, f.laneID(1))
					return err
				}
				require.ErrorIs(t, reopen(), lanes.ErrNotReopenable, "nobody knows yet")
				resolve()
				require.Empty(t, f.activeSessions(), "nothing of it was saved")
				f.create(0, 30)
				require.NoError(t, reopen())
				require.Equal(t, 1, f.laneOfSession(lanes.ReopenedAs(session)))
			})
		})
	}
}

// A purchase at the lane screen runs like one that the controller reports.
func TestAPurchaseAtTheLaneScreen(t *testing.T) {
	pos := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.createWithPurchasing(0, 30)
		release := pos.blockPurchases(acceptPurchase)
		purchase := uuid.New()
		buy := func(i int, purchase uuid.UUID) error {
			err := f.LaneBuy(f.requestContext(), f.laneID(i), session, purchase, []lanes.Item{minutes(15)})
			synctest.Wait()
			return err
		}
		latest := func() lanes.Purchase { return *f.Lanes()[0].Lane.Session.Purchase }
		require.ErrorIs(t, buy(1, purchase), lanes.ErrSessionNotFound)
		require.NoError(t, buy(0, purchase))
		require.NoError(t, buy(0, purchase), "the same purchase")
		require.Equal(t, lanes.Pending, latest().Phase)
		require.ErrorIs(t, buy(0, uuid.New()), lanes.ErrPurchasePending)
		require.Equal(t, purchase, latest().ID, "the pending purchase is shown")
		release()
		require.NoError(t, buy(0, purchase), "still the same purchase")
		require.Equal(t, lanes.Accepted, latest().Phase)
		require.Equal(t, 45*time.Minute, f.remaining(session))
		require.Len(t, pos.purchases(), 1)
		require.ErrorIs(t, f.LaneBuy(f.requestContext(), f.laneID(0), session, uuid.New(), nil), lanes.ErrItems)

		pos.setPurchaseReply(declinePurchase("Your tab is full."))
		require.NoError(t, buy(0, uuid.New()))
		require.Equal(t, lanes.Declined, latest().Phase)
		require.Equal(t, "Your tab is full.", latest().UserMessage)
		require.Equal(t, f.shownPurchase(0), latest(), "the controller shows it too")
	}, withWebhook(pos))
}
