package actors

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

// A range is dropped when another process owns it: nothing of it is saved here any more, and only its fire
// lines could still be closed. What becomes of what is under way:
//
//	requests     saved, or sent to the store: timeout. Others: not_owner; one that closes a fire line, that it may
//	             have closed it here
//	keys         who waits for the first request with the same key: timeout. The new owner has the table, as far as it
//	             was saved
//	holds        not_owner, unless they are durable. The lanes under them lock before their links are closed. A
//	             controller that is locked stays so under the new owner, shown to staff
//	links        closed: controllers go on as on_loss says, and accept the higher epoch of the new owner
//	events       an attempt under way is cut off and stays interrupted; what has no attempt is the new owner's to deliver
//	purchases    likewise: one that was sent waits for staff, the new owner goes on with one that was not
//	lookups      given up; the controller sends the report again
//	streams      end; screens connect again
//
// Closings that were answered as not saved are lost to the new owner. They are counted in the log.

const (
	dropWithin   = 20 * time.Second // for what a dropped range has under way
	lastClosings = time.Second      // for lanes to take what was sent to them
)

// DropRange drops the range because another process has claimed it, which may be known before the store
// refuses a write. It does nothing unless the range runs here. It does not wait for the end of the range's
// actors.
func (g *Gateway) DropRange(id uuid.UUID) {
	g.mu.RLock()
	r := g.ranges[id]
	g.mu.RUnlock()
	if r != nil {
		g.drop(r)
	}
}

// drop takes the range out of the gateway and ends it. Later calls do nothing.
func (g *Gateway) drop(r *Range) {
	ended, first := g.forget(r)
	if !first {
		return
	}
	began := r.clock.Now()
	unsaved := r.drop()
	r.log.Error().Uint64("epoch", r.committer.Epoch).
		Int("writes_sent", unsaved.Sent).Int("writes_waiting", unsaved.Waiting).
		Int("closings_not_saved", unsaved.Closings).
		Msg("another process owns the range: it is dropped here, its links are closed, its clients are told")
	go func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.Background(), dropWithin)
		defer cancel()
		<-r.spawned
		err := r.awaitEnd(ctx)
		g.mu.Lock()
		delete(g.dropping, r)
		g.mu.Unlock()
		line := r.log.Info()
		if err != nil {
			line = r.log.Error().Err(err)
		}
		line.Dur("duration_ms", r.clock.Now().Since(began)).Msg("dropped range ended")
	}()
}

// forget takes the range out of those that run. The channel is to be closed once its actors have ended. first
// is false for a range that is dropped already.
func (g *Gateway) forget(r *Range) (ended chan struct{}, first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.dropped {
		return nil, false
	}
	r.dropped = true
	ended = make(chan struct{})
	g.dropping[r] = ended
	if running := g.ranges[r.id]; running == nil || running == r { // else it was started here again meanwhile
		delete(g.ranges, r.id)
		g.elsewhere[r.id] = struct{}{}
	}
	return ended, true
}

// awaitDropped waits until what was dropped has ended, or ctx ends.
func (g *Gateway) awaitDropped(ctx context.Context) error {
	g.mu.RLock()
	dropping := make([]<-chan struct{}, 0, len(g.dropping))
	for _, ended := range g.dropping {
		dropping = append(dropping, ended)
	}
	g.mu.RUnlock()
	for _, ended := range dropping {
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// drop answers everybody who waits. The order counts: whose write was sent has its reply before life ends.
func (r *Range) drop() commit.Abandoned {
	r.keys.Close()
	unsaved := r.committer.Fence()
	r.endLife(lanes.ErrNotOwner)
	return unsaved
}

// awaitEnd stops the tree of a range whose life has ended, and waits until nothing of it runs any more.
func (r *Range) awaitEnd(ctx context.Context) error {
	r.ending.Do(func() { r.awaitClosings(ctx) }) // a range may be dropped while its gateway stops
	return errors.Join(r.tree.Stop(ctx, r.addresses.root.Load()),
		await(ctx, &r.dials.finished), await(ctx, &r.background), r.delivery.AwaitAttempts(ctx), r.committer.Drain(ctx))
}

// await waits until the goroutines have ended, or ctx ends.
func await(ctx context.Context, goroutines *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		goroutines.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitClosings waits until every lane has taken what it was sent, for lastClosings at most: a stop overtakes the
// messages that wait for an actor, a hold among them.
func (r *Range) awaitClosings(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastClosings)
	defer cancel()
	last := &barrier{passed: make(chan struct{})}
	last.ahead.Store(1)
	r.addresses.sendRoot(&atBarrier{barrier: last})
	select {
	case <-last.passed:
	case <-ctx.Done():
		r.log.Error().Int64("actors", last.ahead.Load()).Dur("waited_ms", lastClosings).
			Msg("actors of a range that ends have not taken what they were sent, a hold may be among it")
	}
}
