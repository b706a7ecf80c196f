package actors

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// awaitingDriver is a driver that waits for every lane's controller.
type awaitingDriver struct {
	fakeDriver

	mu       sync.Mutex
	waiting  map[uuid.UUID]link.Waiter
	awaited  []time.Time
	panics   bool // Await panics
	dialling bool // the lanes are dialled instead
}

func (d *awaitingDriver) Awaits(uuid.UUID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.dialling
}

func (d *awaitingDriver) Await(lane link.Lane, waiter link.Waiter) (cancel func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.awaited = append(d.awaited, time.Now())
	if d.panics {
		panic("of the driver")
	}
	if d.waiting == nil {
		d.waiting = map[uuid.UUID]link.Waiter{}
	}
	d.waiting[lane.ID] = waiter
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.waiting[lane.ID] == waiter {
			delete(d.waiting, lane.ID)
		}
	}
}

func (d *awaitingDriver) waits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting)
}

func (d *awaitingDriver) awaits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.awaited)
}

// arrive is a controller that dials for the lane, with that outcome.
func (d *awaitingDriver) arrive(lane uuid.UUID, err error) (*fakeConnection, link.Waiter) {
	d.mu.Lock()
	waiter := d.waiting[lane]
	delete(d.waiting, lane)
	d.mu.Unlock()
	if err != nil {
		waiter.Arrived(nil, link.Hello{}, err)
		return nil, waiter
	}
	made := &fakeConnection{receiver: waiter, driver: &d.fakeDriver}
	waiter.Arrived(made, link.Hello{}, nil)
	return made, waiter
}

func (d *awaitingDriver) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func runAwaiting(t *testing.T, lanesIn int, test func(t *testing.T, f *fixture, d *awaitingDriver)) {
	d := &awaitingDriver{}
	runFixture(t, func(t *testing.T, f *fixture) { test(t, f, d) }, withLanes(lanesIn),
		func(f *fixture) { f.settings.Driver = d })
}

// Lanes wait for hours without a goroutine, a timer or another try, and are linked the moment that their
// controllers come.
func TestALaneWaitsForItsControllerForAnyTime(t *testing.T) {
	runAwaiting(t, 100, func(t *testing.T, f *fixture, d *awaitingDriver) {
		require.Equal(t, 100, d.waits())
		f.advance(time.Minute)
		earlier := goleak.IgnoreCurrent()
		f.advance(2 * time.Hour)
		require.Equal(t, 100, d.awaits(), "each waits once")
		require.NoError(t, goleak.Find(append(synctestGoroutines, earlier)...))
		require.Equal(t, lanes.LinkDown, f.Lanes()[7].Link)
		require.NotEmpty(t, f.Lanes()[7].NotUsable)

		d.arrive(f.laneID(7), nil)
		f.advance(0)
		require.Equal(t, lanes.LinkUp, f.Lanes()[7].Link)
		require.Empty(t, f.Lanes()[7].NotUsable)
		session := f.createWaiting(7, 30)
		require.NotNil(t, session)
	})
}

// A link that ends, however often, is waited for at once: nobody is dialled too often.
func TestALaneWaitsAgainAtOnce(t *testing.T) {
	runAwaiting(t, 1, func(t *testing.T, f *fixture, d *awaitingDriver) {
		for n := range 20 {
			made, _ := d.arrive(f.laneID(0), nil)
			f.advance(0)
			require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link)
			made.fail()
			f.advance(0)
			require.True(t, made.isClosed())
			require.Equal(t, 1, d.waits(), n)
		}
		d.arrive(f.laneID(0), link.ErrFaulty)
		f.advance(0)
		require.Equal(t, lanes.LinkFaulty, f.Lanes()[0].Link)
		require.Equal(t, 1, d.waits())

		// A defect of the driver is no controller's: it backs off.
		d.set(func() { d.panics = true })
		d.arrive(f.laneID(0), link.ErrFaulty)
		before := d.awaits()
		f.advance(time.Minute)
		require.Less(t, d.awaits()-before, 60)
		d.set(func() { d.panics = false })
		f.advance(lastBackoff)
		require.Equal(t, 1, d.waits())
	})
}

// A reload makes the other side dial. The wait ends with the range, and so does a link that comes too late.
func TestAWaitEnds(t *testing.T) {
	runAwaiting(t, 1, func(t *testing.T, f *fixture, d *awaitingDriver) {
		d.set(func() { d.dialling = true })
		require.NoError(t, f.reload(false, func(*Settings) {}, f.laneID(0)))
		f.advance(firstBackoff)
		require.Zero(t, d.waits())
		require.Equal(t, lanes.LinkUp, f.Lanes()[0].Link, "it was dialled")
		require.Equal(t, 1, d.connectionCount())

		d.set(func() { d.dialling = false })
		require.NoError(t, f.reload(false, func(*Settings) {}, f.laneID(0)))
		f.advance(0)
		require.True(t, d.newest().isClosed())
		require.Equal(t, 1, d.waits())

		_, waiter := d.arrive(f.laneID(0), nil)
		f.advance(0)
		f.shutDown()
		late := &fakeConnection{receiver: waiter, driver: &d.fakeDriver}
		waiter.Arrived(late, link.Hello{}, nil)
		require.True(t, late.isClosed())
		require.Zero(t, d.waits())
	})
}

// Staff see a second controller that was refused, with both addresses, for ten minutes after the last one.
func TestASecondControllerIsShownToStaff(t *testing.T) {
	runAwaiting(t, 1, func(t *testing.T, f *fixture, d *awaitingDriver) {
		_, waiter := d.arrive(f.laneID(0), nil)
		f.advance(0)
		waiter.Contested("192.0.2.7:41000", "192.0.2.1:40000")
		f.advance(9 * time.Minute)
		require.Equal(t, "192.0.2.7:41000", f.Lanes()[0].Contest.Refused)
		waiter.Contested("192.0.2.8:42000", "192.0.2.1:40000")
		f.advance(9 * time.Minute)
		require.Equal(t, "192.0.2.8:42000", f.Lanes()[0].Contest.Refused)
		require.Equal(t, "192.0.2.1:40000", f.Lanes()[0].Contest.Linked)
		f.advance(2 * time.Minute)
		require.Nil(t, f.Lanes()[0].Contest)
	})
}
