package websocket

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"rangegate/lanes"
	"rangegate/lanes/link/websocket/frame"
)

// socket is a WebSocket and the connection under it.
type socket struct {
	frames *websocket.Conn
	wire   net.Conn // closing it ends whatever the socket does, at once

	now   func() lanes.Instant
	alive atomic.Int64 // when the controller last gave a sign of life: now's Mono
}

func (s *socket) heard() { s.alive.Store(int64(s.now().Mono)) }

func (s *socket) silent() time.Duration { return s.now().Mono - time.Duration(s.alive.Load()) }

// end closes the connection. A controller that broke a rule is told so, as far as it listens for that long.
func (s *socket) end(patience time.Duration, err error) {
	var rule broken
	if errors.As(err, &rule) {
		timer := time.AfterFunc(patience, func() { _ = s.wire.Close() })
		_ = s.frames.Close(rule.status(), reason(rule.error))
		timer.Stop()
	}
	_ = s.wire.Close()
	_ = s.frames.CloseNow()
}

// reason is what fits into a close frame.
func reason(err error) string {
	const longest = 123
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}

// buffers hold one message each; a lane has one only while a message is read.
var buffers = sync.Pool{New: func() any { return new([frame.Longest + 1]byte) }}

// read is the next message, nil for one of an unknown type. Only one goroutine reads.
func (s *socket) read(ctx context.Context) (any, error) {
	kind, from, err := s.frames.Reader(ctx)
	if err != nil {
		return nil, judged(err)
	}
	buffer := buffers.Get().(*[frame.Longest + 1]byte)
	defer buffers.Put(buffer)
	n, err := io.ReadFull(from, buffer[:])
	switch {
	case err == nil:
		return nil, broken{errTooLong}
	case err != io.EOF && err != io.ErrUnexpectedEOF: // wrapped, they are of the connection and not of the message
		return nil, judged(err)
	case kind != websocket.MessageText:
		return nil, broken{errors.New("a message that is not text")}
	}
	s.heard()
	message, err := frame.FromController(buffer[:n])
	if err != nil {
		return nil, broken{err}
	}
	return message, nil
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
