package main

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"rangegate/cmd/rangegate/certificate"
)

// server is one address that answers.
type server struct {
	http   *http.Server
	url    string
	failed chan error
}

// listen answers at the address, with TLS where there is a certificate.
func listen(address string, kept *certificate.Kept, handler http.Handler, log zerolog.Logger) (*server, error) {
	listener, err := listenTCP(address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	s := &server{
		http: &http.Server{
			Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
			WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
			ConnState: newConnections().turned, ErrorLog: stdlog.New(complaints{log}, "", 0),
		},
		url:    "http://" + listener.Addr().String(),
		failed: make(chan error, 1),
	}
	serve := func() error { return s.http.Serve(listener) }
	if kept != nil {
		s.url, s.http.TLSConfig = "https://"+listener.Addr().String(), kept.TLS()
		serve = func() error { return s.http.ServeTLS(listener, "", "") }
	}
	go func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serving %s: %w", address, err)
		}
	}()
	return s, nil
}

// complaints are what the server says of connections, as lines of the log. Anybody can spoil a handshake.
type complaints struct{ log zerolog.Logger }

func (c complaints) Write(line []byte) (int, error) {
	level := zerolog.WarnLevel
	if strings.HasPrefix(string(line), "http: TLS handshake error") {
		level = zerolog.DebugLevel
	}
	c.log.WithLevel(level).Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}

// close lets the requests under way have their answers.
func (s *server) close(patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}
