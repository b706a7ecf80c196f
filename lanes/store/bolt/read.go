package bolt

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Load reads what is needed to bring the range back.
func (s *Store) Load(ctx context.Context, rangeID uuid.UUID) (store.Recovered, error) {
	var loaded store.Recovered
	err := s.view(ctx, func(tx *bbolt.Tx, over layers) error {
		r := findRange(tx, rangeID, over)
		if r == nil {
			return nil
		}
		var read bool
		if loaded, read = s.claims.take(r); read {
			return nil
		}
		err := r.readOwn()
		if err == nil {
			loaded, err = r.load()
		}
		return err
	})
	if err != nil {
		return store.Recovered{}, err
	}
	return loaded, nil
}

func (r *rangeTx) load() (loaded store.Recovered, err error) {
	if r.meta.Checkpoint != nil {
		loaded.Checkpoint = *r.meta.Checkpoint
	}
	loaded.LastEvent, loaded.LastEnded, loaded.LastAct = r.meta.LastEvent, r.meta.LastEnded, r.meta.LastAct
	loaded.Lanes, err = decodeAll(r.from(lanesBucket, nil), func(key, value []byte) (lanes.Snapshot, error) {
		lane, err := decode[lanes.Snapshot](key, value)
		if err != nil {
			err = r.corrupt("lane "+idText(key), err)
		}
		return lane, err
	})
	if err != nil {
		return loaded, err
	}
	loaded.Keys, err = decodeAll(r.from(keysBucket, nil), func(name, value []byte) (lanes.KeptAnswer, error) {
		kept, err := decode[lanes.KeptAnswer](name, value)
		if err != nil {
			err = r.corrupt(fmt.Sprintf("idempotency key %q", name), err)
		}
		return kept, err
	})
	if err != nil {
		return loaded, err
	}
	if loaded.Holds, err = r.holds(); err != nil {
		return loaded, err
	}
	for key := range r.from(pendingBucket, nil) {
		event, err := r.event(key, r.get(eventsBucket, key))
		if err != nil {
			return loaded, err
		}
		loaded.Pending = append(loaded.Pending, event)
	}
	return loaded, nil
}

// holds reads what its bucket has, whatever its key: were the key damaged, a lookup would give no holds at all.
func (r *rangeTx) holds() (holds lanes.Holds, err error) {
	for key, value := range r.from(holdsBucket, nil) {
		if holds, err = decode[lanes.Holds](key, value); err != nil {
			return holds, r.corrupt("holds", err)
		}
	}
	return holds, nil
}

// Ended looks a session up in the history.
func (s *Store) Ended(ctx context.Context, rangeID, session uuid.UUID) (lanes.Ended, error) {
	var found lanes.Ended
	err := s.view(ctx, func(tx *bbolt.Tx, over layers) error {
		r := findRange(tx, rangeID, over)
		if r == nil {
			return store.ErrNotFound
		}
		value := r.get(sessionsBucket, session[:])
		if value == nil {
			return store.ErrNotFound
		}
		cursor, err := unseal(session[:], value)
		if err != nil {
			return r.corrupt("session "+session.String(), err)
		}
		found, err = r.ended(cursor, r.get(historyBucket, cursor))
		return err
	})
	return found, err
}

// Events reads the event log behind the cursor.
func (s *Store) Events(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Logged, error) {
	return page(ctx, s, rangeID, eventsBucket, after, limit, (*rangeTx).event)
}

// History reads the ended sessions behind the cursor.
func (s *Store) History(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Ended, error) {
	return page(ctx, s, rangeID, historyBucket, after, limit, (*rangeTx).ended)
}

// Acts reads what staff did behind the cursor.
func (s *Store) Acts(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Act, error) {
	return page(ctx, s, rangeID, actsBucket, after, limit, (*rangeTx).act)
}

func page[T any](
	ctx context.Context, s *Store, rangeID uuid.UUID, bucket string, after uint64, limit int,
	read func(r *rangeTx, key, value []byte) (T, error),
) ([]T, error) {
	var found []entry
	var r *rangeTx
	err := s.view(ctx, func(tx *bbolt.Tx, over layers) error {
		if r = findRange(tx, rangeID, over); r == nil || after == math.MaxUint64 {
			return nil
		}
		for key, value := range r.from(bucket, cursorKey(after+1)) {
			if len(found) >= limit {
				return nil
			}
			found = append(found, entry{bytes.Clone(key), bytes.Clone(value)}) // to be decoded while nobody waits
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []T
	for _, e := range found {
		record, err := read(r, e.key, e.value)
		if err != nil {
			return nil, err
		}
		list = append(list, record)
	}
	return list, nil
}

// idText is the id that a key is, or the key where damage has made it none.
func idText(key []byte) string {
	if id, err := uuid.FromBytes(key); err == nil {
		return id.String()
	}
	return fmt.Sprintf("%x", key)
}
