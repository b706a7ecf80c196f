package websocket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/coder/websocket"

	"rangegate/lanes/link"
)

// broken is of a controller that broke a rule: its connection is closed with a status that says so.
type broken struct{ error }

func (b broken) Error() string        { return fmt.Sprintf("%v: %v", link.ErrFaulty, b.error) }
func (b broken) Unwrap() error        { return b.error }
func (b broken) Is(target error) bool { return target == link.ErrFaulty }

// errTooLong is a message beyond LINK.md's bound.
var errTooLong = errors.New("a message longer than 16 KiB")

func (b broken) status() websocket.StatusCode {
	if errors.Is(b.error, errTooLong) {
		return websocket.StatusMessageTooBig
	}
	return websocket.StatusPolicyViolation
}

// judged is the error of a read: faulty when the controller broke WebSocket's own rules, which the library has told it
// already, or when it says that we broke some.
func judged(err error) error {
	switch status := websocket.CloseStatus(err); status {
	case -1:
		if unreached(err) {
			return err
		}
	case websocket.StatusProtocolError, websocket.StatusUnsupportedData, websocket.StatusInvalidFramePayloadData,
		websocket.StatusPolicyViolation, websocket.StatusMessageTooBig:
	default:
		return err
	}
	return fmt.Errorf("%w: %w", link.ErrFaulty, err)
}

// unreached tells whether the error is of the way to the controller.
func unreached(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
