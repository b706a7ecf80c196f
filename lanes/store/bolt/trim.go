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
	r.trimEvents(batch, keep)
	r.trimHistory(batch, keep)
	r.trimActs(batch, keep)
	return r.trimNames(batch, keep.Names)
}

func (r *rangeTx) trimEvents(batch store.Batch, keep store.Retention) {
	for range trimStep + 2*len(batch.Events) {
		full := r.meta.Records[eventsBucket].Count > keep.Cap
		if !full && r.young(eventsBucket, batch.Now, keep.Events) {
			return
		}
		key, value := r.oldest(eventsBucket)
		if key == nil || r.get(pendingBucket, key) != nil {
			return
		}
		if !full && r.stays(eventsBucket, key, value, batch.Now, keep.Events, r.eventAt) {
			return
		}
		r.delete(eventsBucket, key)
	}
}

func (r *rangeTx) trimHistory(batch store.Batch, keep store.Retention) {
	for range trimStep + 2*len(batch.Ended) {
		full := r.meta.Records[historyBucket].Count > keep.Cap
		if !full && r.young(historyBucket, batch.Now, keep.History) {
			return
		}
		key, value := r.oldest(historyBucket)
		if key == nil {
			return
		}
		if !full && r.stays(historyBucket, key, value, batch.Now, keep.History, r.endedAt) {
			return
		}
		ended, _ := r.ended(key, value) // of one that cannot be read no index is known
		r.forget(key, ended)
	}
}

// trimActs has the bounds of the history.
func (r *rangeTx) trimActs(batch store.Batch, keep store.Retention) {
	for range trimStep + 2*len(batch.Acts) {
		full := r.meta.Records[actsBucket].Count > keep.Cap
		if !full && r.young(actsBucket, batch.Now, keep.History) {
			return
		}
		key, value := r.oldest(actsBucket)
		if key == nil {
			return
		}
		if !full && r.stays(actsBucket, key, value, batch.Now, keep.History, r.actAt) {
			return
		}
		r.delete(actsBucket, key)
	}
}

// stays tells whether the oldest record's term is not over, as far as it can be read, and remembers its age.
func (r *rangeTx) stays(
	bucket string, key, value []byte, now time.Time, term time.Duration, read func(key, value []byte) (time.Time, error),
) bool {
	at, err := read(key, value)
	if err == nil {
		r.remembered.oldest[bucket] = oldest{bytes.Clone(key), at}
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
		if r.young(named, batch.Now, term) {
			return nil
		}
		key, value := r.nextNamed()
		if key == nil {
			return nil
		}
		ended, err := r.ended(key, value)
		if err == nil && !over(ended.At, batch.Now, term) {
			r.remembered.oldest[named] = oldest{bytes.Clone(key), ended.At}
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
		r.put(historyBucket, key, value)
	}
	return nil
}

// nextNamed is the oldest ended session that may have a name.
func (r *rangeTx) nextNamed() (key, value []byte) {
	if r.meta.Nameless == math.MaxUint64 {
		return nil, nil
	}
	return r.first(historyBucket, cursorKey(r.meta.Nameless+1))
}

func over(at, now time.Time, term time.Duration) bool { return now.Sub(at) > term }

// forget removes an ended session, and its place in the index if that is its own.
func (r *rangeTx) forget(key []byte, ended lanes.Ended) {
	session := ended.Session.ID[:]
	if bytes.Equal(r.get(sessionsBucket, session), seal(session, key)) {
		r.delete(sessionsBucket, session)
	}
	r.delete(historyBucket, key)
}
