package websocket

import (
	"fmt"
	"io"
	"sync"

	"github.com/gobwas/ws"

	"rangegate/lanes/link/websocket/frame"
)

// What the next frame may be: one that begins a message, or one that continues it. Control frames may be anywhere.
const (
	between = ws.StateClientSide
	within  = ws.StateClientSide | ws.StateFragmented
)

// header waits for the next frame, and says what it is. Only one goroutine reads. That goroutine is here for as long as
// nothing happens on the lane, so nothing here needs a stack of more than its least size.
func (s *socket) header(where ws.State) (ws.Header, error) {
	h, err := ws.ReadHeader(s.frames)
	if err == nil {
		err = ws.CheckHeader(h, where)
	}
	if err != nil {
		err = judged(err)
	}
	return h, err
}

// buffers hold one message each; a lane has one only while a message is read.
var buffers = sync.Pool{New: func() any { return new([frame.Longest]byte) }}

// rest reads what belongs to that header: the message that begins with it, nil for one of an unknown type, or, after
// which there is none either, a control frame.
func (s *socket) rest(h ws.Header) (message any, err error) {
	if h.OpCode.IsControl() {
		return nil, s.control(h)
	}
	if h.OpCode != ws.OpText {
		return nil, broken{ws.StatusPolicyViolation, errNotText}
	}
	buffer := buffers.Get().(*[frame.Longest]byte)
	defer buffers.Put(buffer)
	text, err := s.text(h, buffer)
	if err != nil {
		return nil, err
	}
	s.heard()
	if message, err = frame.FromController(text); err != nil {
		return nil, broken{ws.StatusPolicyViolation, err}
	}
	return message, nil
}

// text is the whole message, in as many fragments as it comes.
func (s *socket) text(h ws.Header, buffer *[frame.Longest]byte) ([]byte, error) {
	n := 0
	for {
		if h.Length > int64(len(buffer)-n) {
			return nil, broken{ws.StatusMessageTooBig, errTooLong}
		}
		fragment := buffer[n : n+int(h.Length)]
		if _, err := io.ReadFull(s.frames, fragment); err != nil {
			return nil, judged(err)
		}
		n += len(fragment)
		if h.Fin {
			return buffer[:n], nil
		}
		var err error
		if h, err = s.continued(); err != nil {
			return nil, err
		}
	}
}

// continued waits for the next fragment.
func (s *socket) continued() (ws.Header, error) {
	for {
		h, err := s.header(within)
		if err != nil || !h.OpCode.IsControl() {
			return h, err
		}
		if err := s.control(h); err != nil {
			return h, err
		}
	}
}

func (s *socket) control(h ws.Header) error {
	payload := make([]byte, h.Length) // at most 125, or header would have refused it
	if _, err := io.ReadFull(s.frames, payload); err != nil {
		return judged(err)
	}
	switch h.OpCode {
	case ws.OpPing:
		if err := s.write(ws.OpPong, payload); err != nil {
			return fmt.Errorf("answering a ping: %w", err)
		}
	case ws.OpPong:
		s.heard()
		s.ponged()
	case ws.OpClose:
		return leaving(payload)
	}
	return nil
}
