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

// Warnings names each setting of the server that weakens the promise of the gateway: what it acknowledged
// survives. It is empty when there is none.
func (s *Store) Warnings(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	warnings, err := eachServer(ctx, s, s.checkSettings)
	if err != nil && !errors.Is(err, errClosed) {
		warnings = append(warnings, unchecked(s.address, err))
	}
	return warnings
}

func unchecked(address string, err error) string {
	return fmt.Sprintf("redis server %s: whether it keeps what it acknowledges could not be checked: %v", address, err)
}

var checkedSettings = []string{
	"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save", "maxmemory-policy", "min-replicas-to-write",
}

// checkSettings checks one server: its settings, and the rewrite of its append-only file.
func (s *Store) checkSettings(ctx context.Context, address string, server goredis.UniversalClient) []string {
	var warnings []string
	warn := func(text string, values ...any) {
		warnings = append(warnings, fmt.Sprintf("redis server %s: ", address)+fmt.Sprintf(text, values...))
	}
	if err := s.rewriteProblem(ctx, server); err != nil {
		warn("its append-only file could not be rewritten: %v. If the server died while it wrote, run "+
			"redis-check-aof --fix or BGREWRITEAOF before its next start", err)
	}

	settings := map[string]string{}
	for _, name := range checkedSettings {
		found, err := server.ConfigGet(ctx, name).Result()
		if err != nil {
			return append(warnings, unchecked(address, err))
		}
		settings[name] = found[name]
	}
	switch {
	case settings["appendonly"] != "yes" && settings["save"] != "":
		warn("appendonly is not yes: what was acknowledged since its last snapshot is lost when the server stops")
	case settings["appendonly"] != "yes":
		warn("appendonly is not yes: what was acknowledged is lost when the server stops")
	case settings["appendfsync"] != "always":
		warn("appendfsync is %s, not always: the last of what was acknowledged is lost when the server's machine fails",
			settings["appendfsync"])
	case settings["no-appendfsync-on-rewrite"] != "no":
		warn("no-appendfsync-on-rewrite is not no: what is acknowledged while the append-only file is rewritten is " +
			"lost when the server's machine fails")
	}
	// No key of the store expires, so a volatile-* policy evicts none of them.
	if policy := settings["maxmemory-policy"]; strings.HasPrefix(policy, "allkeys-") {
		warn("maxmemory-policy is %s, not noeviction: a full server drops what it has acknowledged", policy)
	}
	if required, err := strconv.Atoi(settings["min-replicas-to-write"]); err == nil && required < s.replicas {
		warn("min-replicas-to-write is %d, less than wait_replicas, %d: while replicas are away it writes what "+
			"cannot be acknowledged, instead of refusing it", required, s.replicas)
	}
	return warnings
}

// rewriteProblem returns why the server could not rewrite its append-only file, or nil.
func (s *Store) rewriteProblem(ctx context.Context, server goredis.Cmdable) error {
	id, err := runID(ctx, server)
	if err != nil {
		return nil // reading the settings fails with the same error
	}
	if problem, found := s.problems.Load(id); found {
		return problem.(error)
	}
	info, err := server.Info(ctx, "persistence").Result()
	if err == nil && infoField(info, "aof_enabled") == "1" && infoField(info, "aof_last_bgrewrite_status") == "err" {
		return errRewriteFailed
	}
	return nil
}

// eachServer runs check on the server, or on every master of a cluster, and collects the texts that it returns.
func eachServer(
	ctx context.Context, s *Store,
	check func(ctx context.Context, address string, server goredis.UniversalClient) []string,
) ([]string, error) {
	return call(ctx, s, func(ctx context.Context) ([]string, error) {
		cluster, isCluster := s.reads.(*goredis.ClusterClient)
		if !isCluster {
			return check(ctx, s.address, s.reads), nil
		}
		var mu sync.Mutex
		var texts []string
		err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *goredis.Client) error {
			found := check(ctx, node.Options().Addr, node)
			mu.Lock()
			defer mu.Unlock()
			texts = append(texts, found...)
			return nil
		})
		return texts, err
	})
}

