package frame_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// Two challenges, as bytes 0 to 31 and 32 to 63.
const (
	own    = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	theirs = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8"
	key    = "the key of a lane, 28 bytes."
)

func handshake() frame.Handshake {
	return frame.Handshake{Key: key, Lane: laneID, Gateway: own, Controller: theirs}
}

// The proofs are HMACs over the texts of LINK.md, which are written out here.
func TestProofs(t *testing.T) {
	sign := func(text string) string {
		sum := hmac.New(sha256.New, []byte(key))
		sum.Write([]byte(text))
		return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
	}
	controllers := sign("rangegate.lane.v1 controller\n44444444-4444-4444-8444-000000000001\n" + own + "\n" +
		theirs + "\nthe log")
	gateways := sign("rangegate.lane.v1 gateway\n44444444-4444-4444-8444-000000000001\n" + theirs + "\n" + own +
		"\n18446744073709551615")
	assert.Equal(t, controllers, handshake().ControllerProof("the log"))
	assert.Equal(t, gateways, handshake().GatewayProof(1<<64-1))
	assert.True(t, handshake().VerifyController(controllers, "the log"))
	assert.True(t, handshake().VerifyGateway(gateways, 1<<64-1))
}

// A proof is worth nothing for anything else than it was made for.
func TestAProofProvesOneThing(t *testing.T) {
	controllers, gateways := handshake().ControllerProof("log"), handshake().GatewayProof(3)
	for name, other := range map[string]func(*frame.Handshake){
		"another key":                    func(h *frame.Handshake) { h.Key += "." },
		"another lane":                   func(h *frame.Handshake) { h.Lane = uuid.New() },
		"another gateway's challenge":    func(h *frame.Handshake) { h.Gateway = frame.NewChallenge() },
		"another controller's challenge": func(h *frame.Handshake) { h.Controller = frame.NewChallenge() },
		"the challenges swapped": func(h *frame.Handshake) {
			h.Gateway,
				h.Controller = h.Controller, h.Gateway
		},
	} {
		h := handshake()
		other(&h)
		assert.False(t, h.VerifyController(controllers, "log"), name)
		assert.False(t, h.VerifyGateway(gateways, 3), name)
	}
	h := handshake()
	assert.False(t, h.VerifyController(controllers, "another log"))
	assert.False(t, h.VerifyGateway(gateways, 4), "another epoch")
	assert.False(t, h.VerifyController(gateways, "3"), "a gateway's proof sent back")
	assert.False(t, h.VerifyGateway(controllers, 3))
	assert.False(t, h.VerifyController("", "log"))
	assert.False(t, h.VerifyGateway("", 3))
}

func TestAChallengeIsNew(t *testing.T) {
	first, second := frame.NewChallenge(), frame.NewChallenge()
	assert.NotEqual(t, first, second)
	decoded, err := base64.RawURLEncoding.DecodeString(first)
	require.NoError(t, err)
	assert.Len(t, decoded, 32)
}

// Whatever the hellos and the first state are, no proof is taken that was not made with the key for these
// very texts, and what is decoded was written in the one form that there is.
func FuzzHello(f *testing.F) {
	h := handshake()
	f.Add(frame.GatewayHello(frame.Greeting{Lane: link.Lane{Range: rangeID, ID: laneID, Epoch: 3}, Challenge: own}),
		frame.ControllerHello(frame.Hello{
			Lane: laneID, Hello: link.Hello{LogID: "log"}, Challenge: theirs, Proof: h.ControllerProof("log"),
		}),
		frame.State(frame.ProvenState{State: link.State{Revision: 1}, Proof: h.GatewayProof(3)}, lanes.Instant{}))
	f.Add([]byte(`{"type":"hello","protocol":1,"range_id":null,"challenge":null}`),
		[]byte(`{"type":"hello","protocol":1,"lane_id":"","log_id":"a\nb","state":{},"challenge":"","proof":"="}`),
		[]byte(`{"type":"state","revision":1,"hold":false,"proof":7}`))
	f.Fuzz(func(t *testing.T, gateways, controllers, first []byte) {
		greeting, _ := decode(t, frame.FromGateway, gateways).(frame.Greeting)
		hello, _ := decode(t, frame.FromController, controllers).(frame.Hello)
		state, _ := decode(t, frame.FromGateway, first).(frame.ProvenState)
		for _, text := range []string{greeting.Challenge, hello.Challenge, hello.Proof, state.Proof} {
			if text != "" {
				decoded, err := base64.RawURLEncoding.DecodeString(text)
				require.NoError(t, err)
				require.Len(t, decoded, 32)
				require.Equal(t, text, base64.RawURLEncoding.EncodeToString(decoded))
			}
		}
		secret := frame.NewChallenge() // a key that the fuzzer does not know
		h := frame.Handshake{Key: secret, Lane: greeting.ID, Gateway: greeting.Challenge, Controller: hello.Challenge}
		require.False(t, h.VerifyController(hello.Proof, hello.LogID))
		require.False(t, h.VerifyGateway(state.Proof, greeting.Epoch))
		require.True(t, h.VerifyController(h.ControllerProof(hello.LogID), hello.LogID))
		require.True(t, h.VerifyGateway(h.GatewayProof(greeting.Epoch), greeting.Epoch))
	})
}

// decode decodes a message, which is nil when it breaks a rule.
func decode(t *testing.T, from func([]byte) (any, error), text []byte) any {
	message, err := from(text)
	if err != nil {
		require.Nil(t, message)
	}
	return message
}
