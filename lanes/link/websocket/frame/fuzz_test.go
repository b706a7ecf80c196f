package frame_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// No bytes make the decoder panic, and a decoded message stays the same when it is encoded and decoded again.
func FuzzFrame(f *testing.F) {
	running := &lanes.Session{
		ID: session, Group: groupID, Customer: "Jo", Phase: lanes.Running, Left: time.Minute,
		Purchase: &lanes.Purchase{ID: purchase, Phase: lanes.Accepted, UserMessage: "Thanks"},
	}
	for _, text := range [][]byte{
		frame.GatewayHello(frame.Greeting{Lane: link.Lane{Range: rangeID, ID: laneID, Epoch: 3}, Challenge: theirs}),
		frame.State(frame.ProvenState{State: link.State{Revision: 1, Session: running, Purchasing: true}, Proof: own},
			lanes.Instant{}),
		frame.Ack(lanes.Log{ID: "log", Seq: 1}),
		frame.ControllerHello(frame.Hello{Lane: laneID, Hello: link.Hello{
			LogID: "log", Firmware: "1", Session: session, Phase: lanes.Paused, Left: time.Second,
			Faults: []string{"lamp"},
		}, Challenge: own, Proof: theirs}),
		frame.AppliedRevision(7),
		frame.Report(lanes.Report{Log: lanes.Log{Seq: 1}, Kind: lanes.ReportHelp, Age: time.Second}),
		frame.Report(lanes.Report{
			Log: lanes.Log{Seq: 2}, Kind: lanes.ReportPurchase, Purchase: purchase,
			Items: []lanes.Item{{ID: "time", Qty: 1}},
		}),
		frame.Report(lanes.Report{Log: lanes.Log{Seq: 3}, Kind: lanes.ReportFault, Detail: "lamp"}),
		[]byte(`{"type":"report","seq":1e3,"kind":"\ud800"}`), []byte("{"), []byte("null"),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > frame.Longest/6 {
			return // encoded repeated it may be too long: escapes need up to six times the space
		}
		if message, err := frame.FromController(text); err == nil && message != nil {
			repeated, err := frame.FromController(rewritten(message))
			require.NoError(t, err)
			require.Equal(t, message, repeated)
		}
		message, err := frame.FromGateway(text)
		if err != nil || message == nil {
			return
		}
		if s, ok := message.(frame.ProvenState); ok && s.Session != nil && s.Session.Purchase != nil &&
			len(s.Session.Purchase.UserMessage) > 1000 {
			return // encoding truncates it
		}
		repeated, err := frame.FromGateway(rewritten(message))
		require.NoError(t, err)
		require.Equal(t, message, repeated)
	})
}

func rewritten(message any) []byte {
	switch m := message.(type) {
	case frame.Greeting:
		return frame.GatewayHello(m)
	case frame.ProvenState:
		return frame.State(m, lanes.Instant{})
	case lanes.Log:
		return frame.Ack(m)
	case frame.Hello:
		return frame.ControllerHello(m)
	case frame.Applied:
		return frame.AppliedRevision(uint64(m))
	case lanes.Report:
		return frame.Report(m)
	}
	panic(message)
}
