package sqlite

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Bench {
		return benchAt(filepath.Join(t.TempDir(), "data", "rangegate.db"))
	})
}

// bench is the file of a store.
type bench struct{ path string }

func benchAt(path string) bench { return bench{path} }

func (b bench) Where() string { return b.path }

func (b bench) Open(t *testing.T, r store.Retention) store.Store {
	s, err := Open(b.path, r)
	require.NoError(t, err)
	return s
}

// Overwrite puts the data where the record was, as if a version of rangegate had written them.
func (b bench) Overwrite(t *testing.T, record storetest.Record, data []byte) {
	s, err := Open(b.path, store.Retention{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.submit(t.Context(), func(tx *transaction) (verdict, failure error) {
		state, err := tx.rangeOf(record.Range)
		require.NoError(t, err)
		if record.Kind == storetest.Checkpoint { // it is part of the range's record
			own := remade(key{table: "ranges", rangeID: record.Range}, data)
			tx.about.ranges.replace(state.checksum, own.checksum)
			return nil, execute(tx.writer, "UPDATE ranges SET checksum = ?, record = ? WHERE number = ?", own.checksum, own.record, state.number)
		}
		rows, counted := rowsLike(t, tx, state, record)
		for _, r := range rows {
			if r.key.String() != nameOf(record) {
				continue
			}
			damaged := remade(r.key, data)
			counted.replace(r.checksum, damaged.checksum)
			text, args := "UPDATE "+r.table+" SET checksum = ?, record = ? WHERE checksum = ?", []any{damaged.checksum, damaged.record, r.checksum}
			if err := execute(tx.writer, text, args...); err != nil {
				return nil, err
			}
			return nil, tx.save(state)
		}
		require.Fail(t, "there is no such record", record)
		return nil, nil
	}))
}

func remade(k key, data []byte) row { return row{k, k.checksum(string(data)), string(data)} }

// nameOf is the record's name in this package.
func nameOf(record storetest.Record) string {
	switch record.Kind {
	case storetest.Lane:
		return "lane " + record.Name
	case storetest.Key:
		return "idempotency key " + strconv.Quote(record.Name)
	case storetest.Holds:
		return "holds"
	}
	return string(record.Kind) + " " + record.Name
}

// rowsLike are the rows of the record's table.
func rowsLike(t *testing.T, tx *transaction, state *rangeState, record storetest.Record) (rows []row, counted *tally) {
	var err error
	switch record.Kind {
	case storetest.Lane:
		counted = &state.Lanes
		rows, err = rowsOf(tx.writer, "lanes", state.Range, selects["lanes"], state.number)
	case storetest.Key:
		counted = &state.Keys
		rows, err = rowsOf(tx.writer, "keys", state.Range, selects["keys"], state.number)
	case storetest.Holds:
		counted = &state.Holds
		rows, err = rowsOf(tx.writer, "holds", state.Range, selects["holds"], state.number)
	case storetest.Event:
		counted = &state.Events
		rows, err = logRows(tx.writer, "events", state, 0, 100)
	case storetest.Ended:
		counted = &state.Ended
		rows, err = logRows(tx.writer, "ended", state, 0, 100)
	case storetest.Act:
		counted = &state.Acts
		rows, err = logRows(tx.writer, "acts", state, 0, 100)
	}
	require.NoError(t, err)
	return rows, counted
}

func (b bench) Copy(t *testing.T) (putBack func()) {
	require.NoFileExists(t, b.path+"-wal")
	copied, err := os.ReadFile(b.path)
	require.NoError(t, err)
	return func() {
		require.NoFileExists(t, b.path+"-wal")
		require.NoError(t, os.WriteFile(b.path, copied, 0o600))
	}
}

func (b bench) Wipe(t *testing.T) { require.NoError(t, os.Remove(b.path)) }
