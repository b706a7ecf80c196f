package main

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/actors"
	"rangegate/api"
	"rangegate/api/control"
	"rangegate/api/lanescreen"
	v2 "rangegate/api/v2"
	"rangegate/api/wallboard"
)

// posToken is the token of every range's POS.
const posToken = "22222222-2222-4222-8222-222222222222"

// serveAll serves the ranges' API and all of their screens as a gateway does, with access log and metrics.
func serveAll(g *gateway, ranges ...*actors.Range) (server *http.Server, address string, err error) {
	pin, err := control.HashPIN(viewerPIN)
	if err != nil {
		return nil, "", err
	}
	sessions, err := control.NewSessions(context.Background(), inMemory{})
	if err != nil {
		return nil, "", err
	}
	registry := prometheus.NewRegistry() // a range may be served more than once
	s := api.Settings{
		Credentials: api.Credentials{},
		Range:       func(id uuid.UUID) (v2.Range, error) { return g.Range(id) },
		Screens: api.Screens{
			Staff: map[uuid.UUID]control.RangeStaff{}, Lanes: map[uuid.UUID]lanescreen.Lane{},
			Boards:   map[uuid.UUID]wallboard.Board{},
			Sessions: sessions, Attempts: control.NewAttempts(registry),
			Control: func(id uuid.UUID) (control.Range, error) { return g.Range(id) },
			Lane:    func(id uuid.UUID) (lanescreen.Range, error) { return g.Range(id) },
			Board:   func(id uuid.UUID) (wallboard.Range, error) { return g.Range(id) },
		},
		Limiters: api.NewLimiters(),
		Traffic:  api.NewTraffic(registry),
		Log:      g.log,
	}
	for _, r := range ranges {
		layout := r.Layout()
		s.Credentials[layout.Range] = []api.Credential{{Digest: sha256.Sum256([]byte(posToken))}}
		viewers := map[string]control.Member{viewerName: {PINHash: pin}}
		s.Screens.Staff[layout.Range] = control.RangeStaff{Members: viewers}
		s.Screens.Boards[layout.Range] = wallboard.Board{Key: viewerKey}
		for _, lane := range layout.Lanes {
			s.Screens.Lanes[lane.ID] = lanescreen.Lane{Range: layout.Range, Key: viewerKey}
		}
	}
	return serve(api.New(s))
}

// inMemory keeps no sign-in: the viewers stay signed in.
type inMemory struct{}

// Load returns the secret that it is given.
func (inMemory) Load(_ context.Context, secret [32]byte) ([32]byte, map[[32]byte]time.Time, error) {
	return secret, map[[32]byte]time.Time{}, nil
}

// SignOut does nothing.
func (inMemory) SignOut(context.Context, map[[32]byte]time.Time, [][32]byte) error { return nil }

// serve serves the gateway and the limits, with the timeouts of a gateway.
func serve(handler http.Handler) (server *http.Server, address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	server = &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
	go func() { _ = server.Serve(listener) }()
	return server, "http://" + listener.Addr().String(), nil
}
