package actors

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/hardware"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

func TestALinkThatCannotBeMadeBacksOff(t *testing.T) {
	driver := &fakeDriver{dialResult: failDial}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		f.advance(15 * time.Minute)
		gaps, short, long := driver.dialGaps(), 0, 0
		ceiling := firstBackoff
		for _, gap := range gaps {
			require.LessOrEqual(t, gap, ceiling)
			ceiling = min(2*ceiling, lastBackoff)
			if gap > lastBackoff/2 {
				long++
			} else {
				short++
			}
		}
		require.Greater(t, len(gaps), 60, "bounded by 15 s")
		require.Greater(t, short, 20, "with full jitter")
		require.Greater(t, long, 20, "with full jitter")
	})
}

func TestALinkThatWasUpForAWhileIsRedialledSoon(t *testing.T) {
	driver := &fakeDriver{dialResult: failDial}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		f.advance(time.Minute)
		driver.setDialResult(nil)
		f.advance(lastBackoff)
		for range 5 {
			f.advance(hardware.SettledAfter)
			driver.newest().fail()
			before := driver.connectionCount()
			f.advance(firstBackoff)
			require.Equal(t, before+1, driver.connectionCount())
		}
	})
}

func TestALinkThatKeepsBreakingBacksOff(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		var waited time.Duration
		for i := range 40 {
			f.advance(time.Second)
			broken := time.Now()
			driver.newest().fail()
			f.advance(lastBackoff)
			waited += driver.finishedDials()[i+1].begun.Sub(broken)
		}
		require.Greater(t, waited, 40*time.Second, "it backs off although each dial succeeds")
	})
}

func TestADialThatHangsIsGivenUp(t *testing.T) {
	driver := &fakeDriver{dialResult: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		f.advance(5 * time.Minute)
		require.Greater(t, len(driver.finishedDials()), 5*60/20)
		for _, dial := range driver.finishedDials() {
			require.Equal(t, 5*time.Second, dial.took)
		}
	})
}

func TestStoppingTheGatewayClosesALinkThatIsBeingMade(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		late := make(chan struct{})
		driver.newest().fail()
		driver.setDialResult(func(context.Context) error {
			<-late
			return nil
		})
		f.advance(lastBackoff)
		time.AfterFunc(time.Second, func() { close(late) })
		f.shutDown()
		require.Equal(t, 2, driver.connectionCount())
		for _, connection := range driver.connections {
			require.True(t, connection.isClosed())
		}
	})
}

func TestMessagesOfAnOldConnectionAreIgnored(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.createWaiting(0, 30)
		old := driver.newest()
		old.fail()
		require.True(t, old.isClosed())
		f.advance(firstBackoff)
		require.Equal(t, 2, driver.connectionCount())
		old.receiver.Reported(lanes.Report{
			Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportEntered,
			Session: session,
		})
		old.fail()
		old.receiver.Applied(1)
		f.advance(time.Minute)
		require.Equal(t, 2, driver.connectionCount())
		require.False(t, driver.newest().isClosed())
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		require.Equal(t, lanes.Waiting, f.Sessions()[0].Phase)
	})
}

// The link is renewed during a dial: of the two dials only the later one counts, whichever ends first.
func TestADialThatEndsTooLateIsClosed(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		returns := []chan struct{}{make(chan struct{}), make(chan struct{})}
		dials := make(chan chan struct{}, 2)
		dials <- returns[0]
		dials <- returns[1]
		driver.setDialResult(func(context.Context) error { // it ignores ctx
			<-<-dials
			return nil
		})
		driver.newest().fail()
		f.advance(firstBackoff)
		f.sendToLane(0, &renewLink{errRenewed})
		f.advance(firstBackoff)
		require.Empty(t, dials, "both are under way")

		close(returns[0])
		synctest.Wait()
		require.True(t, driver.newest().isClosed())
		require.Empty(t, driver.newest().sentStates())
		require.Equal(t, lanes.LinkDown, f.Lanes()[0].Link)
		close(returns[1])
		synctest.Wait()
		require.Equal(t, 3, driver.connectionCount())
		require.NotEmpty(t, driver.newest().sentStates())
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
	})
}

