package linkconformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// stranger is a connection of a gateway that does not have the lane's key.
type stranger struct{ *websocket.Conn }

// strangeEpoch is higher than that of any gateway: a controller that remembers it refuses its own gateway from then on.
const strangeEpoch = math.MaxInt64

// meet connects as a stranger, and says hello with that challenge, or with none.
func (c *Check) meet(ctx context.Context, challenge string) (stranger, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return stranger{}, err
	}
	hello := c.Lane
	hello.Epoch, hello.HoldOnLoss = strangeEpoch, true
	return stranger{conn}, conn.Write(ctx, websocket.MessageText,
		frame.GatewayHello(frame.Greeting{Lane: hello, Challenge: challenge}))
}

// connect makes a connection that is not the gateway's.
func (c *Check) connect(ctx context.Context) (*websocket.Conn, error) {
	if c.Incoming != nil {
		c.disconnect()
		return c.Incoming.meet(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c.TLS}}
	options := &websocket.DialOptions{HTTPClient: client, Subprotocols: []string{frame.Subprotocol}}
	//nolint:bodyclose // the library closes the body of the handshake
	conn, _, err := websocket.Dial(ctx, c.Address, options)
	return conn, err
}

// isRefused returns nil when the controller closes the connection with 1008, whatever it says before.
func (s stranger) isRefused(ctx context.Context) error {
	for {
		_, _, err := s.Read(ctx)
		switch status := websocket.CloseStatus(err); {
		case err == nil:
		case ctx.Err() != nil:
			return fmt.Errorf("it was not closed within %s", replyTimeout)
		case status == -1:
			return errors.New("it was disconnected without the close status 1008")
		case status != websocket.StatusPolicyViolation:
			return fmt.Errorf("it was closed with %d, not 1008", status)
		default:
			return nil
		}
	}
}

// keyRules are those of a lane with a key. They begin with a lane that was told to be free.
var keyRules = []rule{
	{"refuses a gateway that asks for no proof", func(c *Check, ctx context.Context) error {
		s, err := c.meet(ctx, "")
		if err != nil {
			return err
		}
		defer func() { _ = s.CloseNow() }()
		ctx, cancel := context.WithTimeout(ctx, replyTimeout)
		defer cancel()
		return s.isRefused(ctx)
	}},
	{"refuses a gateway whose proof is wrong, or missing", func(c *Check, ctx context.Context) error {
		if _, err := c.dialAnd(ctx, link.State{
			Revision: 1, Hold: true,
			Session: c.session(lanes.Running, time.Minute),
		}); err != nil {
			return err
		}
		for _, proof := range []string{frame.NewChallenge(), ""} {
			if err := c.deceive(ctx, proof); err != nil {
				return err
			}
		}
		return nil
	}},
	{"keeps its gateway and its fire line, whoever else connects", func(c *Check, ctx context.Context) error {
		if c.Incoming == nil && c.received.isDown() {
			return errors.New("the gateway's connection was closed for a stranger")
		}
		hello, err := c.dial(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("its own gateway is refused, as if the stranger's epoch counted: %w", err)
		case !hello.Hold || hello.Session == uuid.Nil:
			return errors.New("a stranger's state is in force")
		}
		return nil
	}},
}

// deceive connects as a stranger, takes the controller's hello, and sends a first state with that proof.
func (c *Check) deceive(ctx context.Context, proof string) error {
	s, err := c.meet(ctx, frame.NewChallenge())
	if err != nil {
		return err
	}
	defer func() { _ = s.CloseNow() }()
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	if _, _, err := s.Read(ctx); err != nil {
		return fmt.Errorf("no hello: %w", err)
	}
	unlock := frame.State(frame.ProvenState{State: link.State{Revision: 1}, Proof: proof}, c.Now())
	if err := s.Write(ctx, websocket.MessageText, unlock); err != nil {
		return err
	}
	return s.isRefused(ctx)
}
