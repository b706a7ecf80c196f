package actors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rangegate/actors/supervised"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// requireWholeTree requires that the range has all its actors, and that no message waits for any of them.
func (f *fixture) requireWholeTree(lanes int) {
	f.Helper()
	synctest.Wait()
	require.Equal(f, map[string]int{"range": 1, "events": 1, "lane": lanes, "connection": lanes}, f.Actors().Live)
	require.Len(f, f.gateway.Waiting(), 4)
	for kind, waiting := range f.gateway.Waiting() {
		require.Zero(f, waiting, "messages that wait for actors of kind %s", kind)
	}
}

// panickingLog is a log whose writer panics on the lines of the first lane with that message, while it is switched on.
type panickingLog struct {
	logRecorder
	message string
	lane    atomic.Pointer[string]
}

func (p *panickingLog) Write(line []byte) (int, error) {
	if lane := p.lane.Load(); lane != nil && strings.Contains(string(line), `"`+p.message) &&
		strings.Contains(string(line), *lane) {
		panic(errDefect)
	}
	return p.logRecorder.Write(line)
}

// switchOn makes the writer panic for that lane; an empty id switches it off.
func (p *panickingLog) switchOn(lane string) {
	if lane == "" {
		p.lane.Store(nil)
		return
	}
	p.lane.Store(&lane)
}

// panicInHandleFailure makes the range's actor panic as it handles the failure of an actor: that of no actor at all.
func (f *fixture) panicInHandleFailure() {
	f.Helper()
	process, found := f.tree.System.ProcessRegistry.Get(f.addresses.root.Load())
	require.True(f, found)
	process.SendSystemMessage(f.addresses.root.Load(), &actor.Failure{Message: &toLane{}})
	synctest.Wait()
}

// The connection: a driver that fails or panics.

// Every way in which a driver can fail costs one connection: the lane keeps its session, its queue and its
// life, and the next dial follows. The failures that are panics of the connection's actor count as restarts
// of kind "connection".
func TestAFailureOfADriverCostsOneConnectionAndNothingOfTheLane(t *testing.T) {
	for name, failure := range map[string]struct {
		fail     func(*fixture, *fakeDriver)
		cause    string
		restarts map[string]int
	}{
		"Dial panics": {func(_ *fixture, driver *fakeDriver) {
			dials := 0
			driver.setDialResult(func(context.Context) error {
				if dials++; dials == 1 {
					panic(errDefect)
				}
				return nil
			})
			driver.newest().fail()
		}, "driver", map[string]int{"connection": 1}},
		"Send panics": {func(f *fixture, driver *fakeDriver) {
			driver.newest().panicOnSend()
			f.startHold(rangeScope)
		}, "driver", map[string]int{"connection": 1}},
		"Close panics": {func(_ *fixture, driver *fakeDriver) {
			driver.newest().panicOnClose()
			driver.newest().fail()
		}, "other", map[string]int{"connection": 1}},
		"it calls Down": {func(_ *fixture, driver *fakeDriver) { driver.newest().fail() }, "other", nil},
		"it calls Down three times": {func(_ *fixture, driver *fakeDriver) {
			broken := driver.newest()
			for range 3 {
				broken.fail()
			}
		}, "other", nil},
	} {
		t.Run(name, func(t *testing.T) {
			driver := &fakeDriver{}
			runWithDriver(t, driver, func(t *testing.T, f *fixture) {
				session, failed := f.create(0, 30), driver.newest()
				release := f.blockFlushes()
				waiting := f.runAsync(func() error { return f.tryModify(session, 5) })
				failure.fail(f, driver)
				require.True(t, failed.isClosed())
				release()
				require.NoError(t, f.answerOf(waiting, 0), "the lane has lost nothing")
				f.advance(2 * lastBackoff)
				f.liftHold(rangeScope)
				require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
				states := driver.newest().sentStates()
				require.Equal(t, session, states[len(states)-1].Session.ID)
				require.Equal(t, 35, f.Sessions()[0].Minutes)
				require.Equal(t, 1.0, f.metricValue("rangegate_link_failures_total", failure.cause))
				require.Equal(t, failure.restarts, f.Health().Restarts)
				f.requireWholeTree(1)
			})
		})
	}
}

func TestAPanicInADialCostsOneAttempt(t *testing.T) {
	driver := &fakeDriver{dialResult: func(context.Context) error { panic(errDefect) }}
	logs := &logRecorder{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		f.advance(20 * time.Second)
		require.Greater(t, len(driver.finishedDials()), 3)
		panics := logs.lines(t, "an actor panicked")
		require.Len(t, panics, len(driver.finishedDials()))
		for _, panicked := range panics {
			require.Equal(t, []any{errDefect.Error(), "connection", "dial"},
				[]any{panicked["panic"], panicked["kind"], panicked["on"]})
		}
		require.Equal(t, map[string]int{"connection": len(panics)}, f.Health().Restarts)
		driver.setDialResult(nil)
		f.advance(lastBackoff)
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		f.create(0, 30)
		require.NotNil(t, driver.newest().sentStates()[len(driver.newest().sentStates())-1].Session)
	}, withLog(zerolog.New(logs)))
}

