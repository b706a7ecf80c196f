package bolt

import (
	"bytes"
	"maps"
	"time"

	"github.com/google/uuid"
)

// remembered is what the writer has read of a range, so that it does not decode it again with every flush. None of it is
// believed unseen: it counts only as long as the file has the very record that it was read from.
type remembered struct {
	record []byte // the meta record, as it is stored
	meta   meta
	oldest map[string]age // of what is trimmed next, by what it is trimmed of
}

// age is when a record was made.
type age struct {
	cursor, seal uint64 // of the record
	at           time.Time
}

// memory is what the writer remembers of a file, by range. It goes when the file is opened anew.
type memory map[uuid.UUID]*remembered

func (m memory) of(id uuid.UUID) *remembered {
	if m[id] == nil {
		m[id] = &remembered{oldest: map[string]age{}}
	}
	return m[id]
}

// open is the range with its meta record read, or nil when it was never written.
func (tx *fileTx) open(id uuid.UUID) (*rangeTx, error) {
	r := findRange(tx.Tx, tx.path, id)
	if r == nil {
		return nil, nil
	}
	r.remembered = tx.memory.of(id)
	if record := r.b.Get(metaKey); record != nil && bytes.Equal(record, r.remembered.record) {
		r.meta = r.remembered.meta
		r.meta.Records = maps.Clone(r.meta.Records) // which this transaction changes, and may give up
		return r, nil
	}
	if err := r.readOwn(); err != nil {
		return nil, err
	}
	return r, nil
}

// young tells whether the record is remembered, and its term is not over.
func (r *rangeTx) young(what string, key, value []byte, now time.Time, term time.Duration) bool {
	known, is := r.remembered.oldest[what]
	return is && known.cursor == cursorOf(key) && known.seal == sealOf(value) && !over(known.at, now, term)
}

func (r *rangeTx) remember(what string, key, value []byte, at time.Time) {
	r.remembered.oldest[what] = age{cursorOf(key), sealOf(value), at}
}
