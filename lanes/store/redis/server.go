package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// errURL quotes nothing of the URL: where a password is not escaped, any part may belong to it.
var errURL = errors.New("the URL of the Redis server cannot be used: it must be redis://user:password@host:6379/0, " +
	"or rediss:// for TLS, with special characters of the password as %XX and only known options behind ?")

// clientOptions are the options that the client reads. No others exist besides ownOptions.
var clientOptions = []string{
	"dial_timeout", "read_timeout", "write_timeout", "pool_timeout", "client_name", "skip_verify",
}

// ownOptions are read here: further addresses, the master's name and the user with the Sentinels, and how many replicas
// a flush waits for.
var ownOptions = []string{"addr", "master_name", "sentinel_username", "sentinel_password", "wait_replicas"}

const (
	serverPort   = "6379"
	sentinelPort = "26379"
	maxReplicas  = 64 // a larger number is a mistake
)

func unusable(rule string) error { return fmt.Errorf("%w: %s", errURL, rule) }

// parse reads the URL that Open documents.
func parse(text string) (server, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss") || u.Hostname() == "" || u.Fragment != "" {
		return server{}, errURL
	}
	query := u.Query()
	ownValues := url.Values{}
	for name := range query {
		switch {
		case slices.Contains(ownOptions, name):
			ownValues[name] = query[name]
			delete(query, name)
		case !slices.Contains(clientOptions, name):
			return server{}, errURL
		}
	}
	u.RawQuery = query.Encode()
	o, err := goredis.ParseURL(u.String())
	if err != nil {
		return server{}, errURL
	}

	s := server{options: goredis.UniversalOptions{
		DB: o.DB, Username: o.Username, Password: o.Password, ClientName: o.ClientName, TLSConfig: o.TLSConfig,
		DialTimeout:  cmp.Or(max(0, o.DialTimeout), dialTimeout),
		WriteTimeout: cmp.Or(max(0, o.WriteTimeout), writeTimeout),
		ReadTimeout:  o.ReadTimeout, // client has the default
		PoolTimeout:  cmp.Or(max(0, o.PoolTimeout), poolTimeout),
	}}
	if err := s.setOptions(u, ownValues); err != nil {
		return server{}, err
	}
	if s.master != "" {
		s.sentinels = &sentinels{
			server: s, connect: dialer(s.options.DialTimeout, s.options.TLSConfig), lasts: answerLasts,
		}
	}
	return s, nil
}

// setOptions reads the addresses and ownOptions.
func (s *server) setOptions(u *url.URL, options url.Values) error {
	port := serverPort
	if options.Has("master_name") {
		port = sentinelPort
	}
	addresses := []string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))}
	for _, text := range options["addr"] {
		address, err := url.Parse("redis://" + text)
		if err != nil || address.Hostname() == "" || address.Host != text {
			return unusable("addr must be host:port")
		}
		addresses = append(addresses, net.JoinHostPort(address.Hostname(), cmp.Or(address.Port(), port)))
	}
	if s.options.TLSConfig != nil && (len(addresses) > 1 || options.Has("master_name")) {
		s.options.TLSConfig.ServerName = "" // each server is checked by its own address
	}
	s.options.Addrs = addresses
	s.address = fmt.Sprintf("%s://%s/%d", u.Scheme, strings.Join(addresses, ","), s.options.DB)

	switch name := options.Get("master_name"); {
	case name != "":
		s.master = name
		s.sentinelUser, s.sentinelPassword = options.Get("sentinel_username"), options.Get("sentinel_password")
		s.address = name + " behind the Sentinels " + s.address
	case options.Has("master_name"):
		return unusable("master_name must be the name that the Sentinels know the master by")
	case options.Has("sentinel_username"), options.Has("sentinel_password"):
		return unusable("sentinel_username and sentinel_password are of use with master_name only")
	case len(addresses) > 1 && s.options.DB != 0:
		return unusable("a cluster, which several addresses without master_name are, has the database 0 only")
	}

	if options.Has("wait_replicas") {
		replicas, err := strconv.Atoi(options.Get("wait_replicas"))
		if err != nil || replicas < 1 || replicas > maxReplicas {
			return unusable(fmt.Sprintf("wait_replicas must be a number from 1 to %d", maxReplicas))
		}
		s.replicas = replicas
	}
	return nil
}

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
	sentinels                      *sentinels // shared by all clients; nil without a master's name
	replicas                       int        // that must have a flush before it is acknowledged
}

