package actors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// What the hardware reports about itself: its faults, and its clock.

func TestALaneWhoseHardwareReportsAFaultIsNotUsable(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.reportFault(0, "the target motor is blocked")
		require.Zero(t, f.controller(0).Unacked())
		f.requireFaulty(0, "the target motor is blocked")
		f.requireFaulty(1, "")
		require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrLaneNotUsable)
		require.ErrorIs(t, f.tryMove(f.create(1, 30), 0), lanes.ErrLaneNotUsable)

		f.restart()
		f.requireFaulty(0, "the target motor is blocked")
		f.panicLane(0)
		f.advance(time.Second)
		f.requireFaulty(0, "the target motor is blocked")
		require.ErrorIs(t, f.tryCreate(0, 30), lanes.ErrLaneNotUsable)

		f.clearFaults(0)
		f.requireFaulty(0, "")
		f.create(0, 30)
		f.restart()
		f.requireFaulty(0, "")
	})
}

func TestASessionGoesOnWhereTheHardwareReportsAFault(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.reportFault(0, "lamp")
		f.requireOpen(0)
		f.pause(session)
		f.resume(session)
		f.modify(session, 5)
		f.requireFaulty(0, "lamp")
		f.requireOpen(0)
		f.move(session, 1)
		f.requireFaulty(0, "lamp")
		f.requireFaulty(1, "")
		require.NotContains(t, f.eventKinds(session), lanes.Help, "a fault is no event")
	})
}

// The hello of a new connection says which faults there are: what was reported before no longer counts.
func TestTheHelloReplacesTheFaultsReportedBefore(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		restoreLink := f.cutLink(0)
		f.reportFault(0, "lamp")
		f.reportFault(0, "door open")
		f.requireFaulty(1, "")
		restoreLink()
		require.False(t, f.Lanes()[0].Lane.Usable)
		require.Contains(t, f.Lanes()[0].NotUsable, "door open")

		restoreLink = f.cutLink(0)
		f.clearFaults(0)
		restoreLink()
		f.requireFaulty(0, "")

		f.reportFault(0, "lamp")
		f.shutDown()
		f.clearFaults(0)
		f.controller(0).PowerCut(true) // and forgets its reports
		f.start()
		f.requireFaulty(0, "")
	})
}

// A lane whose link is down and which has a fault is not usable for either reason; for the fault alone once
// its link is up.
func TestAFaultRemainsWhenTheLinkReturns(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.reportFault(0, "lamp")
		restoreLink := f.cutLink(0)
		f.advance(10 * time.Second)
		require.Equal(t, "its hardware reports: lamp", f.Lanes()[0].NotUsable)
		f.advance(20 * time.Second)
		require.Equal(t, "its link is down", f.Lanes()[0].NotUsable)
		restoreLink()
		f.requireFaulty(0, "lamp")
	})
}

func TestAFaultDuringAnOutageIsSavedWhenTheStoreReturns(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				f.store.setHook(outage)
				f.reportFault(0, "lamp")
				require.Equal(t, 1, f.controller(0).Unacked())
				f.storeReturns()
				f.advance(time.Second)
				f.requireFaulty(0, "lamp")
				require.Zero(t, f.controller(0).Unacked())
			})
		})
	}
}

func TestTheClockSkewOfAControllerIsCountedAndTheGatewaysTimeCounts(t *testing.T) {
	const metric = "rangegate_controller_times_off_total"
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(time.Minute)
		for _, c := range []struct {
			more    time.Duration
			counted float64
		}{{0, 0}, {0, 0}, {10 * time.Minute, 1}} {
			restoreLink := f.cutLink(0)
			if c.more > 0 { // the controller does not receive it
				f.modify(session, int(c.more.Minutes()))
			}
			restoreLink()
			require.Equal(t, c.counted, f.counterValue(metric))
			require.Equal(t, f.remaining(session), f.controller(0).Shown().Remaining, "the gateway's time counts")
		}
		restoreLink := f.cutLink(0)
		f.pause(session)
		f.advance(time.Second)
		restoreLink()
		require.Equal(t, 2.0, f.counterValue(metric), "the controller did not pause")

		restoreLink = f.cutLink(0)
		f.stop(session)
		f.create(0, 30)
		restoreLink()
		require.Equal(t, 2.0, f.counterValue(metric), "the time of another session is not compared")
		require.Len(t, f.eventKinds(session), 5)
	})
}

// The hello's faults keep their place in the order of the reports.
func TestAnOldHelloDoesNotClearANewFault(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		f.runAsync(func() error { return f.tryModify(session, 1) })
		f.controller(0).Cut(errNoAnswer)
		f.advance(firstBackoff) // hello: no faults
		f.reportFault(0, "lamp")
		release()
		f.advance(time.Second)
		f.requireFaulty(0, "lamp")
	})
}

// The reverse: the fault is cleared after the hello, and does not stay forever.
func TestAnOldHelloDoesNotBringBackAClearedFault(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.reportFault(0, "lamp")
		release := f.blockFlushes()
		f.runAsync(func() error { return f.tryModify(session, 1) })
		f.controller(0).Cut(errNoAnswer)
		f.advance(firstBackoff) // hello: lamp
		f.clearFaults(0)
		release()
		f.advance(time.Second)
		f.requireFaulty(0, "")
	})
}

// A hello that arrives while the store is down is kept.
func TestTheFaultsOfAHelloSurviveAnOutage(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			s := &faultReportingDriver{}
			runFixture(t, func(t *testing.T, f *fixture) {
				f.store.setHook(outage)
				s.faults.Store(&[]string{"lamp"})
				f.controller(0).Cut(errNoAnswer)
				f.advance(5 * time.Second)
				f.storeReturns()
				f.advance(time.Minute)
				f.requireFaulty(0, "lamp")
			}, func(f *fixture) { s.Driver = f.hardware; f.settings.Driver = s })
		})
	}
}

// A hello that arrives while the lane is parked is kept as well.
func TestTheFaultsOfAHelloToAParkedLaneAreKept(t *testing.T) {
	s := &faultReportingDriver{}
	runFixture(t, func(t *testing.T, f *fixture) {
		for range maxPanics + 1 {
			f.panicLane(0)
		}
		f.advance(firstBackoff)
		s.faults.Store(&[]string{"lamp"})
		f.controller(0).Cut(errNoAnswer)
		f.advance(parkedFor + time.Second)
		f.requireFaulty(0, "lamp")
	}, func(f *fixture) { s.Driver = f.hardware; f.settings.Driver = s })
}
