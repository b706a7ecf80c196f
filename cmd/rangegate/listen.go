package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"rangegate/config"
)

// server is one address that answers.
type server struct {
	http   *http.Server
	url    string
	failed chan error
}

func listen(address string, tls config.TLS, handler http.Handler) (*server, error) {
	listener, err := listenTCP(address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	s := &server{
		http: &http.Server{
			Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
			WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
			ConnState: newConnections().turned,
		},
		url:    "http://" + listener.Addr().String(),
		failed: make(chan error, 1),
	}
	serve := func() error { return s.http.Serve(listener) }
	if tls.Certificate != "" {
		s.url = "https://" + listener.Addr().String()
		serve = func() error { return s.http.ServeTLS(listener, tls.Certificate, tls.Key) }
	}
	go func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serving %s: %w", address, err)
		}
	}()
	return s, nil
}

// close lets the requests under way have their answers.
func (s *server) close(patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}
