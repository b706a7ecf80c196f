package actors

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// A lane is shown as locked once its hardware has confirmed it. Staff rely on that before anybody walks downrange.

func TestALaneIsShownAsLockedOnceItsHardwareConfirms(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for i := range 3 {
			f.create(i, 30)
		}
		f.requireLocked()
		f.controller(1).Stall(true)
		restoreLink := f.cutLink(2)
		f.setHold(rangeScope)
		f.requireLocked(0, 3)
		f.controller(1).Stall(false)
		synctest.Wait()
		f.requireLocked(0, 1, 3)
		restoreLink()
		f.requireLocked(0, 1, 2, 3)

		f.cutLink(0)
		f.requireLocked(1, 2, 3)
		f.liftHold(rangeScope)
		f.requireLocked()
	}, withBays)
}

// An order to open that is not confirmed may take force at any moment, whatever is ordered after it.
func TestALaneThatWasOrderedToOpenIsNotShownAsLocked(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		connection := driver.newest()
		confirms := func(state link.State) {
			connection.receiver.Applied(state.Revision)
			synctest.Wait()
		}
		newest := func() link.State { return connection.sentStates()[len(connection.sentStates())-1] }
		f.create(0, 30)
		f.setHold(rangeScope)
		first := newest()
		f.requireLocked()
		confirms(first)
		f.requireLocked(0)
		f.liftHold(rangeScope)
		f.requireLocked()
		confirms(first) // sent before the order arrived
		f.requireLocked()
		f.setHold(rangeScope)
		confirms(first)
		f.requireLocked()
		confirms(newest())
		f.requireLocked(0)
	})
}

// Operators see what is wanted of the hardware beside what its controller has said last: which of them a change waits
// for, and since when.
func TestOperatorsSeeWhatIsWantedOfTheHardwareBesideWhatItHasConfirmed(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		hardware := func() lanes.Hardware { return laneHealth(t, f, 0).Hardware }
		f.advance(time.Minute)
		require.Equal(t, lanes.InForce, hardware().Stage)
		require.Equal(t, hardware().Wanted, hardware().Applied)

		sold := f.clock.Now().Wall
		session := f.create(0, 30)
		running := &lanes.HardwareState{Since: sold, Session: session, Phase: lanes.Running, Left: 30 * time.Minute}
		require.Equal(t, lanes.Hardware{Wanted: running, Applied: running, Stage: lanes.InForce}, hardware())

		f.advance(time.Minute)
		f.controller(0).Stall(true)
		f.setHold(rangeScope)
		held := &lanes.HardwareState{
			Since: sold.Add(time.Minute), Hold: true, Session: session, Phase: lanes.Paused, Left: 29 * time.Minute,
		}
		require.Equal(t, lanes.Hardware{Wanted: held, Applied: running, Stage: lanes.Sent}, hardware())

		restoreLink := f.cutLink(0)
		require.Equal(t, lanes.Hardware{Wanted: held, Applied: running, Stage: lanes.Unlinked}, hardware())
		restoreLink()
		require.Equal(t, lanes.Sent, hardware().Stage)
		require.True(t, hardware().InHello)
		require.False(t, hardware().Applied.Hold, "it says that it was not reached by the hold")
		f.advance(4 * time.Second)
		f.controller(0).Stall(false)
		synctest.Wait()
		require.Equal(t, lanes.InForce, hardware().Stage)
		require.False(t, hardware().InHello)
		require.True(t, hardware().Applied.Hold)
		require.Equal(t, f.clock.Now().Wall, hardware().Applied.Since, "when it confirmed")

		f.controller(0).Stall(true)
		f.panicLane(0)
		require.Equal(t, lanes.Sent, hardware().Stage)
		require.True(t, hardware().InHello, "a lane that begins anew has heard nothing else")
	})
}

