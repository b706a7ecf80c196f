package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"rangegate/lanes/store"
)

// Flush writes the batch. Its records are encoded in the goroutine of whoever flushes, and not in the transaction.
func (s *Store) Flush(ctx context.Context, batch store.Batch) error {
	encoded, err := recordsOf(batch)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	s.claims.drop(batch.Range)
	return s.submit(ctx, func(tx *fileTx) (verdict, failure error) { return s.apply(tx, batch, encoded) })
}

type entry struct{ key, value []byte }

// records are a batch's, encoded.
type records struct {
	lanes, events, history, acts, keys, holds []entry
}

func recordsOf(batch store.Batch) (r records, err error) {
	add := func(to *[]entry, key []byte, v any) {
		value, failed := encode(key, v)
		if failed == nil {
			failed = fits(key)
		}
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
	for i := range batch.Acts {
		add(&r.acts, cursorKey(batch.Acts[i].Cursor), batch.Acts[i])
	}
	for i := range batch.Keys {
		add(&r.keys, []byte(batch.Keys[i].Name), batch.Keys[i])
	}
	if batch.Holds != nil {
		add(&r.holds, holdsKey, *batch.Holds)
	}
	return r, err
}

// fits is an error for a key that the file cannot hold.
func fits(key []byte) error {
	if len(key) == 0 || len(key) > bbolt.MaxKeySize {
		return fmt.Errorf("a key of %d bytes: it takes 1 to %d", len(key), bbolt.MaxKeySize)
	}
	return nil
}

// fence compares the stored pair with the batch's. repeat: it was committed already, if only because later ones were.
func fence(m meta, batch store.Batch) (repeat bool, err error) {
	switch {
	case m.Epoch > batch.Epoch:
		return false, fmt.Errorf("%w: its epoch is %d, this one is %d", store.ErrFenced, m.Epoch, batch.Epoch)
	case m.Epoch == batch.Epoch && m.N >= batch.N:
		return true, nil
	case m.Epoch == batch.Epoch && m.N+1 == batch.N, batch.Refill:
		return false, nil
	}
	return false, fmt.Errorf("%w: it has (%d, %d) and is given (%d, %d)",
		store.ErrRolledBack, m.Epoch, m.N, batch.Epoch, batch.N)
}

// apply writes one batch in the transaction. A verdict against it leaves no trace.
func (s *Store) apply(tx *fileTx, batch store.Batch, encoded records) (verdict, failure error) {
	r, err := tx.open(batch.Range)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err), nil
	}
	var stored meta
	if r != nil {
		stored = r.meta
	}
	if repeat, err := fence(stored, batch); repeat || err != nil {
		return err, nil
	}
	if r == nil {
		if r, err = tx.makeRange(batch.Range); err != nil {
			return nil, err
		}
	}
	r.meta.Epoch, r.meta.N = batch.Epoch, batch.N
	r.write(batch, encoded)
	if err := r.trim(batch, s.retention); err != nil {
		return nil, err
	}
	return nil, tx.save(r)
}

func (r *rangeTx) write(batch store.Batch, encoded records) {
	if batch.Refill { // it has every lane and every key
		r.empty(lanesBucket)
		r.empty(keysBucket)
	}
	if batch.Checkpoint != nil {
		r.meta.Checkpoint = batch.Checkpoint
	}
	r.putAll(lanesBucket, encoded.lanes)
	r.putAll(keysBucket, encoded.keys)
	for _, name := range batch.Forget {
		r.delete(keysBucket, []byte(name))
	}
	r.putAll(holdsBucket, encoded.holds)
	r.writeEvents(batch, encoded.events)
	r.writeHistory(batch, encoded.history)
	r.putAll(actsBucket, encoded.acts)
	for _, act := range batch.Acts {
		r.meta.LastAct = max(r.meta.LastAct, act.Cursor)
	}
	r.meta.LastAct = max(r.meta.LastAct, batch.LastAct)
}

func (r *rangeTx) putAll(bucket string, encoded []entry) {
	for _, e := range encoded {
		r.put(bucket, e.key, e.value)
	}
}

func (r *rangeTx) writeEvents(batch store.Batch, encoded []entry) {
	for i, e := range encoded {
		last := r.meta.LastEvent
		r.meta.LastEvent = max(last, batch.Events[i].Cursor)
		r.putNext(eventsBucket, last, e.key, e.value)
		if batch.Events[i].Attempt != nil {
			if batch.Events[i].Cursor <= last {
				r.delete(pendingBucket, e.key)
			}
		} else {
			r.putNext(pendingBucket, last, e.key, seal(e.key, nil))
		}
	}
	r.meta.LastEvent = max(r.meta.LastEvent, batch.LastEvent)
}

func (r *rangeTx) writeHistory(batch store.Batch, encoded []entry) {
	for i, e := range encoded {
		cursor, session, last := batch.Ended[i].Cursor, batch.Ended[i].Session.ID, r.meta.LastEnded
		r.meta.LastEnded = max(last, cursor)
		if cursor <= r.meta.Nameless { // a refill brings a name back
			r.meta.Nameless = max(cursor, 1) - 1
		}
		r.putNext(historyBucket, last, e.key, e.value)
		r.put(sessionsBucket, session[:], seal(session[:], e.key))
	}
	r.meta.LastEnded = max(r.meta.LastEnded, batch.LastEnded)
}
