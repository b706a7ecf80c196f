package bolt

import (
	"bytes"
	"math"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// trimStep is how many records of a kind a flush trims at most, beyond twice what it added: a little at a time, and
// always more than comes in.
const trimStep = 64

// trim takes away what is past its term or beyond the cap, oldest first. A record that cannot be read has no age and
// waits until it is beyond the cap; whoever reads it is told.
func (r *rangeTx) trim(batch store.Batch, keep store.Retention) error {
	if err := r.trimEvents(batch, keep); err != nil {
		return err
	}
	if err := r.trimHistory(batch, keep); err != nil {
		return err
	}
	if err := r.trimActs(batch, keep); err != nil {
		return err
	}
	return r.trimNames(batch, keep.Names)
}

func (r *rangeTx) trimEvents(batch store.Batch, keep store.Retention) error {
	for range trimStep + 2*len(batch.Events) {
		key, value := r.bucket(eventsBucket).Cursor().First()
		if key == nil || r.bucket(pendingBucket).Get(key) != nil {
			return nil
		}
		if r.meta.Records[eventsBucket].Count <= keep.Cap && r.stays(eventsBucket, key, value, batch.Now, keep.Events, r.eventAt) {
			return nil
		}
		if err := r.delete(eventsBucket, key); err != nil {
			return err
		}
	}
	return nil
}

func (r *rangeTx) trimHistory(batch store.Batch, keep store.Retention) error {
	for range trimStep + 2*len(batch.Ended) {
		key, value := r.bucket(historyBucket).Cursor().First()
		if key == nil {
			return nil
		}
		if r.meta.Records[historyBucket].Count <= keep.Cap && r.stays(historyBucket, key, value, batch.Now, keep.History, r.endedAt) {
			return nil
		}
		ended, _ := r.ended(key, value) // of one that cannot be read no index is known
		if err := r.forget(key, ended); err != nil {
			return err
		}
	}
	return nil
}

// trimActs has the bounds of the history.
func (r *rangeTx) trimActs(batch store.Batch, keep store.Retention) error {
	b := r.bucket(actsBucket)
	if b == nil {
		return nil
	}
	for range trimStep + 2*len(batch.Acts) {
		key, value := b.Cursor().First()
		if key == nil {
			return nil
		}
		if r.meta.Records[actsBucket].Count <= keep.Cap && r.stays(actsBucket, key, value, batch.Now, keep.History, r.actAt) {
			return nil
		}
		if err := r.delete(actsBucket, key); err != nil {
			return err
		}
	}
	return nil
}

// stays tells whether the record's term is not over, as far as it can be read. Its age is read once.
func (r *rangeTx) stays(
	bucket string, key, value []byte, now time.Time, term time.Duration, read func(key, value []byte) (time.Time, error),
) bool {
	if r.young(bucket, key, value, now, term) {
		return true
	}
	at, err := read(key, value)
	if err == nil {
		r.remember(bucket, key, value, at)
	}
	return err != nil || !over(at, now, term)
}

func (r *rangeTx) eventAt(key, value []byte) (time.Time, error) {
	event, err := r.event(key, value)
	return event.Event.At, err
}

func (r *rangeTx) endedAt(key, value []byte) (time.Time, error) {
	ended, err := r.ended(key, value)
	return ended.At, err
}

func (r *rangeTx) actAt(key, value []byte) (time.Time, error) {
	act, err := r.act(key, value)
	return act.At, err
}

const named = "names" // what the history is trimmed of before its sessions, as memory has it

// trimNames empties the customers' names in the history. A record that cannot be read is passed over.
func (r *rangeTx) trimNames(batch store.Batch, term time.Duration) error {
	for range trimStep + 2*len(batch.Ended) {
		key, value := r.nextNamed()
		if key == nil {
			return nil
		}
		if r.young(named, key, value, batch.Now, term) {
			return nil
		}
		ended, err := r.ended(key, value)
		if err == nil && !over(ended.At, batch.Now, term) {
			r.remember(named, key, value, ended.At)
			return nil
		}
		r.meta.Nameless = cursorOf(key)
		if err != nil || ended.Session.Customer == "" {
			continue
		}
		ended.Session.Customer = ""
		if value, err = encode(key, ended); err != nil {
			return err
		}
		if err := r.put(historyBucket, key, value); err != nil {
			return err
		}
	}
	return nil
}

// nextNamed is the oldest ended session that may have a name.
func (r *rangeTx) nextNamed() (key, value []byte) {
	if r.meta.Nameless == math.MaxUint64 {
		return nil, nil
	}
	return r.bucket(historyBucket).Cursor().Seek(cursorKey(r.meta.Nameless + 1))
}

func over(at, now time.Time, term time.Duration) bool { return now.Sub(at) > term }

// forget removes an ended session, and its place in the index if that is its own.
func (r *rangeTx) forget(key []byte, ended lanes.Ended) error {
	session := ended.Session.ID[:]
	if bytes.Equal(r.bucket(sessionsBucket).Get(session), seal(session, key)) {
		if err := r.delete(sessionsBucket, session); err != nil {
			return err
		}
	}
	return r.delete(historyBucket, key)
}
