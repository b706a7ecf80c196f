package redis

import (
	"context"
	"sync/atomic"

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
	queue  chan *write
	ended  chan struct{}
}

// write is one run of flushScript.
type write struct {
	keys  []string
	args  []any
	bytes int
	taken atomic.Bool
	reply chan reply // of one
}

type reply struct {
	answer answer
	err    error
}

// take takes the write, for sending it or for giving it up. It succeeds once.
func (w *write) take() bool { return w.taken.CompareAndSwap(false, true) }

func startFlusher(client goredis.UniversalClient) *flusher {
	f := &flusher{client: client, queue: make(chan *write, maxWrites), ended: make(chan struct{})}
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
	for i, r := range f.pipeline(writes, flushScript.EvalSha) {
		if goredis.HasErrorPrefix(r.err, "NOSCRIPT") {
			unknown = append(unknown, writes[i])
			continue
		}
		writes[i].reply <- r
	}
	for i, r := range f.pipeline(unknown, flushScript.Eval) {
		unknown[i].reply <- r
	}
}

type run func(ctx context.Context, to goredis.Scripter, keys []string, args ...any) *goredis.Cmd

// pipeline sends the writes together and answers in their order. It takes no context: time-outs bound it, and whoever
// waits for a write ends with a context of their own.
func (f *flusher) pipeline(writes []*write, run run) []reply {
	if len(writes) == 0 {
		return nil
	}
	ctx := context.Background()
	pipe := f.client.Pipeline()
	commands := make([]*goredis.Cmd, len(writes))
	for i, w := range writes {
		commands[i] = run(ctx, pipe, w.keys, w.args...)
	}
	_, failed := pipe.Exec(ctx)
	replies := make([]reply, len(writes))
	for i, command := range commands {
		answer, err := command.Slice()
		if command.Err() == nil && command.Val() == nil {
			// The client has no error for a command that it did not send because the connection was refused: an
			// unknown user, say.
			err = failed
		}
		replies[i] = reply{answer, err}
	}
	return replies
}
