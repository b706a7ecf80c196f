package bolt

import (
	"errors"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"
)

// The buckets of a range.
const (
	lanesBucket    = "lanes"
	keysBucket     = "keys"
	eventsBucket   = "events"
	pendingBucket  = "pending"
	historyBucket  = "history"
	sessionsBucket = "sessions"
	holdsBucket    = "holds" // has its own pages when it is large: a flush that leaves the holds does not write them
	actsBucket     = "acts"  // is made when the first act comes to it
)

var (
	// Every range has these, but for the holds in one that is of an older version.
	buckets  = []string{lanesBucket, keysBucket, eventsBucket, pendingBucket, historyBucket, sessionsBucket, holdsBucket}
	metaKey  = []byte("meta")
	holdsKey = []byte("record") // the only one in its bucket

	formatBucket = []byte("rangegate")
	formatKey    = []byte("format")

	// journalBucket stands behind the format in the file: an older version, which goes through the file in order, reads the
	// ranges' meta records and the format first, and by them it knows that a newer one has written.
	journalBucket = []byte("the journal")
)

func rangeKey(id uuid.UUID) []byte { return []byte("range " + id.String()) }

// format is what the file says of itself.
type format struct {
	Ranges tally `json:"ranges"` // of their meta records
	state
}

// tally is what something has. A page that is missing, or an older one, though whole, shows in it.
type tally struct {
	Count int    `json:"count"`
	Sum   uint64 `json:"sum"` // of the seals
}

// change counts that value takes the place of old; nil is none.
func (t tally) change(old, value []byte) tally {
	if old != nil {
		t.Count--
		t.Sum -= sealOf(old)
	}
	if value != nil {
		t.Count++
		t.Sum += sealOf(value)
	}
	return t
}

// fileTx is the file in a transaction that writes.
type fileTx struct {
	*bbolt.Tx
	*file
	format  format
	made    []uuid.UUID // ranges that were not there before
	changes layers
	fold    fold // as journal.fold will be
	folded  []folded
}

// update writes in one transaction. Its end is told by hand: what bbolt does of itself after a panic is to read the
// file, and if that fails too it never lets go of its lock.
func (f *file) update(change func(tx *fileTx) error) error {
	bolt, err := f.db.Begin(true)
	if err != nil {
		return err
	}
	tx := &fileTx{Tx: bolt, file: f, changes: layers{}, fold: f.journal.fold}
	err = careful(func() error {
		if err := tx.change(change); err != nil {
			return err
		}
		return bolt.Commit()
	})
	if err != nil {
		if !errors.Is(err, errNothing) {
			clear(f.memory) // it may be of what has not come to be
		}
		_ = bolt.Rollback() // unless Commit has done it
		return err
	}
	f.journal.took(tx)
	return nil
}

func (tx *fileTx) change(change func(tx *fileTx) error) error {
	about, err := tx.CreateBucketIfNotExists(formatBucket)
	if err != nil {
		return err
	}
	if value := about.Get(formatKey); value != nil { // there is none while the file is made
		if tx.format, err = decode[format](formatKey, value); err != nil {
			return err
		}
	}
	tx.format.state = tx.journal.copied()
	if err := change(tx); err != nil {
		return err
	}
	if err := tx.journalize(); err != nil {
		return err
	}
	value, err := encode(formatKey, tx.format)
	if err != nil {
		return err
	}
	return about.Put(formatKey, value)
}