// A panic in Send costs the connection, and nothing of the lane, however often.
func TestAPanicInSendCostsOneConnectionAndNothingOfTheLane(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		for range 2 * maxPanics {
			before := driver.newest()
			before.panicOnSend()
			f.modify(session, 1)
			f.advance(2 * lastBackoff)
			require.True(t, before.isClosed())
			require.NotSame(t, before, driver.newest())
			states := driver.newest().sentStates()
			require.EqualValues(t, 1, states[0].Revision, "counts from 1 in each connection")
			require.Equal(t, session, states[len(states)-1].Session.ID)
			require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		}
		driver.newest().panicOnSend()
		f.stop(session)
		f.advance(2 * lastBackoff)
		require.NotEmpty(t, driver.newest().sentStates())
		for _, state := range driver.newest().sentStates() {
			require.Nil(t, state.Session, "the earlier state is not sent")
		}
		require.Equal(t, map[string]int{"connection": 2*maxPanics + 1}, f.Health().Restarts)
	})
}

// A panic in Close costs the connection; the requests that wait for a lane that panics meanwhile are answered.
func TestAPanicInCloseCostsOneConnectionAndNothingOfTheLane(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		driver.newest().panicOnClose()
		driver.newest().fail()
		f.advance(lastBackoff)
		require.Equal(t, map[string]int{"connection": 1}, f.Health().Restarts)
		states := driver.newest().sentStates()
		require.Equal(t, session, states[len(states)-1].Session.ID)

		release := f.blockFlushes()
		modified := f.runAsync(func() error { return f.tryModify(session, 5) })
		waited := f.runAsync(func() error { return f.tryStopOnce(session, keyed("k", "f")) })
		driver.newest().panicOnClose()
		f.panicLane(0)
		require.ErrorIs(t, f.answerOf(modified, 0), lanes.ErrTimeout, "the outcome is unknown")
		require.ErrorIs(t, f.answerOf(waited, 0), lanes.ErrInternal)
		release()
		f.advance(lastBackoff)
		require.NoError(t, f.tryStopOnce(session, keyed("k", "f")), "the key is free again")
		synctest.Wait()
		require.Nil(t, driver.newest().sentStates()[len(driver.newest().sentStates())-1].Session)
		driver.newest().panicOnClose()
		f.shutDown()
	})
}

// The lane: it restarts from its last saved state, and its siblings notice nothing.

func TestAPanicCostsALaneOneRestart(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, other := f.create(0, 30), f.create(1, 30)
		f.advance(10 * time.Minute)
		before := f.Lanes()
		require.ErrorIs(t, f.tryNilCommand(session), lanes.ErrInternal)
		f.advance(firstBackoff)

		after := f.Lanes()
		require.Equal(t, before[0].Lane, after[0].Lane)
		require.Equal(t, lanes.LinkUp, after[0].Link)
		require.Equal(t, before[1], after[1], "the other lane and its link never noticed")
		require.Equal(t, 20*time.Minute-firstBackoff, f.remaining(session))
		require.True(t, f.isOpen(0))
		require.True(t, f.gateway.Ready(1))

		f.modify(session, 1)
		f.advance(f.remaining(session) - time.Millisecond)
		require.Equal(t, session, f.controller(0).Shown().Session)
		f.advance(time.Millisecond)
		require.Equal(t, uuid.Nil, f.controller(0).Shown().Session, "the timer is armed again")
		require.Equal(t, 31*time.Minute, f.endedSession(session).Used)
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionStopped,
		}, f.eventKinds(session))
		require.Equal(t, 30*time.Minute, f.endedSession(other).Used)
		require.Equal(t, 1.0, f.metricValue("rangegate_actor_restarts_total", "lane"))
		require.Zero(t, f.metricValue("rangegate_actor_mailbox_messages", "lane"),
			"none is counted as waiting for ever")
	})
}

func TestAPausedAndAWaitingSessionSurviveAPanic(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		paused, waiting := f.create(0, 30), f.createWaiting(1, 30)
		f.advance(10 * time.Minute)
		f.pause(paused)
		f.panicLane(0)
		f.panicLane(1)
		f.advance(time.Minute)
		require.Equal(t, 20*time.Minute, f.remaining(paused))
		require.Equal(t, 30*time.Minute, f.remaining(waiting))
		require.False(t, f.isOpen(0))
		require.False(t, f.isOpen(1))
		f.resume(paused)
		f.enter(1)
		require.True(t, f.isOpen(0))
		require.True(t, f.isOpen(1))
	})
}

