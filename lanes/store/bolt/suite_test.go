package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Bench {
		return bench(filepath.Join(t.TempDir(), "data", "rangegate.db"))
	})
}

// bench is the file of a store.
type bench string

func (b bench) Where() string { return string(b) }

func (b bench) Open(t *testing.T, r store.Retention) store.Store {
	s, err := Open(string(b), r)
	require.NoError(t, err)
	return s
}

// Overwrite puts the data where the record was, as if a version of rangegate had written them.
func (b bench) Overwrite(t *testing.T, record storetest.Record, data []byte) {
	s, err := Open(string(b), store.Retention{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, update(s.file.db, memory{}, func(tx *fileTx) error {
		r, err := tx.open(record.Range)
		if err != nil {
			return err
		}
		if record.Kind == storetest.Checkpoint { // it is part of the meta record
			value := seal(metaKey, data)
			tx.format.Ranges = tx.format.Ranges.change(r.b.Get(metaKey), value)
			return r.b.Put(metaKey, value)
		}
		bucket, key := placeOf(t, record)
		require.NotNil(t, r.bucket(bucket).Get(key))
		return errors.Join(r.put(bucket, key, seal(key, data)), tx.save(r))
	}))
}

func placeOf(t *testing.T, record storetest.Record) (bucket string, key []byte) {
	switch record.Kind {
	case storetest.Lane:
		id, err := uuid.Parse(record.Name)
		require.NoError(t, err)
		return lanesBucket, id[:]
	case storetest.Key:
		return keysBucket, []byte(record.Name)
	case storetest.Holds:
		return holdsBucket, holdsKey
	}
	cursor, err := strconv.ParseUint(record.Name, 10, 64)
	require.NoError(t, err)
	switch record.Kind {
	case storetest.Event:
		return eventsBucket, cursorKey(cursor)
	case storetest.Act:
		return actsBucket, cursorKey(cursor)
	}
	return historyBucket, cursorKey(cursor)
}

func (b bench) Copy(t *testing.T) (putBack func()) {
	copied, err := os.ReadFile(string(b))
	require.NoError(t, err)
	return func() { require.NoError(t, os.WriteFile(string(b), copied, 0o600)) }
}

func (b bench) Wipe(t *testing.T) { require.NoError(t, os.Remove(string(b))) }
