package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// greetTimeout bounds how long flushes wait for the append-only file of a server that was started again.
const greetTimeout = 2 * time.Second

// meetings are the runs of servers that the store has met, by run_id: a server that is started again is another one,
// and so is a replica that takes its place.
type meetings struct {
	renewed chan struct{} // of one

	mu     sync.Mutex
	of     map[string]*meeting
	closed bool
}

func newMeetings() *meetings {
	return &meetings{renewed: make(chan struct{}, 1), of: map[string]*meeting{}}
}

// meeting is what is done once for every run of a server: its append-only file is written anew.
type meeting struct {
	done    chan struct{}
	problem error // why that could not be done
}

// begin is the meeting with that run, and whether it is for the caller to hold it.
func (m *meetings) begin(run string) (with *meeting, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if with := m.of[run]; with != nil {
		return with, false
	}
	with = &meeting{done: make(chan struct{})}
	m.of[run] = with
	return with, true
}

// end tells those who wait for the meeting that it is over. One that came to nothing is held again.
func (m *meetings) end(run string, problem error, over bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	with := m.of[run]
	with.problem = problem
	if !over {
		delete(m.of, run)
	}
	close(with.done)
}

// tell says on renewed that a server was met.
func (m *meetings) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	select {
	case m.renewed <- struct{}{}:
	default:
	}
}

// close ends what renewed tells.
func (m *meetings) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	close(m.renewed)
}

// problemOf is why the append-only file of that run could not be written anew, or nil.
func (m *meetings) problemOf(run string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if with := m.of[run]; with != nil {
		return with.problem
	}
	return nil
}

// Renewed tells each time that the store has met a server for the first time since it was opened: one that was started
// again, or that took another's place. Its Warnings may be others. It is closed with the store.
func (s *Store) Renewed() <-chan struct{} { return s.met.renewed }

// meetAll meets every server before the store is used.
func (s *Store) meetAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rewriteTimeout)
	defer cancel()
	// What cannot be reached now is met when there is a connection to it.
	_, _ = eachServer(ctx, s, func(ctx context.Context, _ string, from goredis.UniversalClient) []string {
		run, err := runOf(ctx, from)
		if err != nil {
			return nil
		}
		if _, first := s.met.begin(run); first {
			s.met.end(run, rewrite(ctx, from), true)
		}
		return nil
	})
	s.open.Store(true)
}

// greet meets the server behind a new connection before anything is sent on it. It returns when the server is met, or
// has not done its part in time and does it beside the flushes; its error is that the connection is of no use.
func (s *Store) greet(ctx context.Context, on *goredis.Conn) error {
	if !s.open.Load() {
		return nil // meetAll does it, and takes the time
	}
	if s.behindSentinels {
		if err := isMaster(ctx, on); err != nil {
			return err
		}
	}
	run, err := runOf(ctx, on)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), greetTimeout)
	defer cancel()
	with, first := s.met.begin(run)
	if !first {
		select {
		case <-with.done:
		case <-ctx.Done():
		}
		return nil
	}
	err = rewrite(ctx, on)
	switch {
	case errors.Is(err, errUnfinished):
		err = nil // the server goes on; should it fail in the end, check sees it
	case err == nil, errors.Is(err, errNotWritten), isReply(err) && !goredis.HasErrorPrefix(err, "LOADING"):
	default:
		s.met.end(run, nil, false)
		return err
	}
	s.met.end(run, err, true)
	s.met.tell()
	return nil
}

// runOf is the run_id of the server, empty where it may not be asked.
func runOf(ctx context.Context, from goredis.Cmdable) (string, error) {
	info, err := from.Info(ctx, "server").Result()
	if err != nil && !isReply(err) {
		return "", err
	}
	return field(info, "run_id"), nil
}

// isMaster keeps connections from a server that is no master any more, though a Sentinel may still say so: reading from
// it would give what was, without a word.
func isMaster(ctx context.Context, on *goredis.Conn) error {
	info, err := on.Info(ctx, "replication").Result()
	switch {
	case err != nil && !isReply(err):
		return err
	case field(info, "role") == "slave":
		return fmt.Errorf("the master that a Sentinel names is a replica, of %s:%s",
			field(info, "master_host"), field(info, "master_port"))
	}
	return nil
}

// field is what INFO says of a name, or nothing.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, is := strings.CutPrefix(line, name+":"); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
