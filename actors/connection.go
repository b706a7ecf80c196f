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

const dialTimeout = 5 * time.Second // to connect, and for the hello (LINK.md)

// line is one connection's life, shared by the goroutine that dials and the lane that may not want it any more meanwhile.
type line struct {
	mu     sync.Mutex
	made   link.Connection
	cancel context.CancelFunc // of the dial, nil before and after it
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

// begin is the begin of the dial, which ctx ends in time, unless nobody wants the line any more.
func (l *line) begin(background context.Context) (ctx context.Context, wanted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hungUp {
		return nil, false
	}
	ctx, l.cancel = context.WithTimeout(background, dialTimeout)
	return ctx, true
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

// dial connects the line when it is its turn.
func (r *Range) dial(self *actor.PID, lane uuid.UUID, line *line) {
	r.dials.queue(func() {
		ctx, wanted := line.begin(r.background)
		if !wanted {
			return
		}
		defer line.dialledNow()
		defer func() {
			if defect := recover(); defect != nil {
				r.driverPanicked(lane, defect, debug.Stack())
				r.send(self, &dialled{line: line, err: errDriver})
			}
		}()
		connection, hello, err := r.reach(ctx, lane, receiver{r, self, line})
		if err == nil {
			line.take(connection)
		}
		r.send(self, &dialled{line, hello, err})
	})
}

// reach connects to the lane's controller, unless the range has ended.
func (r *Range) reach(ctx context.Context, lane uuid.UUID, to link.Receiver) (link.Connection, link.Hello, error) {
	if err := ctx.Err(); err != nil {
		return nil, link.Hello{}, err
	}
	is, begun := r.settings(), r.clock.Now()
	target := link.Lane{Range: r.id, ID: lane, Epoch: r.committer.epoch, HoldOnLoss: is.HoldOnLoss}
	connection, hello, err := is.Driver.Dial(ctx, target, to)
	if err == nil {
		r.metrics.DialSeconds.Observe(r.clock.Now().Since(begun).Seconds())
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
