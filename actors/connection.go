package actors

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/actors/hardware"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

const (
	dialTimeout = 5 * time.Second // to connect, and for the hello (LINK.md)
	maxDials    = 64              // of a range at a time: a switch that comes back brings all its lanes at once
)

// connection is the child of a lane: one connection to the lane's controller. The lane tells it to dial, once
// in a life, and gets the connection to send states on; acks go through here. Where the controller dials it
// waits instead. When the dial or the connection fails it fails itself, and the lane restarts it. A driver
// that panics costs its connection.
type connection struct {
	r      *Range
	lane   *actor.PID
	number uint64     // of its dial, 0 before
	acked  *lanes.Log // the newest, nil before the first: reports may be saved before the dial has returned
	up     bool
	socket socket
}

// The messages of a connection. Those with a number are stale for a connection that made another dial.
type (
	dial struct {
		number uint64
		lane   uuid.UUID
	}
	ack        struct{ log lanes.Log }
	disconnect struct {
		number uint64
		reason error
	}
	dialled struct { // of the dial's goroutine
		number uint64
		hello  link.Hello
		err    error
	}
	broken struct { // of the driver
		number uint64
		err    error
	}
)

// Receive takes one message.
func (c *connection) Receive(ctx actor.Context, message any) {
	switch m := message.(type) {
	case *actor.Started:
		c.lane = ctx.Parent()
	case *actor.Restarting, *actor.Stopping:
		c.socket.close()
	case *dial:
		c.number = m.number
		c.dial(ctx.Self(), m)
	case *dialled:
		switch {
		case m.number != c.number: // of an earlier life, whose socket is closed
		case m.err != nil:
			c.fail(ctx, m.err)
		default:
			c.up = true
			c.sendAck()
			c.r.tree.Send(c.lane, &linkUp{m.number, c.socket.connection(), m.hello})
		}
	case *broken:
		if m.number == c.number {
			c.fail(ctx, m.err)
		}
	case *disconnect:
		if m.number == c.number {
			c.fail(ctx, m.reason)
		}
	case *ack:
		// Reports that were sent again are saved late.
		if c.acked == nil || c.acked.ID != m.log.ID || c.acked.Seq < m.log.Seq {
			c.acked = &m.log
		}
		c.sendAck()
	case *probe:
		c.r.tree.Send(c.lane, &probePassed{})
	}
}

// ReasonOf implements supervised.Explaining: the lane has to know which dial the panic cost.
func (c *connection) ReasonOf(any) any { return &linkFailure{c.number, hardware.ErrDriver} }

// fail ends this life: the lane decides when the next one dials.
func (c *connection) fail(ctx actor.Context, err error) {
	ctx.(actor.Supervisor).EscalateFailure(&linkFailure{c.number, err}, nil)
}

// sendAck tells the controller which reports are saved.
func (c *connection) sendAck() {
	if c.up && c.acked != nil {
		c.socket.connection().Ack(*c.acked)
	}
}

// dial connects in a goroutine, when it is the connection's turn; or it waits for a controller that dials,
// for any time.
func (c *connection) dial(self *actor.PID, m *dial) {
	r, sock, to := c.r, &c.socket, receiver{c.r, c.lane, self, m.number}
	if driver, awaits := r.settings().awaiter(m.lane); awaits {
		target := to.target(m.lane)
		sock.beginWait(func() (cancel func()) { return driver.Await(target, waiter{to, sock}) })
		return
	}
	r.dials.add(func() {
		r.tree.Label(self) // of several dials, one after the other
		ctx, wanted := sock.beginDial(r.life)
		if !wanted {
			return
		}
		defer sock.endDial()
		hello, err := to.reach(ctx, m.lane, sock)
		r.tree.Send(self, &dialled{m.number, hello, err})
	})
}

// socket is what a connection's actor shares with the goroutine that dials: the actor may end before the dial does.
type socket struct {
	mu     sync.Mutex
	made   link.Connection
	cancel context.CancelFunc // of the dial or the wait, nil before and after it
	closed bool
}

// beginDial returns the context of the dial, unless the socket is closed already.
func (s *socket) beginDial(life context.Context) (ctx context.Context, wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	ctx, s.cancel = context.WithTimeout(life, dialTimeout)
	return ctx, true
}

// beginWait begins to wait for a controller, unless the socket is closed already.
func (s *socket) beginWait(await func() (cancel func())) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.cancel = await()
	}
}

