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
	clients = 64 // the default
)

// counter is a range behind the API, served as a gateway does, and its clients in a process of their own. The
// same clients call the limit.
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

// call sends the requests to the gateway.
func (c *counter) call(requests calls) (callResult, error) { return c.send(c.address, requests) }

// send sends the requests to the address with the headers of a POS: gateway and limit get the same requests.
func (c *counter) send(address string, requests calls) (callResult, error) {
	requests.Header = map[string]string{"token": posToken, "range-id": c.r.Layout().Range.String()}
	requests.Address, requests.Clients = strings.TrimPrefix(address, "http://"), cmp.Or(requests.Clients, clients)
	var how callResult
	if err := c.callers.question(requests, &how); err != nil {
		return callResult{}, err
	}
	if how.Wrong != "" {
		return callResult{}, fmt.Errorf("a request was not answered %d: %s", requests.Status, how.Wrong)
	}
	return how, nil
}

func (c *counter) close() error { return errors.Join(c.server.Close(), c.callers.close()) }