// A change of the session under a hold leaves the fire line locked.
func TestALockedLaneStaysLockedThroughChangesOfItsSession(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.setHold(rangeScope)
		f.controller(0).Stall(true)
		f.modify(session, 5)
		f.requireLocked(0, 1)
		f.stop(session)
		f.requireLocked(0, 1)
		f.setHold(f.laneScope(0))
		f.liftHold(rangeScope)
		f.requireLocked(0)
	})
}

// A restarted lane knows nothing of its hardware until that confirms a state again.
func TestALaneThatPanickedIsShownAsLockedOnceItsHardwareConfirmsAgain(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		confirm := func() {
			connection := driver.newest()
			connection.receiver.Applied(uint64(len(connection.sentStates())))
			synctest.Wait()
		}
		locked := func() bool { return f.Lanes()[0].Locked }
		f.setHold(rangeScope)
		require.False(t, locked())
		confirm()
		require.True(t, locked())
		first := driver.newest()
		f.panicLane(0)
		f.advance(time.Second)
		require.NotSame(t, first, driver.newest())
		first.receiver.Applied(uint64(len(first.sentStates())))
		synctest.Wait()
		require.False(t, locked())
		confirm()
		require.True(t, locked())

		for range 2 * maxPanics { // parks the lane, which holds its hardware
			f.panicLane(0)
		}
		f.advance(time.Second)
		require.False(t, locked())
		confirm()
		require.True(t, locked())
	})
}

// The driver panics, and the restarted connection dials again; its revisions count from 1 again. A
// confirmation over the old connection counts for nothing.
func TestAConfirmationOverAnOldConnectionIsIgnored(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		before := driver.newest()
		before.panicsOnSend = true
		f.create(0, 30)
		f.advance(lastBackoff)
		now := driver.newest()
		require.NotSame(t, before, now)
		f.setHold(rangeScope)
		states := now.sentStates()
		require.True(t, states[len(states)-1].Hold)
		before.receiver.Applied(states[len(states)-1].Revision)
		synctest.Wait()
		f.requireLocked()
		now.receiver.Applied(states[len(states)-1].Revision)
		synctest.Wait()
		require.True(t, f.Lanes()[0].Locked)
	})
}

// A controller that comes up holding is released if a hold over it is known to have ended. Otherwise nobody
// knows why it holds, and only staff may release it.

func TestAControllerThatHoldsForNoKnownReasonGetsALaneHold(t *testing.T) {
	var recorder driverRecorder
	var driver holdingDriver
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.setHold(f.bayScope(1)) // the end of a hold over other lanes does not count
		f.liftHold(f.bayScope(1))
		f.advance(time.Minute)
		driver.holds.Store(true)
		connected := time.Now()
		f.reconnect(0)
		driver.holds.Store(false)
		found := f.Holds().InForce
		require.Len(t, found, 1)
		require.Equal(t, f.laneScope(0), found[0].Scope)
		require.Equal(t, "controller", found[0].Who)
		f.requireHeld(0)
		requireOnlyHeld(t, recorder.sent(f.laneID(0), connected))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionPaused},
			f.eventKinds(session))
		left := f.remaining(session)

		f.advance(time.Minute)
		f.reconnect(0)
		f.restart()
		f.advance(time.Minute)
		f.requireHeld(0)
		require.Equal(t, found[0].Scope, f.heldScopes()[0])
		require.Equal(t, left, f.remaining(session))
		require.True(t, f.liftHold(f.laneScope(0)).Saved)
		f.requireHeld()
		f.requireOpen(0)

		driver.holds.Store(true)
		f.advance(time.Second)
		f.reconnect(0)
		f.requireHeld(0)
		require.Equal(t, []lanes.Scope{f.laneScope(0)}, f.heldScopes(),
			"it has confirmed the end of that hold, and holds for another reason")
	}, withBays, withHoldingDriver(&driver, &recorder))
}

