package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// place is a bucket of a range. The range's record of itself is in the one without a name.
type place struct {
	rangeID uuid.UUID
	bucket  string
}

// ownPlace has one key, metaKey.
const ownPlace = ""

// change is what stands under a key instead of what its bucket has: a value, or nil, which takes the key away.
type change struct {
	value      []byte
	generation uint64 // of the journal that has it
}

// layer is the changes of one bucket.
type layer struct {
	changes map[string]change
	order   []string // the keys in their order, of a bucket that is read by it with every flush; some are gone by now
}

// layers are changes that lie over the buckets of a file.
type layers map[place]*layer

// inOrder names the buckets whose oldest records every flush looks for, to trim them. Their keys are cursors, and come in
// their order, but for events that are written again.
var inOrder = map[string]bool{eventsBucket: true, historyBucket: true, actsBucket: true}

func (l layers) get(at place, key []byte) (changed change, is bool) {
	if over := l[at]; over != nil {
		changed, is = over.changes[string(key)]
	}
	return changed, is
}

func (l layers) put(at place, key string, changed change) {
	over := l[at]
	if over == nil {
		over = &layer{changes: map[string]change{}}
		l[at] = over
	}
	if _, again := over.changes[key]; !again && inOrder[at.bucket] {
		if i, again := slices.BinarySearch(over.order, key); !again {
			over.order = slices.Insert(over.order, i, key)
		}
	}
	over.changes[key] = changed
}

// drop lets go of a change that has reached its bucket.
func (l layers) drop(at place, key string) {
	over := l[at]
	delete(over.changes, key)
	switch {
	case len(over.changes) == 0:
		delete(l, at)
	case len(over.order) > 2*len(over.changes)+64:
		over.order = slices.DeleteFunc(over.order, func(key string) bool {
			_, is := over.changes[key]
			return !is
		})
	}
}

// keys are those that are changed, from the key on and in order; among them may be some that are not changed any more.
func (l layers) keys(at place, from []byte) []string {
	over := l[at]
	if over == nil {
		return nil
	}
	keys := over.order
	if !inOrder[at.bucket] {
		keys = slices.Sorted(maps.Keys(over.changes))
	}
	first, _ := slices.BinarySearch(keys, string(from))
	return keys[first:]
}

// get is the value under the key, nil where there is none.
func (r *rangeTx) get(bucket string, key []byte) []byte {
	for _, over := range r.over {
		if changed, is := over.get(place{r.id, bucket}, key); is {
			return changed.value
		}
	}
	if found, value := r.seek(bucket, key); bytes.Equal(found, key) {
		return value
	}
	return nil
}

// seek is the first record that the bucket itself has from the key on.
func (r *rangeTx) seek(bucket string, key []byte) (found, value []byte) {
	c, asked := r.cursors[bucket]
	if !asked {
		if b := r.stored(bucket); b != nil {
			c = b.Cursor()
		}
		r.cursors[bucket] = c
	}
	if c == nil {
		return nil, nil
	}
	return c.Seek(key)
}

// from goes through the bucket from the key on, in order.
func (r *rangeTx) from(bucket string, key []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		at := place{r.id, bucket}
		changed := make([][]string, len(r.over))
		for i, over := range r.over {
			changed[i] = over.keys(at, key)
		}
		stored, value, next := r.walk(bucket, key)
		for {
			least := stored
			for _, keys := range changed {
				if len(keys) > 0 && (least == nil || keys[0] < string(least)) {
					least = []byte(keys[0])
				}
			}
			if least == nil {
				return
			}
			var found []byte
			if bytes.Equal(least, stored) {
				found = value
				stored, value = next()
			}
			for i := len(changed) - 1; i >= 0; i-- { // the newest last
				if len(changed[i]) > 0 && changed[i][0] == string(least) {
					changed[i] = changed[i][1:]
					if c, is := r.over[i].get(at, least); is {
						found = c.value
					}
				}
			}
			if found != nil && !yield(least, found) {
				return
			}
		}
	}
}

// walk is the first record that the bucket itself has from the key on, and how to go to the next.
func (r *rangeTx) walk(bucket string, from []byte) (key, value []byte, next func() (key, value []byte)) {
	b := r.stored(bucket)
	if b == nil {
		return nil, nil, nil
	}
	c := b.Cursor()
	key, value = c.Seek(from)
	return key, value, c.Next
}

// A change as the journal has it: seal 4, range 16, length of the bucket's name 1, the name, length of the key 2, the key,
// 1 when there is a value, the value. The seal is that of all up to the value's own seal, and not of what this one seals: a
// damaged value is found by whoever reads it, as it is in its bucket, and costs nothing but itself.

// journaled is a change as the journal has it under its number.
func journaled(number []byte, at place, key string, value []byte) []byte {
	record := make([]byte, sealSize, sealSize+16+1+len(at.bucket)+2+len(key)+1+len(value))
	record = append(record, at.rangeID[:]...)
	record = append(append(record, byte(len(at.bucket))), at.bucket...)
	record = append(binary.BigEndian.AppendUint16(record, uint16(len(key))), key...)
	if value == nil {
		record = append(record, 0)
	} else {
		record = append(append(record, 1), value...)
	}
	binary.BigEndian.PutUint32(record, sealOfJournaled(number, record, len(value)))
	return record
}

// sealOfJournaled is the seal for a record with a value of that size.
func sealOfJournaled(number, record []byte, size int) uint32 {
	return sum(number, record[sealSize:len(record)-size+min(size, sealSize)])
}

var errNoChange = errors.New("damaged: it is not what was written")

func readJournaled(number, record []byte) (at place, key string, value []byte, err error) {
	rest := record
	cut := func(size int) (part []byte) {
		if err == nil && size <= len(rest) {
			part, rest = rest[:size], rest[size:]
			return part
		}
		err = errNoChange
		return make([]byte, size)
	}
	seal := binary.BigEndian.Uint32(cut(sealSize))
	copy(at.rangeID[:], cut(len(at.rangeID)))
	at.bucket = string(cut(int(cut(1)[0])))
	key = string(cut(int(binary.BigEndian.Uint16(cut(2)))))
	there := cut(1)[0] == 1
	if err != nil || seal != sealOfJournaled(number, record, len(rest)) || there != (len(rest) > 0) {
		return at, key, nil, errNoChange
	}
	if there {
		value = rest
	}
	return at, key, value, nil
}
