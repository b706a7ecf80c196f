package redis

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Timeouts of one exchange with the server. The URL may set others (?read_timeout=1s), but cannot switch them off.
const (
	openTimeout  = 5 * time.Second // for the checks of Open
	dialTimeout  = 2 * time.Second
	writeTimeout = 3 * time.Second  // to send a pipeline
	flushTimeout = 3 * time.Second  // for the replies to it
	loadTimeout  = 15 * time.Second // for one read: a range with 100,000 keys takes a second
	poolTimeout  = 2 * time.Second  // until a connection is free
	waitTimeout  = time.Second      // for replicas, or half of read_timeout if that is less
)

func init() {
	// The store returns every error to its caller; lines of the client itself would break the format of the log.
	logging.Disable()
}

// server is what a URL names: one server, the nodes of a cluster (several addresses), or the Sentinels of a master.
type server struct {
	address string // for error messages: without the password
	options goredis.UniversalOptions

	master                         string // its name with the Sentinels; empty without them
	sentinelUser, sentinelPassword string
	replicas                       int // that must have a flush before it is acknowledged
}

// client makes a client with that many connections to each node, and calls prepare with each new connection before it is
// used; prepare may be nil. The client repeats nothing by itself: that would hide whether the first try had an effect.
func (s server) client(
	connections int, readTimeout time.Duration, prepare func(ctx context.Context, connection *goredis.Conn) error,
) goredis.UniversalClient {
	o := s.options
	o.ReadTimeout = timeoutOr(o.ReadTimeout, readTimeout)
	o.MaxRetries, o.MaxRedirects = -1, -1
	dial := dialer(o.DialTimeout, o.TLSConfig)
	o.Dialer, o.DialerRetries = markNotConnected(dial), 1
	if s.master != "" {
		o.Addrs, o.Dialer, o.ConnMaxLifetime = []string{s.address}, markNotConnected(s.sentinels(dial).dial), masterLifetime
	}
	o.PoolSize, o.PipelinePoolSize = connections, -1
	if prepare != nil {
		o.OnConnect = func(ctx context.Context, connection *goredis.Conn) error {
			if err := prepare(ctx, connection); err != nil {
				return fmt.Errorf("connect: %w", &notConnectedError{err}) // the client removes one layer
			}
			return nil
		}
	}
	// Without these the client sends commands at each connect that a user of few rights may not use.
	o.Protocol, o.DisableIdentity = 2, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return goredis.NewUniversalClient(&o)
}

// waitTimeout is how long replicas may take: the reply comes before the client gives up on it.
func (s server) waitTimeout() time.Duration {
	return min(waitTimeout, timeoutOr(s.options.ReadTimeout, flushTimeout)/2)
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialer makes connections, the TLS handshake included. The context ends it.
func dialer(timeout time.Duration, encrypted *tls.Config) dialFunc {
	plain := &net.Dialer{Timeout: timeout}
	if encrypted == nil {
		return plain.DialContext
	}
	return (&tls.Dialer{NetDialer: plain, Config: encrypted}).DialContext
}

// markNotConnected makes the errors of dial a notConnectedError.
func markNotConnected(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, &notConnectedError{err}
		}
		return connection, nil
	}
}

// notConnectedError is the error of a connection that was not made: nothing was sent on it.
type notConnectedError struct{ err error }

func (e *notConnectedError) Error() string { return e.err.Error() }
func (e *notConnectedError) Unwrap() error { return e.err }