// The redial is due while the lane is blocked and a renewal waits in its mailbox: that makes one link, not two.
func TestALinkThatIsRenewedWhenItsRedialIsDueIsMadeOnce(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		driver.newest().fail()
		unblock := make(chan struct{})
		f.sendToLane(0, &request{ctx: t.Context(), command: lanes.Modify{Minutes: 1}, done: func(bool) { <-unblock }})
		f.addresses.sendTo(f.laneID(0), &renewLink{errRenewed})
		f.advance(firstBackoff)
		close(unblock)
		f.advance(time.Minute)
		require.Equal(t, 2, driver.connectionCount())
		require.False(t, driver.newest().isClosed())
	})
}

// A dial that is no longer wanted ends at once and frees its turn.
func TestADialThatIsNoLongerWantedIsCancelled(t *testing.T) {
	for name, cancel := range map[string]func(*fixture){
		"the link is renewed": func(f *fixture) { f.sendToLane(0, &renewLink{errRenewed}) },
		"panic":               func(f *fixture) { f.panicLane(0) },
	} {
		t.Run(name, func(t *testing.T) {
			driver := &fakeDriver{}
			runWithDriver(t, driver, func(t *testing.T, f *fixture) {
				driver.setDialResult(func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
				driver.newest().fail()
				f.advance(firstBackoff)
				before := len(driver.finishedDials())
				cancel(f)
				require.Len(t, driver.finishedDials(), before+1)
				require.Less(t, driver.finishedDials()[before].took, firstBackoff)
			})
		})
	}
}

// The controller repeats its unacked reports as soon as it is connected, before the dial has returned.
func TestAReportThatArrivesDuringTheDialIsAcked(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		help := lanes.Report{Log: lanes.Log{ID: "log", Seq: 1}, Kind: lanes.ReportHelp}
		connected := make(chan struct{})
		driver.setFirstReports(help)
		driver.setDialResult(func(context.Context) error {
			<-connected
			return nil
		})
		driver.newest().fail()
		f.advance(lastBackoff)
		close(connected)
		synctest.Wait()
		require.Equal(t, []lanes.Log{help.Log}, driver.newest().sentAcks())
	})
}

// What is sent to the hardware: the newest wanted state, whatever happens to the link meanwhile.

func TestAStopGivenWhileTheLaneIsOfflineIsEnforcedOnItsReturn(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		restoreLink := f.cutLink(0)
		f.advance(10 * time.Second)
		f.modify(session, 10)
		f.pause(session)
		f.resume(session)
		f.stop(session)
		require.True(t, f.isOpen(0), "the hardware was not reached")
		offline := time.Now()
		restoreLink()
		require.Equal(t, uuid.Nil, f.controller(0).Shown().Session)
		states := recorder.sent(f.laneID(0), offline)
		require.NotEmpty(t, states)
		for _, state := range states {
			require.Nil(t, state.state.Session, "only the newest counts")
		}
	}, withRecorder(&recorder))
}

func TestHardwareThatLostPowerIsSentItsStateAgain(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(10 * time.Minute)
		f.controller(0).PowerCut(true)
		require.False(t, f.isOpen(0))
		f.advance(time.Second)
		require.True(t, f.isOpen(0))
		require.Equal(t, f.remaining(session), f.controller(0).Shown().Remaining)
	})
}

func TestARestartOfTheGatewayChangesNoFireLine(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(10 * time.Minute)
		restarted := time.Now()
		for range 3 {
			f.restart()
			f.advance(time.Second)
			require.Equal(t, session, f.controller(0).Shown().Session)
		}
		for _, sent := range recorder.sent(f.laneID(0), restarted) {
			require.True(t, sent.open)
			require.Equal(t, session, sent.state.Session.ID)
		}
	}, withRecorder(&recorder))
}

func TestHardwareIsSentNothingUntilItsLaneIsLoaded(t *testing.T) {
	var recorder driverRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(time.Minute)
		release := f.blockFlushes()
		modified := f.runAsync(func() error { return f.tryModify(session, 10) })
		began := time.Now()
		f.panicLane(0) // its last state is not known before the flush has ended
		f.advance(800 * time.Millisecond)
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		require.Empty(t, recorder.sent(f.laneID(0), began))
		require.True(t, f.isOpen(0))
		release()
		require.ErrorIs(t, f.answerOf(modified, 0), lanes.ErrTimeout)
		require.Equal(t, 39*time.Minute-800*time.Millisecond, f.controller(0).Shown().Remaining)
		require.True(t, f.isOpen(0))
	}, withRecorder(&recorder))
}

