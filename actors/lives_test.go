package actors

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/actors/holds"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

// What reaches an actor between two of its lives, or while it stops.

// blockLane makes the i-th lane wait in the middle of a message until the returned function is called.
func (f *fixture) blockLane(i int) (unblock func()) {
	m := &vacate{ctx: f.Context(), reply: make(chan ticketReply)} // nobody reads yet
	f.sendToLane(i, m)
	return func() {
		if answer := <-m.reply; answer.ticket != nil {
			answer.ticket.drop()
		}
	}
}

// A report of the connection before a panic gets no ack from the next life: an earlier one that the panic
// cost would be forgotten.
func TestAReportOfTheConnectionBeforeAPanicIsNotAcked(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		release := f.blockFlushes()
		first := driver.newest()
		first.receiver.Reported(helpReport(session, 1)) // being saved
		synctest.Wait()
		first.receiver.Reported(helpReport(session, 2)) // waits in the lane
		synctest.Wait()
		unblock := f.blockLane(0)
		f.addresses.sendTo(f.laneID(0), &saveResult{}) // a panic
		first.receiver.Reported(helpReport(session, 3))
		unblock()
		synctest.Wait()
		release()
		f.advance(lastBackoff)

		second := driver.newest()
		require.NotSame(t, first, second)
		var acked uint64
		for _, log := range append(first.sentAcks(), second.sentAcks()...) {
			acked = max(acked, log.Seq)
		}
		for seq := acked + 1; seq <= 3; seq++ { // the controller sends again what got no ack
			second.receiver.Reported(helpReport(session, seq))
		}
		f.advance(time.Second)
		require.Equal(t, 3, countKind(f.eventKinds(session), lanes.Help), "acked up to %d", acked)
	})
}

func TestALinkThatCameUpBeforeAPanicIsNotShownAfterIt(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		goOn := make(chan struct{})
		driver.setDialResult(func(context.Context) error { <-goOn; return nil })
		f.panicLane(0) // the first dial of the new life waits
		unblock := f.blockLane(0)
		f.addresses.sendTo(f.laneID(0), &saveResult{}) // another panic
		driver.setDialResult(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		close(goOn) // the link is up, behind the panic
		synctest.Wait()
		unblock()
		synctest.Wait()
		require.True(t, driver.newest().isClosed())
		require.Equal(t, lanes.LinkDown, f.Lanes()[0].Link, "the controller does not answer")
	})
}

// panickingContext panics once when it is asked for the trace id, which a lane does between its decision and the save.
type panickingContext struct {
	context.Context
	panicked atomic.Bool
}

func (c *panickingContext) Value(key any) any {
	if fmt.Sprintf("%T", key) == "trace.key" && c.panicked.CompareAndSwap(false, true) {
		panic(errDefect)
	}
	return c.Context.Value(key)
}

func TestAPanicBetweenTheDecisionAndTheSaveIsAnswered(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		_, err := f.Create(&panickingContext{Context: f.requestContext()}, f.laneID(0), f.newSale(30), keyed("k", "f"))
		require.ErrorIs(t, err, lanes.ErrInternal)
		synctest.Wait()
		sold, err := f.Create(f.requestContext(), f.laneID(0), f.newSale(30), keyed("k", "f"))
		require.NoError(t, err, "the key is free again")

		_, err = f.Move(&panickingContext{Context: f.requestContext()}, sold.ID, f.laneID(1), nil)
		require.ErrorIs(t, err, lanes.ErrInternal)
		f.advance(time.Minute)
		require.NoError(t, f.tryCreate(1, 30), "the destination is free again")
	})
}

// A lane that stops because its range starts again is still there: a move to it is refused as during a start,
// not as to an unknown lane.
func TestATicketOfALaneThatStops(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		unblock := f.blockLane(1)
		m := &awaitMove{ctx: f.Context(), by: lanes.ByPOS, reply: make(chan ticketReply, 1)}
		f.addresses.sendTo(f.laneID(1), m)
		f.addresses.sendRoot((*toLane)(nil)) // the range's actor panics
		synctest.Wait()
		unblock()
		f.advance(time.Second)
		require.ErrorIs(t, (<-m.reply).err, lanes.ErrStarting)
	})
}

// blockingDriver has connections that a test can make wait, in Send, which panics then, or in Close.
type blockingDriver struct {
	mu          sync.Mutex
	connections []*blockingConnection
}

type blockingConnection struct {
	send, shut atomic.Pointer[chan struct{}]
	closed     atomic.Bool
}

func (d *blockingDriver) Dial(context.Context, link.Lane, link.Receiver) (link.Connection, link.Hello, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := &blockingConnection{}
	d.connections = append(d.connections, c)
	return c, link.Hello{}, nil
}

func (c *blockingConnection) Send(link.State) {
	if goOn := c.send.Load(); goOn != nil {
		<-*goOn
		panic(errDefect)
	}
}

func (c *blockingConnection) Ack(lanes.Log) {}