func TestAPanicDuringASave(t *testing.T) {
	for which, saving := range map[string]error{"saved": nil, "refused": store.ErrRefused} {
		t.Run(which, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.advance(10 * time.Minute)
				release := make(chan struct{})
				f.store.setHook(func(_ context.Context, _ store.Batch, flush func() error) error {
					<-release
					if saving != nil {
						return saving
					}
					return flush()
				})
				modified := f.runAsync(func() error { return f.tryModify(session, 5) })
				waited := f.runAsync(func() error { return f.tryModify(session, 7) })
				f.panicLane(0)
				require.ErrorIs(t, <-modified, lanes.ErrTimeout, "the outcome is unknown")
				require.ErrorIs(t, <-waited, lanes.ErrInternal, "it was not decided")
				require.Equal(t, 20*time.Minute, f.remaining(session))

				close(release)
				synctest.Wait()
				f.store.setHook(nil)
				f.advance(time.Second)
				want, happened := 20*time.Minute-time.Second, 2
				if saving == nil {
					want, happened = want+5*time.Minute, 3
				}
				require.Equal(t, want, f.remaining(session))
				require.Len(t, f.eventKinds(session), happened)
				require.True(t, f.isOpen(0))
				f.advance(want)
				require.Equal(t, lanes.Expired, f.endedSession(session).Reason)
			})
		})
	}
}

// A stop is in force as soon as it is taken; the panic does not bring the session back.
func TestAPanicDuringTheSaveOfAStop(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(10 * time.Minute)
		release := f.blockFlushes()
		f.runAsync(func() error {
			_, err := f.On(f.requestContext(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		})
		require.False(t, f.isOpen(0))
		f.panicLane(0)
		require.False(t, f.isOpen(0))
		release()
		f.advance(time.Second)
		require.Empty(t, f.activeSessions())
		require.Equal(t, 10*time.Minute, f.endedSession(session).Used)
		require.False(t, f.isOpen(0))
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped},
			f.eventKinds(session))
	})
}

func TestAReplyThatPanicsWhenItIsRenderedCostsOneRequest(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		key := &lanes.Key{
			Name: "k", Fingerprint: "f",
			Render: func(*lanes.SessionView) (int, []byte) { panic("no words") },
		}
		_, err := f.Create(f.requestContext(), f.laneID(0), f.newSale(30), key)
		require.ErrorIs(t, err, lanes.ErrInternal)
		synctest.Wait()
		require.Empty(t, f.activeSessions())
		_, err = f.Create(f.requestContext(), f.laneID(0), f.newSale(30), keyed("k", "f"))
		require.NoError(t, err, "the key is free again")
	})
}

// A lane handles the failures of its connection outside of Receive. A panic there costs the lane one restart,
// like any other.
func TestAPanicOfALaneThatHandlesAFailureCostsItOneRestart(t *testing.T) {
	log := &panickingLog{message: "link down"}
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(time.Minute)
		before := f.Lanes()[1]
		log.switchOn(f.laneID(0).String())
		f.controller(0).Cut(errNoAnswer)
		synctest.Wait()
		log.switchOn("")
		f.advance(lastBackoff)
		require.Equal(t, map[string]int{"lane": 1}, f.Health().Restarts)
		require.Equal(t, "Failure", f.Actors().Restarted[0].Message)
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		require.Equal(t, before, f.Lanes()[1])
		require.Equal(t, 29*time.Minute-lastBackoff, f.remaining(session))
		f.modify(session, 1)
		f.requireWholeTree(2)
	}, withLog(zerolog.New(log)))
}

func TestALaneThatPanicsUnderAHoldStaysHeld(t *testing.T) {
	for name, outage := range map[string]flushHook{"": nil, " while the store is down": refuseFlush} {
		t.Run("it panics"+name, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 30)
				f.advance(time.Minute)
				f.store.setHook(outage)
				f.awaitHold(f.startHold(rangeScope))
				f.advance(time.Millisecond)
				held := time.Now()
				for range 3 {
					f.panicLane(0)
					require.False(t, f.isOpen(0))
					f.advance(time.Second)
					f.requireHeld(0, 1)
				}
				for _, sent := range recorder.sent(f.laneID(0), held) {
					require.True(t, sent.state.Hold)
				}
				f.storeReturns()
				require.Equal(t, 29*time.Minute, f.remaining(session))
				require.Equal(t, []lanes.Scope{rangeScope}, f.heldScopes(), "no other hold was set")
				f.liftHold(rangeScope)
				f.requireOpen(0)
			}, withRecorder(&recorder))
		})
	}
}