// client makes a client with that many connections to each node, and calls prepare with each new connection
// before it is used; prepare may be nil. The client repeats nothing by itself: that would hide whether the
// first try had an effect.
func (s server) client(
	connections int, readTimeout time.Duration, prepare func(ctx context.Context, connection *goredis.Conn) error,
) goredis.UniversalClient {
	o := s.options
	o.ReadTimeout = cmp.Or(max(0, o.ReadTimeout), readTimeout)
	o.MaxRetries, o.MaxRedirects = -1, -1
	o.Dialer, o.DialerRetries = markNotConnected(dialer(o.DialTimeout, o.TLSConfig)), 1
	if s.sentinels != nil {
		o.Addrs, o.Dialer = []string{s.address}, markNotConnected(s.sentinels.dial)
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
	return min(waitTimeout, cmp.Or(max(0, s.options.ReadTimeout), flushTimeout)/2)
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

// answerLasts is how long connections are used before the Sentinels are asked again. It limits how long flushes go
// to an old master that the gateway reaches and the Sentinels do not. With leases it is less (sentinels.renewing).
const answerLasts = 10 * time.Second

// agreeWithin is how long the other Sentinels have to answer, once one has.
const agreeWithin = 100 * time.Millisecond

// sentinels name the master. They are asked for each new connection, and before each renewal of a lease: an old
// master may live on for long after a failover, and keep its connections.
//
// go-redis's own failover client asks only the Sentinel that answered first. While that one hangs, no connection
// is made at all, although others answer; a Sentinel that hangs from the beginning holds up the first connection,
// and without any Sentinel it forgets the master that it knew. TestOneSentinelThatAnswersIsEnough and
// TestASentinelThatHangsLater fail with it.
type sentinels struct {
	server
	connect dialFunc

	mu      sync.Mutex
	named   string        // address of the master in the newest answer
	namedAt time.Time     // when the question was asked that it answers
	askedAt time.Time     // when the newest question was asked, also one that no Sentinel has answered
	lasts   time.Duration // how long after that connections are used
}

// renewing asks for the master before a lease is renewed for that long. Others take the ranges of a node over a TTL
// after a failover: one that has stood still, and has not asked, uses no connection by then before it has asked again.
func (s *sentinels) renewing(ctx context.Context, ttl time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.lasts = min(answerLasts, 3*ttl/5)
	s.mu.Unlock()
	_, _ = s.ask(ctx)
}

// serves reports whether an exchange may begin with the server at that address.
func (s *sentinels) serves(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return address == s.named && time.Since(s.askedAt) < s.lasts
}

// dial connects to the master. While no Sentinel answers, it uses the newest answer.
func (s *sentinels) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	address, err := s.ask(ctx)
	if address == "" {
		return nil, err
	}
	connection, dialErr := s.connect(ctx, network, address)
	if dialErr != nil {
		return nil, errors.Join(err, dialErr)
	}
	return &masterConnection{connection, s, address}, nil
}

// ask asks for the master's address. The error says why no Sentinel answers: the address is that of the newest
// answer then, or empty.
func (s *sentinels) ask(ctx context.Context) (address string, err error) {
	s.mu.Lock()
	within := min(s.options.DialTimeout/2, s.lasts/3)
	s.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	asked := time.Now()
	address, err = s.find(limited)
	return s.note(asked, within, address, err), err
}

// note notes what has become of a question that was to be answered within that time, and returns the address of the
// newest answer. The time that was waited in vain does not count, but no more than that: the process may have stood
// still.
func (s *sentinels) note(asked time.Time, within time.Duration, address string, err error) (named string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		asked = asked.Add(min(time.Since(asked), within))
	case !asked.Before(s.namedAt):
		s.named, s.namedAt = address, asked
	}
	if asked.After(s.askedAt) {
		s.askedAt = asked
	}
	return s.named
}

