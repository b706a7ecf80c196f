package main

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"rangegate/cmd/rangegate/certificate"
	"rangegate/config"
)

// server is an HTTP server on one address.
type server struct {
	http   *http.Server
	url    string
	failed chan error
}

// listen serves the handler at the address, with TLS where there is a certificate.
func listen(address string, watched *certificate.Watcher, handler http.Handler, log zerolog.Logger) (*server, error) {
	listener, err := listenTCP(address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	s := &server{
		http: &http.Server{
			Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
			WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
			ConnState: newConnectionLimit().update, ErrorLog: stdlog.New(serverLog{log}, "", 0),
		},
		url:    "http://" + listener.Addr().String(),
		failed: make(chan error, 1),
	}
	serve := func() error { return s.http.Serve(listener) }
	if watched != nil {
		s.url, s.http.TLSConfig = "https://"+listener.Addr().String(), watched.Config()
		serve = func() error { return s.http.ServeTLS(listener, "", "") }
	}
	go func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serving %s: %w", address, err)
		}
	}()
	return s, nil
}

// close waits for the requests under way, until the timeout.
func (s *server) close(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

// certificates are the watchers of both addresses; nil means plain HTTP.
type certificates struct{ http, operations *certificate.Watcher }

// watchCertificates loads the configured certificates. The error, a misconfigured, joins the faults of both.
func watchCertificates(c config.Config, registry prometheus.Registerer, log zerolog.Logger) (watched certificates, err error) {
	metrics := certificate.NewMetrics(registry)
	watch := func(address string, files config.TLS) *certificate.Watcher {
		if files.Certificate == "" {
			return nil
		}
		watcher, problem := certificate.Watch(address, files, metrics, log)
		if problem != nil {
			err = errors.Join(err, fmt.Errorf("%s.tls.%w", address, problem))
		}
		return watcher
	}
	watched = certificates{http: watch("http", c.HTTP.TLS), operations: watch("operations", c.Operations.TLS)}
	if err != nil {
		watched.close()
		return certificates{}, misconfigured{err}
	}
	return watched, nil
}

// read reads the files of both at once. use puts both pairs in use; without it, or after an error, neither is.
func (c certificates) read() (use func(), err error) {
	useHTTP, httpErr := c.http.Read()
	useOperations, operationsErr := c.operations.Read()
	return func() {
		useHTTP()
		useOperations()
	}, errors.Join(httpErr, operationsErr)
}

func (c certificates) close() {
	c.http.Close()
	c.operations.Close()
}

// serverLog logs the server's messages about connections. Failed handshakes are debug lines, as any client can cause them.
type serverLog struct{ log zerolog.Logger }

// Write logs one line.
func (l serverLog) Write(line []byte) (int, error) {
	level := zerolog.WarnLevel
	if strings.HasPrefix(string(line), "http: TLS handshake error") {
		level = zerolog.DebugLevel
	}
	l.log.WithLevel(level).Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}

// unacknowledgedTimeout closes a connection whose other end acknowledges nothing for this time. Without it a tablet out of
// reach would keep its place among the open screens for a quarter of an hour.
const unacknowledgedTimeout = 20 * time.Second

// listenTCP listens for connections with the unacknowledgedTimeout.
func listenTCP(address string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		var refused error
		err := socket.Control(func(fd uintptr) {
			refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unacknowledgedTimeout.Milliseconds()))
		})
		return errors.Join(err, refused)
	}}
	return config.Listen(context.Background(), "tcp", address)
}

// maxConnections bounds the open connections of one address; a quarter of the files that the process may open bounds them
// too, as links, the store and the integrators need the others.
const maxConnections = 20_000

// connectionLimit bounds the number of an address's connections. For each connection above the limit it closes the one
// that has been idle for longest, so a client that opens thousands of idle connections keeps nobody out.
type connectionLimit struct {
	limit int

	mu   sync.Mutex
	open map[net.Conn]*list.Element // nil while a request is under way
	idle *list.List                 // of net.Conn, the longest idle first
}

func newConnectionLimit() *connectionLimit {
	limit := maxConnections
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		limit = int(min(uint64(limit), files.Cur/4))
	}
	return &connectionLimit{limit: limit, open: map[net.Conn]*list.Element{}, idle: list.New()}
}

// update takes a connection's new state (http.Server.ConnState).
func (c *connectionLimit) update(connection net.Conn, state http.ConnState) {
	longest := c.note(connection, state)
	if longest == nil {
		return
	}
	if encrypted, ok := longest.(*tls.Conn); ok { // whose Close writes, for up to 5 s if the client reads nothing: nobody could connect
		longest = encrypted.NetConn()
	}
	_ = longest.Close()
}

// note returns the connection that is one too many, or nil.
func (c *connectionLimit) note(connection net.Conn, state http.ConnState) (longest net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element := c.open[connection]; element != nil {
		c.idle.Remove(element)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[connection] = c.idle.PushBack(connection)
	case http.StateActive:
		c.open[connection] = nil
	case http.StateClosed, http.StateHijacked:
		delete(c.open, connection)
	}
	if len(c.open) > c.limit && c.idle.Len() > 0 {
		longest = c.idle.Remove(c.idle.Front()).(net.Conn)
		delete(c.open, longest)
	}
	return longest
}
