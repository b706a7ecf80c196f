package main

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"rangegate/cmd/rangebench/figures"
)

var (
	getOne = reading{"http/get", 40_000, 0.8, func(s *salesFixture) string {
		return prefix + "/sessions/" +
			s.r.Sessions()[0].ID.String()
	}}.experiment("64 clients read one session")
	getList = reading{"http/list", 600, 0.7, func(*salesFixture) string { return prefix + "/sessions" }}.experiment(
		"64 clients read the list of 1,000 active sessions")
)

// reading measures clients that only read.
type reading struct {
	name     string
	requests int
	goal     float64
	path     func(*salesFixture) string
}

func (r reading) experiment(what string) experiment { return experiment{r.name, what, r.measure} }

func (r reading) measure(ctx context.Context, t *trial) (err error) {
	s, err := openFull(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.counter.close(), s.gateway.close()) }()
	one := calls{Clients: 1, Method: http.MethodGet, Paths: []string{r.path(s)}, Status: http.StatusOK}
	same, err := s.call(one)
	if err != nil {
		return err
	}
	server, address, err := serve(bareReading([]byte(same.Body)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	all := one
	all.Clients, all.Paths = clients, slices.Repeat(one.Paths, r.requests)
	return t.compare(ctx, 5,
		func(context.Context) ([]float64, error) { return requestRate(s.call(all)) },
		func(context.Context) ([]float64, error) { return requestRate(s.send(address, all)) },
		figures.Figure{
			Unit: "1/s", Goal: figures.AtLeast(r.goal),
			What:  "requests a second with 64 clients",
			Limit: "a bare chi handler that writes the same bytes from memory",
		},
		figures.Figure{Name: "p99", Unit: "ms", What: "the 99th percentile of the same", Limit: "of the same"})
}

func requestRate(how callResult, err error) ([]float64, error) {
	return []float64{how.PerSecond, how.P99}, err
}

// openFull opens a range with a session on each of its 1,000 lanes.
func openFull(ctx context.Context, t *trial) (*salesFixture, error) {
	g, err := newGatewayOn(t.store())
	if err != nil {
		return nil, err
	}
	r, err := g.start(ctx, t.lanes(1000), nil)
	if err == nil {
		err = linksUp(ctx, r)
	}
	if err == nil {
		err = sellAll(r)
	}
	var c *counter
	if err == nil {
		c, err = newCounter(r, g)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return &salesFixture{counter: c}, nil
}

// bareReading responds with the same bytes.
func bareReading(body []byte) http.Handler {
	r := chi.NewRouter()
	for _, path := range []string{"/sessions", "/sessions/{id}"} {
		r.Get(prefix+path, func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, body) })
	}
	return r
}
