package simulation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rangegate/lanes"
	"rangegate/test/simulation/memory"
)

// machine is a computer on which one gateway runs. Everything that the gateway reaches passes io: while the
// machine is frozen nothing comes out of it and nothing gets in, and once it is dead nothing ever does. The
// goroutines of a dead gateway cannot be killed; they find every neighbour gone, and end.
type machine struct {
	name string
	host string // an IP address
	clk  *machineClock

	mu      sync.Mutex
	frost   chan struct{} // nil unless it is frozen
	current *life
}

// life is one run of the gateway, from its start to its death or its stop.
type life struct {
	ended    chan struct{} // closed when the machine has killed it
	stopped  chan struct{} // closed when it is to stop
	over     chan struct{} // closed when it has stopped
	once     sync.Once
	stopOnce sync.Once

	serves atomic.Bool                   // its start has succeeded
	former atomic.Pointer[memory.Server] // the master of before, which it is still connected to

	mu      sync.Mutex
	dead    bool
	onDeath []func()
}

func newLife() *life {
	return &life{ended: make(chan struct{}), stopped: make(chan struct{}), over: make(chan struct{})}
}

var errDead = errors.New("the process is dead")

func newMachine(n int) *machine {
	name := fmt.Sprint("node-", n)
	return &machine{name: name, host: fmt.Sprint("10.0.0.", n+1), clk: newMachineClock(name), current: newLife()}
}

// address is that of a connection's end. A client has none of its own.
func (m *machine) address() string {
	if m == nil {
		return "10.0.1.1:40000"
	}
	return m.host + ":8080"
}

// life returns the present run.
func (m *machine) life() *life {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// io waits while the machine is frozen. An error means that the process is dead, or that ctx has ended.
func (m *machine) io(ctx context.Context) error {
	if m == nil {
		return ctx.Err()
	}
	return m.life().io(ctx, m)
}

// io is that of one life: a call that it began before its death fails.
func (l *life) io(ctx context.Context, m *machine) error {
	for {
		select {
		case <-l.ended:
			return errDead
		default:
		}
		thaws := m.thaws()
		if thaws == nil {
			return ctx.Err()
		}
		select {
		case <-thaws:
		case <-l.ended:
			return errDead
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *machine) frozen() bool { return m.thaws() != nil }

// thaws is closed when the machine is not frozen any more. It is nil, which is never ready, while it is not
// frozen.
func (m *machine) thaws() <-chan struct{} {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.frost
}

// freeze stops everything that the machine sends and gets, until unfreeze.
func (m *machine) freeze() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.frost == nil {
		m.frost = make(chan struct{})
	}
}

func (m *machine) unfreeze() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.frost != nil {
		close(m.frost)
		m.frost = nil
	}
}

// onDeath has do called when the present run is killed.
func (m *machine) onDeath(do func()) {
	l := m.life()
	l.mu.Lock()
	dead := l.dead
	if !dead {
		l.onDeath = append(l.onDeath, do)
	}
	l.mu.Unlock()
	if dead {
		do()
	}
}

// kill ends the present run as kill -9 does. The next one is another life.
func (m *machine) kill() {
	l := m.life()
	l.once.Do(func() { close(l.ended) })
	l.mu.Lock()
	l.dead = true
	do := l.onDeath
	l.onDeath = nil
	l.mu.Unlock()
	for _, broken := range do {
		broken()
	}
	m.mu.Lock()
	m.current = newLife()
	m.mu.Unlock()
}

// machineClock is a machine's clock.Clock. The bubble's time is the true one.
type machineClock struct {
	machine string

	mu    sync.Mutex
	boot  int
	since time.Time     // the true time of the boot
	mono  time.Duration // of the boot clock then
	wall  time.Duration // by which the wall clock was ahead of the true time then
	ppm   int64         // by which both clocks are fast, in millionths

	panics int // so many times a lane that reads it panics
}

func newMachineClock(machine string) *machineClock {
	return &machineClock{machine: machine, since: time.Now(), mono: time.Minute}
}

// Now implements clock.Clock.
func (c *machineClock) Now() lanes.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.panics > 0 && isReadByLane() {
		c.panics--
		panic("a defect of a lane")
	}
	ran := time.Since(c.since)
	ran += ran / 1_000_000 * time.Duration(c.ppm)
	return lanes.Instant{Wall: c.since.Add(c.wall + ran).UTC().Round(0), Mono: c.mono + ran}
}

// isReadByLane reports whether a lane's actor has called Now, as it does with each message.
func isReadByLane() bool {
	callers := make([]uintptr, 4)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if !strings.HasSuffix(frame.Function, ".Now") {
			return strings.HasSuffix(frame.Function, "(*laneActor).Receive")
		}
		if !more {
			return false
		}
	}
}

// plantPanics has the lane that is next to take a message panic so many times.
func (c *machineClock) plantPanics(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.panics = n
}

// Boot implements clock.Clock.
func (c *machineClock) Boot() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.machine, " boot ", c.boot)
}

// step sets the wall clock.
func (c *machineClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall += d
}

// correct sets the wall clock to the true time, as the time service of a machine does.
func (c *machineClock) correct() {
	now := c.Now()
	c.step(time.Since(now.Wall))
}

// drift makes both clocks fast from now on.
func (c *machineClock) drift(ppm int64) {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.mono, c.since, c.ppm = time.Until(now.Wall), now.Mono, time.Now(), ppm
}

// reboot starts the boot clock again. The wall clock goes on.
func (c *machineClock) reboot() {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boot++
	c.wall, c.mono, c.since = time.Until(now.Wall), time.Minute, time.Now()
}

// killed is true once the run was killed.
func (l *life) killed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// stop ends the present run in order: what it has to save it saves.
func (m *machine) stop() {
	l := m.life()
	l.stopOnce.Do(func() { close(l.stopped) })
}

// isStopped waits until the run has ended that is to stop. The next one is another life.
func (m *machine) isStopped() {
	<-m.life().over
	m.mu.Lock()
	m.current = newLife()
	m.mu.Unlock()
}
