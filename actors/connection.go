package actors

import (
	"context"
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

// connectionActor is one connection's life. It dials once, gives the hardware the states that are wanted, and stops
// when the connection fails; the link then makes another one.
type connectionActor struct {
	of     *Range
	lane   uuid.UUID
	number uint64
	up     *actor.PID // the link

	self     *actor.PID
	line     *line
	acked    *lanes.Log // the newest, nil before the first: it may come before the dial has come back
	cancel   context.CancelFunc
	revision uint64
	told     link.State // the newest state sent
}

// line holds the driver's connection between the goroutine that dials and the actor that may stop meanwhile.
type line struct {
	mu     sync.Mutex
	made   link.Connection
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

func (l *line) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hungUp = true
	if l.made != nil {
		l.made.Close()
	}
}

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
	arrived struct{ report lanes.Report }
)

func (c *connectionActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.self = ctx.Self()
		c.dial()
	case *dialled:
		switch {
		case m.line != c.line: // of a life before a panic
		case m.err != nil:
			c.fail(ctx, m.err)
		default:
			c.cancel = nil // a connection that is up keeps nothing of its dial
			ctx.Send(c.up, &connected{c.number, m.hello})
			c.ack()
		}
	case *want:
		c.tell(m.state)
	case *ack:
		c.acked = &m.log
		c.ack()
	case *hangUp:
		c.fail(ctx, m.why)
	case *arrived:
		ctx.Send(c.up, &reported{c.number, m.report})
	case *appliedAt:
		if m.line == c.line && m.revision == c.revision {
			ctx.Send(c.up, &applied{c.number, c.told})
		}
	case *broken:
		if m.line == c.line {
			c.fail(ctx, m.err)
		}
	case *actor.Restarting:
		c.hangUp()
	case *actor.Stopping:
		c.hangUp()
	}
}

// dial connects in a goroutine of its own, which ends with the connection's life.
func (c *connectionActor) dial() {
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(c.of.background)
	c.line, c.revision = &line{}, 0
	line, cancel, self, of := c.line, c.cancel, c.self, c.of
	target := link.Lane{Range: of.id, ID: c.lane, Epoch: of.committer.epoch, HoldOnLoss: of.settings().HoldOnLoss}
	of.dialling.Go(func() {
		defer cancel()
		defer func() {
			if defect := recover(); defect != nil {
				of.log.Error().Stringer("lane", target.ID).Interface("panic", defect).Bytes("stack", debug.Stack()).
					Msg("a link's driver panicked")
				of.send(self, &dialled{line: line, err: errDriver})
			}
		}()
		connection, hello, err := of.dial(ctx, target, receiver{of, self, line})
		if err == nil {
			line.take(connection)
		}
		of.send(self, &dialled{line, hello, err})
	})
}

// dial connects to the lane's controller as soon as there is a place among those that are being dialled.
func (r *Range) dial(ctx context.Context, lane link.Lane, to link.Receiver) (link.Connection, link.Hello, error) {
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

// tell gives the hardware the state that is wanted. Before there is a connection nobody needs to: see linkStands.
func (c *connectionActor) tell(state link.State) {
	if connection := c.line.connection(); connection != nil {
		c.revision++
		state.Revision = c.revision
		c.told = state
		connection.Send(state)
	}
}

// ack tells the hardware which reports are saved.
func (c *connectionActor) ack() {
	if connection := c.line.connection(); connection != nil && c.acked != nil {
		connection.Ack(*c.acked)
	}
}

func (c *connectionActor) fail(ctx actor.Context, err error) {
	c.hangUp()
	ctx.Send(c.up, &disconnected{c.number, c.self, err}) // which stops it: what it said is heard before its end
}

func (c *connectionActor) hangUp() {
	if c.cancel != nil {
		c.cancel()
	}
	if c.line != nil {
		c.line.hangUp()
	}
}

// receiver turns what the driver hears into messages of the connection.
type receiver struct {
	of   *Range
	to   *actor.PID
	line *line
}

func (r receiver) Applied(revision uint64)      { r.of.send(r.to, &appliedAt{r.line, revision}) }
func (r receiver) Reported(report lanes.Report) { r.of.send(r.to, &arrived{report}) }
func (r receiver) Down(err error)               { r.of.send(r.to, &broken{r.line, err}) }
