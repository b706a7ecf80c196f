package clock

import (
	"sync"
	"sync/atomic"
	"time"

	"rangegate/lanes"
)

// bootClock reads the wall clock and the kernel's boot clock at 50 ns instead of 300, which a system call takes. Between
// two answers of the kernel it adds the awake clock, Go's monotonic one, which stands still while the machine is suspended:
// the boot clock is ahead of it by what only a suspend changes.
//
// A suspend brings the wall clock forward by just as long. So the kernel is asked anew as soon as the wall clock has run
// apart from the awake clock, which setting it does too, and anyway every askEvery. What corrects the pace of the wall
// clock does so to all three.
//
// Mono never goes back, is never ahead of the kernel's boot clock, and behind it by less than lagsAtMost. It misses a suspend
// during which the wall clock was set back by as long as that took: until the machine has been awake for askEvery.
type bootClock struct {
	awake  func() (wall time.Time, awake time.Duration) // from 0 up
	kernel func() time.Duration                         // asks it

	mu     sync.Mutex // held while the kernel is asked
	answer atomic.Pointer[answer]
}

const (
	askEvery   = time.Millisecond
	slack      = 100 * time.Microsecond // what may pass between two readings that count as of one instant
	lagsAtMost = 3 * slack              // the answer's own, the reading's that it is held against, and a suspend as short as that
)

// answer is what the kernel has said.
type answer struct {
	ahead time.Duration // what the boot clock is ahead of the awake one, at least
	wall  time.Duration // likewise the wall clock, a moment before
	until time.Duration // by the awake clock: the kernel is asked again
}

func newBootClock(awake func() (time.Time, time.Duration), kernel func() time.Duration) *bootClock {
	c := &bootClock{awake: awake, kernel: kernel}
	c.ask(&answer{})
	return c
}

func (c *bootClock) now() lanes.Instant {
	if now, known := c.reckon(); known {
		return now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, known := c.reckon(); known { // somebody else has asked meanwhile
		return now
	}
	return c.ask(c.answer.Load())
}

// reckon goes on from the last answer, while it holds.
func (c *bootClock) reckon() (now lanes.Instant, known bool) {
	wall, awake := c.awake()
	last := c.answer.Load()
	known = awake < last.until && (ahead(wall, awake)-last.wall).Abs() <= slack
	return lanes.Instant{Wall: wall, Mono: awake + last.ahead}, known
}

// ask asks the kernel. The wall clock is read before: were the machine suspended between the two, the next reading would
// find it apart and ask again, and not count on an answer of before.
func (c *bootClock) ask(last *answer) lanes.Instant {
	wall, before := c.awake()
	boot := c.kernel()
	_, after := c.awake()
	next := &answer{
		ahead: max(boot-after, min(last.ahead, boot-before)), // the last one, unless it cannot be
		wall:  ahead(wall, before),
	}
	if after-before <= slack { // or it is too vague to go on from
		next.until = before + askEvery
	}
	c.answer.Store(next)
	return lanes.Instant{Wall: wall, Mono: boot}
}

// ahead is how far a wall clock is ahead of the awake one.
func ahead(wall time.Time, awake time.Duration) time.Duration {
	return time.Duration(wall.UnixNano()) - awake
}
