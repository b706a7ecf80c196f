package bolt

import (
	"context"
	"fmt"

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
	if err := r.write(batch, encoded); err != nil {
		return nil, err
	}
	if err := r.trim(batch, s.retention); err != nil {
		return nil, err
	}
	return nil, tx.save(r)
}

func (r *rangeTx) write(batch store.Batch, encoded records) error {
	if batch.Refill { // it has every lane and every key
		if err := r.empty(lanesBucket); err != nil {
			return err
		}
		if err := r.empty(keysBucket); err != nil {
			return err
		}
	}
	if batch.Checkpoint != nil {
		r.meta.Checkpoint = batch.Checkpoint
	}
	for _, e := range encoded.lanes {
		if err := r.put(lanesBucket, e.key, e.value); err != nil {
			return err
		}
	}
	for _, e := range encoded.keys {
		if err := r.put(keysBucket, e.key, e.value); err != nil {
			return err
		}
	}
	for _, name := range batch.Forget {
		if err := r.delete(keysBucket, []byte(name)); err != nil {
			return err
		}
	}
	if err := r.writeHolds(encoded.holds); err != nil {
		return err
	}
	if err := r.writeEvents(batch, encoded.events); err != nil {
		return err
	}
	if err := r.writeHistory(batch, encoded.history); err != nil {
		return err
	}
	return r.writeActs(batch, encoded.acts)
}

func (r *rangeTx) writeHolds(encoded []entry) error {
	for _, e := range encoded {
		if _, err := r.b.CreateBucketIfNotExists([]byte(holdsBucket)); err != nil { // an older version made the range
			return err
		}
		if err := r.put(holdsBucket, e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

func (r *rangeTx) writeActs(batch store.Batch, encoded []entry) error {
	r.meta.LastAct = max(r.meta.LastAct, batch.LastAct)
	for i, e := range encoded {
		r.meta.LastAct = max(r.meta.LastAct, batch.Acts[i].Cursor)
		if _, err := r.b.CreateBucketIfNotExists([]byte(actsBucket)); err != nil {
			return err
		}
		if err := r.put(actsBucket, e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

func (r *rangeTx) writeEvents(batch store.Batch, encoded []entry) error {
	r.meta.LastEvent = max(r.meta.LastEvent, batch.LastEvent)
	for i, e := range encoded {
		r.meta.LastEvent = max(r.meta.LastEvent, batch.Events[i].Cursor)
		if err := r.put(eventsBucket, e.key, e.value); err != nil {
			return err
		}
		if batch.Events[i].Attempt != nil {
			if err := r.delete(pendingBucket, e.key); err != nil {
				return err
			}
		} else if err := r.put(pendingBucket, e.key, seal(e.key, nil)); err != nil {
			return err
		}
	}
	return nil
}

func (r *rangeTx) writeHistory(batch store.Batch, encoded []entry) error {
	r.meta.LastEnded = max(r.meta.LastEnded, batch.LastEnded)
	for i, e := range encoded {
		cursor, session := batch.Ended[i].Cursor, batch.Ended[i].Session.ID
		r.meta.LastEnded = max(r.meta.LastEnded, cursor)
		if cursor <= r.meta.Nameless { // a refill brings a name back
			r.meta.Nameless = max(cursor, 1) - 1
		}
		if err := r.put(historyBucket, e.key, e.value); err != nil {
			return err
		}
		if err := r.put(sessionsBucket, session[:], seal(session[:], e.key)); err != nil {
			return err
		}
	}
	return nil
}
