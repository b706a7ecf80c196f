package websocket

import (
	"bytes"

	"github.com/gobwas/ws"
	"github.com/google/uuid"

	"rangegate/lanes/link"
)

// tap is where the frames of a socket are shown to whoever follows the link of the lane. The zero value is followed by
// nobody.
type tap struct {
	taps    *link.Taps
	lane    uuid.UUID
	address string // of the controller
}

func (t *tap) followers() link.Followers { return t.taps.Of(t.lane) }

// frame returns a frame without its time and direction. It keeps the payload, which nil says was not read.
func (t *tap) frame(kind ws.OpCode, payload []byte, size int64) link.Frame {
	made := link.Frame{Payload: payload, Size: size, Address: t.address}
	switch kind {
	case ws.OpText:
		made.Kind = link.FrameMessage
	case ws.OpBinary:
		made.Kind = link.FrameBinary
	case ws.OpPing:
		made.Kind = link.FramePing
	case ws.OpPong:
		made.Kind = link.FramePong
	case ws.OpClose:
		made.Kind = link.FrameClose
	}
	return made
}

// noteReceived shows a frame that was received, and copies the payload only if somebody follows.
func (s *socket) noteReceived(kind ws.OpCode, payload []byte, size int64) {
	if followers := s.tap.followers(); len(followers) > 0 {
		received := s.tap.frame(kind, bytes.Clone(payload), size)
		received.At = s.now().Wall
		followers.Add(received)
	}
}
