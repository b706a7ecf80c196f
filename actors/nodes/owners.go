package nodes

import (
	"context"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Owner returns the node that owns the range, from memory. While the store is away it is the one that was known last. Errors:
// lanes.ErrNotOwner while no living node owns it, as far as is known.
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

// Refresh reads the owner of a range anew, after a node has answered that it is not the owner. One read at a time runs for a range;
// whoever asks meanwhile gets its answer. Errors: as Owner, those of the store and of ctx.
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

// Nodes returns the leases of the living nodes, as they were known at the newest renewal.
func (k *Keeper) Nodes() []store.Lease {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return append([]store.Lease(nil), k.lease.all...)
}