// Controllers that answer and are not in order: another lane's, one that refuses the hello, one that breaks the rules.

func TestAFaultyControllerMakesItsLaneUnusableAfterTheGrace(t *testing.T) {
	driver := &fakeDriver{}
	for name, breakLink := range map[string]func(){
		"from one dial to the next": func() { driver.newest().fail() },
		"while it is connected":     func() { driver.newest().receiver.Down(errAnotherLane) },
	} {
		t.Run(name, func(t *testing.T) {
			runWithDriver(t, driver, func(t *testing.T, f *fixture) {
				session := f.create(0, 60)
				driver.setDialResult(failDialFaulty)
				broken := f.clock.Now().Wall
				breakLink()
				f.advance(firstBackoff)
				status := f.Lanes()[0]
				require.Equal(t, lanes.LinkFaulty, status.Link)
				require.WithinRange(t, status.LinkSince, broken, broken.Add(firstBackoff))
				require.True(t, status.Lane.Usable, "within the grace")
				f.advance(30*time.Second - firstBackoff - time.Nanosecond)
				require.Empty(t, f.Lanes()[0].NotUsable)
				f.advance(time.Nanosecond)
				require.False(t, f.Lanes()[0].Lane.Usable)
				require.Equal(t, "its controller is faulty", f.Lanes()[0].NotUsable)
				require.Positive(t, f.metricValue("rangegate_links_total", "faulty"))
				f.modify(session, 5)
				f.stop(session)
				require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrLaneNotUsable)

				driver.setDialResult(nil)
				f.advance(lastFaultyBackoff)
				status = f.Lanes()[0]
				require.Equal(t, lanes.LinkUp, status.Link)
				require.True(t, status.Lane.Usable)
				require.Empty(t, status.NotUsable)
				f.create(0, 30)
			})
		})
	}
}

func TestAFaultyControllerIsTriedRarely(t *testing.T) {
	driver := &fakeDriver{dialResult: failDialFaulty}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		f.advance(10 * time.Hour)
		ceiling, long, longest := firstFaultyBackoff, 0, time.Duration(0)
		for _, gap := range driver.dialGaps() {
			require.LessOrEqual(t, gap, ceiling)
			if gap > lastFaultyBackoff/2 {
				long++
			}
			longest = max(longest, gap)
			ceiling = min(2*ceiling, lastFaultyBackoff)
		}
		require.Greater(t, long, 10)
		require.Greater(t, longest, lastFaultyBackoff*3/4, "with full jitter, bounded by 5 min")
		require.Less(t, len(driver.dialGaps()), 1000)
	})
}

func TestAFaultyLaneDisturbsNoOther(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(1, 60)
		f.controller(0).Pose(true)
		f.controller(0).Cut(errAnotherLane)
		before := f.Lanes()[1]
		f.advance(10 * time.Minute)
		require.Equal(t, lanes.LinkFaulty, f.Lanes()[0].Link)
		require.False(t, f.Lanes()[0].Lane.Usable)
		require.Equal(t, before, f.Lanes()[1])
		f.controller(0).Pose(false)
		f.advance(lastFaultyBackoff)
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		f.create(0, 30)
	})
}

func TestALaneIsUsableForTheGraceAfterItsLinkBroke(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		restoreLink := f.cutLink(0)
		broken := f.clock.Now().Wall
		status := f.Lanes()[0]
		require.Equal(t, lanes.LinkDown, status.Link)
		require.Equal(t, broken, status.LinkSince)

		f.advance(30*time.Second - time.Millisecond)
		require.True(t, f.Lanes()[0].Lane.Usable)
		require.Empty(t, f.Lanes()[0].NotUsable)
		f.advance(time.Millisecond)
		require.False(t, f.Lanes()[0].Lane.Usable)
		require.NotEmpty(t, f.Lanes()[0].NotUsable)
		require.Equal(t, broken, f.Lanes()[0].LinkSince, "failed redials do not change it")
		require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrLaneNotUsable)
		require.ErrorIs(t, f.tryMove(f.create(1, 30), 0), lanes.ErrLaneNotUsable)

		restoreLink()
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		require.True(t, f.Lanes()[0].Lane.Usable)
		require.Empty(t, f.Lanes()[0].NotUsable)
		f.create(0, 30)
	})
}

