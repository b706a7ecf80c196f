package actors

import (
	"encoding/hex"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

const slowFor = 10 * time.Minute // that a slow command is shown among the slowest

// commandLogs remembers the latest commands of every lane of a range, for operators. A lane's outlives its panics, and is read
// without asking the lane. One that nobody commands has none; each command takes 64 bytes.
type commandLogs struct {
	words words

	mu sync.RWMutex
	of map[uuid.UUID]*commandLog
}

// commandLog is the latest commands of a lane.
type commandLog struct {
	mu     sync.Mutex
	kept   []commanded // up to lanes.MaxCommands, and then a ring
	oldest int         // its place in the ring
}

// commanded is a lanes.Commanded in little room.
type commanded struct {
	wall           int64         // when it reached the lane, in Unix nanoseconds
	mono           time.Duration // when that was by the clock that nobody sets
	session, trace [16]byte
	took, waited   uint32 // microseconds, up to 71 minutes
	command, by    word
	who, result    word
}

// add remembers a command that has just ended.
func (c *commandLogs) add(lane uuid.UUID, now lanes.Instant, ended lanes.Commanded) {
	small := commanded{
		wall: ended.At.UnixNano(), mono: now.Mono - ended.Took, session: ended.Session,
		took: microseconds(ended.Took), waited: microseconds(ended.Waited),
		command: c.words.number(ended.Command), by: c.words.number(string(ended.By)),
		who: c.words.number(ended.Who), result: c.words.number(ended.Result),
	}
	if len(ended.Trace) == hex.EncodedLen(len(small.trace)) {
		_, _ = hex.Decode(small.trace[:], []byte(ended.Trace)) // which is what every trace id is
	}
	log := c.lane(lane)
	if log == nil {
		log = c.begin(lane)
	}
	log.add(small)
}

// lane is nil for one that nobody has commanded.
func (c *commandLogs) lane(id uuid.UUID) *commandLog {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.of[id]
}

func (c *commandLogs) begin(lane uuid.UUID) *commandLog {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[uuid.UUID]*commandLog{}
	}
	if c.of[lane] == nil {
		c.of[lane] = &commandLog{}
	}
	return c.of[lane]
}

// latest is the commands of the lane, the newest first.
func (c *commandLogs) latest(lane uuid.UUID) []lanes.Commanded {
	log := c.lane(lane)
	if log == nil {
		return nil
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	all := make([]lanes.Commanded, 0, len(log.kept))
	for i := len(log.kept) - 1; i >= 0; i-- {
		all = append(all, c.whole(log.kept[(log.oldest+i)%len(log.kept)]))
	}
	return all
}

// slowest is the command of each lane that took longest of late, in no order. It looks at one lane after the other, so that
// none waits for more than its own.
func (c *commandLogs) slowest(now lanes.Instant) map[uuid.UUID]lanes.Commanded {
	c.mu.RLock()
	of := maps.Clone(c.of)
	c.mu.RUnlock()
	all := map[uuid.UUID]lanes.Commanded{}
	for lane, log := range of {
		log.mu.Lock()
		var slowest commanded
		for _, ended := range log.kept {
			if now.Mono-ended.mono <= slowFor && ended.took > slowest.took {
				slowest = ended
			}
		}
		log.mu.Unlock()
		if slowest.command != 0 {
			all[lane] = c.whole(slowest)
		}
	}
	return all
}

func (c *commandLogs) whole(small commanded) lanes.Commanded {
	whole := lanes.Commanded{
		At: time.Unix(0, small.wall).UTC(), By: lanes.By(c.words.word(small.by)), Who: c.words.word(small.who),
		Command: c.words.word(small.command), Result: c.words.word(small.result),
		Took: time.Duration(small.took) * time.Microsecond, Waited: time.Duration(small.waited) * time.Microsecond,
		Session: small.session,
	}
	if small.trace != [16]byte{} {
		whole.Trace = hex.EncodeToString(small.trace[:])
	}
	return whole
}

func (l *commandLog) add(ended commanded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if size := len(l.kept); size < lanes.MaxCommands {
		if size == cap(l.kept) {
			more := make([]commanded, size, min(max(1, 2*size), lanes.MaxCommands))
			copy(more, l.kept)
			l.kept = more
		}
		l.kept = append(l.kept, ended)
	} else {
		l.kept[l.oldest] = ended
		l.oldest = (l.oldest + 1) % size
	}
}

func microseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Microseconds(), 0), math.MaxUint32))
}
