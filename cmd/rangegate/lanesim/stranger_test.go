package lanesim_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	coder "github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

const laneKey = "bGFuZSAxIGhhcyBhIGtleSBvZiAzMiBieXRlcyBoZXI"

// newKeyed is newFixture for a lane with a key, with the gateway's link up and a session that runs.
func newKeyed(t *testing.T) (*fixture, link.Connection, *receiver) {
	r := newFixture(t)
	hardware, err := lanesim.New(lanesim.Settings{Now: r.now},
		lanesim.Lane{ID: r.lane.ID, Listen: "127.0.0.1:0", Key: laneKey})
	require.NoError(t, err)
	t.Cleanup(hardware.Close)
	r.Controller = hardware.Controller(r.lane.ID)
	r.driver = websocket.New(websocket.Settings{
		Now: r.now, Lanes: map[uuid.UUID]websocket.Target{r.lane.ID: {Address: r.Address(), Key: laneKey}},
	})
	conn, _, received := r.startSession()
	return r, conn, received
}

// stranger is a gateway that somebody else runs.
type stranger struct {
	*testing.T
	frames *coder.Conn
	own    frame.Handshake
	epoch  uint64
}

// stranger dials the controller and says hello with that epoch, and with a challenge if it is given.
func (r *fixture) stranger(epoch uint64, challenge string) *stranger {
	r.Helper()
	//nolint:bodyclose // the library closes it
	frames, _, err := coder.Dial(r.Context(), r.Address(),
		&coder.DialOptions{Subprotocols: []string{frame.Subprotocol}})
	require.NoError(r, err)
	r.Cleanup(func() { _ = frames.CloseNow() })
	s := &stranger{r.T, frames, frame.Handshake{Lane: r.lane.ID, Gateway: challenge}, epoch}
	hello := r.lane
	hello.Epoch, hello.HoldOnLoss = epoch, true
	s.write(frame.GatewayHello(frame.Greeting{Lane: hello, Challenge: challenge}))
	return s
}

func (s *stranger) write(text []byte) {
	s.Helper()
	require.NoError(s, s.frames.Write(s.Context(), coder.MessageText, text))
}

// hello reads the controller's hello.
func (s *stranger) hello() frame.Hello {
	s.Helper()
	_, text, err := s.frames.Read(s.Context())
	require.NoError(s, err)
	message, err := frame.FromController(text)
	require.NoError(s, err)
	s.own.Controller = message.(frame.Hello).Challenge
	return message.(frame.Hello)
}

// isRefused requires that the controller says nothing more, and closes with 1008.
func (s *stranger) isRefused() {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), timeout)
	defer cancel()
	_, text, err := s.frames.Read(ctx)
	require.Empty(s, text)
	require.Equal(s, coder.StatusPolicyViolation, coder.CloseStatus(err), "%v", err)
}

// unlock is the state that a stranger wants: no hold, no session.
func unlock(proof string) []byte {
	return frame.State(frame.ProvenState{State: link.State{Revision: 1}, Proof: proof}, lanes.Instant{})
}

const hugeEpoch = 1 << 62

