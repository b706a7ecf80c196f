package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
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

// Overwrite replaces the record by the data, as if a version of rangegate had written them.
func (b bench) Overwrite(t *testing.T, record storetest.Record, data []byte) {
	s, err := Open(b.path, store.Retention{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.submit(t.Context(), func(tx *transaction) (rejection, failure error) {
		state, err := tx.rangeOf(record.Range)
		require.NoError(t, err)
		if record.Kind == storetest.Checkpoint { // it is part of the range's record
			r := remade(key{table: "ranges", rangeID: record.Range}, data)
			tx.next.ranges.replace(state.checksum, r.checksum)
			return nil, execute(tx.writer, "UPDATE ranges SET checksum = ?, record = ? WHERE number = ?", r.checksum,
				r.record, state.number)
		}
		rows, counted := rowsOfKind(t, tx, state, record)
		for _, r := range rows {
			if r.String() != nameOf(record) {
				continue
			}
			damaged := remade(r.key, data)
			counted.replace(r.checksum, damaged.checksum)
			text, args := "UPDATE "+r.table+" SET checksum = ?, record = ? WHERE checksum = ?",
				[]any{damaged.checksum, damaged.record, r.checksum}
			if err := execute(tx.writer, text, args...); err != nil {
				return nil, err
			}
			return nil, tx.save(state)
		}
		require.Fail(t, "there is no such record", record)
		return nil, nil
	}))
}

func remade(k key, data []byte) row {
	return row{key: k, checksum: k.checksum(string(data)), record: string(data)}
}

// nameOf returns the record's name in this package.
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

// rowsOfKind returns the rows of the record's table.
func rowsOfKind(
	t *testing.T, tx *transaction, state *rangeState, record storetest.Record,
) (rows []row, counted *total) {
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

func (b bench) Copy(t *testing.T) (restore func()) {
	require.NoFileExists(t, b.path+"-wal")
	copied, err := os.ReadFile(b.path)
	require.NoError(t, err)
	return func() {
		require.NoFileExists(t, b.path+"-wal")
		require.NoError(t, os.WriteFile(b.path, copied, 0o600))
	}
}

func (b bench) Wipe(t *testing.T) { require.NoError(t, os.Remove(b.path)) }

func TestAMonthStaysUnderTheRetention(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rangegate.db")
	storetest.Growth(t, benchAt(file), func() int64 {
		found, err := os.Stat(file)
		require.NoError(t, err)
		return found.Size()
	})
}

// A range with 100,000 lanes, in one flush and one Load.
func TestAHundredThousandLanes(t *testing.T) {
	t.Parallel()
	count := 100_000
	if testing.Short() {
		count = 10_000
	}
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	for i := range count {
		var id uuid.UUID
		binary.BigEndian.PutUint32(id[:], uint32(i)) // as the file orders them
		b.Lanes = append(b.Lanes, lanes.Snapshot{Lane: lanes.Lane{ID: id}, Boot: fmt.Sprint("boot ", i)})
	}
	require.NoError(t, s.Flush(t.Context(), b))
	require.NoError(t, s.Close())
	loaded, err := openAt(t, path).Load(t.Context(), store.InAnyEpoch(b.Range))
	require.NoError(t, err)
	require.Len(t, loaded.Lanes, count)
	for i, lane := range loaded.Lanes {
		if lane.ID != b.Lanes[i].ID || lane.Boot != b.Lanes[i].Boot {
			t.Fatalf("lane %d: %v", i, lane)
		}
	}
}

// A refill may write an expired name again. It is removed again.
func TestANameThatARefillWritesIsTrimmedAgain(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "rangegate.db"), store.Retention{
		Events: 10 * time.Hour, History: 10 * time.Hour, Names: time.Hour, Cap: 100,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	b := claimed(t, s)
	b.Ended = []lanes.Ended{{Cursor: 1, At: opening, Session: lanes.Session{Customer: "Jo Smith"}}}
	name := func() string {
		ended, err := s.History(t.Context(), store.RangeEpoch{Range: b.Range, Epoch: b.Epoch}, 0, 10)
		require.NoError(t, err)
		require.Len(t, ended, 1)
		return ended[0].Session.Customer
	}
	require.NoError(t, s.Flush(t.Context(), b))
	require.Equal(t, "Jo Smith", name())

	for range 2 {
		b.N++
		b.Now, b.Refill = opening.Add(2*time.Hour), true
		require.NoError(t, s.Flush(t.Context(), b))
		require.Empty(t, name())
	}
}

// A name that is removed is not left in the free parts of the file either, nor is that of a lane's former customer.
func TestNoBytesOfARemovedNameStayInTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s, err := Open(path, store.Retention{
		Events: 10 * time.Hour, History: 10 * time.Hour, Names: time.Hour, Cap: 10_000,
	})
	require.NoError(t, err)
	b := claimed(t, s)
	lane := lanes.Lane{ID: uuid.New(), Session: &lanes.Session{ID: uuid.New(), Customer: "Jo Smith"}}
	const sessions, each = 300, 10
	for n := 0; n < sessions; n += each {
		b.Lanes, b.Ended = []lanes.Snapshot{{Lane: lane}}, nil
		for cursor := uint64(n + 1); cursor <= uint64(n+each); cursor++ {
			session := lanes.Session{ID: uuid.New(), Customer: "Jo Smith"}
			b.Ended = append(b.Ended, lanes.Ended{Cursor: cursor, At: b.Now, Session: session})
		}
		require.NoError(t, s.Flush(t.Context(), b))
		b.N, b.Events, b.Now = b.N+1, nil, b.Now.Add(time.Second)
	}
	b.Lanes, b.Ended, b.Now = []lanes.Snapshot{{Lane: lanes.Lane{ID: lane.ID}}}, nil, opening.Add(2*time.Hour)
	for range sessions/trimStep + 1 {
		require.NoError(t, s.Flush(t.Context(), b))
		b.N++
	}
	require.NoError(t, s.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Zero(t, bytes.Count(content, []byte("Jo Smith")))
}
