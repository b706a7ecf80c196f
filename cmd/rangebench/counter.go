package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"rangegate/actors"
)

const (
	prefix  = "/api/v2/pos"
	clients = 64 // unless a call says otherwise
)

// counter is where POS systems are served: a range behind its API, as a gateway serves it, and its clients in a process
// of their own. The same clients call the limit.
type counter struct {
	gateway *gateway
	r       *actors.Range
	server  *http.Server
	address string
	callers *peer
}

func newCounter(r *actors.Range, g *gateway) (c *counter, err error) {
	c = &counter{gateway: g, r: r}
	if c.server, c.address, err = serveAll(g, r); err != nil {
		return nil, err
	}
	if c.callers, err = newPeer("callers"); err != nil {
		return nil, errors.Join(err, c.server.Close())
	}
	return c, nil
}

// call has the clients send the requests to the gateway.
func (c *counter) call(requests calls) (called, error) { return c.send(c.address, requests) }

// send has them sent to whatever is at the address, each with what a POS has to say of itself: a limit is sent the very
// requests that the gateway is.
func (c *counter) send(address string, requests calls) (called, error) {
	requests.Header = map[string]string{"token": posToken, "range-id": c.r.Layout().Range.String()}
	requests.Address, requests.Clients = strings.TrimPrefix(address, "http://"), cmp.Or(requests.Clients, clients)
	var how called
	if err := c.callers.question(requests, &how); err != nil {
		return called{}, err
	}
	if how.Wrong != "" {
		return called{}, fmt.Errorf("a request was not answered %d: %s", requests.Status, how.Wrong)
	}
	return how, nil
}

func (c *counter) close() error { return errors.Join(c.server.Close(), c.callers.close()) }
