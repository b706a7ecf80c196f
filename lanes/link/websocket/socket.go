package websocket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"

	"rangegate/lanes"
)

// socket is a WebSocket, seen from its client, and the connection under it. It keeps no buffers: what is read goes to
// where it belongs, and what is written is written in one piece.
type socket struct {
	frames net.Conn // what they go through: wire, or TLS over it
	wire   net.Conn // closing it ends whatever the socket does, at once

	now       func() lanes.Instant
	alive     atomic.Int64 // when the controller last gave a sign of life: now's Mono
	pinged    atomic.Int64 // when the oldest ping was sent that is not answered: likewise; 0: none
	roundTrip func(took time.Duration)

	writing sync.Mutex
	over    bool // nothing more is written: a write failed, or a close frame was the last; guarded by writing
}

func (d *Driver) socket(frames, wire net.Conn) *socket {
	return &socket{frames: frames, wire: wire, now: d.settings.Now, roundTrip: d.settings.RoundTrip}
}

func (s *socket) heard() { s.alive.Store(int64(s.now().Mono)) }

func (s *socket) silent() time.Duration { return s.now().Mono - time.Duration(s.alive.Load()) }

// pings takes in that the controller is about to be pinged.
func (s *socket) pings() { s.pinged.CompareAndSwap(0, int64(s.now().Mono)) }

// ponged tells how long the controller took to answer. Pongs come in the order of the pings: the first answers the oldest.
func (s *socket) ponged() {
	if pinged := s.pinged.Swap(0); pinged != 0 && s.roundTrip != nil {
		s.roundTrip(s.now().Mono - time.Duration(pinged))
	}
}

// write writes a frame, and masks the payload in its place. It blocks no longer than the wire does. Once it has failed
// nothing more is written: the connection is at its end.
func (s *socket) write(kind ws.OpCode, payload []byte) error {
	var text bytes.Buffer
	text.Grow(ws.MaxHeaderSize + len(payload))
	if err := ws.WriteFrame(&text, ws.MaskFrameInPlace(ws.NewFrame(kind, true, payload))); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.over {
		return net.ErrClosed
	}
	_, err := s.frames.Write(text.Bytes())
	s.over = err != nil || kind == ws.OpClose
	return err
}

// end closes the connection. A controller that broke a rule is told so, as far as it listens for that long; one that
// said goodbye is answered.
func (s *socket) end(patience time.Duration, err error) {
	var rule broken
	var bye goodbye
	switch {
	case errors.As(err, &rule):
		if s.write(ws.OpClose, ws.NewCloseFrameBody(rule.status, reason(rule.error))) == nil {
			s.hearOut(patience)
		}
	case errors.As(err, &bye):
		_ = s.write(ws.OpClose, bye.answer())
	}
	_ = s.wire.Close()
}

// hearOut reads away what is still on its way, until the controller hangs up: closing a connection on unread bytes
// would take back what was written last, the reason.
func (s *socket) hearOut(patience time.Duration) {
	if s.frames.SetReadDeadline(time.Now().Add(patience)) == nil {
		_, _ = io.Copy(io.Discard, s.frames)
	}
}

// reason is what fits into a close frame.
func reason(err error) string {
	const longest = ws.MaxControlFramePayloadSize - 2
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}

// impatient is a connection whose writes do not block for long. One that did has broken the connection.
type impatient struct {
	net.Conn
	within time.Duration
}

func (c impatient) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.within)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