// The lane panics with the hold in its mailbox, or on its way to the store.
func TestALaneThatPanicsWhileAHoldIsSetIsHeld(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		release := f.blockFlushes()
		f.runAsync(func() error { return f.tryModify(f.activeSessions()[0], 1) })
		answer := f.startHold(rangeScope)
		f.panicLane(0)
		release()
		f.awaitHold(answer)
		f.advance(time.Second)
		f.requireHeld(0, 1)
		f.restart()
		f.requireHeld(0, 1)
	})
}

// The lane that keeps panicking: it is parked.

func TestALaneThatKeepsPanickingIsParkedForAMinute(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, other := f.create(0, 30), f.create(1, 30)
		f.advance(10 * time.Minute)
		otherLane := f.Lanes()[1]
		for range 5 {
			require.ErrorIs(t, f.tryNilCommand(session), lanes.ErrInternal)
			require.True(t, f.isOpen(0), "not parked yet")
		}
		require.ErrorIs(t, f.tryNilCommand(session), lanes.ErrInternal)
		f.advance(firstBackoff)

		status := f.Lanes()[0]
		require.True(t, f.controller(0).Shown().Hold, "the hardware is held")
		require.False(t, status.Lane.Usable)
		require.Contains(t, status.NotUsable, "defects")
		require.ErrorIs(t, f.tryModify(session, 1), lanes.ErrLaneNotUsable)
		require.ErrorIs(t, f.tryMove(other, 0), lanes.ErrLaneNotUsable)
		require.True(t, f.gateway.Ready(1))
		require.Equal(t, otherLane, f.Lanes()[1])

		f.advance(parkedFor - firstBackoff - time.Millisecond)
		require.True(t, f.controller(0).Shown().Hold)
		f.advance(time.Millisecond)
		status = f.Lanes()[0]
		require.False(t, f.controller(0).Shown().Hold)
		require.True(t, f.isOpen(0))
		require.True(t, status.Lane.Usable)
		require.Empty(t, status.NotUsable)
		require.Equal(t, 19*time.Minute, f.remaining(session), "the parking is no pause")

		require.ErrorIs(t, f.tryNilCommand(session), lanes.ErrInternal)
		require.True(t, f.isOpen(0), "the panics of the minute before are forgotten")
		f.advance(19 * time.Minute)
		require.Equal(t, 30*time.Minute, f.endedSession(session).Used)
		require.Equal(t, 30*time.Minute, f.endedSession(other).Used)
	})
}

func TestFivePanicsAMinuteParkNoLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 60)
		for range 20 {
			f.panicLane(0)
			f.advance(12 * time.Second)
			require.True(t, f.isOpen(0))
		}
		require.Equal(t, 56*time.Minute, f.remaining(session))
	})
}

// A lane is tried again each minute, however often it has to be parked. Meanwhile its hardware is held, it
// answers, and a hold over it is confirmed.
func TestAParkedLaneIsTriedAgainEachMinute(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, other, begun := f.create(0, 60), f.create(1, 60), f.clock.Now()
		for round := range 5 {
			for range maxPanics + 1 {
				f.panicLane(0)
			}
			f.advance(parkedFor / 2)
			require.True(t, f.controller(0).Shown().Hold, "the hardware is held")
			require.ErrorIs(t, f.tryModify(session, 1), lanes.ErrLaneNotUsable)
			require.Equal(t, f.laneIDs(0), f.setHold(f.laneScope(0)).Confirmed)
			require.True(t, f.liftHold(f.laneScope(0)).Saved)
			require.Equal(t, 1.0, f.gaugeValues("lanes_parked")["lanes_parked"])
			f.requireWholeTree(2)

			f.advance(parkedFor / 2)
			require.Zero(t, f.gaugeValues("lanes_parked")["lanes_parked"])
			f.requireHeld()
			f.requireOpen(0, 1)
			require.Equal(t, float64((round+1)*(maxPanics+1)), f.metricValue("rangegate_actor_restarts_total", "lane"))
			f.modify(session, 1)
			f.requireWholeTree(2)
		}
		ran := f.clock.Now().Since(begun)
		require.Equal(t, 65*time.Minute-ran, f.remaining(session), "the parking is no pause")
		require.Equal(t, 60*time.Minute-ran, f.remaining(other))
	})
}

