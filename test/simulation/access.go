package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/test/simulation/memory"
)

// access is the store as one run of a gateway reaches it: over a network that is slow, loses answers, and
// delivers what was sent although its sender is dead by then.
type access struct {
	*memory.Store
	retention store.Retention
	world     *world
	machine   *machine
	life      *life
}

var _ store.Store = (*access)(nil)

// storeFault is what becomes of one call.
type storeFault struct {
	before, after time.Duration // of the server's step
	end           string        // answered, refused, answerLost, callLost
}

// How a call of the store ends.
const (
	answered   = "answered"
	refused    = "refused"    // the server says that it writes nothing
	answerLost = "answerLost" // it took effect, and the connection breaks
	callLost   = "callLost"   // it never arrives
)

var errAnswerLost = errors.New("the connection to the store broke")

// callStore makes one call. The server's step happens even if the caller waits no longer, or is dead.
func callStore[T any](ctx context.Context, a *access, fault storeFault,
	step func(ctx context.Context, at *memory.Store) (T, error),
) (T, error) {
	var none T
	if err := a.life.io(ctx, a.machine); err != nil {
		return none, err
	}
	type outcome struct {
		value T
		err   error
	}
	done, at := make(chan outcome, 1), a.reached()
	go func() {
		time.Sleep(fault.before)
		switch fault.end {
		case callLost:
			return
		case refused:
			done <- outcome{err: store.ErrRefused}
			return
		}
		a.world.awaitStore()
		value, err := step(context.WithoutCancel(ctx), at)
		time.Sleep(fault.after)
		if fault.end == answerLost {
			err = errAnswerLost
		}
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		// the answer of before a freeze comes after it
		if err := a.life.io(context.Background(), a.machine); err != nil {
			return none, err
		}
		return o.value, o.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-time.After(storeTimeout):
		return none, errStoreTimeout
	case <-a.life.ended:
		return none, errDead
	}
}

// storeTimeout bounds a call, as the timeouts of a Redis client do.
const storeTimeout = 5 * time.Second

var errStoreTimeout = errors.New("the store has not answered in time")

// stores opens the store for a gateway on that machine.
func (w *world) stores(m *machine, retention store.Retention) gateway.Stores {
	a := &access{Store: w.server.Open(retention), retention: retention, world: w, machine: m, life: m.life()}
	opened := gateway.Stores{Snapshots: a, SignIns: a.SignIns()}
	if len(w.machines) > 1 {
		opened.Nodes = func() gateway.NodeStore { return nodeAccess{a} }
	}
	return opened
}

// reached is the server that this run is connected to: after a fail-over for a while the one of before.
func (a *access) reached() *memory.Store {
	if former := a.life.former.Load(); former != nil {
		return former.Open(a.retention)
	}
	return a.Store
}

// ownerFault draws what becomes of a call that gives a range another owner. The server of before is a replica from
// that moment on, and refuses it: what such a call would cost is not promised (docs/ownership.md).
func (a *access) ownerFault() storeFault {
	fault := a.world.writeFault()
	if a.life.former.Swap(nil) != nil {
		fault.end = refused
	}
	return fault
}

// Claim implements store.Store.
func (a *access) Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (uint64, error) {
	return callStore(ctx, a, a.ownerFault(), func(ctx context.Context, at *memory.Store) (uint64, error) {
		epoch, err := at.Claim(ctx, rangeID, now)
		if err == nil {
			a.world.recalling.Store(rangeID, epoch)
		}
		return epoch, err
	})
}

// Load implements store.Store.
func (a *access) Load(ctx context.Context, of store.RangeEpoch) (store.Recovered, error) {
	fault := a.world.readFault()
	if _, claimed := a.world.recalling.Load(of.Range); claimed && a.world.loadFails.CompareAndSwap(true, false) {
		fault.end = answerLost
	}
	return callStore(ctx, a, fault, func(ctx context.Context, at *memory.Store) (store.Recovered, error) {
		return at.Load(ctx, of)
	})
}

// Flush implements store.Store. What is written is on record for the judge at the instant at which it is
// written.
func (a *access) Flush(ctx context.Context, batch store.Batch) error {
	fault := a.world.writeFault()
	_, err := callStore(ctx, a, fault, func(ctx context.Context, at *memory.Store) (struct{}, error) {
		err := a.world.judge.flushed(a.machine, batch, at != a.Store, func() error { return at.Flush(ctx, batch) })
		a.world.recalling.CompareAndDelete(batch.Range, batch.Epoch)
		if err == nil && batch.Release && at == a.Store {
			a.world.givenAway.Add(1)
		}
		a.world.trace("%s flushes range %.8s (%d, %d) refill %v release %v %+v: %v", a.machine.name, batch.Range,
			batch.Epoch, batch.N, batch.Refill, batch.Release, fault, err)
		return struct{}{}, err
	})
	return err
}

// Confirm implements store.Store.
func (a *access) Confirm(ctx context.Context, of store.RangeEpoch) error {
	_, err := callStore(ctx, a, a.world.readFault(), func(ctx context.Context, at *memory.Store) (struct{}, error) {
		return struct{}{}, at.Confirm(ctx, of)
	})
	return err
}

// Ended implements store.Store.
func (a *access) Ended(ctx context.Context, of store.RangeEpoch, session uuid.UUID) (lanes.Ended, error) {
	return callStore(ctx, a, a.world.readFault(), func(ctx context.Context, at *memory.Store) (lanes.Ended, error) {
		return at.Ended(ctx, of, session)
	})
}

