package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"rangegate/lanes/store"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const crcSize = 4

// encode makes the value for a record: its CRC-32C, then the record.
func encode(v any) ([]byte, error) {
	record, err := store.Encode(v)
	if err != nil {
		return nil, err
	}
	value := binary.BigEndian.AppendUint32(make([]byte, 0, crcSize+len(record)), crc32.Checksum(record, castagnoli))
	return append(value, record...), nil
}

// decode reads a value that encode made.
func decode[T any](value []byte, v *T) (err error) {
	if len(value) < crcSize {
		return errors.New("not a value: too short")
	}
	record := value[crcSize:]
	if crc32.Checksum(record, castagnoli) != binary.BigEndian.Uint32(value) {
		return errors.New("damaged: it is not what was written")
	}
	*v, err = store.Decode[T](record)
	return err
}

func put(b *bbolt.Bucket, key []byte, v any) error {
	value, err := encode(v)
	if err != nil {
		return err
	}
	return b.Put(key, value)
}

// cursorKey is a cursor as a key: keys ascend as cursors do.
func cursorKey(cursor uint64) []byte { return binary.BigEndian.AppendUint64(nil, cursor) }

// read decodes a value, and names the record where it cannot.
func read[T any](s *Store, value []byte, v *T, record string, id any) error {
	if err := decode(value, v); err != nil {
		return &store.CorruptError{Where: s.path, Record: fmt.Sprintf("%s %v", record, id), Err: err}
	}
	return nil
}