// A lane that panics even as it starts its parked life is restarted about once a second: it does not keep the
// machine busy.
func TestALaneThatPanicsAsItIsParkedIsRestartedOnceASecond(t *testing.T) {
	log := &panickingLog{message: "lane parked"}
	runFixture(t, func(t *testing.T, f *fixture) {
		session, other := f.create(0, 30), f.create(1, 30)
		log.switchOn(f.laneID(0).String())
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		panics := f.Health().Restarts["lane"]
		require.LessOrEqual(t, panics, maxPanics+3)
		f.advance(30 * time.Second)
		require.InDelta(t, 30, f.Health().Restarts["lane"]-panics, 2, "once a second")
		require.Equal(t, lanes.LinkUp, f.Lanes()[1].Link)
		f.modify(other, 1)
		f.requireOpen(0, 1)

		log.switchOn("")
		f.advance(2 * supervised.RestartPause)
		require.ErrorIs(t, f.tryModify(session, 1), lanes.ErrLaneNotUsable)
		require.True(t, f.controller(0).Shown().Hold)
		f.advance(parkedFor)
		f.modify(session, 1)
		f.requireOpen(0, 1)
		f.requireWholeTree(2)
	}, withLog(zerolog.New(log)))
}

// Requests that wait for a lane when it is parked are answered, and the result of its pending save is not lost.
func TestParkingALaneLosesNothing(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		modify := func() error {
			_, err := f.On(f.requestContext(), session, lanes.Modify{Session: session, Minutes: 5}, keyed("more", "5"))
			return err
		}
		modified := f.runAsync(modify)
		for range 6 {
			f.addresses.sendTo(f.laneID(0), &saveResult{})
		}
		late := f.runAsync(func() error { return f.tryModify(session, 1) })
		require.ErrorIs(t, <-modified, lanes.ErrTimeout)
		require.ErrorIs(t, <-late, lanes.ErrLaneNotUsable)
		repeated := f.runAsync(modify)
		release()
		synctest.Wait()
		require.ErrorAs(t, <-repeated, new(*lanes.Repeat), "the repeat gets the first answer")
		f.advance(parkedFor)
		require.Equal(t, 34*time.Minute, f.remaining(session))
	})
}

func TestASessionThatEndsOnAParkedLaneEndsAtItsDeadline(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		begun := f.clock.Now()
		session := f.create(0, 1)
		f.advance(30 * time.Second)
		for range 6 {
			f.panicLane(0)
		}
		f.advance(parkedFor)
		require.Equal(t, lanes.Expired, f.endedSession(session).Reason)
		require.Equal(t, begun.Wall.Add(time.Minute), f.endedSession(session).At)
	})
}

func TestALaneThatIsParkedUnderAHoldStaysHeld(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(time.Minute)
		f.setHold(rangeScope)
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		f.advance(firstBackoff)
		require.Contains(t, f.Lanes()[0].NotUsable, "defects")
		require.True(t, f.controller(0).Shown().Hold)
		f.advance(parkedFor)
		f.requireHeld(0, 1)
		require.Equal(t, []lanes.Scope{rangeScope}, f.heldScopes())
		f.liftHold(rangeScope)
		f.requireOpen(0)
		require.Equal(t, 29*time.Minute, f.remaining(session))
	})
}

func TestAHoldSetWhileALaneIsParkedHoldsTheLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		f.advance(firstBackoff)
		require.Equal(t, f.laneIDs(0, 1), f.awaitHold(f.startHold(rangeScope)).Confirmed)
		f.advance(parkedFor)
		f.requireHeld(0, 1)
		f.liftHold(rangeScope)
		f.requireOpen(0)
	})
}

// The lane learns of both only afterwards, and must not record the hold again.
func TestAHoldSetAndLiftedWhileALaneIsParkedIsNotRecordedAgain(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		f.advance(firstBackoff)
		f.awaitHold(f.startHold(rangeScope))
		f.liftHold(rangeScope)
		require.True(t, f.controller(0).Shown().Hold, "it is parked")
		f.advance(parkedFor)
		for range 2 {
			f.requireHeld()
			f.requireOpen(0)
			require.Empty(t, f.savedHolds().InForce)
			f.restart()
		}
	})
}

// A parked lane does not make a ceasefire look unsaved.
func TestAHoldIsSavedAlthoughALaneIsParked(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		f.advance(firstBackoff)
		asked := time.Now()
		require.True(t, f.setHold(rangeScope).Saved)
		require.Equal(t, asked, time.Now())
	})
}

// A parked lane is held by the gateway itself. When its link breaks meanwhile, nobody has to lift anything.
func TestAParkedLaneWhoseLinkBreaksIsNotHeldForever(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		f.advance(firstBackoff)
		require.True(t, f.controller(0).Shown().Hold)
		f.controller(0).Cut(errNoAnswer)
		f.advance(parkedFor)
		require.Empty(t, f.heldScopes())
		f.requireOpen(0)
	})
}

