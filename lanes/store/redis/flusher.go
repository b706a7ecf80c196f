package redis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
)

// Limits of one pipeline.
const (
	maxWrites = 256
	maxBytes  = 1 << 20 // the write that exceeds it is the last one
)

// flusher sends writes in pipelines: those that are queued while one pipeline is sent make up the next. The writes of a
// range all use one flusher, so they reach the server in order.
type flusher struct {
	client  goredis.UniversalClient
	wait    replicaWait
	queue   chan *write
	stopped chan struct{}
}

// write is one run of a script that writes.
type write struct {
	script   *goredis.Script
	keys     []string
	args     []any
	bytes    int
	acquired atomic.Bool
	result   chan writeResult // of one
}

type writeResult struct {
	reply reply
	err   error
}

func newWrite(script *goredis.Script, rangeID uuid.UUID, args []any, bytes int) *write {
	return &write{script: script, keys: keysOf(rangeID).list(), args: args, bytes: bytes, result: make(chan writeResult, 1)}
}

// acquire succeeds once: for the flusher, which then sends the write, or for the caller, which then drops it.
func (w *write) acquire() bool { return w.acquired.CompareAndSwap(false, true) }

func startFlusher(client goredis.UniversalClient, wait replicaWait) *flusher {
	f := &flusher{client: client, wait: wait, queue: make(chan *write, maxWrites), stopped: make(chan struct{})}
	go f.run()
	return f
}

// stop sends what is queued, and returns when every write has its result. Nothing may be queued after it.
func (f *flusher) stop() {
	close(f.queue)
	<-f.stopped
}

func (f *flusher) run() {
	defer close(f.stopped)
	for first := range f.queue {
		f.send(f.collect(first))
	}
}

// collect gives the first write and those queued behind it, within the limits of a pipeline.
func (f *flusher) collect(first *write) []*write {
	var writes []*write
	bytes := 0
	for next := first; next != nil; {
		if next.acquire() {
			writes = append(writes, next)
			bytes += next.bytes
		}
		if len(writes) >= maxWrites || bytes >= maxBytes {
			break
		}
		select {
		case next = <-f.queue: // nil once it is closed and empty
		default:
			next = nil
		}
	}
	return writes
}

// send sends the writes and hands out the results. Writes whose script the server does not have are sent again, with the
// script: the server has not run them.
func (f *flusher) send(writes []*write) {
	var unknown []*write
	for i, result := range f.pipeline(writes, (*goredis.Script).EvalSha) {
		if goredis.HasErrorPrefix(result.err, "NOSCRIPT") {
			unknown = append(unknown, writes[i])
			continue
		}
		writes[i].result <- result
	}
	for i, result := range f.pipeline(unknown, (*goredis.Script).Eval) {
		unknown[i].result <- result
	}
}

type runScript func(script *goredis.Script, ctx context.Context, to goredis.Scripter, keys []string, args ...any) *goredis.Cmd

// pipeline sends the writes together and gives their results in order. It has no context of its own: timeouts bound it,
// and each caller waits with the context of its flush.
func (f *flusher) pipeline(writes []*write, run runScript) []writeResult {
	results := make([]writeResult, len(writes))
	ctx := context.Background()
	var sending sync.WaitGroup
	for client, indexes := range f.route(ctx, writes, results) {
		sending.Go(func() { f.exec(ctx, client, indexes, run, writes, results) })
	}
	sending.Wait()
	return results
}

// route assigns the indexes of the writes to clients: all to the one client, or, where a cluster's replicas are waited
// for, to the node of each range, as WAIT is asked on one connection. A write without a node has its result at once.
func (f *flusher) route(ctx context.Context, writes []*write, results []writeResult) map[goredis.UniversalClient][]int {
	routes := map[goredis.UniversalClient][]int{}
	cluster, isCluster := f.client.(*goredis.ClusterClient)
	for i, w := range writes {
		client := f.client
		if isCluster && f.wait.replicas > 0 {
			node, err := cluster.MasterForKey(ctx, w.keys[0])
			if err != nil {
				results[i].err = &notConnectedError{err}
				continue
			}
			client = node
		}
		routes[client] = append(routes[client], i)
	}
	return routes
}

// exec sends the writes of one client, and behind them the question whether enough replicas have them.
func (f *flusher) exec(
	ctx context.Context, client goredis.UniversalClient, indexes []int, run runScript, writes []*write, results []writeResult,
) {
	pipe := client.Pipeline()
	commands := make([]*goredis.Cmd, len(indexes))
	for i, index := range indexes {
		commands[i] = run(writes[index].script, ctx, pipe, writes[index].keys, writes[index].args...)
	}
	wait := f.wait.ask(ctx, pipe)
	_, pipeErr := pipe.Exec(ctx)
	waitErr := f.wait.check(wait)
	for i, command := range commands {
		list, err := command.Slice()
		switch {
		case command.Err() == nil && command.Val() == nil:
			// The client sets no error on a command that it did not send because the connection was refused, for an
			// unknown user for example.
			err = pipeErr
		case err == nil && reply(list).isWritten():
			err = waitErr
		}
		results[indexes[i]] = writeResult{list, err}
	}
	if cluster, isCluster := f.client.(*goredis.ClusterClient); isCluster && pipeErr != nil {
		cluster.ReloadState(ctx) // the ranges may have moved to another node
	}
}

// replicaWait is how many replicas must have a write before it is acknowledged, and how long they may take.
//
// WAIT covers the writes of its own connection. A repeat often uses another connection than the write that it repeats;
// flush.lua therefore writes the stored n again, so that WAIT has a write to wait for. A replica that has it has all
// earlier writes.
type replicaWait struct {
	replicas int // 0: none, and nothing is asked
	timeout  time.Duration
}

// ask adds WAIT to the pipeline, once for all its writes.
func (w replicaWait) ask(ctx context.Context, pipe goredis.Pipeliner) *goredis.Cmd {
	if w.replicas == 0 {
		return nil
	}
	return pipe.Do(ctx, "WAIT", w.replicas, w.timeout.Milliseconds())
}

// check returns the error of writes that too few replicas have. It does not wrap the server's error, which isRefused
// would take for a refusal of the writes themselves.
func (w replicaWait) check(asked *goredis.Cmd) error {
	if asked == nil {
		return nil
	}
	have, err := asked.Int()
	switch {
	case err != nil:
		return fmt.Errorf("whether replicas have it is not known: %v", err) //nolint:errorlint // see above: not wrapped
	case have < w.replicas:
		return fmt.Errorf("%d of the %d replicas that it waits for have it", have, w.replicas)
	}
	return nil
}
