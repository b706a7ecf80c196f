package lanesim

import (
	"errors"
	"net"
	"strings"
	"time"

	"github.com/coder/websocket"

	"rangegate/lanes/link/websocket/frame"
)

// rule is a rule that the gateway broke: the connection is closed with a status that says so.
type rule struct{ error }

func (r rule) Unwrap() error { return r.error }

// end closes the connection, for that reason.
func (t *talk) end(err error) {
	var broken rule
	if errors.As(err, &broken) {
		status := websocket.StatusPolicyViolation
		if errors.Is(err, websocket.ErrMessageTooBig) {
			status = websocket.StatusMessageTooBig
		}
		text := broken.Error()
		timer := time.AfterFunc(writeWithin, func() { _ = t.wire.Close() })
		_ = t.frames.Close(status, text[:min(len(text), 123)])
		timer.Stop()
	}
	_ = t.wire.Close()
	_ = t.frames.CloseNow()
}

// impatient is a listener on whose connections a write does not block for long.
type impatient struct{ net.Listener }

func (l impatient) Accept() (net.Conn, error) {
	wire, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return hasty{wire}, nil
}

type hasty struct{ net.Conn }

func (h hasty) Write(p []byte) (int, error) {
	if err := h.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return 0, err
	}
	return h.Conn.Write(p)
}

// Drop ends the connection without a word.
func (c *Controller) Drop() { c.each(func(t *talk) { _ = t.wire.Close() }) }

// HalfOpen lets everything get lost on the way, in both directions, while the connection stays open.
func (c *Controller) HalfOpen(on bool) { c.set(func(w *wrong) { w.halfOpen = on }) }

// dawdling is how long a slow controller takes for each message.
const dawdling = time.Second

// Slow makes the controller take its time before it reads each message; meanwhile it answers no pings either.
func (c *Controller) Slow(on bool) { c.set(func(w *wrong) { w.slow = on }) }

func (c *Controller) dawdle() {
	if !c.is().slow {
		return
	}
	select {
	case <-time.After(dawdling):
	case <-c.of.closing:
	}
}

// Garbage sends what is no message.
func (c *Controller) Garbage() {
	c.each(func(t *talk) { t.say([]byte(`{"type":"report","seq":"many"`)) })
}

// Oversize sends a message that is a byte too long.
func (c *Controller) Oversize() {
	const around = len(`{"type":""}`)
	text := []byte(`{"type":"` + strings.Repeat("x", frame.Longest+1-around) + `"}`)
	c.each(func(t *talk) { t.say(text) })
}
