package bolt

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// The store keeps its word at whatever pace the journal is folded.
func TestStore(t *testing.T) {
	for name, p := range paces {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Bench {
				return bench{filepath.Join(t.TempDir(), "data", "rangegate.db"), p}
			})
		})
	}
}

// paces are such that everything is soon in its bucket, or is on its way there all the time, or stays in the journal.
var paces = map[string]pace{"folded": {at: 1, step: 1000}, "folding": {at: 2000, step: 3}, "not folded": {at: 1 << 30}}

// bench is the file of a store.
type bench struct {
	path string
	pace pace
}

func benchAt(path string) bench { return bench{path, usual} }

func (b bench) Where() string { return b.path }

func (b bench) Open(t *testing.T, r store.Retention) store.Store {
	s, err := openAtPace(b.path, r, b.pace)
	require.NoError(t, err)
	return s
}

// Overwrite puts the data where the record was, as if a version of rangegate had written them.
func (b bench) Overwrite(t *testing.T, record storetest.Record, data []byte) {
	s, err := openAtPace(b.path, store.Retention{}, b.pace)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.submit(t.Context(), func(tx *fileTx) (verdict, failure error) {
		r, err := tx.open(record.Range)
		if err != nil {
			return nil, err
		}
		if record.Kind == storetest.Checkpoint { // it is part of the meta record
			value := seal(metaKey, data)
			tx.format.Ranges = tx.format.Ranges.change(r.get(ownPlace, metaKey), value)
			r.change(ownPlace, metaKey, value)
			return nil, nil
		}
		bucket, key := placeOf(t, record)
		require.NotNil(t, r.get(bucket, key))
		r.put(bucket, key, seal(key, data))
		return nil, tx.save(r)
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
	copied, err := os.ReadFile(b.path)
	require.NoError(t, err)
	return func() { require.NoError(t, os.WriteFile(b.path, copied, 0o600)) }
}

func (b bench) Wipe(t *testing.T) { require.NoError(t, os.Remove(b.path)) }
