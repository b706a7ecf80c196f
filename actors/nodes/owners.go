package nodes

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Owner returns the node that owns the range, from memory. While the store is away it is the one that was
// known last. Errors: lanes.ErrNotOwner while no living node owns it, as far as is known.
func (k *Keeper) Owner(rangeID uuid.UUID) (lanes.Owner, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	e, found := k.ranges[rangeID]
	if !found || e.dead || e.record.Owner == (store.Node{}) {
		return lanes.Owner{}, lanes.ErrNotOwner
	}
	return k.ownerOf(e.record), nil
}

func (k *Keeper) ownerOf(o store.Ownership) lanes.Owner {
	return lanes.Owner{Here: o.Owner.Run == k.Self.Run, Name: o.Owner.Name, Address: o.Owner.Address, Epoch: o.Epoch}
}

// Refresh reads the owner of a range anew, after a node has answered that it is not the owner. One read at a
// time runs for a range; whoever asks meanwhile gets its answer. Errors: as Owner, those of the store and of
// ctx.
func (k *Keeper) Refresh(ctx context.Context, rangeID uuid.UUID) (lanes.Owner, error) {
	read := k.reads.DoChan(rangeID.String(), func() (any, error) {
		limited, cancel := context.WithTimeout(context.Background(), claimWithin)
		defer cancel()
		owners, err := k.Store.Owners(limited, []uuid.UUID{rangeID})
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if e, found := k.ranges[rangeID]; found && !e.busy {
			e.learn(owners[0])
		}
		return nil, nil
	})
	select {
	case result := <-read:
		if result.Err != nil {
			return lanes.Owner{}, result.Err
		}
		return k.Owner(rangeID)
	case <-ctx.Done():
		return lanes.Owner{}, ctx.Err()
	}
}

// lookUp is the newest read of the leases for a node that was not known.
type lookUp struct {
	at   time.Time
	live []store.Lease
}

// Knows reports whether a living node matches: of those at the newest renewal, or else of those that the store
// names by now, since a node may have started in between. The store is read once a second at most, whoever asks.
// While it is away, the nodes are those that were known last.
func (k *Keeper) Knows(ctx context.Context, matches func(store.Lease) bool) bool {
	if slices.ContainsFunc(k.Nodes(), matches) {
		return true
	}
	read, _, _ := k.reads.Do("leases", func() (any, error) { return k.lookUpLeases(ctx), nil })
	return slices.ContainsFunc(read.([]store.Lease), matches)
}

// lookUpLeases reads the leases, or returns what it read less than lookUpPause ago.
func (k *Keeper) lookUpLeases(ctx context.Context) []store.Lease {
	k.mu.RLock()
	before := k.lookUp
	k.mu.RUnlock()
	if time.Since(before.at) < lookUpPause {
		return before.live
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookUpWithin)
	defer cancel()
	live, err := k.Store.Live(limited)
	if err != nil {
		k.Log.Warn().Err(err).Msg("the nodes could not be read: one that this node does not know yet is not believed")
	}
	k.mu.Lock()
	k.lookUp = lookUp{began, live}
	k.mu.Unlock()
	return live
}

// Nodes returns the leases of the living nodes, as they were known at the newest renewal.
func (k *Keeper) Nodes() []store.Lease {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return append([]store.Lease(nil), k.lease.all...)
}
