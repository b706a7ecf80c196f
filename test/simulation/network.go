package simulation

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// network carries connections between machines in the memory of this process. What is sent arrives in its
// order, after the lag of the network. The bytes of a connection wait while one of its ends is frozen.
type network struct {
	world *world

	mu        sync.Mutex
	listeners map[string]*listener
}

var errRefused = errors.New("connection refused")

// listen opens an address of a machine.
func (n *network) listen(on *machine, address string) (net.Listener, error) {
	n.mu.Lock()
	_, taken := n.listeners[address]
	l := &listener{
		network: n, on: on, life: on.life(), address: address, dialled: make(chan net.Conn),
		closed: make(chan struct{}),
	}
	if !taken {
		n.listeners[address] = l
	}
	n.mu.Unlock()
	if taken {
		return nil, &net.OpError{Op: "listen", Err: errors.New("address already in use")}
	}
	on.onDeath(func() { _ = l.Close() })
	return l, nil
}

// dial connects a machine, or a client that is none, to an address.
func (n *network) dial(ctx context.Context, from *machine, address string) (net.Conn, error) {
	failed := func(err error) (net.Conn, error) { return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	if err := sleep(ctx, n.world.lag()); err != nil {
		return failed(err)
	}
	if err := from.io(ctx); err != nil {
		return failed(err)
	}
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil {
		return failed(errRefused)
	}
	if err := l.on.io(ctx); err != nil { // a frozen machine accepts nothing
		return failed(errRefused)
	}
	ours, theirs := n.pair(from, l.on)
	select {
	case l.dialled <- theirs:
		return ours, nil
	case <-l.closed:
		return failed(errRefused)
	case <-ctx.Done():
		return failed(ctx.Err())
	}
}

// listener is an address that a machine listens on.
type listener struct {
	network *network
	on      *machine
	life    *life
	address string
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialled:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-l.life.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		if l.network.listeners[l.address] == l {
			delete(l.network.listeners, l.address)
		}
	})
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return address(l.address) }

type address string

// Network implements net.Addr.
func (address) Network() string { return "tcp" }

// String implements net.Addr.
func (a address) String() string { return string(a) }

// pair returns the two ends of a connection. It breaks when one of the machines dies.
func (n *network) pair(from, to *machine) (ours, theirs net.Conn) {
	out, back := newHalf(n.world, from, to), newHalf(n.world, to, from)
	a := &conn{in: back, out: out, local: from.address(), remote: to.address()}
	b := &conn{in: out, out: back, local: to.address(), remote: from.address()}
	for _, m := range []*machine{from, to} {
		if m != nil {
			m.onDeath(func() {
				out.breaks()
				back.breaks()
			})
		}
	}
	return a, b
}

// conn is one end of a connection.
type conn struct {
	in, out       *half
	local, remote string
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) { return c.in.read(p) }

// Write implements net.Conn. It never waits.
func (c *conn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close ends both directions: what the other end sends from now on breaks its end.
func (c *conn) Close() error {
	c.out.end()
	c.in.abandon()
	return nil
}

// CloseWrite ends what is sent, and goes on receiving.
func (c *conn) CloseWrite() error {
	c.out.end()
	return nil
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return address(c.local) }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return address(c.remote) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

// SetWriteDeadline has no effect: a write never waits.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// half is one direction of a connection.
type half struct {
	world    *world
	from, to *machine

	mu        sync.Mutex
	changed   chan struct{} // closed at each change, and replaced
	sent      []chunk
	ended     bool // by its sender
	abandoned bool // by its receiver
	broken    bool
	deadline  time.Time
}

type chunk struct {
	bytes   []byte
	arrives time.Time
}

func newHalf(w *world, from, to *machine) *half {
	return &half{world: w, from: from, to: to, changed: make(chan struct{})}
}

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}

// change applies a change and wakes the reader.
func (h *half) change(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *half) write(p []byte) (n int, err error) {
	arrives := time.Now().Add(h.world.lag())
	h.change(func() {
		switch {
		case h.broken || h.abandoned:
			err = errReset
		case h.ended:
			err = net.ErrClosed
		default:
			if last := len(h.sent) - 1; last >= 0 && h.sent[last].arrives.After(arrives) {
				arrives = h.sent[last].arrives
			}
			h.sent = append(h.sent, chunk{append([]byte(nil), p...), arrives})
		}
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (h *half) end()     { h.change(func() { h.ended = true }) }
func (h *half) abandon() { h.change(func() { h.abandoned = true }) }
func (h *half) breaks()  { h.change(func() { h.broken = true }) }

func (h *half) setDeadline(t time.Time) { h.change(func() { h.deadline = t }) }

// read waits for what arrives next, and for both machines to go on while one is frozen.
func (h *half) read(p []byte) (int, error) {
	for {
		n, wait, changed, err := h.take(p)
		if n > 0 || err != nil {
			return n, err
		}
		var due <-chan time.Time
		if wait > 0 {
			timer := time.NewTimer(wait)
			due = timer.C
			defer timer.Stop()
		}
		select {
		case <-changed:
		case <-due:
		case <-h.from.thaws():
		case <-h.to.thaws():
		}
	}
}

// take gives what has arrived, or for how long there is nothing (0: until a change).
func (h *half) take(p []byte) (n int, wait time.Duration, changed chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	frozen := h.from.frozen() || h.to.frozen()
	switch {
	case h.broken:
		return 0, 0, nil, errReset
	case h.abandoned:
		return 0, 0, nil, net.ErrClosed
	case !h.deadline.IsZero() && !h.deadline.After(now):
		return 0, 0, nil, os.ErrDeadlineExceeded
	case len(h.sent) > 0 && !frozen && !h.sent[0].arrives.After(now):
		first := &h.sent[0]
		n = copy(p, first.bytes)
		if first.bytes = first.bytes[n:]; len(first.bytes) == 0 {
			h.sent = h.sent[1:]
		}
		return n, 0, nil, nil
	case len(h.sent) == 0 && h.ended && !frozen:
		return 0, 0, nil, io.EOF
	}
	if !h.deadline.IsZero() {
		wait = h.deadline.Sub(now)
	}
	if len(h.sent) > 0 && !frozen {
		if until := h.sent[0].arrives.Sub(now); wait == 0 || until < wait {
			wait = until
		}
	}
	return 0, wait, h.changed, nil
}

// sleep waits, or returns the error of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