// A ceasefire is in force on the hardware before it is saved. The gateway is killed with it: the end of an
// earlier ceasefire, which all lanes have confirmed, opens none of them.
func TestTheEndOfAnEarlierCeasefireOpensNoLaneAfterAKill(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.setHold(rangeScope)
		f.liftHold(rangeScope)
		f.requireOpen(0)
		f.advance(time.Second)
		require.Empty(t, f.savedHolds().Lifted, "all lanes have confirmed it")

		point := &killPoint{flush: 1}
		f.setKillPoint(point)
		f.startHold(rangeScope)
		f.advance(60 * time.Millisecond)
		f.requireOpen()
		killed := time.Now()
		f.killAt(point)
		f.start()
		f.advance(lastBackoff)
		f.requireHeld(0, 1)
		for i := range 2 {
			requireOnlyHeld(t, recorder.sent(f.laneID(i), killed))
		}
		require.Positive(t, f.remaining(session))
		require.ElementsMatch(t, []lanes.Scope{f.laneScope(0), f.laneScope(1)}, f.heldScopes())
		f.liftHold(f.laneScope(0))
		f.requireOpen(0)
	}, withRecorder(&recorder))
}

// Lanes that cannot confirm the end of a hold keep it known for themselves alone, also over a restart.
func TestTheEndOfAHoldStaysKnownForLanesThatHaveNotConfirmedIt(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(rangeScope)
		restoreFirst, restoreSecond := f.cutLink(0), f.cutLink(1)
		f.liftHold(rangeScope)
		f.advance(time.Second)
		require.Len(t, f.savedHolds().Lifted, 1, "the other lanes may be late")
		require.Equal(t, rangeScope, f.savedHolds().Lifted[0].Scope)
		f.advance(2 * time.Second)
		for i, place := range f.settings.Layout.Lanes {
			require.Equal(t, i < 2, f.savedHolds().KnowsOfEnd(place), "lane %d", i)
		}
		f.restart()
		restoreFirst()
		restoreSecond()
		f.advance(lastBackoff)
		f.requireHeld()
		require.Empty(t, f.savedHolds().Lifted)
	}, withLanes(4))
}

// The lane is busy, or its state is not loaded yet: the controller stays held all the same.
func TestAControllerThatHoldsStaysHeldWhileItsLaneIsBusy(t *testing.T) {
	for name, begin := range map[string]func(*fixture) <-chan error{
		"a session is being sold": func(f *fixture) <-chan error {
			return f.runAsync(func() error { return f.tryCreate(0, 30) })
		},
		"the lane is being restarted": func(f *fixture) <-chan error {
			sold := f.runAsync(func() error { return f.tryCreate(0, 30) })
			f.panicLane(0)
			return sold
		},
	} {
		t.Run(name, func(t *testing.T) {
			var recorder driverRecorder
			var driver holdingDriver
			runFixture(t, func(t *testing.T, f *fixture) {
				f.advance(time.Millisecond)
				release := f.blockFlushes()
				sold := begin(f)
				driver.holds.Store(true)
				connected := time.Now()
				f.controller(0).Cut(errNoAnswer)
				f.advance(firstBackoff)
				require.Equal(t, []lanes.Scope{f.laneScope(0)}, f.heldScopes())
				release()
				require.Contains(t, []error{nil, lanes.ErrTimeout}, <-sold)
				f.advance(time.Second)
				f.requireHeld(0)
				requireOnlyHeld(t, recorder.sent(f.laneID(0), connected))
				require.Len(t, f.activeSessions(), 1)
			}, withHoldingDriver(&driver, &recorder))
		})
	}
}

// The store lost everything while the gateway was down: only the hardware still knows of the hold.
func TestAHoldThatOnlyTheHardwareRemembers(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(f.bayScope(0))
		f.shutDown()
		require.NoError(t, os.Remove(f.path))
		f.advance(time.Second)
		connected := time.Now()
		f.start()
		f.requireHeld(0, 1)
		require.ElementsMatch(t, []lanes.Scope{f.laneScope(0), f.laneScope(1)}, f.heldScopes())
		requireOnlyHeld(t, recorder.sent(f.laneID(0), connected))
		require.True(t, f.savedHolds().Has(f.laneScope(0)))
		f.create(0, 30)
		f.requireOpen()
		f.liftHold(f.laneScope(0))
		f.requireOpen(0)
		f.requireHeld(1)
	}, withBays, withRecorder(&recorder))
}

