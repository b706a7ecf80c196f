package lanesim

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Kinds are the faults that can happen at random.
var Kinds = []string{
	"refuse", "hang", "wrong-lane", "drop", "half-open", "slow", "garbage", "oversize",
	"lost-acks", "duplicate", "reorder", "power-cut", "log-lost", "clock-stop",
}

// momentary are those that are over as soon as they begin.
var momentary = []string{"drop", "garbage", "oversize", "power-cut", "log-lost"}

// have makes the fault of that kind begin, or end.
func (c *Controller) have(kind string, on bool) {
	if lasting, is := map[string]func(bool){
		"refuse": c.Refuse, "hang": c.Hang, "wrong-lane": c.Pose, "half-open": c.HalfOpen, "slow": c.Slow,
		"lost-acks": c.LoseAcks, "duplicate": c.Duplicate, "reorder": c.Reorder, "clock-stop": c.StopClock,
	}[kind]; is {
		lasting(on)
	}
	if !on {
		return
	}
	switch kind {
	case "garbage":
		c.Garbage()
	case "oversize":
		c.Oversize()
	case "power-cut", "log-lost":
		c.PowerCut(kind == "log-lost")
	case "drop", "refuse", "hang", "wrong-lane": // the last three show only when the gateway comes anew
		c.Drop()
	}
}

// mishap is a fault that happens at random.
type mishap struct {
	after time.Duration // since the one before was over
	kind  string
	lasts time.Duration
}

const (
	everyDefault = time.Minute
	lastsOnly    = 20 * time.Second // on average
)

// mishaps are those of a lane, one after the other without end: always the same ones for the same seed.
func mishaps(seed uint64, lane uuid.UUID, kinds []string, every time.Duration) iter.Seq[mishap] {
	chance := rand.New(rand.NewPCG(binary.BigEndian.Uint64(lane[:8])^seed, binary.BigEndian.Uint64(lane[8:])))
	around := func(d time.Duration) time.Duration { return time.Duration(chance.ExpFloat64() * float64(d)) }
	return func(yield func(mishap) bool) {
		for {
			m := mishap{around(every), kinds[chance.IntN(len(kinds))], around(lastsOnly)}
			if slices.Contains(momentary, m.kind) {
				m.lasts = 0
			}
			if !yield(m) {
				return
			}
		}
	}
}

// suffer has one mishap after the other until the controllers are closed.
func (c *Controller) suffer() {
	s := c.of.settings
	for m := range mishaps(s.Seed, c.lane.ID, s.Faults, cmp.Or(s.Every, everyDefault)) {
		if !c.rest(m.after) {
			return
		}
		if s.Told != nil {
			s.Told(c.lane.ID, m.kind, m.lasts)
		}
		c.have(m.kind, true)
		if !c.rest(m.lasts) {
			return
		}
		c.have(m.kind, false)
	}
}

// rest waits. It tells whether the controllers are still wanted.
func (c *Controller) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.of.closing:
		return false
	}
}