// Answer implements store.Store.
func (a *access) Answer(ctx context.Context, of store.RangeEpoch, name string) (lanes.KeptAnswer, error) {
	return callStore(ctx, a, a.world.readFault(),
		func(ctx context.Context, at *memory.Store) (lanes.KeptAnswer, error) {
			return at.Answer(ctx, of, name)
		})
}

// Events implements store.Store.
func (a *access) Events(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Logged, error) {
	return callStore(ctx, a, a.world.readFault(), func(ctx context.Context, at *memory.Store) ([]lanes.Logged, error) {
		return at.Events(ctx, of, after, limit)
	})
}

// History implements store.Store.
func (a *access) History(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Ended, error) {
	return callStore(ctx, a, a.world.readFault(), func(ctx context.Context, at *memory.Store) ([]lanes.Ended, error) {
		return at.History(ctx, of, after, limit)
	})
}

// Time implements clock.Reference.
func (a *access) Time(ctx context.Context) (time.Time, string, error) {
	type reading struct {
		at   time.Time
		name string
	}
	got, err := callStore(ctx, a, a.world.readFault(), func(ctx context.Context, at *memory.Store) (reading, error) {
		now, name, err := at.Time(ctx)
		return reading{now, name}, err
	})
	return got.at, got.name, err
}

// nodeAccess is what the nodes share, over the same network.
type nodeAccess struct{ *access }

// Close has nothing to close.
func (n nodeAccess) Close() error { return nil }

// Renew implements nodes.Store. Before it, a node asks the Sentinels which server is the master.
func (n nodeAccess) Renew(ctx context.Context, l store.Lease, ttl time.Duration) (store.Leases, error) {
	n.life.former.Store(nil)
	return callStore(ctx, n.access, n.world.readFault(),
		func(ctx context.Context, at *memory.Store) (store.Leases, error) {
			return at.Nodes().Renew(ctx, l, ttl)
		})
}

// Live implements nodes.Store.
func (n nodeAccess) Live(ctx context.Context) ([]store.Lease, error) {
	return callStore(ctx, n.access, n.world.readFault(),
		func(ctx context.Context, at *memory.Store) ([]store.Lease, error) {
			return at.Nodes().Live(ctx)
		})
}

// End implements nodes.Store.
func (n nodeAccess) End(ctx context.Context, run uuid.UUID) error {
	_, err := callStore(ctx, n.access, n.world.writeFault(),
		func(ctx context.Context, at *memory.Store) (struct{}, error) {
			return struct{}{}, at.Nodes().End(ctx, run)
		})
	return err
}

// Owners implements nodes.Store.
func (n nodeAccess) Owners(ctx context.Context, ranges []uuid.UUID) ([]store.Ownership, error) {
	return callStore(ctx, n.access, n.world.readFault(),
		func(ctx context.Context, at *memory.Store) ([]store.Ownership, error) {
			return at.Nodes().Owners(ctx, ranges)
		})
}

// Claim implements nodes.Store. Each range's claim has a fate of its own.
func (n nodeAccess) Claim(ctx context.Context, by store.Claimant, expected []store.Ownership) []store.Claimed {
	outcomes := make([]store.Claimed, len(expected))
	for i, e := range expected {
		claimed, err := callStore(ctx, n.access, n.ownerFault(),
			func(ctx context.Context, at *memory.Store) (store.Claimed, error) {
				claimed := at.Nodes().Claim(ctx, by, []store.Ownership{e})[0]
				n.world.trace("%s claims range %.8s from (%d, %s): taken %v, epoch %d", n.machine.name, e.Range,
					e.Epoch, e.Owner.Name, claimed.Taken, claimed.Epoch)
				if claimed.Err == nil && !claimed.Taken {
					n.world.recalling.Store(e.Range, claimed.Epoch)
				}
				return claimed, claimed.Err
			})
		if outcomes[i] = claimed; err != nil {
			outcomes[i] = store.Claimed{Ownership: e, Err: fmt.Errorf("claim: %w", err)}
		}
	}
	return outcomes
}

// SetOwner implements nodes.Store.
func (n nodeAccess) SetOwner(ctx context.Context, from store.Ownership, to store.Node) (store.Ownership, bool, error) {
	type outcome struct {
		current store.Ownership
		changed bool
	}
	got, err := callStore(ctx, n.access, n.ownerFault(), func(ctx context.Context, at *memory.Store) (outcome, error) {
		current, changed, err := at.Nodes().SetOwner(ctx, from, to)
		n.world.trace("%s sets the owner of range %.8s in epoch %d to %q: %v", n.machine.name, from.Range, from.Epoch,
			to.Name, changed)
		return outcome{current, changed}, err
	})
	if err != nil {
		return from, false, err
	}
	return got.current, got.changed, nil
}

// Announce implements nodes.Store. Some announcements are lost.
func (n nodeAccess) Announce(ctx context.Context, changed []store.Ownership) error {
	_, err := callStore(ctx, n.access, n.world.readFault(),
		func(ctx context.Context, at *memory.Store) (struct{}, error) {
			if n.world.chance(20) {
				return struct{}{}, nil
			}
			return struct{}{}, at.Nodes().Announce(ctx, changed)
		})
	return err
}

// Watch implements nodes.Store.
func (n nodeAccess) Watch(ctx context.Context) <-chan store.Ownership { return n.Nodes().Watch(ctx) }
