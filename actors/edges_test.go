package actors

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/store"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// gate is a log that holds up whoever writes such a line, once, until it is let go.
type gate struct {
	line   string
	armed  atomic.Bool
	passed chan struct{}
}

func (g *gate) Write(line []byte) (int, error) {
	if strings.Contains(string(line), g.line) && g.armed.CompareAndSwap(true, false) {
		<-g.passed
	}
	return len(line), nil
}

// slowDial is a driver whose dials wait, and whose controllers come up holding.
type slowDial struct {
	link.Driver
	wait atomic.Pointer[chan struct{}]
}

func (s *slowDial) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	held := s.wait.Load()
	if held != nil {
		<-*held
	}
	connection, hello, err := s.Driver.Dial(ctx, lane, to)
	hello.Hold = hello.Hold || held != nil
	return connection, hello, err
}

// What the lane wanted before it heard the hello does not reach a controller that came up holding: its fire line would
// open.
func TestNoStateFromBeforeTheHelloReachesAControllerThatHolds(t *testing.T) {
	busy := &gate{line: `"result":"overloaded"`, passed: make(chan struct{})}
	var hardware witness
	slow := &slowDial{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		busy.passed = make(chan struct{})
		session := g.create(0, 30)
		g.pass(time.Second)
		dial := make(chan struct{})
		slow.wait.Store(&dial)
		g.controller(0).Cut(errNoAnswer)
		g.pass(firstBackoff) // it is being dialled
		came := time.Now()

		release := g.holdFlushes()
		for range maxWaiting + 1 {
			g.begin(func() error { return g.tryModify(session, 1) })
		}
		busy.armed.Store(true)
		g.begin(func() error { return g.tryModify(session, 1) }) // one too many: the lane is at its log
		require.False(t, busy.armed.Load())
		release() // what was saved comes to the lane's mailbox
		synctest.Wait()
		close(dial) // and after it the hello
		synctest.Wait()
		close(busy.passed)
		synctest.Wait()
		g.pass(time.Second)
		require.Equal(t, []lanes.Scope{g.overLane(0)}, g.inForce())
		require.False(t, hardware.opened(g.lane(0), came), "the fire line was opened, and closed again")
		requireOnlyHeld(t, hardware.told(g.lane(0), came))
	}, withBays, withLog(zerolog.New(busy)), func(g *rig) {
		watchedBy(&hardware)(g)
		slow.Driver = &hardware
		g.settings.Driver = slow
	})
}

// The hello's faults keep their place among the reports.
func TestAnOldHelloDoesNotWipeANewFault(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		release := g.holdFlushes()
		g.begin(func() error { return g.tryModify(session, 1) })
		g.controller(0).Cut(errNoAnswer)
		g.pass(firstBackoff) // hello: no faults
		g.fault(0, "lamp")
		release()
		g.pass(time.Second)
		g.requireFaulty(0, "lamp")
	})
}

// The same the other way round: cleared after the hello, and not usable for ever.
func TestAnOldHelloDoesNotBringBackAClearedFault(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session := g.create(0, 30)
		g.fault(0, "lamp")
		release := g.holdFlushes()
		g.begin(func() error { return g.tryModify(session, 1) })
		g.controller(0).Cut(errNoAnswer)
		g.pass(firstBackoff) // hello: lamp
		g.clearFaults(0)
		release()
		g.pass(time.Second)
		g.requireFaulty(0, "")
	})
}

// A hello that comes while the store is away is kept.
func TestTheFaultsOfAHelloOutlastAnOutage(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			s := &greeting{}
			inFakeTime(t, func(t *testing.T, g *rig) {
				g.store.hook(outage)
				s.faults.Store(&[]string{"lamp"})
				g.controller(0).Cut(errNoAnswer)
				g.pass(5 * time.Second)
				g.storeReturns()
				g.pass(time.Minute)
				g.requireFaulty(0, "lamp")
			}, func(g *rig) { s.Driver = g.hardware; g.settings.Driver = s })
		})
	}
}

// A hello that comes while the lane is parked, or has its queue full, is kept as well.
func TestTheFaultsOfAHelloToAParkedLaneAreHeard(t *testing.T) {
	s := &greeting{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		for range maxPanics + 1 {
			g.crash(0)
		}
		g.pass(firstBackoff)
		s.faults.Store(&[]string{"lamp"})
		g.controller(0).Cut(errNoAnswer)
		g.pass(parkedFor + time.Second)
		g.requireFaulty(0, "lamp")
	}, func(g *rig) { s.Driver = g.hardware; g.settings.Driver = s })
}