func (c *blockingConnection) Close() {
	if goOn := c.shut.Load(); goOn != nil {
		<-*goOn
	}
	c.closed.Store(true)
}

func (d *blockingDriver) newest() *blockingConnection {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.connections[len(d.connections)-1]
}

func (d *blockingDriver) countOpen() (open int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.connections {
		if !c.closed.Load() {
			open++
		}
	}
	return open
}

// The driver is slow, the lane hangs up and dials again, and then the driver panics: there is one connection,
// and none after the stop.
func TestADriverThatPanicsAfterTheLaneHungUpLeavesNoConnection(t *testing.T) {
	driver := &blockingDriver{}
	runFixture(t, func(t *testing.T, f *fixture) {
		goOn := make(chan struct{})
		driver.newest().send.Store(&goOn)
		f.runAsync(func() error { return f.tryCreate(0, 30) })
		f.sendToLane(0, &renewLink{errRenewed})
		f.advance(firstBackoff) // the next dial waits behind the driver
		close(goOn)
		f.advance(time.Minute)
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
		require.Equal(t, 1, driver.countOpen())
		f.shutDown()
		require.Zero(t, driver.countOpen())
	}, withDriver(driver), withLanes(1))
}

// Every actor works: the one that a probe was on its way to stopped for a restart.
func TestALaneThatRestartsAnswersTheProbe(t *testing.T) {
	driver := &blockingDriver{}
	runFixture(t, func(t *testing.T, f *fixture) {
		goOn := make(chan struct{})
		driver.newest().send.Store(&goOn)
		f.runAsync(func() error { return f.tryCreate(0, 30) })
		alive := f.runAsync(func() error { return f.checkAlive(10 * time.Second) })
		f.panicLane(0)
		close(goOn)
		f.advance(11 * time.Second)
		require.NoError(t, <-alive)
	}, withDriver(driver), withLanes(1))
}

func TestALaneThatIsStoppedDuringItsRestartIsCountedOnce(t *testing.T) {
	driver := &blockingDriver{}
	runFixture(t, func(t *testing.T, f *fixture) {
		goOn := make(chan struct{})
		driver.newest().shut.Store(&goOn)
		f.panicLane(0)                       // the restart waits for the connection
		f.addresses.sendRoot((*toLane)(nil)) // the range's actor restarts too
		synctest.Wait()
		close(goOn)
		f.advance(time.Second)
		f.requireWholeTree(1)
	}, withDriver(driver), withLanes(1))
}

// The time ends while a report is being saved: the fire line is closed, and no running state is sent any more.
func TestNothingRunsAgainAfterTheTimeIsOver(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.advance(30*time.Minute - time.Second)
		release := f.blockFlushes()
		driver.newest().receiver.Reported(helpReport(session, 1))
		synctest.Wait()
		before := len(driver.newest().sentStates())
		f.advance(time.Second + 100*time.Millisecond)
		release()
		f.advance(10 * time.Second)
		states := driver.newest().sentStates()[before:]
		require.NotEmpty(t, states)
		for _, state := range states {
			require.Nil(t, state.Session)
		}
	})
}

// Reports overflowed during an outage of the store. There is no link to make anew for them once a faulty
// controller waits for its back-off.
func TestALinkThatIsDownIsNotHungUp(t *testing.T) {
	driver := &fakeDriver{}
	runWithDriver(t, driver, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.store.setHook(refuseFlush)
		for seq := uint64(1); seq <= maxReports+100; seq++ {
			driver.newest().receiver.Reported(helpReport(session, seq))
		}
		synctest.Wait()
		driver.setDialResult(failDialFaulty)
		driver.newest().receiver.Down(errAnotherLane)
		synctest.Wait()
		before := f.metricValue("rangegate_links_total", "not_made")
		f.storeReturns()
		require.Equal(t, lanes.LinkFaulty, f.Lanes()[0].Link)
		require.Equal(t, before, f.metricValue("rangegate_links_total", "not_made"))
	})
}

// The range's actor panics on the message before its stop: it stops all the same.
func TestARangesActorThatPanicsBeforeItsStopStops(t *testing.T) {
	for name, stop := range map[string]func(f *fixture){
		"stop": func(f *fixture) { f.runAsync(func() error { return f.Range.stop(f.Context()) }) },
		"lost": func(f *fixture) { f.gateway.drop(f.Range) },
	} {
		t.Run(name, func(t *testing.T) {
			runFixture(t, func(t *testing.T, f *fixture) {
				reply := make(chan *holds.Progress) // nobody reads
				f.addresses.sendRoot(&setHold{scope: rangeScope, who: "sam", asked: f.clock.Now(), reply: reply})
				synctest.Wait()
				stop(f)
				f.advance(3 * time.Second)
				close(reply) // the actor panics
				f.advance(time.Minute)
				for kind, live := range f.Actors().Live {
					require.Zero(t, live, kind)
				}
			})
		})
	}
}
