package websocket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gobwas/ws"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// socket is the gateway's end of a WebSocket, with the connection under it. It has no buffers: it reads into
// the caller's, and writes a frame in one piece.
type socket struct {
	side ws.State // of the gateway: ws.StateClientSide when it has dialled, ws.StateServerSide when the controller has

	frames net.Conn // carries the frames: wire, or TLS over it
	wire   net.Conn // closing it ends every read and write at once

	now       func() lanes.Instant
	heardAt   atomic.Int64 // the controller's last sign of life: now's Mono
	pingedAt  atomic.Int64 // the oldest unanswered ping: now's Mono; 0: none
	roundTrip func(took time.Duration)
	ponged    atomic.Pointer[chan struct{}] // closed at the next pong; nil unless somebody waits for it

	budget budget // of what the controller sends; only the goroutine that reads uses it

	tap tap

	writing sync.Mutex
	ended   bool // a write failed, or a close frame was written: nothing follows; guarded by writing
}

func newSocket(side ws.State, frames, wire net.Conn, s Settings) *socket {
	return &socket{side: side, frames: frames, wire: wire, now: s.Now, roundTrip: s.RoundTrip}
}

func (s *socket) noteSignOfLife() { s.heardAt.Store(int64(s.now().Mono)) }

func (s *socket) silence() time.Duration { return s.now().Mono - time.Duration(s.heardAt.Load()) }

func (s *socket) notePing() { s.pingedAt.CompareAndSwap(0, int64(s.now().Mono)) }

// notePong measures the round trip. Pongs come in the order of the pings, so the first one answers the oldest.
func (s *socket) notePong() {
	s.noteSignOfLife()
	if pinged := s.pingedAt.Swap(0); pinged != 0 && s.roundTrip != nil {
		s.roundTrip(s.now().Mono - time.Duration(pinged))
	}
	if answered := s.ponged.Swap(nil); answered != nil {
		close(*answered)
	}
}

// answers pings the controller, and reports whether a pong comes within the timeout. Only one goroutine may
// ask at a time.
func (s *socket) answers(timeout time.Duration) bool {
	answered := make(chan struct{})
	s.ponged.Store(&answered)
	defer s.ponged.Store(nil)
	s.notePing()
	if s.write(ws.OpPing, nil) != nil {
		return false
	}
	select {
	case <-answered:
		return true
	case <-time.After(timeout):
		return false
	}
}

// write writes a frame, and masks the payload in place as a client has to. It blocks no longer than the wire
// does. After a failed write nothing more is written.
func (s *socket) write(kind ws.OpCode, payload []byte) error {
	followers := s.tap.followers()
	var followed link.Frame
	if len(followers) > 0 {
		followed = s.tap.frame(kind, bytes.Clone(payload), int64(len(payload))) // as it is before it is masked
	}
	var text bytes.Buffer
	text.Grow(ws.MaxHeaderSize + len(payload))
	written := ws.NewFrame(kind, true, payload)
	if s.side.ClientSide() {
		written = ws.MaskFrameInPlace(written)
	}
	if err := ws.WriteFrame(&text, written); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.ended {
		return net.ErrClosed
	}
	if len(followers) > 0 { // before it is written, as the reply may be read before Write has returned
		followed.Sent, followed.At = true, s.now().Wall
		followers.Add(followed)
	}
	_, err := s.frames.Write(text.Bytes())
	s.ended = err != nil || kind == ws.OpClose
	return err
}

// end closes the connection. It sends a controller that broke a rule the reason, and waits for it to
// disconnect within the timeout; it answers a close frame.
func (s *socket) end(timeout time.Duration, err error) {
	var broken violation
	var closed closeError
	var later notNow
	switch {
	case errors.As(err, &later):
		const tryAgainLater = ws.StatusCode(1013)
		if s.write(ws.OpClose, ws.NewCloseFrameBody(tryAgainLater, closeReason(later))) == nil {
			s.drain(timeout)
		}
	case errors.As(err, &broken):
		if s.write(ws.OpClose, ws.NewCloseFrameBody(broken.status, closeReason(broken.error))) == nil {
			s.drain(timeout)
		}
	case errors.As(err, &closed):
		_ = s.write(ws.OpClose, closed.answer())
	}
	_ = s.wire.Close()
}

// drain reads until the controller disconnects: closing a connection with unread bytes would discard the
// reason that was written last. It stops after as many bytes as a controller may send at once.
func (s *socket) drain(timeout time.Duration) {
	if s.frames.SetReadDeadline(time.Now().Add(timeout)) == nil {
		_, _ = io.CopyN(io.Discard, s.frames, bytesAtOnce)
	}
}

// closeReason cuts the text of an error to the size of a close frame.
func closeReason(err error) string {
	const longest = ws.MaxControlFramePayloadSize - 2
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), longest)], "")
}

// Whether the next frame begins a message or continues one. Control frames may come in both.
const (
	newMessage = ws.State(0)
	inMessage  = ws.StateFragmented
)

// readHeader waits for the header of the next frame. Only one goroutine reads. It is here while the lane is
// idle, so nothing here may grow the stack.
func (s *socket) readHeader(state ws.State) (ws.Header, error) {
	h, err := ws.ReadHeader(s.frames)
	if err == nil {
		err = ws.CheckHeader(h, s.side|state)
	}
	if err != nil {
		err = readError(err)
	}
	return h, err
}

// buffers hold one message each; a lane uses one only while it reads a message.
var buffers = sync.Pool{New: func() any { return new([frame.Longest]byte) }}

