package lanesim

import (
	"context"
	"encoding/binary"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// faults are the lasting faults that are on. The simulated lane and the clock have further ones.
type faults struct {
	refuse, hang, wrongLane      bool
	halfOpen, slow               bool
	loseAcks, duplicate, reorder bool
}

func (c *Controller) currentFaults() faults {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

func (c *Controller) setFault(change func(*faults)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.faults)
}

// Refuse makes the controller answer handshakes with an error. An open connection stays.
func (c *Controller) Refuse(on bool) { c.setFault(func(f *faults) { f.refuse = on }) }

// Hang makes the controller leave handshakes unanswered until the gateway gives up.
func (c *Controller) Hang(on bool) { c.setFault(func(f *faults) { f.hang = on }) }

func (c *Controller) hang(gateway context.Context) {
	select {
	case <-gateway.Done():
	case <-c.controllers.closing.Done():
	}
	panic(http.ErrAbortHandler) // a return would send an answer
}

// Pose makes another lane's controller answer at this address. An open connection stays.
func (c *Controller) Pose(on bool) { c.setFault(func(f *faults) { f.wrongLane = on }) }

// pose serves the connection as another lane's controller. The lane's own controller gets nothing of it.
func (c *connection) pose() error {
	another := frame.Hello{
		Lane:  uuid.NewSHA1(c.controller.lane.ID, []byte("another lane")),
		Hello: link.Hello{LogID: "of another lane", Firmware: "sim"},
	}
	c.write(frame.ControllerHello(another))
	for {
		if _, err := c.read(); err != nil {
			return err
		}
	}
}

// Drop closes the connections without a message.
func (c *Controller) Drop() { c.eachConnection(func(conn *connection) { _ = conn.socket.Close() }) }

// HalfOpen loses every message in both directions, while the connection stays open.
func (c *Controller) HalfOpen(on bool) { c.setFault(func(f *faults) { f.halfOpen = on }) }

// readDelay is how long a slow controller waits before each message.
const readDelay = time.Second

// Slow delays the controller before it reads each message. It answers no pings meanwhile.
func (c *Controller) Slow(on bool) { c.setFault(func(f *faults) { f.slow = on }) }

func (c *Controller) delayRead() {
	if c.currentFaults().slow {
		c.sleep(readDelay)
	}
}

// Garbage sends invalid JSON.
func (c *Controller) Garbage() {
	c.eachConnection(func(conn *connection) { conn.write([]byte(`{"type":"report","seq":"many"`)) })
}

// Oversize sends a message that is one byte too long.
func (c *Controller) Oversize() {
	const others = len(`{"type":""}`)
	text := []byte(`{"type":"` + strings.Repeat("x", frame.Longest+1-others) + `"}`)
	c.eachConnection(func(conn *connection) { conn.write(text) })
}

// LoseAcks loses the acks, so that every report is repeated after a reconnect.
func (c *Controller) LoseAcks(on bool) { c.setFault(func(f *faults) { f.loseAcks = on }) }

// Duplicate sends every report twice.
func (c *Controller) Duplicate(on bool) { c.setFault(func(f *faults) { f.duplicate = on }) }

// Reorder sends the second of two reports before the first.
func (c *Controller) Reorder(on bool) { c.setFault(func(f *faults) { f.reorder = on }) }

// report sends a report with the faults of the report log.
func (c *connection) report(text []byte) {
	faults := c.controller.currentFaults()
	c.writing.Lock()
	delayed := c.delayed
	c.delayed = nil
	if faults.reorder && delayed == nil {
		c.delayed = text
		c.writing.Unlock()
		return
	}
	c.writing.Unlock()
	texts := [][]byte{text}
	if faults.duplicate {
		texts = append(texts, text)
	}
	if delayed != nil {
		texts = append(texts, delayed)
	}
	c.write(texts...)
}

// clock is the clock of one controller.
type clock struct {
	now func() lanes.Instant

	mu      sync.Mutex
	behind  time.Duration  // all stops together
	stopped *lanes.Instant // nil while the clock runs
}

// Now returns the time of this clock.
func (c *clock) Now() lanes.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped != nil {
		return *c.stopped
	}
	return c.now().Add(-c.behind)
}

func (c *clock) stop(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now().Add(-c.behind)
	switch {
	case on && c.stopped == nil:
		c.stopped = &now
	case !on && c.stopped != nil:
		c.behind += now.Since(*c.stopped)
		c.stopped = nil
	}
}

// StopClock stops the controller's clock: its countdown stops, and its reports have the age 0. Afterwards the
// clock goes on from where it stopped.
func (c *Controller) StopClock(on bool) { c.clock.stop(on) }

// Kinds are the faults that can happen at random.
var Kinds = []string{
	"refuse", "hang", "wrong-lane", "drop", "half-open", "slow", "garbage", "oversize",
	"lost-acks", "duplicate", "reorder", "power-cut", "log-lost", "clock-stop",
}

// momentary are the faults without a duration.
var momentary = []string{"drop", "garbage", "oversize", "power-cut", "log-lost"}

// setKind begins or ends a fault of that kind.
func (c *Controller) setKind(kind string, on bool) {
	if set, ok := map[string]func(bool){
		"refuse": c.Refuse, "hang": c.Hang, "wrong-lane": c.Pose, "half-open": c.HalfOpen, "slow": c.Slow,
		"lost-acks": c.LoseAcks, "duplicate": c.Duplicate, "reorder": c.Reorder, "clock-stop": c.StopClock,
	}[kind]; ok {
		set(on)
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
	case "drop", "refuse", "hang", "wrong-lane": // the last three need a reconnect to show
		c.Drop()
	}
}

// randomFault is a fault that happens at random.
type randomFault struct {
	after time.Duration // since the end of the one before
	kind  string
	lasts time.Duration
}

const meanDuration = 20 * time.Second

// randomFaults returns an endless sequence of a lane's faults, the same one for the same seed.
func randomFaults(seed uint64, lane uuid.UUID, kinds []string, every time.Duration) iter.Seq[randomFault] {
	random := rand.New(rand.NewPCG(binary.BigEndian.Uint64(lane[:8])^seed, binary.BigEndian.Uint64(lane[8:])))
	around := func(mean time.Duration) time.Duration { return time.Duration(random.ExpFloat64() * float64(mean)) }
	return func(yield func(randomFault) bool) {
		for {
			f := randomFault{around(every), kinds[random.IntN(len(kinds))], around(meanDuration)}
			if slices.Contains(momentary, f.kind) {
				f.lasts = 0
			}
			if !yield(f) {
				return
			}
		}
	}
}

// failAtRandom has one fault after the other until the controllers are closed.
func (c *Controller) failAtRandom() {
	s := c.controllers.settings
	for f := range randomFaults(s.Seed, c.lane.ID, s.Faults, s.Every) {
		if !c.sleep(f.after) {
			return
		}
		if s.OnFault != nil {
			s.OnFault(c.lane, f.kind, f.lasts)
		}
		c.setKind(f.kind, true)
		if !c.sleep(f.lasts) {
			return
		}
		c.setKind(f.kind, false)
	}
}

// sleep returns false when the controllers are closing.
func (c *Controller) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-c.controllers.closing.Done():
		return false
	}
}
