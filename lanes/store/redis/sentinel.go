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

// masterTerm is how long a connection is used before the Sentinels are asked again. It bounds how long flushes go to a
// master that is cut off from the Sentinels, which have promoted another one, but not from the gateway.
const masterTerm = 10 * time.Second

// sentinels know where the master is. They are asked whenever a connection is made: after a failover the connections to
// the master that was are of no use, and those that take their place go to the new one.
type sentinels struct {
	addresses []string
	master    string          // its name with them
	options   goredis.Options // of a connection to one of them
	connect   dialFunc
	within    time.Duration // they have to answer

	mu   sync.Mutex
	last string // where the master was when one of them answered last
}

// sentinels are asked through connections of their own.
func (s server) sentinels(connect dialFunc) *sentinels {
	return &sentinels{
		addresses: s.options.Addrs, master: s.master, connect: connect, within: s.options.DialTimeout / 2,
		options: goredis.Options{
			Username: s.sentinelUser, Password: s.sentinelPassword,
			DialTimeout: s.options.DialTimeout, DialerRetries: 1, ContextTimeoutEnabled: true,
			MaxRetries: -1, PoolSize: 1, PipelinePoolSize: -1, Protocol: 2, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		},
	}
}

// dial connects to the master. As long as no Sentinel answers it is where it was.
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
	connection, failed := s.connect(ctx, network, last)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	return connection, nil
}

// find asks all of them at once: those that are down or hang delay nothing as long as one answers.
func (s *sentinels) find(ctx context.Context) (address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.within)
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
	var failed []error
	for range s.addresses {
		a := <-answers
		if a.err == nil {
			return a.address, nil
		}
		failed = append(failed, a.err)
	}
	return "", errors.Join(failed...)
}

// ask asks one of them.
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
	defer client.Close()
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
