package board

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

const slowestTerm = 10 * time.Minute // for which a slow command is shown among the slowest

// CommandLog remembers the newest commands of every lane of a range, for operators. It outlives the panics of
// lanes and is read without messaging one. The zero value is empty; its methods may be called from any
// goroutine.
type CommandLog struct {
	mu    sync.RWMutex
	lanes map[uuid.UUID]*laneCommands
}

type laneCommands struct {
	mu     sync.Mutex
	newest []loggedCommand // at most lanes.MaxCommands, oldest first
	states []sentState     // at most lanes.MaxCommands, oldest first
}

// sentState is a state that went to the lane's hardware because of a request.
type sentState struct {
	trace         string
	sent, applied time.Time
}

type loggedCommand struct {
	lanes.Commanded
	began time.Duration // monotonic
}

// Sent remembers that a state went to the lane's hardware because of the request with that trace id.
func (c *CommandLog) Sent(lane uuid.UUID, trace string, at time.Time) {
	log := c.of(lane)
	log.mu.Lock()
	defer log.mu.Unlock()
	if len(log.states) == lanes.MaxCommands {
		log.states = slices.Delete(log.states, 0, 1)
	}
	log.states = append(log.states, sentState{trace: trace, sent: at})
}

// Applied remembers that the hardware has confirmed the newest state that Sent was told of with that trace id.
func (c *CommandLog) Applied(lane uuid.UUID, trace string, at time.Time) {
	log := c.of(lane)
	log.mu.Lock()
	defer log.mu.Unlock()
	for i := range slices.Backward(log.states) {
		if log.states[i].trace == trace {
			log.states[i].applied = at
			return
		}
	}
}

// Find returns the commands that match, of all lanes, oldest first, each with the newest state that went to the
// hardware in its trace. It looks at one lane after the other, and match must not block.
func (c *CommandLog) Find(match func(lanes.Commanded) bool) (found []lanes.TracedCommand) {
	c.mu.RLock()
	logs := maps.Clone(c.lanes)
	c.mu.RUnlock()
	for lane, log := range logs {
		log.mu.Lock()
		for _, ended := range log.newest {
			if !match(ended.Commanded) {
				continue
			}
			command := lanes.TracedCommand{LaneCommand: lanes.LaneCommand{Lane: lane, Commanded: ended.Commanded}}
			for _, state := range log.states {
				if state.trace == ended.Trace {
					command.Sent, command.Applied = state.sent, state.applied
				}
			}
			found = append(found, command)
		}
		log.mu.Unlock()
	}
	slices.SortStableFunc(found, func(a, b lanes.TracedCommand) int { return a.At.Compare(b.At) })
	return found
}

// of returns the commands of the lane, which it begins.
func (c *CommandLog) of(lane uuid.UUID) *laneCommands {
	c.mu.RLock()
	log := c.lanes[lane]
	c.mu.RUnlock()
	if log == nil {
		c.mu.Lock()
		if c.lanes == nil {
			c.lanes = map[uuid.UUID]*laneCommands{}
		}
		if log = c.lanes[lane]; log == nil {
			log = &laneCommands{}
			c.lanes[lane] = log
		}
		c.mu.Unlock()
	}
	return log
}

// Add remembers a command that has just ended.
func (c *CommandLog) Add(lane uuid.UUID, now lanes.Instant, ended lanes.Commanded) {
	log := c.of(lane)
	log.mu.Lock()
	defer log.mu.Unlock()
	if len(log.newest) == lanes.MaxCommands {
		log.newest = slices.Delete(log.newest, 0, 1)
	}
	log.newest = append(log.newest, loggedCommand{ended, now.Mono - ended.Took})
}

// Newest returns the commands of the lane, the newest first.
func (c *CommandLog) Newest(lane uuid.UUID) []lanes.Commanded {
	c.mu.RLock()
	log := c.lanes[lane]
	c.mu.RUnlock()
	if log == nil {
		return nil
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	newest := make([]lanes.Commanded, 0, len(log.newest))
	for _, ended := range slices.Backward(log.newest) {
		newest = append(newest, ended.Commanded)
	}
	return newest
}

// Slowest returns the command of each lane that took longest within slowestTerm, in no order. It looks at one
// lane after the other, so that none waits for more than its own.
func (c *CommandLog) Slowest(now lanes.Instant) []lanes.LaneCommand {
	c.mu.RLock()
	logs := maps.Clone(c.lanes)
	c.mu.RUnlock()
	var all []lanes.LaneCommand
	for lane, log := range logs {
		slowest := lanes.LaneCommand{Lane: lane}
		log.mu.Lock()
		for _, ended := range log.newest {
			if now.Mono-ended.began <= slowestTerm && ended.Took > slowest.Took {
				slowest.Commanded = ended.Commanded
			}
		}
		log.mu.Unlock()
		if slowest.Command != "" {
			all = append(all, slowest)
		}
	}
	return all
}

// Forget drops the commands of a lane that has left.
func (c *CommandLog) Forget(lane uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lanes, lane)
}

// Which timers Lateness remembers.
const (
	latenessTerm = time.Hour
	latenessSize = 512
)

// Lateness remembers how late the timers of a range were. The zero value is empty; its methods may be called
// from any goroutine.
type Lateness struct {
	mu     sync.Mutex
	timers []lateTimer // oldest first
}

type lateTimer struct{ at, lateness time.Duration }

// Add remembers a timer that ran now.
func (l *Lateness) Add(now lanes.Instant, lateness time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetOld(now)
	if len(l.timers) == latenessSize {
		l.timers = slices.Delete(l.timers, 0, 1)
	}
	l.timers = append(l.timers, lateTimer{now.Mono, lateness})
}

// P99 returns the lateness that 99 of 100 timers of the last hour did not exceed, 0 when there were none.
func (l *Lateness) P99(now lanes.Instant) time.Duration {
	l.mu.Lock()
	l.forgetOld(now)
	sorted := make([]time.Duration, len(l.timers))
	for i, timer := range l.timers {
		sorted[i] = timer.lateness
	}
	l.mu.Unlock()
	if len(sorted) == 0 {
		return 0
	}
	slices.Sort(sorted)
	return sorted[(99*len(sorted)+99)/100-1]
}

// forgetOld drops the timers of more than an hour ago. l.mu is held.
func (l *Lateness) forgetOld(now lanes.Instant) {
	l.timers = slices.DeleteFunc(l.timers, func(t lateTimer) bool { return now.Mono-t.at > latenessTerm })
}