// A command of staff to the session does not wait for the decision about the hold, and does not make it.
func TestAControllerThatHoldsIsNotReleasedByAStop(t *testing.T) {
	var recorder driverRecorder
	var driver holdingDriver
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(time.Second)
		driver.holds.Store(true)
		connected := time.Now()
		f.reconnect(0)
		f.stop(session)
		synctest.Wait()
		requireOnlyHeld(t, recorder.sent(f.laneID(0), connected))
		f.create(0, 30)
		f.requireOpen()
		f.liftHold(f.laneScope(0))
		f.requireOpen(0)
	}, withHoldingDriver(&driver, &recorder))
}

// The configuration moves a lane out of a held bay: that does not end the hold, whether or not its hardware
// still knows of it.
func TestALaneThatLeavesAHeldBayStaysHeld(t *testing.T) {
	for _, remembersHold := range []bool{true, false} {
		var recorder driverRecorder
		runFixture(t, func(t *testing.T, f *fixture) {
			f.create(0, 30)
			f.setHold(f.bayScope(0))
			f.shutDown()
			f.settings.Layout.Lanes[0].Bay = f.settings.Layout.Bays[1].ID
			if !remembersHold {
				f.controller(0).PowerCut(true)
			}
			f.advance(time.Second)
			connected := time.Now()
			f.start()
			f.advance(time.Second)
			f.requireHeld(0, 1)
			require.Equal(t, []lanes.Scope{f.bayScope(0), f.laneScope(0)}, f.heldScopes())
			requireOnlyHeld(t, recorder.sent(f.laneID(0), connected))
			f.liftHold(f.bayScope(0))
			f.requireHeld(0)
			f.liftHold(f.laneScope(0))
			f.requireOpen(0)
		}, withBays, withRecorder(&recorder))
	}
}

// What a controller that comes up is sent about holds, also about those that have ended meanwhile.

func TestALinkThatComesUpUnderAHoldIsSentTheHold(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		restoreLink := f.cutLink(0)
		f.advance(time.Second)
		require.Equal(t, f.laneIDs(0), f.setHold(rangeScope).NotReached)
		require.True(t, f.isOpen(0), "the hardware was not reached")
		back := time.Now()
		restoreLink()
		f.requireHeld(0, 1)
		requireOnlyHeld(t, recorder.sent(f.laneID(0), back))
		require.Equal(t, 30*time.Minute-time.Second, f.controller(0).Shown().Remaining)

		for _, breakLink := range []func(){
			func() { f.controller(0).Cut(errNoAnswer) },
			func() { f.controller(0).PowerCut(true) },
		} {
			f.advance(time.Second)
			broken := time.Now()
			breakLink()
			f.advance(lastBackoff)
			f.requireHeld(0, 1)
			requireOnlyHeld(t, recorder.sent(f.laneID(0), broken))
		}
		require.Equal(t, []lanes.Scope{rangeScope}, f.heldScopes())
		require.Equal(t, 30*time.Minute-time.Second, f.remaining(session))
	}, withRecorder(&recorder))
}

func TestAControllerThatMissedTheEndOfAHoldIsReleased(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		for _, scope := range []lanes.Scope{rangeScope, f.bayScope(0), f.laneScope(0)} {
			f.setHold(scope)
			restoreLink := f.cutLink(0)
			require.Equal(t, f.laneIDs(0), f.liftHold(scope).NotReached)
			require.True(t, f.controller(0).Shown().Hold, "the hardware was not reached")
			restoreLink()
			f.requireHeld()
			f.requireOpen(0)
			require.Empty(t, f.heldScopes())
		}
		f.setHold(rangeScope) // the same over a restart
		f.cutLink(0)
		f.liftHold(rangeScope)
		f.shutDown()
		f.controller(0).Refuse(false)
		f.start()
		f.requireHeld()
		f.requireOpen(0)
	}, withBays)
}

