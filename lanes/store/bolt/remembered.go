package bolt

import (
	"bytes"
	"maps"
	"time"

	"github.com/google/uuid"
)

// remembered is what the writer has read of a range, so that it does not read it again with every flush: its meta record,
// as long as the file has the very one, and of each log that is trimmed the oldest record, until that is written to.
type remembered struct {
	record []byte // the meta record, as it is stored
	meta   meta
	oldest map[string]oldest // by bucket, and of the names that the history has
}

// oldest is the record that is trimmed next.
type oldest struct {
	key []byte    // none is before it
	at  time.Time // when it was made; zero when that was not read
}

// memory is what the writer remembers of a file, by range. It goes when the file is opened anew.
type memory map[uuid.UUID]*remembered

func (m memory) of(id uuid.UUID) *remembered {
	if m[id] == nil {
		m[id] = &remembered{oldest: map[string]oldest{}}
	}
	return m[id]
}

// open is the range with its meta record read, or nil when it was never written.
func (tx *fileTx) open(id uuid.UUID) (*rangeTx, error) {
	r := findRange(tx.Tx, id, tx.changes, tx.journal.layers)
	if r == nil {
		return nil, nil
	}
	r.remembered = tx.memory.of(id)
	if record := r.get(ownPlace, metaKey); record != nil && bytes.Equal(record, r.remembered.record) {
		r.meta = r.remembered.meta
		r.meta.Records = maps.Clone(r.meta.Records) // which this transaction changes, and may give up
		return r, nil
	}
	if err := r.readOwn(); err != nil {
		return nil, err
	}
	return r, nil
}

// oldest is the first record of a bucket, and found without going through those that were trimmed lately.
func (r *rangeTx) oldest(bucket string) (key, value []byte) {
	key, value = r.first(bucket, r.remembered.oldest[bucket].key)
	if key != nil {
		r.remembered.oldest[bucket] = oldest{key: bytes.Clone(key)}
	}
	return key, value
}

// first is the first record of a bucket from the key on.
func (r *rangeTx) first(bucket string, from []byte) (key, value []byte) {
	for key, value := range r.from(bucket, from) {
		return key, value
	}
	return nil, nil
}

// wrote: what was known of the records up to this one may not be so any more.
func (m *remembered) wrote(bucket string, key []byte) {
	if known, is := m.oldest[bucket]; is && bytes.Compare(key, known.key) <= 0 {
		m.oldest[bucket] = oldest{key: bytes.Clone(key)}
	}
	if bucket == historyBucket {
		m.wrote(named, key)
	}
}

// young tells whether the next record to be trimmed is known, and its term is not over.
func (r *rangeTx) young(what string, now time.Time, term time.Duration) bool {
	at := r.remembered.oldest[what].at
	return !at.IsZero() && !over(at, now, term)
}