// A controller is locked by a hold that nobody here knows of. Its lane is parked before the controller is linked: it
// stays locked all the same, also when the lane goes on, until staff lift the hold that it is found with.
func TestAControllerThatIsFoundLockedByAParkedLaneStaysLocked(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.store.setHook(refuseFlush)
		require.False(t, f.setHold(f.laneScope(0)).Saved)
		restoreLink := f.cutLink(0)
		f.tellOwner()
		f.takeOver()
		require.Empty(t, f.heldScopes())
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		restoreLink()
		f.advance(lastBackoff)
		require.Equal(t, []lanes.Scope{f.laneScope(0)}, f.heldScopes())
		f.advance(2 * parkedFor)
		require.True(t, f.controller(0).Shown().Hold)
		f.liftHold(f.laneScope(0))
		f.advance(time.Second)
		require.False(t, f.controller(0).Shown().Hold)
	})
}

// The range's actor: its tree restarts, and other ranges notice nothing.

// A panic of a range's own actor restarts the range's tree: its lanes start from their last saved state, and
// other ranges notice nothing.
func TestAPanicOfTheRangesActorRestartsItsTree(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		other, _ := f.addRange(nil) // started later
		before := other.Lanes()
		f.addresses.sendRoot((*toLane)(nil))
		f.advance(time.Second)

		require.True(t, f.gateway.Ready(2))
		require.Equal(t, before, other.Lanes(), "the other range and its links never noticed")
		require.Equal(t, map[string]int{"range": 1, "events": 1, "lane": 3, "connection": 3}, other.Actors().Live)
		require.Equal(t, map[string]int{"range": 1, "events": 1, "lane": 2, "connection": 2}, f.Actors().Live)
		require.True(t, f.isOpen(0))
		f.modify(session, 5)
		require.True(t, f.setHold(rangeScope).Saved)
		f.requireHeld(0, 1)
		for _, lane := range f.Lanes() {
			require.Equal(t, lanes.LinkUp, lane.Link)
		}
	})
}

// The same of the range's actor restarts its tree.
func TestAPanicOfTheRangesActorThatHandlesAFailureRestartsItsTree(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.setHold(f.laneScope(1))
		f.panicInHandleFailure()
		f.advance(lastBackoff)
		require.Equal(t, map[string]int{"range": 1}, f.Health().Restarts)
		require.True(t, f.gateway.Ready(1))
		f.requireHeld(1)
		f.requireOpen(0)
		f.modify(session, 1)
		f.requireWholeTree(2)
	})
}

// However often a range's actor panics, its tree is restarted: the range does not stop for good.
func TestARangesActorThatKeepsPanickingIsRestartedEachTime(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		for range 30 {
			f.addresses.sendRoot((*toLane)(nil))
			f.advance(100 * time.Millisecond)
		}
		f.advance(lastBackoff)
		require.Equal(t, map[string]int{"range": 30}, f.Health().Restarts)
		require.True(t, f.gateway.Ready(1))
		f.requireOpen(0)
		f.modify(session, 1)
		f.requireWholeTree(2)
	})
}

// The restart of the range's actor waits for a lane that is still busy. A request to another lane waits until
// that lane has been spawned again.
func TestARequestDuringTheRestartOfATreeWaitsForItsLane(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		flushes, ending := f.blockFlushes(), make(chan struct{})
		first := f.runAsync(func() error { return f.tryCreate(0, 30) })
		f.sendToLane(0, &request{ctx: t.Context(), command: lanes.Modify{Minutes: 1}, done: func(bool) { <-ending }})
		f.addresses.sendRoot((*toLane)(nil))
		synctest.Wait() // lane 1 has ended, lane 0 has not
		second := f.runAsync(func() error { return f.tryCreate(1, 30) })
		require.Empty(t, second)
		flushes()
		close(ending)
		f.advance(time.Second)

		require.Equal(t, lanes.ErrTimeout, <-first, "the outcome was unknown")
		require.NoError(t, <-second)
		require.Len(t, f.activeSessions(), 2)
	})
}

// A change is being saved as the tree restarts. Its outcome reaches the lane's new actor: the key is settled,
// and a repeat gets the answer.
func TestAKeyIsSettledAlthoughTheTreeRestartsDuringTheSave(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session, key := f.create(0, 30), keyed("k", "f")
		modify := func() error {
			_, err := f.On(f.requestContext(), session, lanes.Modify{Session: session, Minutes: 5}, key)
			return err
		}
		release := f.blockFlushes()
		first := f.runAsync(modify)
		f.addresses.sendRoot((*toLane)(nil))
		f.advance(100 * time.Millisecond)
		release()
		require.ErrorIs(t, f.answerOf(first, time.Second), lanes.ErrTimeout)
		require.ErrorAs(t, f.answerOf(f.runAsync(modify), 0), new(*lanes.Repeat))
		require.Equal(t, 35, f.Sessions()[0].Minutes)
	})
}

