package redis

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
)

// Bounds of what a flusher sends together.
const (
	maxWrites = 256
	maxBytes  = 1 << 20 // the write that goes beyond it is the last one
)

// flusher sends writes in pipelines: those that arrive while one is under way make up the next. A range always has the
// same flusher, so its writes reach the server in their order.
type flusher struct {
	client goredis.UniversalClient
	quorum quorum
	queue  chan *write
	ended  chan struct{}
}

// write is one run of a script that writes.
type write struct {
	script *goredis.Script
	keys   []string
	args   []any
	bytes  int
	taken  atomic.Bool
	reply  chan reply // of one
}

type reply struct {
	answer answer
	err    error
}

func newRun(script *goredis.Script, rangeID uuid.UUID, args []any, bytes int) *write {
	return &write{script: script, keys: keysOf(rangeID).list(), args: args, bytes: bytes, reply: make(chan reply, 1)}
}

// take takes the write, for sending it or for giving it up. It succeeds once.
func (w *write) take() bool { return w.taken.CompareAndSwap(false, true) }

func startFlusher(client goredis.UniversalClient, quorum quorum) *flusher {
	f := &flusher{client: client, quorum: quorum, queue: make(chan *write, maxWrites), ended: make(chan struct{})}
	go f.run()
	return f
}

// stop sends what is in the queue and returns when all of it is answered. Nothing may be queued any more.
func (f *flusher) stop() {
	close(f.queue)
	<-f.ended
}

func (f *flusher) run() {
	defer close(f.ended)
	for first := range f.queue {
		f.send(f.gather(first))
	}
}

// gather takes what waits behind the first write, as far as it may go along.
func (f *flusher) gather(first *write) []*write {
	var writes []*write
	bytes := 0
	for next := first; next != nil; {
		if next.take() {
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

// send sends the writes and answers each. A server that does not know the script has run none of those it says that
// of: they are sent again, with the script.
func (f *flusher) send(writes []*write) {
	var unknown []*write
	for i, r := range f.pipeline(writes, (*goredis.Script).EvalSha) {
		if goredis.HasErrorPrefix(r.err, "NOSCRIPT") {
			unknown = append(unknown, writes[i])
			continue
		}
		writes[i].reply <- r
	}
	for i, r := range f.pipeline(unknown, (*goredis.Script).Eval) {
		unknown[i].reply <- r
	}
}

type run func(script *goredis.Script, ctx context.Context, to goredis.Scripter, keys []string, args ...any) *goredis.Cmd

// pipeline sends the writes together and answers in their order. It takes no context: time-outs bound it, and whoever
// waits for a write ends with a context of their own.
func (f *flusher) pipeline(writes []*write, run run) []reply {
	replies := make([]reply, len(writes))
	ctx := context.Background()
	var sending sync.WaitGroup
	for to, part := range f.parts(ctx, writes, replies) {
		sending.Go(func() { f.exec(ctx, to, part, run, writes, replies) })
	}
	sending.Wait()
	return replies
}

// parts says what goes to whom: all of it to the one client, or, where replicas are waited for, the writes of each node
// of a cluster to that node. Those that have nowhere to go are answered.
func (f *flusher) parts(ctx context.Context, writes []*write, replies []reply) map[goredis.UniversalClient][]int {
	parts := map[goredis.UniversalClient][]int{}
	cluster, is := f.client.(*goredis.ClusterClient)
	for i, w := range writes {
		to := f.client
		if is && f.quorum.replicas > 0 {
			node, err := cluster.MasterForKey(ctx, w.keys[0])
			if err != nil {
				replies[i].err = &unconnected{err}
				continue
			}
			to = node
		}
		parts[to] = append(parts[to], i)
	}
	return parts
}

// exec sends one part, and behind it the question whether enough replicas have it.
func (f *flusher) exec(
	ctx context.Context, to goredis.UniversalClient, part []int, run run, writes []*write, replies []reply,
) {
	pipe := to.Pipeline()
	commands := make([]*goredis.Cmd, len(part))
	for i, at := range part {
		commands[i] = run(writes[at].script, ctx, pipe, writes[at].keys, writes[at].args...)
	}
	asked := f.quorum.ask(ctx, pipe)
	_, failed := pipe.Exec(ctx)
	missing := f.quorum.missing(asked)
	for i, command := range commands {
		list, err := command.Slice()
		switch {
		case command.Err() == nil && command.Val() == nil:
			// The client has no error for a command that it did not send because the connection was refused: an
			// unknown user, say.
			err = failed
		case err == nil && answer(list).written():
			err = missing
		}
		replies[part[i]] = reply{list, err}
	}
	if cluster, is := f.client.(*goredis.ClusterClient); is && failed != nil {
		cluster.ReloadState(ctx) // the ranges may be on another node by now
	}
}
