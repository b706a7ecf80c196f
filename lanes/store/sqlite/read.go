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
	var stored *row
	err := s.view(ctx, func(c *sqlite.Conn) error {
		const text = `SELECT position, checksum, record FROM ended WHERE session_id = ?
			AND range = (SELECT number FROM ranges WHERE range_id = ?) ORDER BY position DESC LIMIT 1`
		return query(c, text, func(r *sqlite.Stmt) error {
			found := rowAt(key{table: "ended", rangeID: rangeID, name: session.String(), position: r.ColumnInt64(0)}, r, 1)
			stored = &found
			return nil
		}, session.String(), rangeID.String())
	})
	if err != nil {
		return lanes.Ended{}, err
	}
	if stored == nil {
		return lanes.Ended{}, store.ErrNotFound
	}
	ended, err := decode[lanes.Ended](*stored)
	if err != nil {
		return lanes.Ended{}, corrupt(s.path, rangeID, stored.key.String(), err)
	}
	return ended, nil
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
	err := s.view(ctx, func(c *sqlite.Conn) (err error) {
		rangeNumber, err := number(c, "SELECT number FROM ranges WHERE range_id = ?", rangeID.String())
		if err == nil && rangeNumber != 0 {
			rows, err = logRows(c, table, rangeID, rangeNumber, after, limit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return decodeRows[T](rows, func(record string, err error) error { return corrupt(s.path, rangeID, record, err) })
}

// selectLog reads a log behind a position.
var selectLog = map[string]string{
	"events": "SELECT position, checksum, record, pending FROM events WHERE range = ? AND position > ? ORDER BY position LIMIT ?",
	"ended":  "SELECT position, checksum, record, session_id FROM ended WHERE range = ? AND position > ? ORDER BY position LIMIT ?",
	"acts":   "SELECT position, checksum, record FROM acts WHERE range = ? AND position > ? ORDER BY position LIMIT ?",
}

// logRow is a row that selectLog gives.
func logRow(table string, rangeID uuid.UUID, r *sqlite.Stmt) row {
	k := key{table: table, rangeID: rangeID, position: r.ColumnInt64(0)}
	switch table {
	case "events":
		k.pending = r.ColumnInt64(3) != 0
	case "ended":
		k.name = r.ColumnText(3)
	}
	return rowAt(k, r, 1)
}

func logRows(c *sqlite.Conn, table string, rangeID uuid.UUID, rangeNumber int64, after uint64, limit int) (rows []row, err error) {
	err = query(c, selectLog[table], func(r *sqlite.Stmt) error {
		rows = append(rows, logRow(table, rangeID, r))
		return nil
	}, rangeNumber, positionOf(after), int64(limit))
	return rows, err
}

func laneRows(c *sqlite.Conn, state *rangeState) (rows []row, err error) {
	first, last := state.places()
	const text = "SELECT lane_id, checksum, record FROM lanes WHERE place BETWEEN ? AND ? ORDER BY place"
	err = query(c, text, func(r *sqlite.Stmt) error {
		rows = append(rows, rowAt(key{table: "lanes", rangeID: state.Range, name: r.ColumnText(0)}, r, 1))
		return nil
	}, first, last)
	return rows, err
}

func keyRows(c *sqlite.Conn, state *rangeState) (rows []row, err error) {
	const text = "SELECT name, checksum, record FROM keys WHERE range = ? ORDER BY name"
	err = query(c, text, func(r *sqlite.Stmt) error {
		rows = append(rows, rowAt(key{table: "keys", rangeID: state.Range, name: r.ColumnText(0)}, r, 1))
		return nil
	}, state.number)
	return rows, err
}

func holdsRows(c *sqlite.Conn, state *rangeState) (rows []row, err error) {
	err = query(c, "SELECT checksum, record FROM holds WHERE range = ?", func(r *sqlite.Stmt) error {
		rows = append(rows, rowAt(key{table: "holds", rangeID: state.Range}, r, 0))
		return nil
	}, state.number)
	return rows, err
}

func pendingRows(c *sqlite.Conn, state *rangeState) (rows []row, err error) {
	const text = "SELECT position, checksum, record FROM events WHERE range = ? AND position >= ? AND pending = 1 ORDER BY position"
	err = query(c, text, func(r *sqlite.Stmt) error {
		k := key{table: "events", rangeID: state.Range, position: r.ColumnInt64(0), pending: true}
		rows = append(rows, rowAt(k, r, 1))
		return nil
	}, state.number, positionOf(state.OldestOpen))
	return rows, err
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
