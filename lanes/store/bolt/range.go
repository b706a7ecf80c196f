package bolt

import (
	"fmt"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// meta is what a range's bucket says of itself.
type meta struct {
	Range      uuid.UUID         `json:"range_id"`
	Epoch      uint64            `json:"epoch"`
	N          uint64            `json:"n"`
	Checkpoint *lanes.Checkpoint `json:"checkpoint"` // nil until one was flushed
	LastEvent  uint64            `json:"last_event"`
	LastEnded  uint64            `json:"last_ended"`
	LastAct    uint64            `json:"last_act"`
	Nameless   uint64            `json:"nameless"` // up to this cursor the history has lost its names
	Records    map[string]tally  `json:"records"`  // by bucket
}

// rangeTx is a range in a transaction.
type rangeTx struct {
	path string // of the file
	id   uuid.UUID
	b    *bbolt.Bucket
	meta meta

	remembered *remembered // nil where nothing is written
}

// findRange is the range in the transaction, its meta record not read, or nil when it was never written.
func findRange(tx *bbolt.Tx, path string, id uuid.UUID) *rangeTx {
	if b := tx.Bucket(rangeKey(id)); b != nil {
		return &rangeTx{path: path, id: id, b: b}
	}
	return nil
}

// readOwn reads the meta record.
func (r *rangeTx) readOwn() (err error) {
	if r.meta, err = decode[meta](metaKey, r.b.Get(metaKey)); err != nil {
		return r.corrupt("meta", err)
	}
	return nil
}

// makeRange makes a range that open has not found.
func (tx *fileTx) makeRange(id uuid.UUID) (*rangeTx, error) {
	b, err := tx.CreateBucket(rangeKey(id))
	if err != nil {
		return nil, err
	}
	for _, name := range buckets {
		if _, err := b.CreateBucket([]byte(name)); err != nil {
			return nil, err
		}
	}
	return &rangeTx{
		path: tx.path, id: id, b: b, meta: meta{Range: id, Records: map[string]tally{}}, remembered: tx.memory.of(id),
	}, nil
}

// save writes the meta record, last of all.
func (tx *fileTx) save(r *rangeTx) error {
	value, err := encode(metaKey, r.meta)
	if err != nil {
		return err
	}
	tx.format.Ranges = tx.format.Ranges.change(r.b.Get(metaKey), value)
	r.remembered.record, r.remembered.meta = value, r.meta
	return r.b.Put(metaKey, value)
}

func (r *rangeTx) bucket(name string) *bbolt.Bucket { return r.b.Bucket([]byte(name)) }

// put writes a value and keeps the tally.
func (r *rangeTx) put(bucket string, key, value []byte) error {
	b := r.bucket(bucket)
	r.meta.Records[bucket] = r.meta.Records[bucket].change(b.Get(key), value)
	return b.Put(key, value)
}

// delete takes a value away, if it is there, and keeps the tally.
func (r *rangeTx) delete(bucket string, key []byte) error {
	b := r.bucket(bucket)
	r.meta.Records[bucket] = r.meta.Records[bucket].change(b.Get(key), nil)
	return b.Delete(key)
}

// empty takes everything out of a bucket.
func (r *rangeTx) empty(bucket string) error {
	r.meta.Records[bucket] = tally{}
	if err := r.b.DeleteBucket([]byte(bucket)); err != nil {
		return err
	}
	_, err := r.b.CreateBucket([]byte(bucket))
	return err
}

// corrupt names a record of the range that cannot be read.
func (r *rangeTx) corrupt(record string, err error) error {
	return &store.CorruptError{Where: r.path, Record: fmt.Sprintf("%s of range %s", record, r.id), Err: err}
}

func (r *rangeTx) event(key, value []byte) (lanes.Logged, error) {
	event, err := decode[lanes.Logged](key, value)
	if err != nil {
		return lanes.Logged{}, r.corrupt(fmt.Sprint("event ", cursorOf(key)), err)
	}
	return event, nil
}

func (r *rangeTx) ended(key, value []byte) (lanes.Ended, error) {
	ended, err := decode[lanes.Ended](key, value)
	if err != nil {
		return lanes.Ended{}, r.corrupt(fmt.Sprint("ended session ", cursorOf(key)), err)
	}
	return ended, nil
}

func (r *rangeTx) act(key, value []byte) (lanes.Act, error) {
	act, err := decode[lanes.Act](key, value)
	if err != nil {
		return lanes.Act{}, r.corrupt(fmt.Sprint("act ", cursorOf(key)), err)
	}
	return act, nil
}
