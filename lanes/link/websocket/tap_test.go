package websocket_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

// follow has the frames of the lane's link kept from now on.
func follow(t *testing.T, lane *link.Lane) *link.Follower {
	lane.Taps = new(link.Taps)
	follower, err := lane.Taps.Follow(lane.ID)
	require.NoError(t, err)
	t.Cleanup(follower.Stop)
	return follower
}

// seen waits for the frames with those kinds, each with an arrow for who has sent it, and returns what is shown
// of them.
func seen(t *testing.T, follower *link.Follower, kinds ...string) (frames []lanes.LinkFrame) {
	t.Helper()
	var got []string
	for deadline := time.After(patience); len(got) < len(kinds); {
		select {
		case <-follower.Wake():
		case <-deadline:
			require.Equal(t, kinds, got)
		}
		taken, dropped := follower.Next()
		require.Zero(t, dropped)
		for _, one := range taken {
			arrow := "←"
			if one.Sent {
				arrow = "→"
			}
			redacted := frame.Redact(one)
			require.Regexp(t, `^127\.0\.0\.1:\d+$`, redacted.Address)
			got, frames = append(got, arrow+redacted.Kind), append(frames, redacted)
		}
	}
	require.Equal(t, kinds, got)
	return frames
}

// Whoever follows a link that the gateway dials sees all that either side says, in its order, from the hellos on.
func TestAFollowerSeesWhatALinkSays(t *testing.T) {
	f := newKeyed(t, laneKey, func(f *fixture, to *coder.Conn, gateway frame.Greeting) {
		send(to, string(frame.ControllerHello(f.answer(laneKey, gateway))))
		_, _, _ = to.Read(context.Background()) // the first state
		send(to, `{"type":"light","lux":300}`)
		send(to, string(frame.AppliedRevision(1)))
		send(to, string(frame.Report(lanes.Report{Log: lanes.Log{Seq: 1}, Kind: lanes.ReportHelp})))
		_, _, _ = to.Read(context.Background()) // the ack
		_ = to.Close(coder.StatusNormalClosure, "good night")
	})
	follower := follow(t, &f.lane)
	conn, received := f.connected()
	conn.Send(link.State{Revision: 1, Session: &lanes.Session{
		ID: uuid.New(), Customer: "Jo Smith", Phase: lanes.Paused,
	}})
	require.Eventually(t, func() bool { return received.count() == 1 }, patience, time.Millisecond)
	conn.Ack(lanes.Log{ID: "log", Seq: 1})
	require.Error(t, received.waitDown(t))
	frames := seen(t, follower, "→hello", "←hello", "→state", "←unknown", "←applied", "←report", "→ack", "←close",
		"→close")
	all := fmt.Sprintf("%+v", frames)
	for _, one := range frames {
		all += string(one.Shown)
	}
	require.NotContains(t, all, "Jo Smith")
	require.NotRegexp(t, `[A-Za-z0-9_-]{43}`, all, "a challenge or a proof")
	require.Contains(t, string(frames[0].Shown), `"challenge":"(redacted)"`)
	require.Contains(t, string(frames[1].Shown), `"proof":"(redacted)"`)
	require.Contains(t, string(frames[2].Shown), `"customer_name":"(redacted)"`)
	require.Equal(t, `{"status":1000,"reason":"good night"}`, string(frames[7].Shown))
}

// What a controller is refused for is seen: its hello with a wrong proof, and the gateway's word for it.
func TestAFollowerSeesWhyAControllerIsRefused(t *testing.T) {
	f := newKeyed(t, laneKey, func(f *fixture, to *coder.Conn, gateway frame.Greeting) {
		send(to, string(frame.ControllerHello(f.answer("another key", gateway))))
		_, _, _ = to.Read(context.Background())
	})
	follower := follow(t, &f.lane)
	_, _, err := f.dial()
	require.ErrorIs(t, err, link.ErrFaulty)
	frames := seen(t, follower, "→hello", "←hello", "→close")
	require.Contains(t, string(frames[2].Shown), `{"status":1008,"reason":"the controller has not proven`)
}

// What breaks a rule of the link is seen as such.
func TestAFollowerSeesWhatBreaksARule(t *testing.T) {
	for name, c := range map[string]struct {
		kind    coder.MessageType
		text    string
		seen    string
		bytes   int64
		problem string
	}{
		"no JSON": {coder.MessageText, "hello?", "←text", 6, "a message that is not a JSON object"},
		"too long": {
			coder.MessageText, strings.Repeat(" ", frame.Longest+1), "←text", frame.Longest + 1,
			"a message longer than 16384 bytes",
		},
		"binary": {coder.MessageBinary, "hello", "←binary", 5, "a message that is not text"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newScripted(t, func(f *fixture, to *coder.Conn) {
				send(to, f.hello())
				_ = to.Write(context.Background(), c.kind, []byte(c.text))
				_, _, _ = to.Read(context.Background())
			})
			follower := follow(t, &f.lane)
			_, received := f.connected()
			require.ErrorIs(t, received.waitDown(t), link.ErrFaulty)
			frames := seen(t, follower, "→hello", "←hello", c.seen, "→close")
			require.Equal(t, c.bytes, frames[2].Bytes)
			require.Equal(t, c.problem, frames[2].Problem)
			require.Nil(t, frames[2].Shown)
		})
	}
}

// Pings and pongs are seen, and who has sent them.
func TestAFollowerSeesPings(t *testing.T) {
	f := newScripted(t, func(f *fixture, to *coder.Conn) {
		send(to, f.hello())
		_ = to.Ping(context.Background()) // reads nothing, so it never returns
	})
	follower := follow(t, &f.lane)
	f.connected()
	seen(t, follower, "→hello", "←hello", "←ping", "→pong")
}

// A second controller that dials while the first one is linked is seen, and told from it by its address. Whoever dials
// for a lane that there is not is seen by nobody.
func TestAFollowerSeesWhoDials(t *testing.T) {
	var known uuid.UUID
	i := newIncoming(t, laneKey, func(lane uuid.UUID) error {
		if lane != known {
			return websocket.ErrUnknownLane
		}
		return nil
	})
	known = i.lane.ID
	follower := follow(t, &i.lane)
	waiting := i.await()
	_, _ = i.dial(uuid.New())
	first := i.link("first")
	arrived := within(t, waiting.arrived)
	first.CloseRead(t.Context()) // answers pings
	frames := seen(t, follower, "→hello", "←hello")
	require.Equal(t, arrived.hello.Address, frames[0].Address)
	second := i.link("second")
	_, _ = closed(t, second)
	frames = seen(t, follower, "→hello", "←hello", "→ping", "←pong", "→close")
	require.Equal(t, []bool{true, true, false, false, true}, []bool{
		frames[0].Address == frames[1].Address, frames[0].Address != frames[2].Address,
		frames[2].Address != arrived.hello.Address, frames[3].Address != arrived.hello.Address,
		frames[4].Address == frames[0].Address,
	})
	require.Contains(t, string(frames[4].Shown), "another controller of this lane is linked")
}