// masterConnection is a connection to a server that the Sentinels have named. No exchange begins on it once that
// serves no more.
type masterConnection struct {
	net.Conn
	sentinels *sentinels
	address   string
}

var errOfBefore = errors.New("the connection is to a master of before, or no Sentinel was asked for long")

// SyscallConn is asked for by the client as it takes the connection from its pool: after an error it makes a new one.
func (c *masterConnection) SyscallConn() (syscall.RawConn, error) {
	if !c.sentinels.serves(c.address) {
		return nil, errOfBefore
	}
	if plain, isPlain := c.Conn.(syscall.Conn); isPlain {
		return plain.SyscallConn()
	}
	return encrypted{}, nil
}

// Write ends a subscription too, which is taken from no pool.
func (c *masterConnection) Write(sent []byte) (int, error) {
	if !c.sentinels.serves(c.address) {
		return 0, errOfBefore
	}
	return c.Conn.Write(sent)
}

// encrypted stands for a connection with TLS: below that the client has nothing to look for.
type encrypted struct{}

// Control implements syscall.RawConn.
func (encrypted) Control(func(fd uintptr)) error { return nil }

// Read implements syscall.RawConn.
func (encrypted) Read(func(fd uintptr) bool) error { return nil }

// Write implements syscall.RawConn.
func (encrypted) Write(func(fd uintptr) bool) error { return nil }

// find asks all Sentinels at once, and gives the address that most of them name: one that has not heard of a failover
// decides nothing. One that is down or hangs delays nothing for long.
func (s *sentinels) find(ctx context.Context) (address string, err error) {
	ctx, cancel := context.WithCancel(ctx) // once there is an answer, the others are not waited for
	defer cancel()
	type answer struct {
		address string
		err     error
	}
	answers := make(chan answer, len(s.options.Addrs))
	for _, sentinel := range s.options.Addrs {
		go func() {
			address, err := s.askOne(ctx, sentinel)
			answers <- answer{address, err}
		}()
	}
	votes := map[string]int{}
	var errs []error
	var late <-chan time.Time
	for range s.options.Addrs {
		select {
		case a := <-answers:
			if a.err != nil {
				errs = append(errs, a.err)
				continue
			}
			votes[a.address]++
			if votes[a.address] > votes[address] {
				address = a.address
			}
			if votes[address] > len(s.options.Addrs)/2 {
				return address, nil
			}
			if late == nil {
				late = time.After(agreeWithin)
			}
		case <-late:
			return address, nil
		}
	}
	if address == "" {
		return "", errors.Join(errs...)
	}
	return address, nil
}

// askOne asks one Sentinel.
func (s *sentinels) askOne(ctx context.Context, sentinel string) (address string, err error) {
	client := goredis.NewSentinelClient(&goredis.Options{
		Addr: sentinel, Username: s.sentinelUser, Password: s.sentinelPassword,
		DialTimeout: s.options.DialTimeout, DialerRetries: 1, ContextTimeoutEnabled: true,
		MaxRetries: -1, PoolSize: 1, Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(dialing context.Context, network, address string) (net.Conn, error) {
			connection, err := s.connect(dialing, network, address)
			if err == nil {
				context.AfterFunc(ctx, func() { _ = connection.Close() }) // another one has answered
			}
			return connection, err
		},
	})
	defer func() { _ = client.Close() }()
	found, err := client.GetMasterAddrByName(ctx, s.master).Result()
	switch {
	case errors.Is(err, goredis.Nil):
		return "", fmt.Errorf("the Sentinel %s knows no master %s", sentinel, s.master)
	case err != nil:
		return "", fmt.Errorf("the Sentinel %s: %w", sentinel, err)
	case len(found) != 2:
		return "", fmt.Errorf("the Sentinel %s answered %q", sentinel, found)
	}
	return net.JoinHostPort(found[0], found[1]), nil
}
