package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Ended looks a session up in the history.
func (s *Store) Ended(ctx context.Context, rangeID, session uuid.UUID) (lanes.Ended, error) {
	var rows []row
	err := s.view(ctx, func(c *sqlite.Conn) (err error) {
		rangeNumber, err := numberOf(c, rangeID)
		if err == nil {
			rows, err = rowsOf(c, "ended", rangeID, selectEnded, rangeNumber, session.String())
		}
		return err
	})
	if err == nil && len(rows) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return lanes.Ended{}, err
	}
	found, err := decodeRows[lanes.Ended](rows, s.corrupt(rangeID))
	if err != nil {
		return lanes.Ended{}, err
	}
	return found[0], nil
}

// numberOf is the range's number in the tables, 0 when it was never written.
func numberOf(c *sqlite.Conn, rangeID uuid.UUID) (int64, error) {
	return number(c, "SELECT number FROM ranges WHERE range_id = ?", rangeID.String())
}

// Events reads the event log behind the cursor.
func (s *Store) Events(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Logged, error) {
	return page[lanes.Logged](ctx, s, "events", rangeID, after, limit)
}

// History reads the ended sessions behind the cursor.
func (s *Store) History(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Ended, error) {
	return page[lanes.Ended](ctx, s, "ended", rangeID, after, limit)
}

// Acts reads what staff did behind the cursor.
func (s *Store) Acts(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Act, error) {
	return page[lanes.Act](ctx, s, "acts", rangeID, after, limit)
}

func page[T any](ctx context.Context, s *Store, table string, rangeID uuid.UUID, after uint64, limit int) ([]T, error) {
	if limit <= 0 || after == math.MaxUint64 {
		return nil, ctx.Err()
	}
	var rows []row // decoded while nobody waits for the connection
	err := s.view(ctx, func(c *sqlite.Conn) error {
		rangeNumber, err := numberOf(c, rangeID)
		if err == nil {
			rows, err = logRows(c, table, &rangeState{number: rangeNumber, rangeRecord: rangeRecord{Range: rangeID}}, after, limit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return decodeRows[T](rows, s.corrupt(rangeID))
}

// corrupt names records of the range that cannot be read.
func (s *Store) corrupt(rangeID uuid.UUID) func(record string, err error) error {
	return func(record string, err error) error { return corrupt(s.path, rangeID, record, err) }
}

// selects read a range's rows, each in the same columns: what its key is made of, its checksum and its record. Those of the
// logs go on behind a position.
var selects = map[string]string{
	"lanes":  "SELECT lane_id, 0, 0, checksum, record FROM lanes WHERE place >> 24 = ?1 AND place BETWEEN ?1 << 24 AND (?1 + 1) << 24 ORDER BY place",
	"keys":   "SELECT name, 0, 0, checksum, record FROM keys WHERE range = ? ORDER BY name",
	"holds":  "SELECT '', 0, 0, checksum, record FROM holds WHERE range = ?",
	"events": "SELECT '', position, pending, checksum, record FROM events WHERE range = ? AND position > ? ORDER BY position LIMIT ?",
	"ended":  "SELECT session_id, position, 0, checksum, record FROM ended WHERE range = ? AND position > ? ORDER BY position LIMIT ?",
	"acts":   "SELECT '', position, 0, checksum, record FROM acts WHERE range = ? AND position > ? ORDER BY position LIMIT ?",
}

const (
	selectPending = "SELECT '', position, pending, checksum, record FROM events WHERE range = ? AND position >= ? AND pending = 1 ORDER BY position"
	selectEnded   = "SELECT session_id, position, 0, checksum, record FROM ended WHERE range = ? AND session_id = ? ORDER BY position DESC LIMIT 1"
)

// rowsOf are the rows that a text like those gives.
func rowsOf(c *sqlite.Conn, table string, rangeID uuid.UUID, text string, args ...any) (rows []row, err error) {
	err = query(c, text, func(r *sqlite.Stmt) error {
		k := key{table: table, rangeID: rangeID, name: r.ColumnText(0), position: r.ColumnInt64(1), pending: r.ColumnInt64(2) != 0}
		rows = append(rows, row{k, r.ColumnInt64(3), r.ColumnText(4)})
		return nil
	}, args...)
	return rows, err
}

// logRows are the rows of a log behind the cursor.
func logRows(c *sqlite.Conn, table string, state *rangeState, after uint64, limit int) ([]row, error) {
	return rowsOf(c, table, state.Range, selects[table], state.number, positionOf(after), int64(limit))
}

// String names a record for people.
func (k key) String() string {
	switch k.table {
	case "lanes":
		return "lane " + k.name
	case "keys":
		return fmt.Sprintf("idempotency key %q", k.name)
	case "events":
		return fmt.Sprint("event ", cursorAt(k.position))
	case "ended":
		return fmt.Sprint("ended session ", cursorAt(k.position))
	case "acts":
		return fmt.Sprint("act ", cursorAt(k.position))
	}
	return k.table
}
