package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// masterLifetime is how long a connection is used before the Sentinels are asked again. It limits how long flushes go to
// an old master that the gateway reaches and the Sentinels do not.
const masterLifetime = 10 * time.Second

// sentinels name the master. They are asked for each new connection: after a failover the connections to the old master
// fail, and their successors go to the new one.
type sentinels struct {
	addresses []string
	master    string          // its name with the Sentinels
	options   goredis.Options // of a connection to a Sentinel
	connect   dialFunc
	timeout   time.Duration // for the first answer

	mu   sync.Mutex
	last string // address of the master in the latest answer
}

func (s server) sentinels(connect dialFunc) *sentinels {
	return &sentinels{
		addresses: s.options.Addrs, master: s.master, connect: connect, timeout: s.options.DialTimeout / 2,
		options: goredis.Options{
			Username: s.sentinelUser, Password: s.sentinelPassword,
			DialTimeout: s.options.DialTimeout, DialerRetries: 1, ContextTimeoutEnabled: true,
			MaxRetries: -1, PoolSize: 1, PipelinePoolSize: -1, Protocol: 2, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		},
	}
}

// dial connects to the master. While no Sentinel answers, it uses the latest answer.
func (s *sentinels) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	address, err := s.find(ctx)
	s.mu.Lock()
	if err == nil {
		s.last = address
	}
	last := s.last
	s.mu.Unlock()
	if last == "" {
		return nil, err
	}
	connection, dialErr := s.connect(ctx, network, last)
	if dialErr != nil {
		return nil, errors.Join(err, dialErr)
	}
	return connection, nil
}

// find asks all Sentinels at once and gives the first answer: one that is down or hangs delays nothing.
func (s *sentinels) find(ctx context.Context) (address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	type answer struct {
		address string
		err     error
	}
	answers := make(chan answer, len(s.addresses))
	for _, sentinel := range s.addresses {
		go func() {
			address, err := s.ask(ctx, sentinel)
			answers <- answer{address, err}
		}()
	}
	var errs []error
	for range s.addresses {
		a := <-answers
		if a.err == nil {
			return a.address, nil
		}
		errs = append(errs, a.err)
	}
	return "", errors.Join(errs...)
}

// ask asks one Sentinel.
func (s *sentinels) ask(ctx context.Context, sentinel string) (address string, err error) {
	o := s.options
	o.Addr = sentinel
	o.Dialer = func(dialing context.Context, network, address string) (net.Conn, error) {
		connection, err := s.connect(dialing, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { _ = connection.Close() }) // another one has answered
		}
		return connection, err
	}
	client := goredis.NewClient(&o)
	defer func() { _ = client.Close() }()
	found, err := client.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.master).StringSlice()
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