// A controller with a key changes nothing for a gateway that has not proven that it has the key, and
// remembers no epoch of it.
func TestAStrangerChangesNothing(t *testing.T) {
	for name, attack := range map[string]func(r *fixture){
		"no challenge": func(r *fixture) { r.stranger(hugeEpoch, "").isRefused() },
		"no proof": func(r *fixture) {
			s := r.stranger(hugeEpoch, frame.NewChallenge())
			s.hello()
			s.write(unlock(""))
			s.isRefused()
		},
		"another key": func(r *fixture) {
			s := r.stranger(hugeEpoch, frame.NewChallenge())
			s.hello()
			s.own.Key = "another key"
			s.write(unlock(s.own.GatewayProof(s.epoch)))
			s.isRefused()
		},
		"the controller's own proof": func(r *fixture) {
			s := r.stranger(hugeEpoch, frame.NewChallenge())
			s.write(unlock(s.hello().Proof))
			s.isRefused()
		},
		"another epoch than was proven": func(r *fixture) {
			s := r.stranger(hugeEpoch, frame.NewChallenge())
			s.hello()
			s.own.Key = laneKey
			s.write(unlock(s.own.GatewayProof(s.epoch - 1)))
			s.isRefused()
		},
		"acks and pings": func(r *fixture) {
			s := r.stranger(hugeEpoch, frame.NewChallenge())
			hello := s.hello()
			s.write(frame.Ack(lanes.Log{ID: hello.LogID, Seq: 1 << 40}))
			go func() { _, _, _ = s.frames.Read(context.Background()) }() // receives the pong
			require.NoError(r, s.frames.Ping(r.Context()))
			require.NoError(r, s.frames.CloseNow())
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, conn, received := newKeyed(t)
			require.NoError(t, r.Help())
			receive(t, received.reports)
			before := r.Shown()
			attack(r)
			after := r.Shown()
			before.Remaining, after.Remaining = 0, 0
			assert.Equal(t, before, after)
			assert.True(t, after.Open)
			assert.Equal(t, 1, r.Unacked())

			conn.Send(link.State{Revision: 2, Session: r.session()})
			assert.EqualValues(t, 2, receive(t, received.applied), "the gateway's connection is still the lane's")
			assert.Empty(t, received.down)
			next, _, received := r.dial() // with the epoch that it had
			next.Send(link.State{Revision: 1})
			receive(t, received.applied)
		})
	}
}

// A stranger that repeats what a gateway has said on another connection is none.
func TestARecordedStateIsRefused(t *testing.T) {
	r, _, _ := newKeyed(t)
	s := r.stranger(2, frame.NewChallenge())
	s.hello()
	s.own.Key = laneKey
	recorded := unlock(s.own.GatewayProof(s.epoch))
	s.write(recorded)
	_, text, err := s.frames.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(text), `"applied"`, "that one had the key")

	replay := r.stranger(2, s.own.Gateway)
	replay.hello()
	replay.write(recorded)
	replay.isRefused()
}

// An epoch counts from the proof on: an older gateway is refused at its hello, or at its proof when it came first.
func TestTheEpochCountsOnceItIsProven(t *testing.T) {
	r, _, _ := newKeyed(t)
	older := r.stranger(3, frame.NewChallenge())
	older.hello()
	older.own.Key = laneKey
	r.lane.Epoch = 4
	r.startSession()
	older.write(unlock(older.own.GatewayProof(3)))
	older.isRefused()
	r.stranger(3, frame.NewChallenge()).isRefused()
}

// A power cut ends the connections of gateways that have not proven themselves too: what the hello said is no
// longer so.
func TestAPowerCutEndsUnprovenConnections(t *testing.T) {
	r, _, _ := newKeyed(t)
	s := r.stranger(2, frame.NewChallenge())
	s.hello()
	r.PowerCut(true)
	// Less than the controller waits for a gateway that says nothing.
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	_, _, err := s.frames.Read(ctx)
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "the connection stays open")
	require.Equal(t, coder.StatusCode(-1), coder.CloseStatus(err))
}

// A gateway may send a controller that dials to another address. The next dial goes to the first one again.
func TestARedirectCountsForOneDial(t *testing.T) {
	dials := make(chan string, 10)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		dials <- "there"
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer elsewhere.Close()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		dials <- "here"
		http.Redirect(w, request, elsewhere.URL+request.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer gateway.Close()
	lane := lanesim.Lane{ID: uuid.New()}
	lane.Dial = "ws" + strings.TrimPrefix(gateway.URL, "http") + websocket.LanePath + lane.ID.String()
	hardware, err := lanesim.New(lanesim.Settings{Now: newFixture(t).now, DialOnRequest: true}, lane)
	require.NoError(t, err)
	defer hardware.Close()
	for range 2 {
		var busy lanesim.BusyError
		require.ErrorAs(t, hardware.Controller(lane.ID).Dial(t.Context()), &busy)
		require.Equal(t, []string{"here", "there"}, []string{<-dials, <-dials})
	}
}
