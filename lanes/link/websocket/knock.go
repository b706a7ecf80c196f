package websocket

import (
	"context"
	"errors"
	"net/url"
)

// Knock connects to a controller, TLS included, and hangs up. Not a word of the link is spoken: a controller whose gateway is
// there keeps it, which it might not do when a second one began to shake hands (LINK.md: the newest connection replaces an
// older one). The error is ErrFaulty when the controller is not the one that is trusted, or does not speak TLS.
func Knock(ctx context.Context, address string, trust TLS) error {
	at, err := url.Parse(address)
	if err != nil {
		return errors.New("the lane's address is no URL") // err may quote a password
	}
	s, err := New(Settings{}).reach(ctx, at, trust)
	if err != nil {
		return err
	}
	return s.wire.Close()
}
