package bolt

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// meta is what a range's bucket says of itself.
type meta struct {
	Epoch     uint64 `json:"epoch"`
	N         uint64 `json:"n"`
	LastEvent uint64 `json:"last_event"`
	LastEnded uint64 `json:"last_ended"`
	Events    int    `json:"events"`   // in the event log now
	History   int    `json:"history"`  // in the history now
	Nameless  uint64 `json:"nameless"` // up to this cursor the history has lost its names
}

func (s *Store) meta(b *bbolt.Bucket, id uuid.UUID) (m meta, err error) {
	if b == nil || b.Get(metaKey) == nil {
		return meta{}, nil
	}
	return m, read(s, b.Get(metaKey), &m, "meta of range", id)
}

// Claim takes the range for this process.
func (s *Store) Claim(_ context.Context, rangeID uuid.UUID, now time.Time) (epoch uint64, err error) {
	defer caught(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return 0, fmt.Errorf("store %s: %w", s.path, s.broken)
	}
	err = s.db.Update(func(tx *bbolt.Tx) error {
		b, err := makeRange(tx, rangeID)
		if err != nil {
			return err
		}
		m, err := s.meta(b, rangeID)
		if err != nil {
			return err
		}
		m.Epoch, m.N = max(m.Epoch+1, uint64(max(0, now.UnixMilli()))), 0
		epoch = m.Epoch
		return put(b, metaKey, m)
	})
	return epoch, err
}

func makeRange(tx *bbolt.Tx, id uuid.UUID) (*bbolt.Bucket, error) {
	b, err := tx.CreateBucketIfNotExists(rangeBucket(id))
	if err != nil {
		return nil, err
	}
	for _, name := range [][]byte{lanesBucket, eventsBucket, pendingBucket, historyBucket, sessionBucket, keysBucket} {
		if _, err := b.CreateBucketIfNotExists(name); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Load reads what is needed to bring the range back.
func (s *Store) Load(_ context.Context, rangeID uuid.UUID) (r store.Recovered, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(rangeBucket(rangeID))
		if b == nil {
			return nil
		}
		m, err := s.meta(b, rangeID)
		if err != nil {
			return err
		}
		r.LastEvent, r.LastEnded = m.LastEvent, m.LastEnded
		if value := b.Get(checkpointKey); value != nil {
			if err := read(s, value, &r.Checkpoint, "checkpoint of range", rangeID); err != nil {
				return err
			}
		}
		err = b.Bucket(lanesBucket).ForEach(func(id, value []byte) error {
			var lane lanes.Snapshot
			r.Lanes = append(r.Lanes, lane)
			return read(s, value, &r.Lanes[len(r.Lanes)-1], "lane", uuid.UUID(id))
		})
		if err != nil {
			return err
		}
		err = b.Bucket(keysBucket).ForEach(func(name, value []byte) error {
			var kept lanes.KeptAnswer
			err := read(s, value, &kept, "idempotency key", fmt.Sprintf("%q", name))
			r.Keys = append(r.Keys, kept)
			return err
		})
		if err != nil {
			return err
		}
		events := b.Bucket(eventsBucket)
		return b.Bucket(pendingBucket).ForEach(func(cursor, _ []byte) error {
			event, err := s.event(cursor, events.Get(cursor))
			r.Pending = append(r.Pending, event)
			return err
		})
	})
	return r, err
}

func (s *Store) event(cursor, value []byte) (event lanes.Logged, err error) {
	return event, read(s, value, &event, "event", binary.BigEndian.Uint64(cursor))
}

func (s *Store) ended(cursor, value []byte) (ended lanes.Ended, err error) {
	return ended, read(s, value, &ended, "ended session", binary.BigEndian.Uint64(cursor))
}

// Ended looks a session up in the history.
func (s *Store) Ended(_ context.Context, rangeID, session uuid.UUID) (ended lanes.Ended, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(rangeBucket(rangeID))
		if b == nil {
			return store.ErrNotFound
		}
		cursor := b.Bucket(sessionBucket).Get(session[:])
		if cursor == nil {
			return store.ErrNotFound
		}
		ended, err = s.ended(cursor, b.Bucket(historyBucket).Get(cursor))
		return err
	})
	return ended, err
}

// Events reads the event log behind the cursor.
func (s *Store) Events(_ context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Logged, error) {
	return page(s, rangeID, eventsBucket, after, limit, s.event)
}

// History reads the ended sessions behind the cursor.
func (s *Store) History(_ context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Ended, error) {
	return page(s, rangeID, historyBucket, after, limit, s.ended)
}

func page[T any](
	s *Store, rangeID uuid.UUID, bucket []byte, after uint64, limit int, decoded func(cursor, value []byte) (T, error),
) (list []T, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(rangeBucket(rangeID))
		if b == nil {
			return nil
		}
		c := b.Bucket(bucket).Cursor()
		for key, value := c.Seek(cursorKey(after + 1)); key != nil && len(list) < limit; key, value = c.Next() {
			record, err := decoded(key, value)
			if err != nil {
				return err
			}
			list = append(list, record)
		}
		return nil
	})
	return list, err
}
