package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
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
)

// errURL repeats nothing of the URL: where a password is not escaped, any part of it may be part of the password.
var errURL = errors.New("the URL of the Redis server cannot be used: it must be redis://user:password@host:6379/0, " +
	"or rediss:// for TLS, with special characters of the password as %XX and only known options behind ?")

func init() {
	// Every failure is answered to whoever asked; the client's own lines would only break the format of the log.
	logging.Disable()
}

// server is what a URL says. It is a cluster when there is more than one address.
type server struct {
	where   string // for people, without the password
	options goredis.UniversalOptions
}

func parse(text string) (server, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || u.Hostname() == "" || u.Fragment != "" {
		return server{}, errURL
	}
	query := u.Query()
	more := query["addr"]
	query.Del("addr")
	u.RawQuery = query.Encode()
	o, err := goredis.ParseURL(u.String())
	if err != nil {
		return server{}, errURL
	}
	addresses := append([]string{o.Addr}, more...)
	where := fmt.Sprintf("%s://%s/%d", u.Scheme, strings.Join(addresses, ","), o.DB)
	return server{where: where, options: goredis.UniversalOptions{
		Addrs: addresses, DB: o.DB, Username: o.Username, Password: o.Password,
		ClientName: o.ClientName, TLSConfig: o.TLSConfig,
		DialTimeout:  bounded(o.DialTimeout, dialTimeout),
		WriteTimeout: bounded(o.WriteTimeout, writeTimeout),
		ReadTimeout:  o.ReadTimeout, // bounded by client
		PoolTimeout:  bounded(o.PoolTimeout, poolTimeout),
	}}, nil
}

func bounded(timeout, otherwise time.Duration) time.Duration {
	if timeout <= 0 {
		return otherwise
	}
	return timeout
}

// client has so many connections, to each node. It sends nothing a second time by itself: that would hide whether the
// first time counted.
func (s server) client(connections int, readTimeout time.Duration) goredis.UniversalClient {
	o := s.options
	o.ReadTimeout = bounded(o.ReadTimeout, readTimeout)
	o.MaxRetries, o.MaxRedirects = -1, -1
	o.Dialer, o.DialerRetries = dialer(o.DialTimeout, o.TLSConfig), 1
	o.PoolSize, o.PipelinePoolSize = connections, -1
	// What the client would say and ask at each connect, and a user of few rights may not.
	o.Protocol, o.DisableIdentity = 2, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return goredis.NewUniversalClient(&o)
}

// dialer marks the errors of connections that did not come about, the TLS handshake included.
func dialer(timeout time.Duration, tls *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	dial := goredis.NewDialer(&goredis.Options{DialTimeout: timeout, TLSConfig: tls})
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
