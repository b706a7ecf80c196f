package main

import (
	"crypto/sha256"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"rangegate/actors"
	"rangegate/api"
	"rangegate/api/control"
	v2 "rangegate/api/v2"
)

// posToken is the token of every range's POS.
const posToken = "22222222-2222-4222-8222-222222222222"

// serveAll serves the range's API and its control screen as a gateway does, with access log and metrics.
func serveAll(g *gateway, r *actors.Range) (server *http.Server, address string, err error) {
	pin, err := control.HashPIN(viewerPIN)
	if err != nil {
		return nil, "", err
	}
	id := r.Layout().Range
	return serve(api.New(api.Settings{
		Credentials: api.Credentials{id: {sha256.Sum256([]byte(posToken))}},
		Range:       func(id uuid.UUID) (v2.Range, error) { return g.Range(id) },
		Screens: api.Screens{
			Staff:    map[uuid.UUID]map[string]string{id: {viewerName: pin}},
			Sessions: control.NewSessions(),
			Control:  func(id uuid.UUID) (control.Range, error) { return g.Range(id) },
		},
		Limiters: api.NewLimiters(),
		Traffic:  api.NewTraffic(g.registry),
		Log:      g.log,
	}))
}

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
