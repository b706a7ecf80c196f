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

// Bounds of one exchange with the server. The URL may set others (?read_timeout=1s), but not none.
const (
	openTimeout  = 5 * time.Second // for the check at the start
	dialTimeout  = 2 * time.Second
	writeTimeout = 3 * time.Second  // for all that is sent together
	flushTimeout = 3 * time.Second  // for all replies to it
	loadTimeout  = 15 * time.Second // for what is read at once: a range with 100,000 keys takes a second
	poolTimeout  = 2 * time.Second  // until a connection is free
	waitTimeout  = time.Second      // for replicas to have what was sent, or half of read_timeout if that is less
)

func init() {
	// Every failure is answered to whoever asked; the client's own lines would only break the format of the log.
	logging.Disable()
}

// server is what a URL says: one server, the nodes of a cluster (several addresses), or the Sentinels that know where
// the master is.
type server struct {
	where   string // for people, without the password
	options goredis.UniversalOptions

	master                         string // what the Sentinels call it; empty without them
	sentinelUser, sentinelPassword string
	replicas                       int // that have to have a flush before it is acknowledged
}

// onConnect is told of every connection before anything of ours is sent on it, and may refuse it. It may be nil.
type onConnect func(ctx context.Context, on *goredis.Conn) error

// marked marks a refusal as a connection that did not come about.
func marked(greet onConnect) onConnect {
	if greet == nil {
		return nil
	}
	return func(ctx context.Context, on *goredis.Conn) error {
		if err := greet(ctx, on); err != nil {
			return fmt.Errorf("connect: %w", &unconnected{err}) // the client takes one layer off
		}
		return nil
	}
}

// client has so many connections, to each node. It sends nothing a second time by itself: that would hide whether the
// first time counted.
func (s server) client(connections int, readTimeout time.Duration, greet onConnect) goredis.UniversalClient {
	o := s.options
	o.ReadTimeout = bounded(o.ReadTimeout, readTimeout)
	o.MaxRetries, o.MaxRedirects = -1, -1
	dial := dialer(o.DialTimeout, o.TLSConfig)
	o.Dialer, o.DialerRetries = marking(dial), 1
	if s.master != "" {
		o.Addrs, o.Dialer, o.ConnMaxLifetime = []string{s.where}, marking(s.sentinels(dial).dial), masterTerm
	}
	o.PoolSize, o.PipelinePoolSize = connections, -1
	o.OnConnect = marked(greet)
	// What the client would say and ask at each connect, and a user of few rights may not.
	o.Protocol, o.DisableIdentity = 2, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return goredis.NewUniversalClient(&o)
}

// waitBound is how long replicas may take, so that the reply comes before the client gives up on it.
func (s server) waitBound() time.Duration {
	return min(waitTimeout, bounded(s.options.ReadTimeout, flushTimeout)/2)
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

// marking marks the errors of connections that did not come about.
func marking(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, &unconnected{err}
		}
		return connection, nil
	}
}

// unconnected is the error of a connection that did not come about: nothing was sent.
type unconnected struct{ err error }

func (e *unconnected) Error() string { return e.err.Error() }
func (e *unconnected) Unwrap() error { return e.err }