// endWait frees what the wait needed.
func (s *socket) endWait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = nil
}

// endDial frees the context of the dial.
func (s *socket) endDial() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel()
	s.cancel = nil
}

// keep keeps the connection, or closes it when the socket was closed meanwhile.
func (s *socket) keep(made link.Connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = made
	if s.closed {
		made.Close()
	}
}

func (s *socket) connection() link.Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made
}

// close ends the connection, or the dial.
func (s *socket) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.cancel != nil {
		s.cancel()
	}
	if s.made != nil {
		s.made.Close()
	}
}

// receiver turns what the driver hears into messages: reports and confirmations go to the lane, a failure to
// the connection.
type receiver struct {
	r      *Range
	lane   *actor.PID
	self   *actor.PID
	number uint64
}

// Applied implements link.Receiver.
func (t receiver) Applied(revision uint64) { t.r.tree.Send(t.lane, &applied{t.number, revision}) }

// Reported implements link.Receiver.
func (t receiver) Reported(report lanes.Report) { t.r.tree.Send(t.lane, &reported{t.number, report}) }

// Down implements link.Receiver.
func (t receiver) Down(err error) { t.r.tree.Send(t.self, &broken{t.number, err}) }

// reach connects to the lane's controller, unless the range has ended. A driver that panics gives hardware.ErrDriver.
func (t receiver) reach(ctx context.Context, lane uuid.UUID, sock *socket) (hello link.Hello, err error) {
	if err := ctx.Err(); err != nil {
		return link.Hello{}, err
	}
	defer func() {
		if defect := recover(); defect != nil {
			t.r.tree.Panicked(t.self, connectionKind, "dial", defect)
			err = hardware.ErrDriver
		}
	}()
	began := t.r.clock.Now()
	made, hello, err := t.r.settings().Driver.Dial(ctx, t.target(lane), t)
	if err == nil {
		t.r.metrics.DialSeconds.Observe(t.r.clock.Now().Since(began).Seconds())
		sock.keep(made)
	}
	return hello, err
}

func (t receiver) target(lane uuid.UUID) link.Lane {
	return link.Lane{
		Range: t.r.id, ID: lane, Epoch: t.r.committer.Epoch, HoldOnLoss: t.r.settings().HoldOnLoss, Taps: &t.r.taps,
	}
}

// waiter is the receiver of a connection that waits for its controller.
type waiter struct {
	receiver
	sock *socket
}

// Arrived implements link.Waiter.
func (w waiter) Arrived(made link.Connection, hello link.Hello, err error) {
	w.sock.endWait()
	if err == nil {
		w.sock.keep(made)
	}
	w.r.tree.Send(w.self, &dialled{w.number, hello, err})
}

// Contested implements link.Waiter.
func (w waiter) Contested(refused, linked string) {
	w.r.tree.Send(w.lane, &contested{w.number, refused, linked})
}

// dialQueue runs at most maxDials dials of a range at a time, in the order in which they came. Those that
// wait have no goroutine: there may be a hundred thousand.
type dialQueue struct {
	mu       sync.Mutex
	waiting  []func()
	running  int
	finished sync.WaitGroup
}

// add runs the dial in a goroutine when it is its turn. It never blocks.
func (d *dialQueue) add(dial func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, dial)
	if d.running < maxDials {
		d.running++
		d.finished.Go(func() {
			for dial := d.next(); dial != nil; dial = d.next() {
				dial()
			}
		})
	}
}

// next returns the next dial, nil when none waits.
func (d *dialQueue) next() func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 {
		d.waiting = nil
		d.running--
		return nil
	}
	first := d.waiting[0]
	d.waiting[0] = nil
	d.waiting = d.waiting[1:]
	return first
}

// linkCause is one of metrics.LinkCauses. An error may match several: the first counts.
func linkCause(err error) string {
	var (
		timeout   net.Error
		dns       *net.DNSError
		operation *net.OpError
	)
	switch {
	case errors.Is(err, link.ErrFaulty):
		return "faulty"
	case errors.Is(err, hardware.ErrDriver):
		return "driver"
	case errors.Is(err, link.ErrSilent):
		return "silent"
	case errors.Is(err, link.ErrReplaced):
		return "replaced"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed"
	case errors.As(err, &dns), errors.As(err, &operation):
		return "unreachable"
	}
	return "other"
}
