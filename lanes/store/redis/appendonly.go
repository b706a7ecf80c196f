package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// OldestMajor is the oldest major version of Redis that the store works with; Debian 12 has it. Valkey, all of whose
// versions are newer, reports a redis_version of 7.2.
const OldestMajor = 7

const (
	startRewriteTimeout = 30 * time.Second // while Open waits
	rewriteTimeout      = 2 * time.Second  // while flushes wait, after a restart of the server
	rewritePoll         = 10 * time.Millisecond
)

var (
	errRewriteFailed = errors.New("the server failed to write it")
	errRewriting     = errors.New("the server has not finished it in time")
)

// serverRuns are the server processes that the store has connected to, by run_id. A server that is restarted has a new
// run_id, and so has a replica that becomes the master.
type serverRuns struct {
	changed chan struct{} // of one

	mu     sync.Mutex
	byID   map[string]*serverRun
	closed bool
}

// serverRun is the rewrite of one server's append-only file.
type serverRun struct {
	done    chan struct{} // closed when the rewrite has ended
	problem error         // why it failed; guarded by serverRuns.mu
}

func newServerRuns() *serverRuns {
	return &serverRuns{changed: make(chan struct{}, 1), byID: map[string]*serverRun{}}
}

// begin finds the run, or adds it: then the caller rewrites the server's file.
func (r *serverRuns) begin(id string) (run *serverRun, added bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run := r.byID[id]; run != nil {
		return run, false
	}
	run = &serverRun{done: make(chan struct{})}
	r.byID[id] = run
	return run, true
}

// end releases those who wait for the rewrite. One that was interrupted is forgotten, so that the next connection does it.
func (r *serverRuns) end(id string, problem error, interrupted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.byID[id]
	run.problem = problem
	if interrupted {
		delete(r.byID, id)
	}
	close(run.done)
}

func (r *serverRuns) notifyChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *serverRuns) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	close(r.changed)
}

// problem returns why the append-only file of that run could not be rewritten, or nil.
func (r *serverRuns) problem(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run := r.byID[id]; run != nil {
		return run.problem
	}
	return nil
}

// ServerChanged receives a value when the store has connected to a server process that is new since Open: the server was
// restarted, or another one is the master. Its Warnings may differ. Close closes the channel.
func (s *Store) ServerChanged() <-chan struct{} { return s.runs.changed }

// prepareServers prepares every server before the store is used. A server that cannot be reached now is prepared by the
// first connection to it.
func (s *Store) prepareServers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, startRewriteTimeout)
	defer cancel()
	_, _ = eachServer(ctx, s, func(ctx context.Context, _ string, server goredis.UniversalClient) []string {
		if id, err := runID(ctx, server); err == nil {
			_, _ = s.prepareServer(ctx, id, server)
		}
		return nil
	})
	s.opened.Store(true)
}

// prepareConnection checks and prepares the server behind a new connection before it is used. It waits until the server
// is prepared or rewriteTimeout is over. An error means that the connection is not used.
func (s *Store) prepareConnection(ctx context.Context, connection *goredis.Conn) error {
	if !s.opened.Load() {
		return nil // prepareServers does it, with more time
	}
	if s.viaSentinels {
		if err := checkMaster(ctx, connection); err != nil {
			return err
		}
	}
	id, err := runID(ctx, connection)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rewriteTimeout)
	defer cancel()
	added, err := s.prepareServer(ctx, id, connection)
	if added && err == nil {
		s.runs.notifyChanged()
	}
	return err
}

// prepareServer rewrites the append-only file of a server, once for each run. added: it was this call that did it. An
// error means that the server could not be asked; a rewrite that fails shows in Warnings instead.
func (s *Store) prepareServer(ctx context.Context, id string, server goredis.Cmdable) (added bool, err error) {
	run, added := s.runs.begin(id)
	if !added {
		select {
		case <-run.done:
		case <-ctx.Done():
		}
		return false, nil
	}
	err = rewrite(ctx, server)
	switch {
	case errors.Is(err, errRewriting) && s.opened.Load():
		err = nil // the server continues; Warnings reads how it ends
	case err == nil, errors.Is(err, errRewriting), errors.Is(err, errRewriteFailed),
		isErrorReply(err) && !goredis.HasErrorPrefix(err, "LOADING"):
	default:
		s.runs.end(id, nil, true)
		return true, err
	}
	s.runs.end(id, err, false)
	return true, nil
}

// rewrite makes a server rewrite its append-only file before anything is added to it.
//
// A server that died while it wrote cuts the end of the file when it starts again (aof-load-truncated). Redis and Valkey
// cut it in the wrong place when a command inside a flush is incomplete: the first half of the flush stays without its
// end, and comes into force together with the next flush when the file is read again. A stop that never happened would so
// free a lane later. A rewritten file holds only what is in force.
func rewrite(ctx context.Context, server goredis.Cmdable) error {
	settings, err := server.ConfigGet(ctx, "appendonly").Result()
	if isErrorReply(err) || (err == nil && settings["appendonly"] != "yes") {
		return nil // Warnings names both
	}
	if err != nil {
		return err
	}
	if err := server.BgRewriteAOF(ctx).Err(); err != nil && !strings.Contains(err.Error(), "already in progress") {
		return err
	}
	poll := time.NewTicker(rewritePoll)
	defer poll.Stop()
	for {
		info, err := server.Info(ctx, "persistence").Result()
		switch {
		case err != nil:
			return err
		case strings.Contains(info, "aof_rewrite_in_progress:1"), strings.Contains(info, "aof_rewrite_scheduled:1"):
		case strings.Contains(info, "aof_last_bgrewrite_status:ok"):
			return nil
		default:
			return errRewriteFailed
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return errRewriting
		}
	}
}

// isErrorReply reports whether the server replied with an error; the connection remains usable.
func isErrorReply(err error) bool {
	var reply goredis.Error
	return errors.As(err, &reply)
}

// runID returns the run_id of the server, empty where the user may not use INFO. A server that is too old is an error.
func runID(ctx context.Context, server goredis.Cmdable) (string, error) {
	info, err := server.Info(ctx, "server").Result()
	if err != nil && !isErrorReply(err) {
		return "", err
	}
	version := infoField(info, "redis_version")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < OldestMajor {
		return "", fmt.Errorf("its version is %s, and rangegate needs Redis %d.0 or newer", version, OldestMajor)
	}
	return infoField(info, "run_id"), nil
}

// checkMaster refuses a server that is a replica, although a Sentinel may still name it as the master: it would give old
// data.
func checkMaster(ctx context.Context, connection *goredis.Conn) error {
	info, err := connection.Info(ctx, "replication").Result()
	switch {
	case err != nil && !isErrorReply(err):
		return err
	case infoField(info, "role") == "slave":
		return fmt.Errorf("the master that a Sentinel names is a replica, of %s:%s",
			infoField(info, "master_host"), infoField(info, "master_port"))
	}
	return nil
}

// infoField returns a field of an INFO reply, or "".
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
