package bolt

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"rangegate/lanes/store"
)

// job is one batch on its way into a transaction, its records encoded already.
type job struct {
	ctx     context.Context
	batch   store.Batch
	records records
	done    chan error // of one
	verdict error      // of its fence
}

type entry struct{ key, value []byte }

type records struct {
	lanes, events, history, keys []entry
	checkpoint                   []byte
}

// Flush has the batch written together with whatever else waits. When ctx ends after the batch was taken, the
// transaction goes on and its outcome is not known.
func (s *Store) Flush(ctx context.Context, batch store.Batch) error {
	encoded, err := recordsOf(batch)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	j := &job{ctx: ctx, batch: batch, records: encoded, done: make(chan error, 1)}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, ctx.Err())
	}
	select {
	case <-s.closing:
		return fmt.Errorf("%w: it is being closed", store.ErrRefused)
	default:
	}
	select {
	case s.jobs <- j:
	case <-ctx.Done():
		return fmt.Errorf("%w: its queue is full: %w", store.ErrRefused, ctx.Err())
	case <-s.closing:
		return fmt.Errorf("%w: it is being closed", store.ErrRefused)
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("store %s: waiting for the commit: %w", s.path, ctx.Err())
	case <-s.written:
		select {
		case err := <-j.done:
			return err
		default:
			return fmt.Errorf("%w: it was closed", store.ErrRefused)
		}
	}
}

// recordsOf encodes the batch, in the goroutine of whoever flushes and not in the transaction.
func recordsOf(batch store.Batch) (r records, err error) {
	add := func(to *[]entry, key []byte, v any) {
		value, failed := encode(v)
		if failed != nil && err == nil {
			err = failed
		}
		*to = append(*to, entry{key, value})
	}
	for i := range batch.Lanes {
		add(&r.lanes, batch.Lanes[i].ID[:], batch.Lanes[i])
	}
	for i := range batch.Events {
		add(&r.events, cursorKey(batch.Events[i].Cursor), batch.Events[i])
	}
	for i := range batch.Ended {
		add(&r.history, cursorKey(batch.Ended[i].Cursor), batch.Ended[i])
	}
	for i := range batch.Keys {
		add(&r.keys, []byte(batch.Keys[i].Name), batch.Keys[i])
	}
	if batch.Checkpoint != nil {
		var failed error
		if r.checkpoint, failed = encode(*batch.Checkpoint); failed != nil && err == nil {
			err = failed
		}
	}
	return r, err
}

// fence compares the stored pair with the batch's. skip: it was committed already.
func fence(m meta, batch store.Batch) (skip bool, err error) {
	switch {
	case m.Epoch > batch.Epoch, m.Epoch == batch.Epoch && m.N > batch.N:
		return false, store.ErrFenced
	case m.Epoch == batch.Epoch && m.N == batch.N:
		return true, nil
	case m.Epoch == batch.Epoch && m.N+1 == batch.N, batch.Refill:
		return false, nil
	}
	return false, store.ErrRolledBack
}

// apply writes one batch in the transaction. What its fence says against it is its verdict, and leaves no trace; an
// error fails the whole transaction.
func (s *Store) apply(tx *bbolt.Tx, j *job) error {
	m, err := s.meta(tx.Bucket(rangeBucket(j.batch.Range)), j.batch.Range)
	if err != nil {
		j.verdict = fmt.Errorf("%w: %w", store.ErrRefused, err)
		return nil
	}
	skip, verdict := fence(m, j.batch)
	if j.verdict = verdict; skip || verdict != nil {
		return nil
	}
	b, err := makeRange(tx, j.batch.Range)
	if err != nil {
		return err
	}
	if err := s.write1(b, j, &m); err != nil {
		return err
	}
	m.Epoch, m.N = j.batch.Epoch, j.batch.N
	if err := s.trim(b, j.batch, &m); err != nil {
		return err
	}
	return put(b, metaKey, m)
}

func (s *Store) write1(b *bbolt.Bucket, j *job, m *meta) error {
	for _, e := range j.records.lanes {
		if err := b.Bucket(lanesBucket).Put(e.key, e.value); err != nil {
			return err
		}
	}
	events, pending := b.Bucket(eventsBucket), b.Bucket(pendingBucket)
	for i, e := range j.records.events {
		event := j.batch.Events[i]
		if event.Cursor > m.LastEvent || events.Get(e.key) == nil {
			m.Events++
		}
		m.LastEvent = max(m.LastEvent, event.Cursor)
		if err := events.Put(e.key, e.value); err != nil {
			return err
		}
		if event.Attempt == nil {
			if err := pending.Put(e.key, nil); err != nil {
				return err
			}
		} else if err := pending.Delete(e.key); err != nil {
			return err
		}
	}
	for i, e := range j.records.history {
		ended := j.batch.Ended[i]
		m.History++
		m.LastEnded = max(m.LastEnded, ended.Cursor)
		if err := b.Bucket(historyBucket).Put(e.key, e.value); err != nil {
			return err
		}
		if err := b.Bucket(sessionBucket).Put(sessionKey(ended.Session.ID), e.key); err != nil {
			return err
		}
	}
	for _, e := range j.records.keys {
		if err := b.Bucket(keysBucket).Put(e.key, e.value); err != nil {
			return err
		}
	}
	for _, name := range j.batch.Forget {
		if err := b.Bucket(keysBucket).Delete([]byte(name)); err != nil {
			return err
		}
	}
	if j.records.checkpoint != nil {
		return b.Put(checkpointKey, j.records.checkpoint)
	}
	return nil
}

func sessionKey(id uuid.UUID) []byte { return id[:] }
