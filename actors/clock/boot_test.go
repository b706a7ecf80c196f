package clock

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// machine is the clocks that a bootClock reads.
type machine struct {
	wall, awake, boot time.Duration
	asked             int    // the kernel was
	meanwhile         func() // before every single reading
}

func (m *machine) clock() *bootClock {
	return newBootClock(
		func() (time.Time, time.Duration) {
			m.meanwhile()
			wall := m.wall
			m.meanwhile()
			return time.Unix(0, int64(wall)).UTC(), m.awake
		},
		func() time.Duration {
			m.meanwhile()
			m.asked++
			return m.boot
		})
}

func (m *machine) pass(d time.Duration)    { m.wall, m.awake, m.boot = m.wall+d, m.awake+d, m.boot+d }
func (m *machine) suspend(d time.Duration) { m.wall, m.boot = m.wall+d, m.boot+d }
func (m *machine) set(d time.Duration)     { m.wall += d }

func newMachine() *machine {
	return &machine{wall: 1e18, boot: time.Hour, meanwhile: func() {}}
}

// Whatever happens, whichever two readings it falls between, and if others read the clock there.
func TestTheBootClockIsTheKernels(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	m := newMachine()
	within := func(d time.Duration) time.Duration { return time.Duration(chance.Int64N(int64(d))) }
	happens := func() {
		switch chance.IntN(40) {
		case 0: // somebody else had the processor
			m.pass(within(5 * time.Millisecond))
		case 1:
			m.suspend(within(time.Second))
		case 2:
			m.suspend(within(2 * slack))
		case 3:
			m.set([]time.Duration{time.Hour, -time.Hour}[chance.IntN(2)])
		default:
			m.pass(within(100 * time.Nanosecond))
		}
	}
	m.meanwhile = happens
	c := m.clock()
	latest := c.now().Mono
	others := false
	m.meanwhile = func() {
		happens()
		if others && chance.IntN(4) == 0 {
			others = false // they are not looked at by others themselves
			begun := m.boot
			if now, known := c.reckon(); known {
				require.LessOrEqual(t, now.Mono, m.boot, "ahead, of others")
				require.GreaterOrEqual(t, now.Mono, begun-lagsAtMost, "behind, of others")
				latest = max(latest, now.Mono)
			}
			others = true
		}
	}
	for range 20_000 {
		if chance.IntN(2) == 0 {
			m.pass(within(slack))
		}
		happens()
		begun, before := m.boot, latest
		others = true
		now := c.now().Mono
		others = false
		require.LessOrEqual(t, now, m.boot, "ahead")
		require.GreaterOrEqual(t, now, begun-lagsAtMost, "behind")
		require.GreaterOrEqual(t, now, before, "back")
		latest = max(latest, now)
	}
}

func TestTheWallClockIsReadEachTime(t *testing.T) {
	m := newMachine()
	c := m.clock()
	for _, step := range []time.Duration{0, 1, time.Microsecond, -time.Microsecond, time.Hour, -2 * time.Hour} {
		m.set(step)
		m.pass(time.Microsecond)
		now := c.now()
		require.Equal(t, int64(m.wall), now.Wall.UnixNano())
		require.Equal(t, m.boot, now.Mono)
	}
}

func TestTheKernelIsAskedNowAndThen(t *testing.T) {
	m := newMachine()
	c := m.clock()
	m.asked = 0
	for range 1000 {
		m.pass(time.Microsecond)
		c.now()
	}
	require.Equal(t, 1, m.asked, "in a millisecond")
	m.suspend(time.Second)
	c.now()
	require.Equal(t, 2, m.asked)
	m.set(time.Second)
	c.now()
	require.Equal(t, 3, m.asked)
	c.now()
	require.Equal(t, 3, m.asked, "once each")
}

// Nothing tells such a suspend but the kernel.
func TestASuspendThatTheWallClockHidesIsMissedForAMoment(t *testing.T) {
	m := newMachine()
	c := m.clock()
	m.suspend(time.Hour)
	m.set(-time.Hour)
	m.pass(askEvery)
	require.Equal(t, m.boot, c.now().Mono)
}

func TestTheKernelIsRightWhateverItSays(t *testing.T) {
	m := newMachine()
	c := m.clock()
	m.boot -= time.Minute
	m.pass(askEvery)
	require.Equal(t, m.boot, c.now().Mono)
	require.Equal(t, m.boot, c.now().Mono)
}

func TestASystemClockIsTheKernels(t *testing.T) {
	c, err := NewSystem()
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20_000 {
				before, err := askKernel()
				assert.NoError(t, err)
				now := c.Now().Mono
				after, err := askKernel()
				assert.NoError(t, err)
				assert.LessOrEqual(t, now, after)
				assert.GreaterOrEqual(t, now, before-lagsAtMost)
			}
		})
	}
	all.Wait()
}