// readBody reads the message that begins with that header. It returns nil for a message of an unknown type
// and for a control frame.
func (s *socket) readBody(h ws.Header) (message any, err error) {
	if err := s.budget.spend(s.now().Mono, h.Length); err != nil {
		return nil, err
	}
	if h.OpCode.IsControl() {
		return nil, s.handleControl(h)
	}
	if h.OpCode != ws.OpText {
		s.noteReceived(h.OpCode, nil, h.Length)
		return nil, violation{ws.StatusPolicyViolation, errNotText}
	}
	buffer := buffers.Get().(*[frame.Longest]byte)
	defer buffers.Put(buffer)
	text, err := s.readText(h, buffer)
	if err != nil {
		return nil, err
	}
	s.noteReceived(ws.OpText, text, int64(len(text)))
	s.noteSignOfLife()
	if message, err = frame.FromController(text); err != nil {
		return nil, violation{ws.StatusPolicyViolation, err}
	}
	return message, nil
}

// readText reads all fragments of a message.
func (s *socket) readText(h ws.Header, buffer *[frame.Longest]byte) ([]byte, error) {
	n := 0
	for {
		if h.Length > int64(len(buffer)-n) {
			s.noteReceived(ws.OpText, nil, h.Length)
			return nil, violation{ws.StatusMessageTooBig, errTooLong}
		}
		fragment := buffer[n : n+int(h.Length)]
		if err := s.readPayload(h, fragment); err != nil {
			return nil, err
		}
		n += len(fragment)
		if h.Fin {
			return buffer[:n], nil
		}
		var err error
		if h, err = s.readContinuation(); err != nil {
			return nil, err
		}
	}
}

// readPayload fills the buffer with the payload behind that header, as it was before a client masked it.
func (s *socket) readPayload(h ws.Header, payload []byte) error {
	if _, err := io.ReadFull(s.frames, payload); err != nil {
		return readError(err)
	}
	if h.Masked {
		ws.Cipher(payload, h.Mask, 0)
	}
	return nil
}

// readContinuation waits for the header of the next fragment.
func (s *socket) readContinuation() (ws.Header, error) {
	for {
		h, err := s.readHeader(inMessage)
		if err == nil {
			err = s.budget.spend(s.now().Mono, h.Length)
		}
		if err != nil || !h.OpCode.IsControl() {
			return h, err
		}
		if err := s.handleControl(h); err != nil {
			return h, err
		}
	}
}

func (s *socket) handleControl(h ws.Header) error {
	payload := make([]byte, h.Length) // at most 125: readHeader refuses more
	if err := s.readPayload(h, payload); err != nil {
		return err
	}
	s.noteReceived(h.OpCode, payload, h.Length)
	switch h.OpCode {
	case ws.OpPing:
		if err := s.write(ws.OpPong, payload); err != nil {
			return fmt.Errorf("answering a ping: %w", err)
		}
	case ws.OpPong:
		s.notePong()
	case ws.OpClose:
		return closeErrorOf(payload)
	}
	return nil
}

// violation is the error of a controller that broke a rule: link.ErrFaulty. The connection is closed with that status.
type violation struct {
	status ws.StatusCode
	error
}

func (v violation) Error() string { return fmt.Sprintf("%v: %v", link.ErrFaulty, v.error) }
func (v violation) Unwrap() error { return v.error }

// Is makes every violation a link.ErrFaulty.
func (v violation) Is(target error) bool { return target == link.ErrFaulty }

// LINK.md's rules for every message.
var (
	errTooLong = errors.New("a message longer than 16 KiB")
	errNotText = errors.New("a message that is not text")
)

// closeError is a close frame of the controller. It is link.ErrFaulty when the status says that the gateway
// broke a rule.
type closeError struct {
	status ws.StatusCode
	reason string
}

func (c closeError) Error() string {
	return fmt.Sprintf("the controller closes the connection: status %d %q", c.status, c.reason)
}

// Is makes a close frame io.EOF, as the end of a connection without one is, and link.ErrFaulty for some statuses.
func (c closeError) Is(target error) bool {
	if target != link.ErrFaulty {
		return target == io.EOF
	}
	switch c.status {
	case ws.StatusProtocolError, ws.StatusUnsupportedData, ws.StatusInvalidFramePayloadData,
		ws.StatusPolicyViolation, ws.StatusMessageTooBig:
		return true
	}
	return false
}

// answer is the payload of the close frame in reply.
func (c closeError) answer() []byte {
	if c.status == ws.StatusNoStatusRcvd {
		return nil
	}
	return ws.NewCloseFrameBody(c.status, "")
}

// closeErrorOf returns the closeError of a close frame, or a violation when the frame itself breaks a rule.
func closeErrorOf(payload []byte) error {
	if len(payload) == 0 {
		return closeError{status: ws.StatusNoStatusRcvd}
	}
	status, reason := ws.ParseCloseFrameData(payload)
	if !isSendable(status) || !utf8.ValidString(reason) {
		return violation{ws.StatusProtocolError, errors.New("a close frame without a status that may be sent")}
	}
	return closeError{status, reason}
}

// isSendable reports whether a close frame may have that status: one that is registered, or one for libraries and
// applications.
func isSendable(status ws.StatusCode) bool {
	const last = 1014 // bad gateway
	if status == ws.StatusNoMeaningYet || status.IsProtocolReserved() {
		return false
	}
	return status >= ws.StatusNormalClosure && status <= last || status >= 3000 && status <= 4999
}

// readError returns an error of the network as it is, and makes any other error of a read a violation.
func readError(err error) error {
	var operation *net.OpError
	if errors.As(err, &operation) {
		return err
	}
	for _, network := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.Canceled,
		context.DeadlineExceeded,
	} {
		if errors.Is(err, network) {
			return err
		}
	}
	return violation{ws.StatusProtocolError, err}
}
