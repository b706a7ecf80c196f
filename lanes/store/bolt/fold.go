package bolt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// pace bounds the journal, and what a transaction brings to the buckets.
type pace struct {
	at   int // bytes of a generation, from which on it is folded
	step int // changes in one transaction while nothing is flushed; else twice as many as it appends
}

var usual = pace{at: 4 << 20, step: 512}

// fold is how far the older generation has been brought to the buckets: by bucket, and in each by key, so that changes
// that lie next to each other are written together. What has changed anew meanwhile is left to the newer generation, but
// for a range's record of itself: it is the first of a range to come to its bucket, before an older version could take what
// follows for damage.
type fold struct {
	places []place  // yet to come, the first one under way
	keys   []string // yet to come, of the first place
}

// folded is a change that has come to its bucket.
type folded struct {
	at  place
	key string
}

// errFolding: what the transaction would have brought to the buckets did not go there. The file is not what it should be.
var errFolding = errors.New("folding the journal")

// foldSome brings some of the older generation to the buckets, and ends it when nothing of it is left.
func (tx *fileTx) foldSome(step int) error {
	if len(tx.format.Generations) < 2 {
		return nil
	}
	if tx.fold.places == nil {
		tx.fold.places = tx.journal.layers.places()
	}
	old := tx.format.Generations[0].Number
	for len(tx.fold.places) > 0 {
		at := tx.fold.places[0]
		if tx.fold.keys == nil {
			tx.fold.keys = slices.Clone(tx.journal.layers.keys(at, nil))
		}
		bucket, err := tx.bucketOf(at)
		if err != nil {
			return err
		}
		for len(tx.fold.keys) > 0 {
			if step == 0 {
				return nil
			}
			key := tx.fold.keys[0]
			tx.fold.keys = tx.fold.keys[1:]
			changed, is := tx.journal.layers.get(at, []byte(key))
			if anew := changed.generation != old; !is || anew && at.bucket != ownPlace {
				continue
			}
			step--
			if err := write(bucket, []byte(key), changed.value); err != nil {
				return err
			}
			if changed.generation == old {
				tx.folded = append(tx.folded, folded{at, key})
			}
		}
		tx.fold.places, tx.fold.keys = tx.fold.places[1:], nil
	}
	tx.fold = fold{}
	tx.format.Generations = tx.format.Generations[1:]
	return tx.Bucket(journalBucket).DeleteBucket(cursorKey(old))
}

func write(b *bbolt.Bucket, key, value []byte) error {
	if value == nil {
		return b.Delete(key)
	}
	return b.Put(key, value)
}

// bucketOf is where the changes of a place belong.
func (tx *fileTx) bucketOf(at place) (*bbolt.Bucket, error) {
	r := findRange(tx.Tx, at.rangeID)
	if r == nil {
		return nil, fmt.Errorf("%s is gone", rangeKey(at.rangeID))
	}
	switch at.bucket {
	case ownPlace:
		return r.b, nil
	case holdsBucket, actsBucket: // which are made for their first record
		return r.b.CreateBucketIfNotExists([]byte(at.bucket))
	}
	if b := r.b.Bucket([]byte(at.bucket)); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("the %s of range %s are gone", at.bucket, at.rangeID)
}

// places are where there are changes, in the order of the file.
func (l layers) places() []place {
	all := make([]place, 0, len(l))
	for at := range l {
		all = append(all, at)
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(bytes.Compare(a.rangeID[:], b.rangeID[:]), cmp.Compare(a.bucket, b.bucket))
	})
	return all
}
