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
	over []layers // what lies over its buckets, the newest first
	meta meta

	cursors    map[string]*bbolt.Cursor // of its buckets, as far as they were asked
	remembered *remembered              // nil where nothing is written
}

// findRange is the range in the transaction, its meta record not read, or nil when it was never written.
func findRange(tx *bbolt.Tx, id uuid.UUID, over ...layers) *rangeTx {
	if b := tx.Bucket(rangeKey(id)); b != nil {
		return &rangeTx{path: tx.DB().Path(), id: id, b: b, over: over, cursors: map[string]*bbolt.Cursor{}}
	}
	return nil
}

// readOwn reads the meta record.
func (r *rangeTx) readOwn() (err error) {
	if r.meta, err = decode[meta](metaKey, r.get(ownPlace, metaKey)); err != nil {
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
	tx.made = append(tx.made, id)
	r := findRange(tx.Tx, id, tx.changes, tx.journal.layers)
	r.meta, r.remembered = meta{Range: id, Records: map[string]tally{}}, tx.memory.of(id)
	return r, nil
}

// save writes the meta record, last of all.
func (tx *fileTx) save(r *rangeTx) error {
	value, err := encode(metaKey, r.meta)
	if err != nil {
		return err
	}
	tx.format.Ranges = tx.format.Ranges.change(r.get(ownPlace, metaKey), value)
	r.remembered.record, r.remembered.meta = value, r.meta
	r.change(ownPlace, metaKey, value)
	return nil
}

// stored is the bucket as it is in the file, without what lies over it; nil where the range may be without and is. One that
// was lost since the file was audited must not look like one that is empty: careful makes an error of the panic.
func (r *rangeTx) stored(bucket string) *bbolt.Bucket {
	if bucket == ownPlace {
		return r.b
	}
	b := r.b.Bucket([]byte(bucket))
	if b == nil && bucket != holdsBucket && bucket != actsBucket {
		panic(fmt.Sprintf("the %s of range %s are gone", bucket, r.id))
	}
	return b
}

// change is what the transaction will have written.
func (r *rangeTx) change(bucket string, key, value []byte) {
	r.over[0].put(place{r.id, bucket}, string(key), change{value: value})
}

// put writes a value and keeps the tally.
func (r *rangeTx) put(bucket string, key, value []byte) {
	r.replace(bucket, key, r.get(bucket, key), value)
}

// putNext is put for a log whose last cursor is known: a record behind it takes the place of none.
func (r *rangeTx) putNext(bucket string, last uint64, key, value []byte) {
	var old []byte
	if cursorOf(key) <= last {
		old = r.get(bucket, key)
	}
	r.replace(bucket, key, old, value)
}

func (r *rangeTx) replace(bucket string, key, old, value []byte) {
	r.meta.Records[bucket] = r.meta.Records[bucket].change(old, value)
	r.remembered.wrote(bucket, key)
	r.change(bucket, key, value)
}

// delete takes a value away, if it is there, and keeps the tally.
func (r *rangeTx) delete(bucket string, key []byte) {
	if old := r.get(bucket, key); old != nil {
		r.replace(bucket, key, old, nil)
	}
}

// empty takes everything out of a bucket.
func (r *rangeTx) empty(bucket string) {
	for key := range r.from(bucket, nil) {
		r.delete(bucket, key)
	}
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
