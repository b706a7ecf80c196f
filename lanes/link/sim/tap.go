package sim

import (
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// tap shows what goes over a connection in the process to whoever follows the link of the lane, in the messages that a
// wire would have. They are encoded only then.
type tap struct {
	driver *Driver
	taps   *link.Taps
	lane   uuid.UUID
}

func (t tap) add(sent bool, encode func(now lanes.Instant) []byte) {
	followers := t.taps.Of(t.lane)
	if len(followers) == 0 {
		return
	}
	now := t.driver.now()
	text := encode(now)
	followers.Add(link.Frame{
		At: now.Wall, Sent: sent, Kind: link.FrameMessage, Payload: text, Size: int64(len(text)),
	})
}

func (t tap) greeting(lane link.Lane) {
	t.add(true, func(lanes.Instant) []byte { return frame.GatewayHello(frame.Greeting{Lane: lane}) })
}

func (t tap) hello(hello link.Hello) {
	t.add(false, func(lanes.Instant) []byte {
		return frame.ControllerHello(frame.Hello{Lane: t.lane, Hello: hello})
	})
}

func (t tap) state(s link.State) {
	t.add(true, func(now lanes.Instant) []byte { return frame.State(frame.ProvenState{State: s}, now) })
}

func (t tap) ack(log lanes.Log) {
	t.add(true, func(lanes.Instant) []byte { return frame.Ack(log) })
}

func (t tap) applied(revision uint64) {
	t.add(false, func(lanes.Instant) []byte { return frame.AppliedRevision(revision) })
}

func (t tap) report(report lanes.Report) {
	t.add(false, func(lanes.Instant) []byte { return frame.Report(report) })
}