func TestALinkThatFlapsWithinTheGraceLeavesItsLaneUsable(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		for range 20 {
			restoreLink := f.cutLink(0)
			f.advance(14 * time.Second)
			require.True(t, f.Lanes()[0].Lane.Usable)
			restoreLink()
			require.True(t, f.Lanes()[0].Lane.Usable)
			require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		}
		f.create(0, 30)
	})
}

func TestASessionGoesOnWhileItsLaneIsNotUsable(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		restoreLink := f.cutLink(0)
		f.advance(5 * time.Minute)
		require.False(t, f.Lanes()[0].Lane.Usable)
		f.modify(session, 10)
		require.Equal(t, 35*time.Minute, f.remaining(session))
		require.False(t, f.Lanes()[0].Lane.Usable, "a change of the session does not make it usable")
		restoreLink()
		require.Equal(t, f.remaining(session), f.controller(0).Shown().Remaining)
	})
}

func TestALaneWhoseLinkNeverCameUp(t *testing.T) {
	driver := &fakeDriver{dialResult: failDial}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		f.advance(30 * time.Second)
		require.False(t, f.Lanes()[0].Lane.Usable)
		driver.setDialResult(nil)
		f.advance(lastBackoff)
		require.True(t, f.Lanes()[0].Lane.Usable)
	})
}

func TestTheGraceIsWhatIsConfigured(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.cutLink(0)
		f.advance(5*time.Minute - time.Millisecond)
		require.True(t, f.Lanes()[0].Lane.Usable)
		f.advance(time.Millisecond)
		require.False(t, f.Lanes()[0].Lane.Usable)
	}, withGrace(5*time.Minute))
}

// The grace counts from the moment that the link was lost, however its redials fail.
func TestTheGraceOfALinkThatIsDownAndFaultyInTurns(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		broken := time.Now()
		driver.newest().fail()
		driver.setDialResult(func(context.Context) error { // they are redialled within the grace
			if len(driver.finishedDials())%2 == 0 {
				return errNoAnswer
			}
			return link.ErrFaulty
		})
		f.advance(30*time.Second - time.Nanosecond)
		require.Greater(t, len(driver.finishedDials()), 2)
		require.Empty(t, f.Lanes()[0].NotUsable)
		f.advance(time.Nanosecond)
		require.Equal(t, broken.Add(30*time.Second), time.Now())
		reasons := map[lanes.LinkState]string{}
		for range 600 {
			reasons[f.Lanes()[0].Link] = f.Lanes()[0].NotUsable
			f.advance(100 * time.Millisecond)
		}
		require.Equal(t, map[lanes.LinkState]string{
			lanes.LinkFaulty: "its controller is faulty", lanes.LinkDown: "its link is down",
		}, reasons)
	})
}

// A controller that becomes faulty after its link was down for a while is first redialled within 15 s.
func TestAFaultyControllerIsFirstRetriedWithin15Seconds(t *testing.T) {
	driver := &fakeDriver{dialResult: failDial}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		for range 15 {
			driver.setDialResult(failDial)
			f.advance(2 * time.Minute)
			before := len(driver.finishedDials())
			driver.setDialResult(failDialFaulty)
			for len(driver.finishedDials()) == before {
				f.advance(time.Second)
			}
			f.advance(16 * time.Second)
			require.Greater(t, len(driver.finishedDials()), before+1)
			driver.setDialResult(failDial)
			f.advance(20 * time.Minute)
		}
	})
}

// The first failure of a link is logged as a warning; its failed redials are logged at debug level.
func TestALinkThatStaysDownIsLoggedOnce(t *testing.T) {
	logs := &logRecorder{}
	runFixture(t, func(t *testing.T, f *fixture) {
		require.Len(t, logs.lines(t, "link up"), 2)
		restoreLink := f.cutLink(0)
		f.advance(10 * time.Minute)
		down := logs.lines(t, "link down")
		require.Greater(t, len(down), 10)
		require.Equal(t, "warn", down[0]["level"])
		warnings := 0
		for _, line := range down {
			require.Equal(t, f.laneID(0).String(), line["lane_id"])
			if line["level"] == "warn" {
				warnings++
			}
		}
		require.LessOrEqual(t, warnings, 2, "one for the loss, one for the first failed redial")
		restoreLink()
		f.advance(lastBackoff)
		require.Len(t, logs.lines(t, "link up"), 3)
	}, withLog(zerolog.New(logs)))
}