func TestAControllerThatMissedTheEndOfOneOfTwoHoldsStaysHeld(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.setHold(rangeScope)
		f.setHold(f.bayScope(0))
		restoreLink := f.cutLink(0)
		f.liftHold(rangeScope)
		restoreLink()
		f.requireHeld(0, 1)
		require.Equal(t, []lanes.Scope{f.bayScope(0)}, f.heldScopes())
	}, withBays)
}

// A controller that is configured to hold without its gateway locks its lane after 15 s. The same gateway
// opens it again by itself; after a restart nobody knows why it holds, and staff have to release it.
func TestAControllerThatHoldsOnTheLossOfItsGatewayIsReleased(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		lose := func(d time.Duration, meanwhile func()) {
			f.controller(0).Refuse(true)
			f.controller(0).Cut(errors.New("cut by the test"))
			f.advance(d)
			require.False(t, f.isOpen(0), "the lane is held without its gateway")
			meanwhile()
			f.controller(0).Refuse(false)
			f.advance(lastBackoff)
		}
		lose(time.Minute, func() {})
		require.True(t, f.isOpen(0))
		require.Empty(t, f.Holds().InForce)
		require.Equal(t, 30*time.Minute-time.Minute-lastBackoff, f.remaining(session), "its time runs on meanwhile")

		lose(time.Minute, f.restart)
		require.False(t, f.isOpen(0))
		require.Len(t, f.Holds().InForce, 1)
		_, err := f.Lift(f.requestContext(), f.Holds().InForce[0].Scope, f.Holds().InForce[0].Press, "kim")
		require.NoError(t, err)
		f.advance(time.Second)
		require.True(t, f.isOpen(0))
	}, func(f *fixture) { f.settings.HoldOnLoss = true })
}

// A state from before the hello is not sent to a controller that comes up holding: it would open the fire line.
func TestNoStateFromBeforeTheHelloReachesAControllerThatHolds(t *testing.T) {
	log := &blockingLog{match: `"result":"overloaded"`, released: make(chan struct{})}
	var recorder driverRecorder
	driver := &slowDriver{}
	runFixture(t, func(t *testing.T, f *fixture) {
		log.released = make(chan struct{})
		session := f.create(0, 30)
		f.advance(time.Second)
		dial := make(chan struct{})
		driver.blocked.Store(&dial)
		f.controller(0).Cut(errNoAnswer)
		f.advance(firstBackoff) // the dial is under way
		connected := time.Now()

		release := f.blockFlushes()
		for range maxWaiting + 1 {
			f.runAsync(func() error { return f.tryModify(session, 1) })
		}
		log.armed.Store(true)
		f.runAsync(func() error { return f.tryModify(session, 1) }) // one too many: the lane blocks in its log
		require.False(t, log.armed.Load())
		release() // the result of the save is queued in the lane's mailbox
		synctest.Wait()
		close(dial) // and the hello behind it
		synctest.Wait()
		close(log.released)
		synctest.Wait()
		f.advance(time.Second)
		require.Equal(t, []lanes.Scope{f.laneScope(0)}, f.heldScopes())
		require.False(t, recorder.everOpened(f.laneID(0), connected), "the fire line was opened")
		requireOnlyHeld(t, recorder.sent(f.laneID(0), connected))
	}, withBays, withLog(zerolog.New(log)), func(f *fixture) {
		withRecorder(&recorder)(f)
		driver.Driver = &recorder
		f.settings.Driver = driver
	})
}

// A lift without a hold records no end of one: a controller that comes up holding afterwards stays held.
func TestALiftWithoutAHoldReleasesNoController(t *testing.T) {
	var recorder driverRecorder
	var driver holdingDriver
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.liftHold(rangeScope)
		f.advance(time.Hour)
		f.create(0, 30)
		driver.holds.Store(true)
		f.reconnect(0)
		require.Equal(t, []lanes.Scope{f.laneScope(0)}, f.heldScopes())
	}, withBays, withHoldingDriver(&driver, &recorder))
}
