package websocket_test

import (
	"context"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// answer is the hello of a controller with that key, for that hello of the gateway.
func (f *fixture) answer(key string, gateway frame.Greeting) frame.Hello {
	h := frame.Handshake{Key: key, Lane: f.lane.ID, Gateway: gateway.Challenge, Controller: frame.NewChallenge()}
	return frame.Hello{
		Lane: f.lane.ID, Hello: link.Hello{LogID: "log"}, Challenge: h.Controller, Proof: h.ControllerProof("log"),
	}
}

// A controller that has not proven that it has the lane's key is never up.
func TestAControllerWithoutTheKeyIsFaulty(t *testing.T) {
	for _, c := range []struct {
		name, problem string
		spoil         func(f *fixture, hello *frame.Hello, gateway frame.Greeting)
	}{
		{
			"no proof", "wants challenge and proof",
			func(_ *fixture, hello *frame.Hello, _ frame.Greeting) { hello.Proof = "" },
		},
		{
			"no challenge", "wants challenge and proof",
			func(_ *fixture, hello *frame.Hello, _ frame.Greeting) { hello.Challenge = "" },
		},
		{
			"neither", "wants challenge and proof",
			func(_ *fixture, hello *frame.Hello, _ frame.Greeting) { hello.Challenge, hello.Proof = "", "" },
		},
		{
			"another key", "has not proven",
			func(f *fixture, hello *frame.Hello, gateway frame.Greeting) { *hello = f.answer(laneKey+"x", gateway) },
		},
		{
			"an empty key", "has not proven",
			func(f *fixture, hello *frame.Hello, gateway frame.Greeting) { *hello = f.answer("", gateway) },
		},
		{
			"another log than it signed", "has not proven",
			func(_ *fixture, hello *frame.Hello, _ frame.Greeting) { hello.LogID = "another" },
		},
		{
			"a proof for another challenge", "has not proven",
			func(f *fixture, hello *frame.Hello, gateway frame.Greeting) {
				gateway.Challenge = frame.NewChallenge()
				*hello = f.answer(laneKey, gateway)
			},
		},
		{"the gateway's own proof", "has not proven", func(f *fixture, hello *frame.Hello, gateway frame.Greeting) {
			h := frame.Handshake{Key: laneKey, Lane: f.lane.ID, Gateway: gateway.Challenge, Controller: hello.Challenge}
			hello.Proof = h.GatewayProof(f.lane.Epoch)
		}},
	} {
		closed := make(chan coder.StatusCode, 1)
		_, _, err := newKeyed(t, laneKey, func(f *fixture, to *coder.Conn, gateway frame.Greeting) {
			hello := f.answer(laneKey, gateway)
			c.spoil(f, &hello, gateway)
			send(to, string(frame.ControllerHello(hello)))
			_, text, err := to.Read(context.Background())
			assert.Empty(t, text, "it gets no state")
			closed <- coder.CloseStatus(err)
		}).dial()
		assert.ErrorIs(t, err, link.ErrFaulty, c.name)
		assert.ErrorContains(t, err, c.problem, c.name)
		assert.NotContains(t, err.Error(), laneKey)
		assert.Equal(t, coder.StatusPolicyViolation, <-closed, c.name)
	}
}

// A proof that was recorded on one connection is none on the next.
func TestARecordedProofIsWorthNothing(t *testing.T) {
	var recorded *frame.Hello
	f := newKeyed(t, laneKey, func(f *fixture, to *coder.Conn, gateway frame.Greeting) {
		if recorded == nil {
			hello := f.answer(laneKey, gateway)
			recorded = &hello
		}
		send(to, string(frame.ControllerHello(*recorded)))
		_, _, _ = to.Read(context.Background())
	})
	conn, _ := f.connected()
	conn.Close()
	_, _, err := f.dial()
	require.ErrorIs(t, err, link.ErrFaulty)
}

// The first state of a connection proves that the gateway has the key; later ones prove nothing. An ack waits
// for it, as the controller believes none before.
func TestTheGatewayProvesItselfInItsFirstState(t *testing.T) {
	type proven struct {
		state frame.ProvenState
		ok    bool
	}
	states, acks := make(chan proven, 2), make(chan lanes.Log, 1)
	f := newKeyed(t, laneKey, func(f *fixture, to *coder.Conn, gateway frame.Greeting) {
		hello := f.answer(laneKey, gateway)
		send(to, string(frame.ControllerHello(hello)))
		h := frame.Handshake{Key: laneKey, Lane: f.lane.ID, Gateway: gateway.Challenge, Controller: hello.Challenge}
		for {
			_, text, err := to.Read(context.Background())
			if err != nil {
				return
			}
			message, err := frame.FromGateway(text)
			assert.NoError(t, err)
			switch m := message.(type) {
			case frame.ProvenState:
				states <- proven{m, h.VerifyGateway(m.Proof, gateway.Epoch)}
			case lanes.Log:
				assert.Len(t, states, 1, "the ack comes behind the proof")
				acks <- m
			}
		}
	})
	conn, _ := f.connected()
	conn.Ack(lanes.Log{ID: "log", Seq: 1})
	time.Sleep(50 * time.Millisecond) // real sockets: time in which the ack could come too early
	require.Empty(t, acks)
	conn.Send(link.State{Revision: 1})
	require.Equal(t, lanes.Log{ID: "log", Seq: 1}, within(t, acks))
	require.True(t, within(t, states).ok)
	conn.Send(link.State{Revision: 2})
	require.Empty(t, within(t, states).state.Proof)
}

// Without a key nobody is asked for a proof.
func TestALaneWithoutAKey(t *testing.T) {
	first := make(chan string, 1)
	f := newKeyed(t, "", func(f *fixture, to *coder.Conn, gateway frame.Greeting) {
		assert.Empty(t, gateway.Challenge)
		send(to, f.hello())
		_, text, _ := to.Read(context.Background())
		first <- string(text)
	})
	conn, _ := f.connected()
	conn.Send(link.State{Revision: 1})
	require.JSONEq(t, `{"type":"state","revision":1,"hold":false,"session":null,"purchase":null}`, within(t, first))
}

// within receives a value, and fails the test when none comes.
func within[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		require.Fail(t, "nothing comes")
	}
	return value
}