// greeting is a driver whose controllers come up with faults they have not reported.
type greeting struct {
	link.Driver
	faults atomic.Pointer[[]string]
}

func (s *greeting) Dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	connection, hello, err := s.Driver.Dial(ctx, lane, to)
	if faults := s.faults.Load(); faults != nil {
		hello.Faults = *faults
	}
	return connection, hello, err
}

// After a panic of the range's actor its record of holds goes on where it was: what is answered as saved is.
func TestAHoldAfterAPanicOfTheRangeIsSaved(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		for range 3 {
			g.hold(everywhere)
			g.lift(everywhere)
		}
		g.sendRoot((*toLane)(nil))
		g.pass(time.Second)
		require.True(t, g.hold(everywhere).Saved)
		require.True(t, g.onRecord().Has(everywhere))
		g.kill()
		g.start()
		g.requireHeld(0, 1)
	})
}

// The hold is lifted and saved as such, and the lane's own release is refused by the store: it is tried again.
func TestALaneWhoseReleaseWasRefusedIsOpenedInTheEnd(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.hold(everywhere)
		g.store.hook(onlyWith(func(b store.Batch) bool { return !lifts(b) }, refuses))
		g.lift(everywhere)
		require.Empty(t, g.inForce())
		g.storeReturns()
		g.pass(time.Minute)
		g.requireHeld()
		g.requireOpen(0)
	})
}

// A lane that is parked is held by the gateway itself. When its link breaks meanwhile, nobody has to lift anything.
func TestAParkedLaneWhoseLinkBreaksIsNotHeldForGood(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		for range maxPanics + 1 {
			g.crash(0)
		}
		g.pass(firstBackoff)
		require.True(t, g.controller(0).Shown().Hold)
		g.controller(0).Cut(errNoAnswer)
		g.pass(parkedFor)
		require.Empty(t, g.inForce())
		g.requireOpen(0)
	})
}

// A timer of a life before the panic does not wake the reports while one is looked up: each is taken in its turn.
func TestATimerOfBeforeAPanicDoesNotMixUpTheReports(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		session, letBack := g.gone(0)
		g.create(0, 30)
		history := g.watchLookUps()
		g.store.hook(refuses)
		letBack() // looked up, refused by the store: it rests for a second, again and again
		g.callHelp(0)
		g.store.hook(nil)
		goOn := history.hold()
		g.crash(0)
		g.pass(firstBackoff) // told again, and looked up again
		g.pass(3 * time.Second)
		goOn()
		g.pass(lastBackoff)
		require.Zero(t, g.controller(0).Unacked())
		require.Equal(t, 1, countKind(g.happened(session), lanes.CarrierHit))
	})
}

// A controller that is found faulty after its link was down for a while is first tried again within 15 s.
func TestTheFirstTryOfAFaultyControllerComesInTime(t *testing.T) {
	s := &switchboard{answer: fails}
	onLine(t, s, func(t *testing.T, g *rig) {
		for range 40 {
			s.answers(fails)
			g.pass(2 * time.Minute)
			before := len(s.dialled())
			s.answers(isFaulty)
			for len(s.dialled()) == before {
				g.pass(time.Second)
			}
			g.pass(16 * time.Second)
			require.Greater(t, len(s.dialled()), before+1)
			s.answers(fails)
			g.pass(20 * time.Minute)
		}
	})
}

// A lift where no hold is ends none: a controller that comes up holding afterwards stays held.
func TestLiftingNothingReleasesNothing(t *testing.T) {
	var hardware witness
	var willful stubborn
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		g.lift(everywhere)
		g.pass(24 * time.Hour)
		g.create(0, 30)
		willful.holds.Store(true)
		g.reconnects(0)
		require.Equal(t, []lanes.Scope{g.overLane(0)}, g.inForce())
	}, withBays, watchedStubborn(&willful, &hardware))
}

// A parked lane does not make a ceasefire look unsaved.
func TestAHoldIsSavedAlthoughALaneIsParked(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		for range maxPanics + 1 {
			g.crash(0)
		}
		g.pass(firstBackoff)
		asked := time.Now()
		require.True(t, g.hold(everywhere).Saved)
		require.Equal(t, asked, time.Now())
	})
}
