package bolt

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"rangegate/lanes/store"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sealSize = 4

// seal makes the value that is kept under the key: the CRC-32C of key and content, then the content. A flipped bit in
// either, or a value that came under another key, is an error for unseal.
func seal(key, content []byte) []byte {
	value := make([]byte, sealSize, sealSize+len(content))
	binary.BigEndian.PutUint32(value, sum(key, content))
	return append(value, content...)
}

func unseal(key, value []byte) ([]byte, error) {
	if len(value) < sealSize {
		return nil, errors.New("damaged: it is too short")
	}
	content := value[sealSize:]
	if sum(key, content) != binary.BigEndian.Uint32(value) {
		return nil, errors.New("damaged: it is not what was written")
	}
	return content, nil
}

// sealOf is the seal alone, unchecked.
func sealOf(value []byte) uint64 {
	if len(value) < sealSize {
		return 0
	}
	return uint64(binary.BigEndian.Uint32(value))
}

func sum(key, content []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, content)
}

// encode makes the value that keeps v under the key as a record of package store.
func encode(key []byte, v any) ([]byte, error) {
	value, err := store.Append(make([]byte, sealSize), v)
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(value, sum(key, value[sealSize:]))
	return value, nil
}

// decode reads a value that encode made.
func decode[T any](key, value []byte) (T, error) {
	record, err := unseal(key, value)
	if err != nil {
		var none T
		return none, err
	}
	return store.Decode[T](record)
}

// cursorKey is a cursor as a key: keys ascend as cursors do.
func cursorKey(cursor uint64) []byte { return binary.BigEndian.AppendUint64(nil, cursor) }

func cursorOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }
