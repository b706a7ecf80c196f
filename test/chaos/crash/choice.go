package crash

import (
	"time"

	"rangegate/test/support"
)

// lengths are the minutes that a client sells. Short sessions expire during the test.
var lengths = []int{1, 1, 2, 3, 5, 30, 60, 240, 480}

// safety is the time left below which a client subtracts no minutes: it knows the deadline only within a span.
const safety = 5 * time.Second

// choose returns the next command, nil for none. Half of them have an idempotency key.
func (c *client) choose() *request {
	r := c.chooseSale()
	if r == nil {
		r = c.chooseChange()
	}
	if r != nil && c.chance(50) {
		r.key = c.name("key")
	}
	return r
}

// chooseSale asks for a session when the client has none to command, or no quiet one. While it is unknown
// whether its last sale happened it makes no other: such sessions are recognized by the client's group alone.
func (c *client) chooseSale() *request {
	for _, r := range c.lost {
		if r.kind == create {
			return nil
		}
	}
	r := &request{client: c, kind: create, lane: c.anyLane(), customer: c.name("customer")}
	switch {
	case c.number < quietClients && c.quiet == nil && c.chance(60):
		r.minutes, r.autoStart, r.quiet = 1, !wired(r.lane) || c.chance(50), true
	case c.current == nil && c.chance(60):
		r.minutes, r.autoStart = lengths[c.rng.IntN(len(lengths))], c.chance(70)
	default:
		return nil
	}
	return r
}

// chooseChange asks for something that the current session accepts in its phase.
func (c *client) chooseChange() *request {
	s := c.current
	if s == nil || c.unanswered(s) != nil || s.phase == waiting && c.fixture.hardware.awaits(s.id) {
		return nil
	}
	r := &request{client: c, session: s}
	switch dice := c.rng.IntN(100); {
	case dice < 15:
		return nil
	case dice < 45:
		r.kind, r.minutes = modify, c.minutes(s)
	case dice < 60:
		r.kind, r.lane = move, c.anyLane()
		if r.lane == s.lane {
			return nil
		}
	case dice < 70:
		r.kind = stop
	case s.phase == running:
		r.kind = pause
	case s.phase == paused:
		r.kind = resume
	default:
		return nil
	}
	return r
}

// minutes returns what a modify may ask for: the total stays within 1 to 480, and time is left.
func (c *client) minutes(s *session) int {
	more := 1 + c.rng.IntN(10)
	left := s.timeLeft(span{now(), now()}).lo - time.Duration(more)*time.Minute
	if s.minutes+more > 480 || s.minutes > more && left > safety && c.chance(50) {
		return -more
	}
	return more
}

// anyLane is usually one that was free in the last list. Other clients ask for it too.
func (c *client) anyLane() string {
	if len(c.free) > 0 && c.chance(80) {
		return c.free[c.rng.IntN(len(c.free))]
	}
	return support.LaneID(c.rng.IntN(laneCount))
}