// A range's actor that has panicked stops its lanes: messages sent to them from then on would be lost.
func TestNoMessageIsSentToLanesThatARestartStops(t *testing.T) {
	var f *fixture
	panicked := false
	log := logFunc(func(line string) {
		if strings.Contains(line, "panicked") {
			panicked = true
			f.addresses.mu.RLock()
			defer f.addresses.mu.RUnlock()
			require.Empty(t, f.addresses.lanes)
		}
	})
	runFixture(t, func(t *testing.T, started *fixture) {
		f = started
		f.addresses.sendRoot((*toLane)(nil))
		f.advance(time.Second)
		require.True(t, panicked)
		require.Len(t, f.addresses.lanes, 2)
		f.create(0, 30)
	}, withLog(zerolog.New(log)))
}

// After a panic of the range's actor the versions of its record of holds continue: what is answered as saved is saved.
func TestAHoldAfterAPanicOfTheRangeIsSaved(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		for range 3 {
			f.setHold(rangeScope)
			f.liftHold(rangeScope)
		}
		f.addresses.sendRoot((*toLane)(nil))
		f.advance(time.Second)
		require.True(t, f.setHold(rangeScope).Saved)
		require.True(t, f.savedHolds().Has(rangeScope))
		f.kill()
		f.start()
		f.requireHeld(0, 1)
	})
}

// Staff press again while the end of a hold hangs in the store. The range's actor panics before that is saved: it ends
// nothing that was pressed since.
func TestAHoldThatWasPressedAgainOutlivesAPanicOfTheRange(t *testing.T) {
	for ending, resolution := range resolutions {
		t.Run(ending, func(t *testing.T) {
			var recorder driverRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				f.create(0, 30)
				f.setHold(rangeScope)
				f.advance(time.Millisecond)
				held := time.Now()
				resolve := f.blockNextFlush(resolution.end)
				lifted := f.runAsync(func() error { return f.tryLiftHold(rangeScope) })
				again := f.startHold(rangeScope)
				f.addresses.sendRoot((*toLane)(nil))
				f.advance(time.Second)
				resolve()
				require.Error(t, f.answerOf(lifted, time.Second))
				require.Equal(t, f.laneIDs(0, 1), f.awaitHold(again).Confirmed)
				f.advance(5 * time.Second)
				for range 2 {
					f.requireHeld(0, 1)
					require.True(t, f.savedHolds().Has(rangeScope))
					f.restart()
				}
				require.False(t, recorder.everOpened(f.laneID(0), held), "it never opened")
				f.liftHold(rangeScope)
				f.requireOpen(0)
			}, withRecorder(&recorder))
		})
	}
}

// Everything at random.

// Links, the driver, the lane and the store fail at random. Afterwards there is one connection for each lane,
// the hardware has the wanted state, and every report was taken once.
func TestALaneRecoversFromAnyMixOfFailures(t *testing.T) {
	seeds := 16
	if soaked, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		seeds = soaked
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			before, random := goleak.IgnoreCurrent(), rand.New(rand.NewPCG(seed, 1))
			d := &panickingDriver{}
			runFixture(t, func(t *testing.T, f *fixture) {
				session := f.create(0, 480)
				d.mu.Lock()
				d.random = rand.New(rand.NewPCG(seed, 2))
				d.mu.Unlock()
				helps, release := 0, func() {}
				var answers []<-chan error
				var keys []*lanes.Key
				start := func(action func() error) { answers = append(answers, f.runAsync(action)) }
				modify := func(key *lanes.Key) error {
					_, err := f.On(f.Context(), session, lanes.Modify{Session: session, Minutes: -1}, key)
					return err
				}
				for range 60 {
					switch random.IntN(11) {
					case 0:
						f.controller(0).Cut(errNoAnswer)
					case 1:
						f.panicLane(0)
					case 2:
						f.sendToLane(0, &renewLink{errRenewed})
					case 3:
						if f.controller(0).Help() == nil {
							helps++
						}
					case 4:
						start(func() error { _, err := f.Hold(f.requestContext(), rangeScope, "sam"); return err })
					case 5:
						start(func() error {
							_, err := f.Lift(f.requestContext(), rangeScope, uuid.Nil,
								"sam")
							return err
						})
					case 6:
						key := keyed(fmt.Sprint("k", len(keys)), "f")
						keys = append(keys, key)
						start(func() error { return modify(key) })
					case 7:
						release()
						release = f.blockFlushes()
					case 8:
						release()
						release = func() {}
					case 9:
						f.panicEventsActor()
					case 10:
						switch random.IntN(2) {
						case 0:
							f.addresses.sendRoot((*toLane)(nil))
							synctest.Wait()
						case 1:
							f.panicInHandleFailure()
						}
					}
					f.advance(time.Duration(random.IntN(400)) * time.Millisecond)
				}
				release()
				d.stopFailing()
				f.advance(5 * time.Minute)

				lane, shown := f.Lanes()[0], f.controller(0).Shown()
				require.Equal(t, lanes.LinkUp, lane.Link)
				require.Equal(t, 2, d.addOpen(0), "one connection for each lane")
				require.Equal(t, lane.Lane.Held, shown.Hold)
				require.Equal(t, lane.Lane.Held, lane.Locked)
				require.Equal(t, lane.Lane.Held, len(f.heldScopes()) > 0)
				require.Equal(t, session, shown.Session)
				require.Equal(t, lane.Lane.Session.Phase, shown.Phase)
				require.InDelta(t, f.remaining(session), shown.Remaining, 0)
				require.Zero(t, f.controller(0).Unacked())
				require.Equal(t, helps, countKind(f.eventKinds(session), lanes.Help))
				for _, answer := range answers {
					require.Len(t, answer, 1, "a request was not answered")
				}
				for _, key := range keys {
					_ = f.answerOf(f.runAsync(func() error { return modify(key) }), 0)
				}
				require.True(t, f.gateway.Ready(1))
				f.requireWholeTree(2)
				f.shutDown()
				f.advance(2 * time.Second) // see startFixture
				require.Zero(t, d.addOpen(0))
				goleak.VerifyNone(t, append(synctestGoroutines, before)...)
			}, func(f *fixture) { d.Driver = f.hardware; f.settings.Driver = d })
		})
	}
}

