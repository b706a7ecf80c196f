package websocket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"unicode/utf8"

	"github.com/gobwas/ws"

	"rangegate/lanes/link"
)

// broken is of a controller that broke a rule: its connection is closed with that status.
type broken struct {
	status ws.StatusCode
	error
}

func (b broken) Error() string        { return fmt.Sprintf("%v: %v", link.ErrFaulty, b.error) }
func (b broken) Unwrap() error        { return b.error }
func (b broken) Is(target error) bool { return target == link.ErrFaulty }

// LINK.md's rules of a message, whatever is in it.
var (
	errTooLong = errors.New("a message longer than 16 KiB")
	errNotText = errors.New("a message that is not text")
)

// goodbye is of a controller that closes the connection. It is faulty when it says that we broke a rule.
type goodbye struct {
	status ws.StatusCode
	reason string
}

func (g goodbye) Error() string {
	return fmt.Sprintf("the controller closes the connection: status %d %q", g.status, g.reason)
}

// Is has a goodbye be the end of what the controller says, as io.EOF is without one.
func (g goodbye) Is(target error) bool {
	if target != link.ErrFaulty {
		return target == io.EOF
	}
	switch g.status {
	case ws.StatusProtocolError, ws.StatusUnsupportedData, ws.StatusInvalidFramePayloadData,
		ws.StatusPolicyViolation, ws.StatusMessageTooBig:
		return true
	}
	return false
}

// answer is the payload of the close frame that a goodbye is answered with.
func (g goodbye) answer() []byte {
	if g.status == ws.StatusNoStatusRcvd {
		return nil
	}
	return ws.NewCloseFrameBody(g.status, "")
}

// leaving is what a close frame comes to: a goodbye, unless the frame breaks a rule itself.
func leaving(payload []byte) error {
	if len(payload) == 0 {
		return goodbye{status: ws.StatusNoStatusRcvd}
	}
	status, reason := ws.ParseCloseFrameData(payload)
	if !sendable(status) || !utf8.ValidString(reason) {
		return broken{ws.StatusProtocolError, errors.New("a close frame without a status that may be sent")}
	}
	return goodbye{status, reason}
}

// sendable tells whether a close frame may have that status: those that are registered at present, and those that are
// for libraries and applications.
func sendable(status ws.StatusCode) bool {
	const last = 1014 // bad gateway
	if status == ws.StatusNoMeaningYet || status.IsProtocolReserved() {
		return false
	}
	return status >= ws.StatusNormalClosure && status <= last || status >= 3000 && status <= 4999
}

// judged is the error of a read: of the way to the controller, or of a controller that does not keep to the rules of
// what it speaks.
func judged(err error) error {
	if unreached(err) {
		return err
	}
	return broken{ws.StatusProtocolError, err}
}

// unreached tells whether the error is of the way to the controller.
func unreached(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
