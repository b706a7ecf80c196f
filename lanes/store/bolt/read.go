package bolt

import (
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
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		r := findRange(tx, s.path, rangeID)
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
	err = r.bucket(lanesBucket).ForEach(func(key, value []byte) error {
		lane, err := decode[lanes.Snapshot](key, value)
		if err != nil {
			return r.corrupt("lane "+idText(key), err)
		}
		loaded.Lanes = append(loaded.Lanes, lane)
		return nil
	})
	if err != nil {
		return loaded, err
	}
	err = r.bucket(keysBucket).ForEach(func(name, value []byte) error {
		kept, err := decode[lanes.KeptAnswer](name, value)
		if err != nil {
			return r.corrupt(fmt.Sprintf("idempotency key %q", name), err)
		}
		loaded.Keys = append(loaded.Keys, kept)
		return nil
	})
	if err != nil {
		return loaded, err
	}
	if loaded.Holds, err = r.holds(); err != nil {
		return loaded, err
	}
	events := r.bucket(eventsBucket)
	return loaded, r.bucket(pendingBucket).ForEach(func(key, _ []byte) error {
		event, err := r.event(key, events.Get(key))
		loaded.Pending = append(loaded.Pending, event)
		return err
	})
}

// holds reads what its bucket has, whatever its key: were the key damaged, a lookup would give no holds at all.
func (r *rangeTx) holds() (holds lanes.Holds, err error) {
	b := r.bucket(holdsBucket)
	if b == nil { // the range is of an older version
		return holds, nil
	}
	err = b.ForEach(func(key, value []byte) error {
		if holds, err = decode[lanes.Holds](key, value); err != nil {
			return r.corrupt("holds", err)
		}
		return nil
	})
	return holds, err
}

// Ended looks a session up in the history.
func (s *Store) Ended(ctx context.Context, rangeID, session uuid.UUID) (lanes.Ended, error) {
	var found lanes.Ended
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		r := findRange(tx, s.path, rangeID)
		if r == nil {
			return store.ErrNotFound
		}
		value := r.bucket(sessionsBucket).Get(session[:])
		if value == nil {
			return store.ErrNotFound
		}
		cursor, err := unseal(session[:], value)
		if err != nil {
			return r.corrupt("session "+session.String(), err)
		}
		found, err = r.ended(cursor, r.bucket(historyBucket).Get(cursor))
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
	var list []T
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		r := findRange(tx, s.path, rangeID)
		if r == nil || after == math.MaxUint64 {
			return nil
		}
		b := r.bucket(bucket)
		if b == nil && bucket == actsBucket { // there never was any
			return nil
		}
		c := b.Cursor()
		for key, value := c.Seek(cursorKey(after + 1)); key != nil && len(list) < limit; key, value = c.Next() {
			record, err := read(r, key, value)
			if err != nil {
				return err
			}
			list = append(list, record)
		}
		return nil
	})
	if err != nil {
		return nil, err
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
