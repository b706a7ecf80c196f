package sqlite

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/google/uuid"

	"rangegate/lanes/store"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// key is what a record is stored under. Its checksum covers it, so that a record that came under another key is damage.
type key struct {
	table    string
	rangeID  uuid.UUID
	name     string // a lane's id, an idempotency key's name, an ended session's id; otherwise empty
	position int64  // of what has a cursor
	pending  bool   // of events
}

// row is a record as it is stored.
type row struct {
	key
	checksum int64
	record   string
}

func (k key) checksum(record string) int64 {
	var fixed [25]byte
	copy(fixed[:16], k.rangeID[:])
	binary.BigEndian.PutUint64(fixed[16:], uint64(k.position))
	if k.pending {
		fixed[24] = 1
	}
	sum := crc32.Checksum(fixed[:], castagnoli)
	for _, text := range []string{k.table, k.name, record} {
		sum = crc32.Update(sum, castagnoli, []byte(text))
	}
	return int64(sum)
}

// rowOf makes the row that keeps v under the key as a record of package store.
func rowOf(k key, v any) (row, error) {
	record, err := store.Encode(v)
	if err != nil {
		return row{}, err
	}
	return row{k, k.checksum(string(record)), string(record)}, nil
}

// decode reads a row that rowOf made.
func decode[T any](r row) (T, error) {
	if r.key.checksum(r.record) != r.checksum {
		var none T
		return none, errors.New("damaged: it is not what was written")
	}
	return store.Decode[T]([]byte(r.record))
}

// tally counts records and sums their checksums. A record that is missing, or an older one in its place, shows in it.
type tally struct {
	Count int64 `json:"count"`
	Sum   int64 `json:"sum"`
}

func (t *tally) add(checksum int64)    { *t = tally{t.Count + 1, t.Sum + checksum} }
func (t *tally) remove(checksum int64) { *t = tally{t.Count - 1, t.Sum - checksum} }

func (t *tally) replace(old, checksum int64) { t.Sum += checksum - old }