// What metrics and the control screen show of it.

// Each panic is counted by the kind of its actor, listed with its lane and message, and leaves no message
// counted as waiting.
func TestPanicsAreCountedByKindAndListedByLane(t *testing.T) {
	driver := &fakeDriver{}
	runFixture(t, func(t *testing.T, f *fixture) {
		for _, kind := range []string{"range", "events", "lane", "connection"} {
			require.Zero(t, f.metricValue("rangegate_actor_restarts_total", kind))
		}
		session := f.create(0, 30)
		require.ErrorIs(t, f.tryNilCommand(session), lanes.ErrInternal)
		f.advance(time.Second)
		f.panicLane(1)
		f.advance(time.Second)
		f.panicEventsActor()
		driver.newest().panicOnSend() // of lane 1, which dialled last
		f.setHold(rangeScope)
		f.advance(lastBackoff)
		f.addresses.sendRoot((*toLane)(nil))
		f.advance(lastBackoff)

		want := map[string]int{"range": 1, "events": 1, "lane": 2, "connection": 1}
		health := f.Actors()
		require.Equal(t, want, health.Restarts)
		for kind, n := range want {
			require.Equal(t, float64(n), f.metricValue("rangegate_actor_restarts_total", kind), kind)
		}
		require.Equal(t, 2, health.RestartedLanes)
		latest, first := health.Restarted[0], health.Restarted[1]
		require.Equal(t, lanes.LaneRestarts{
			Lane: f.laneID(1), Name: "Lane 2", Restarts: 2, Last: latest.Last, Kind: "connection", Message: "sendState",
		}, latest)
		require.Equal(t, lanes.LaneRestarts{
			Lane: f.laneID(0), Name: "Lane 1", Restarts: 1, Last: first.Last, Kind: "lane", Message: "none",
		}, first)
		f.requireWholeTree(2)
	}, withDriver(driver))
}

// The counts are of this process.
func TestTheHealthOfActors(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.panicLane(0)
		f.panicLane(1)
		f.panicEventsActor()
		f.advance(time.Second)
		require.Equal(t, map[string]int{"lane": 2, "events": 1}, f.Health().Restarts)
		f.restart()
		require.Empty(t, f.Health().Restarts)
	})
}

// The actors of the tree are counted, through panics and links that break and return.
func TestTheRunningActorsAreCounted(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		whole := map[string]int{"range": 1, "events": 1, "lane": 3, "connection": 3}
		require.Equal(t, whole, f.Actors().Live)
		restoreLink := f.cutLink(1)
		f.advance(time.Second)
		f.panicLane(0)
		f.panicEventsActor()
		restoreLink()
		f.advance(time.Minute)
		require.Equal(t, whole, f.Actors().Live)
		require.NotEmpty(t, f.gateway.Waiting(), "every kind is listed")
		for kind, waiting := range f.gateway.Waiting() {
			require.Zero(t, waiting, kind)
		}
		r := f.Range
		f.shutDown()
		for kind, left := range r.tree.Live() {
			require.Zero(t, left, kind)
		}
	}, withLanes(3))
}

// An events actor that panics at whatever it does is begun again without haste.
func TestAnEventsActorThatPanicsAgainAndAgainIsBegunAgainRarely(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for range maxPanics + 3 {
			f.panicEventsActor()
		}
		began := f.Health().Restarts[eventsKind]
		require.Equal(t, maxPanics+2, began)
		f.advance(supervised.RestartPause + time.Second)
		require.Greater(t, f.Health().Restarts[eventsKind], began)
	})
}