// Survey is the condition of a server, as far as it can be read without writing to it.
type Survey struct {
	Version   string        // of the server
	RoundTrip time.Duration // of one PING
	Warnings  []string      // as of Store.Warnings, and about missing replicas
}

// Survey checks the server, or every master of a cluster. Version and RoundTrip are then those of one node.
func (r *Reader) Survey(ctx context.Context) (Survey, error) {
	begun := time.Now()
	if err := r.store.reads.Ping(ctx).Err(); err != nil {
		return Survey{}, r.store.serverError(err)
	}
	survey := Survey{RoundTrip: time.Since(begun)}
	info, err := r.store.reads.Info(ctx, "server").Result()
	if err != nil {
		return Survey{}, r.store.serverError(err)
	}
	survey.Version = infoField(info, "redis_version")

	survey.Warnings = r.store.Warnings(ctx)
	missing, err := eachServer(ctx, r.store, r.store.checkReplicas)
	if err != nil {
		return Survey{}, r.store.serverError(err)
	}
	survey.Warnings = append(survey.Warnings, missing...)
	return survey, nil
}

// checkReplicas warns when a server has fewer replicas than wait_replicas.
func (s *Store) checkReplicas(ctx context.Context, address string, server goredis.UniversalClient) []string {
	if s.replicas == 0 {
		return nil
	}
	info, err := server.Info(ctx, "replication").Result()
	if err != nil {
		return []string{unchecked(address, err)}
	}
	if have, err := strconv.Atoi(infoField(info, "connected_slaves")); err == nil && have < s.replicas {
		return []string{fmt.Sprintf("redis server %s: it has %d of the %d replicas that wait_replicas waits for: "+
			"nothing could be sold", address, have, s.replicas)}
	}
	return nil
}

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

func (s *Store) notifyChanged() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// ServerChanged receives a value when the store has connected to a server process that is new since Open: the
// server was restarted, or another one is the master. Its Warnings may differ. Close closes the channel.
func (s *Store) ServerChanged() <-chan struct{} { return s.changed }

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
		s.notifyChanged()
	}
	return err
}

// prepareServer rewrites the append-only file of a server, once for each run. added: it was this call that did it. An
// error means that the server could not be asked; a rewrite that fails shows in Warnings instead.
func (s *Store) prepareServer(ctx context.Context, id string, server goredis.Cmdable) (added bool, err error) {
	prepared := make(chan struct{})
	if earlier, found := s.runs.LoadOrStore(id, prepared); found {
		select {
		case <-earlier.(chan struct{}):
		case <-ctx.Done():
		}
		return false, nil
	}
	defer close(prepared)
	err = rewrite(ctx, server)
	switch {
	case err == nil:
	case errors.Is(err, errRewriting) && s.opened.Load(): // the server continues; Warnings reads how it ends
	case errors.Is(err, errRewriting), errors.Is(err, errRewriteFailed),
		isErrorReply(err) && !goredis.HasErrorPrefix(err, "LOADING"):
		s.problems.Store(id, err)
	default: // interrupted: the next connection does it
		s.runs.Delete(id)
		return true, err
	}
	return true, nil
}

// rewrite makes a server rewrite its append-only file before anything is added to it.
//
// A server that died while it wrote cuts the end of the file when it starts again (aof-load-truncated). Redis
// and Valkey cut it in the wrong place when a command inside a flush is incomplete: the first half of the
// flush stays without its end, and comes into force together with the next flush when the file is read again.
// A stop that never happened would so free a lane later. A rewritten file holds only what is in force.
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

// checkMaster refuses a server that is a replica, although a Sentinel may still name it as the master: it
// would give old data.
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
