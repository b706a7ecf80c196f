package websocket

import (
	"errors"
	"time"

	"github.com/gobwas/ws"

	"rangegate/lanes/link/websocket/frame"
)

// What a controller may send on a connection (docs/hardware.md): so much at once, and so much more each
// second. A lane that was cut off for a day has some hundred reports to repeat.
const (
	messagesAtOnce    = 5000
	messagesPerSecond = 200
	bytesAtOnce       = 4 << 20
	bytesPerSecond    = 256 << 10
)

// budget is two token buckets, of messages and of bytes, that keep a controller which floods its link from
// taking more than a share of the gateway. Each one is the time at which it will be full again, on the
// monotonic clock: an idle lane pays two words.
type budget struct{ messages, bytes time.Duration }

const (
	perMessage = time.Second / messagesPerSecond
	perByte    = time.Second / bytesPerSecond
)

var errFlood = violation{ws.StatusPolicyViolation, errors.New("the controller sends more than a lane has to say")}

// spend takes a frame of that length out of the budget. The error is a violation: the budget is used up.
func (b *budget) spend(now time.Duration, length int64) error {
	length = min(length, frame.Longest+1) // a longer one is refused for its length
	b.messages = max(b.messages, now) + perMessage
	b.bytes = max(b.bytes, now) + time.Duration(length)*perByte
	if b.messages-now > messagesAtOnce*perMessage || b.bytes-now > bytesAtOnce*perByte {
		return errFlood
	}
	return nil
}

// refund gives a message back that does not count.
func (b *budget) refund() { b.messages -= perMessage }
