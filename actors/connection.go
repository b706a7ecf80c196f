package actors

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

const (
	dialTimeout = 5 * time.Second // to connect, and for the hello (LINK.md)
	dialsAtOnce = 64              // of a range: a switch that comes back brings all its lanes at once
)

// line is one connection's life, shared by the goroutine that dials and the lane that may not want it any more meanwhile.
type line struct {
	mu     sync.Mutex
	made   link.Connection
	cancel context.CancelFunc // of the dial, nil once that is over
	hungUp bool
}

// take keeps the connection, or closes it when nobody wants it any more.
func (l *line) take(connection link.Connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = connection
	if l.hungUp {
		connection.Close()
	}
}

func (l *line) connection() link.Connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

// hangUp ends the connection, or the dial.
func (l *line) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hungUp = true
	if l.cancel != nil {
		l.cancel()
	}
	if l.made != nil {
		l.made.Close()
	}
}

// dialledNow is the end of the dial: a connection that is up keeps nothing of it.
func (l *line) dialledNow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.cancel = nil
}

// What a lane hears of a line.
type (
	dialled struct {
		line  *line
		hello link.Hello
		err   error
	}
	appliedAt struct {
		line     *line
		revision uint64
	}
	broken struct {
		line *line
		err  error
	}
	arrived struct {
		line   *line
		report lanes.Report
	}
)

// dial connects the line in a goroutine of its own, which ends with the line's life.
func (r *Range) dial(self *actor.PID, lane uuid.UUID, line *line) {
	ctx, cancel := context.WithCancel(r.background)
	line.cancel = cancel
	target := link.Lane{Range: r.id, ID: lane, Epoch: r.committer.epoch, HoldOnLoss: r.settings().HoldOnLoss}
	r.dialling.Go(func() {
		defer line.dialledNow()
		defer func() {
			if defect := recover(); defect != nil {
				r.driverPanicked(lane, defect, debug.Stack())
				r.send(self, &dialled{line: line, err: errDriver})
			}
		}()
		connection, hello, err := r.reach(ctx, target, receiver{r, self, line})
		if err == nil {
			line.take(connection)
		}
		r.send(self, &dialled{line, hello, err})
	})
}

// reach connects to the lane's controller as soon as there is a place among those that are being dialled.
func (r *Range) reach(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
	if err := r.dials.Acquire(ctx, 1); err != nil {
		return nil, link.Hello{}, err
	}
	defer r.dials.Release(1)
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	begun := r.clock.Now()
	connection, hello, err := r.settings().Driver.Dial(ctx, lane, to)
	if err == nil {
		r.metrics.dialling.Observe(r.clock.Now().Since(begun).Seconds())
	}
	return connection, hello, err
}

func (r *Range) driverPanicked(lane uuid.UUID, defect any, stack []byte) {
	r.log.Error().Stringer("lane", lane).Str("panic", fmt.Sprint(defect)).Bytes("stack", stack).Msg("a link's driver panicked")
}

// receiver turns what the driver hears into messages of the lane.
type receiver struct {
	of   *Range
	to   *actor.PID
	line *line
}

func (r receiver) Applied(revision uint64)      { r.of.send(r.to, &appliedAt{r.line, revision}) }
func (r receiver) Reported(report lanes.Report) { r.of.send(r.to, &arrived{r.line, report}) }
func (r receiver) Down(err error)               { r.of.send(r.to, &broken{r.line, err}) }
