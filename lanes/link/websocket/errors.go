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

// closeError is a close frame of the controller. It is link.ErrFaulty when the status says that the gateway broke a rule.
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
	for _, network := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, network) {
			return err
		}
	}
	return violation{ws.StatusProtocolError, err}
}
