package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"rangegate/api/request"
	"rangegate/cmd/rangegate/certificate"
	"rangegate/config"
)

// server is an HTTP server on one address.
type server struct {
	http *http.Server
	url  string
}

// HeaderTimeout is how long a client may take for a TLS handshake, and for the header of a request.
const HeaderTimeout = 5 * time.Second

// listening is what a server is made of, beside its address and its handler.
type listening struct {
	tls     *certificate.Watcher // nil: plain HTTP
	metrics *connectionMetrics   // of its connections
	// true for a trusted proxy, which may have any number of connections; nil: there is none
	proxy  func(netip.Addr) bool
	links  bool // controllers dial: a connection that has become a lane's link is under no limit
	log    zerolog.Logger
	open   func(address string) (net.Listener, error)
	failed chan<- error // gets the error of a server that serves no more
}

// with returns the same for a server with that certificate and those trusted proxies.
func (l listening) with(tls *certificate.Watcher, proxy func(netip.Addr) bool) listening {
	l.tls, l.proxy = tls, proxy
	return l
}

// listen serves the handler at the address, with TLS where there is a certificate.
func listen(address string, handler http.Handler, l listening) (*server, error) {
	socket, err := l.open(address)
	if err != nil {
		return nil, err
	}
	return l.serve(socket, handler), nil
}

// serve is listen at an address that is listened on already.
func (l listening) serve(socket net.Listener, handler http.Handler) *server {
	limits := newConnectionLimits(l.metrics, l.proxy)
	limits.links = l.links
	var listener net.Listener = &limitedListener{Listener: socket, limits: limits}
	s := &server{
		http: &http.Server{
			Handler: byProtocol(handler), ReadHeaderTimeout: HeaderTimeout, ReadTimeout: request.BodyTime,
			WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
			HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
			ConnState: trackState(limits), ConnContext: withConnection, ErrorLog: stdlog.New(serverLog{l.log}, "", 0),
		},
		url: "http://" + socket.Addr().String(),
	}
	if l.links {
		s.http.MaxHeaderBytes = 8 << 10 // a controller sends a few lines
	}
	if l.tls != nil {
		s.url = "https://" + socket.Addr().String()
		settings := l.tls.Config()
		if l.links {
			settings = settings.Clone()
			settings.NextProtos = []string{"http/1.1"} // a WebSocket is not made over HTTP/2 here
		}
		listener = tls.NewListener(listener, settings)
	}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			l.failed <- fmt.Errorf("serving %s: %w", socket.Addr(), err)
		}
	}()
	return s
}

// Serve serves the handler at the address until stop, under the same limits on connections as a gateway.
func Serve(address string, handler http.Handler, log zerolog.Logger) (url string, stop func(), err error) {
	registry := prometheus.NewRegistry() // nobody scrapes it
	s, err := listen(address, handler, listening{
		metrics: newConnectionMetrics(registry), log: log, open: listenTCP, failed: make(chan error, 1),
	})
	if err != nil {
		return "", nil, err
	}
	return s.url, func() { s.close(drainOperations) }, nil
}

// close waits for the requests under way, until the timeout.
func (s *server) close(timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

// certificates are the watchers of the addresses; nil means plain HTTP, or no such address.
type certificates struct{ http, operations, controllers, nodes *certificate.Watcher }

// watchCertificates loads the configured certificates. The error, a Misconfigured, joins the faults of all, each with
// its place.
func watchCertificates(
	c config.Config, places config.Places, registry prometheus.Registerer, log zerolog.Logger,
) (watched certificates, err error) {
	metrics := certificate.NewMetrics(registry)
	watch := func(address string, files config.TLS) *certificate.Watcher {
		if files.Certificate == "" {
			return nil
		}
		watcher, problem := certificate.Watch(address, files, metrics, log)
		if problem != nil {
			err = errors.Join(err, certificateFault(address, problem, places))
		}
		return watcher
	}
	watched = certificates{http: watch("http", c.HTTP.TLS), operations: watch("operations", c.Operations.TLS)}
	if c.Controllers != nil {
		watched.controllers = watch("controllers", c.Controllers.TLS)
	}
	if c.Nodes != nil && c.Nodes.TLS.Certificate != "" {
		var problem error
		if watched.nodes, problem = certificate.WatchNodes(c.Nodes.TLS, metrics, log); problem != nil {
			err = errors.Join(err, certificateFault("nodes", problem, places))
		}
	}
	if err != nil {
		watched.close()
		return certificates{}, Misconfigured{err}
	}
	return watched, nil
}

// certificateFault is the fault of a file that certificate cannot use for the address, with its place.
func certificateFault(address string, problem error, places config.Places) error {
	setting := address + ".tls"
	if file := (certificate.FileError{}); errors.As(problem, &file) {
		return fmt.Errorf("%s.%w%s", setting, problem, places.Note(setting+"."+file.Key))
	}
	return fmt.Errorf("%s: %w%s", setting, problem, places.Note(setting))
}

// read reads the files of all at once. use puts them in use; without it, or after an error, none of them is. The error
// joins the faults of all, each with its place.
func (c certificates) read(places config.Places) (use func(), err error) {
	var uses []func()
	for _, of := range []struct {
		address string
		watcher *certificate.Watcher
	}{{"http", c.http}, {"operations", c.operations}, {"controllers", c.controllers}, {"nodes", c.nodes}} {
		use, problem := of.watcher.Read()
		if uses = append(uses, use); problem != nil {
			err = errors.Join(err, certificateFault(of.address, problem, places))
		}
	}
	return func() {
		for _, use := range uses {
			use()
		}
	}, err
}

func (c certificates) close() {
	c.http.Close()
	c.operations.Close()
	c.nodes.Close()
	c.controllers.Close()
}

// serverLog logs the server's messages about connections.
type serverLog struct{ log zerolog.Logger }

// Write logs one line. A handshake that fails is worth a warning to nobody: any stranger can cause one.
func (l serverLog) Write(line []byte) (int, error) {
	level := zerolog.WarnLevel
	if bytes.HasPrefix(line, []byte("http: TLS handshake error")) {
		level = zerolog.DebugLevel
	}
	l.log.WithLevel(level).Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}

// unacknowledgedTimeout closes a connection whose other end acknowledges nothing for this time. Without it a
// tablet out of reach would keep its place among the open screens for a quarter of an hour.
const unacknowledgedTimeout = 20 * time.Second

// listenTCP listens for connections with the unacknowledgedTimeout.
func listenTCP(address string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, socket syscall.RawConn) error {
		var refused error
		err := socket.Control(func(fd uintptr) {
			refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
				int(unacknowledgedTimeout.Milliseconds()))
		})
		return errors.Join(err, refused)
	}}
	socket, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	return socket, nil
}
