package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Reader reads a file as a whole, and never writes to it.
type Reader struct {
	path string
	lock *os.File
	c    *sqlite.Conn
}

// OpenReader opens the file for reading. One that is missing, locked by a gateway, damaged or newer is an error that
// names it.
func OpenReader(path string) (*Reader, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	r, err := openReader(path)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	return r, nil
}

func openReader(path string) (*Reader, error) {
	lock, err := lockFile(path, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, lock: lock}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open() (err error) {
	if err := auditWAL(r.path + "-wal"); err != nil {
		return err
	}
	if !hasWAL(r.path) { // nobody writes: the file is all there is, in a folder that may be read-only
		r.c, err = sqlite.OpenConn(uri(r.path)+"?immutable=1", sqlite.OpenReadOnly|sqlite.OpenURI)
	} else {
		r.c, err = connect(r.path, sqlite.OpenReadOnly)
	}
	if err != nil {
		return err
	}
	row, err := readFileRow(r.c)
	if alone, both := withoutWAL(r.path); both && !errors.Is(err, store.ErrNewer) && (err != nil || !row.follows(alone)) {
		return errors.Join(errOtherWAL, err)
	}
	if err != nil {
		return err
	}
	return audit(r.c)
}

// Close lets go of the file.
func (r *Reader) Close() (err error) {
	if r.c != nil {
		err = r.c.Close()
	}
	return errors.Join(err, r.lock.Close())
}

// Describe names the file and says how large it is.
func (r *Reader) Describe() string {
	info, err := os.Stat(r.path)
	if err != nil {
		return r.path
	}
	return fmt.Sprintf("%s: %d bytes", r.path, info.Size())
}

// Ranges are all that the file has something of.
func (r *Reader) Ranges(ctx context.Context) (ids []uuid.UUID, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return rangesIn(r.c)
}

// Ranges are all that the file has something of.
func (s *Store) Ranges(ctx context.Context) (ids []uuid.UUID, err error) {
	err = s.view(ctx, func(c *sqlite.Conn) error {
		ids, err = rangesIn(c)
		return err
	})
	return ids, err
}

func rangesIn(c *sqlite.Conn) (ids []uuid.UUID, err error) {
	err = query(c, "SELECT range_id FROM ranges ORDER BY range_id", func(r *sqlite.Stmt) error {
		id, err := uuid.Parse(r.ColumnText(0))
		if err != nil {
			return fmt.Errorf("%q is no range", r.ColumnText(0))
		}
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// Read tells of every record of the range: how it stands first of all, then the checkpoint, the lanes by their ids,
// the keys by their names, the holds, the event log, the history and what staff did by their cursors. It goes on
// behind a record that cannot be read, and ends with the error of visit.
func (r *Reader) Read(ctx context.Context, rangeID uuid.UUID, visit func(store.Record) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	state, err := r.readOwn(rangeID, visit)
	if err != nil {
		return err
	}
	for _, table := range []string{"lanes", "keys", "holds"} {
		rows, err := rowsOf(r.c, table, rangeID, selects[table], state.number)
		if err != nil {
			return fmt.Errorf("store %s: reading: %w", r.path, err)
		}
		slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
		for _, row := range rows {
			if err := visit(recordOf(row)); err != nil {
				return err
			}
		}
	}
	for _, table := range []string{"events", "ended", "acts"} {
		if err := r.readLog(table, state, visit); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) readOwn(rangeID uuid.UUID, visit func(store.Record) error) (state *rangeState, err error) {
	const name = "the range's record of itself"
	state, err = findRange(r.c, r.path, rangeID)
	var unreadable *store.CorruptError
	switch {
	case errors.As(err, &unreadable):
		rangeNumber, failed := numberOf(r.c, rangeID)
		state = newRangeState(rangeNumber, 0)
		state.Range = rangeID
		return state, errors.Join(failed, visit(store.Record{Name: name, Err: unreadable.Err}))
	case err != nil:
		return nil, fmt.Errorf("store %s: reading: %w", r.path, err)
	case state == nil:
		return nil, store.ErrNotFound
	}
	err = visit(store.Record{Name: name, Value: store.RangeMeta{
		Epoch: state.Epoch, N: state.N, LastEvent: state.LastEvent, LastEnded: state.LastEnded, LastAct: state.LastAct,
	}})
	if err == nil && state.Checkpoint != nil {
		err = visit(store.Record{Name: "checkpoint", Value: *state.Checkpoint})
	}
	return state, err
}

// readLog reads a log a thousand records at a time.
func (r *Reader) readLog(table string, state *rangeState, visit func(store.Record) error) error {
	const limit = 1000
	for after := uint64(0); ; {
		rows, err := logRows(r.c, table, state, after, limit)
		if err != nil {
			return fmt.Errorf("store %s: reading: %w", r.path, err)
		}
		for _, row := range rows {
			if err := visit(recordOf(row)); err != nil {
				return err
			}
			after = cursorAt(row.position)
		}
		if len(rows) < limit {
			return nil
		}
	}
}

// recordOf is a row as it is told of.
func recordOf(r row) store.Record {
	switch r.table {
	case "lanes":
		return recordFrom[lanes.Snapshot](r, func(lane lanes.Snapshot) bool { return lane.ID.String() == r.name })
	case "keys":
		return recordFrom[lanes.KeptAnswer](r, func(kept lanes.KeptAnswer) bool { return kept.Name == r.name })
	case "holds":
		return recordFrom[lanes.Holds](r, func(lanes.Holds) bool { return true })
	case "events":
		return recordFrom[lanes.Logged](r, func(event lanes.Logged) bool {
			return event.Cursor == cursorAt(r.position) && r.pending == (event.Attempt == nil)
		})
	case "ended":
		return recordFrom[lanes.Ended](r, func(ended lanes.Ended) bool {
			return ended.Cursor == cursorAt(r.position) && ended.Session.ID.String() == r.name
		})
	case "acts":
		return recordFrom[lanes.Act](r, func(act lanes.Act) bool { return act.Cursor == cursorAt(r.position) })
	}
	panic("there is no table " + r.table)
}

func recordFrom[T any](r row, fits func(T) bool) store.Record {
	value, err := decode[T](r)
	if err != nil {
		return store.Record{Name: r.key.String(), Err: err}
	}
	record := store.Record{Name: r.key.String(), Value: value}
	if !fits(value) {
		record.Err = errors.New("it does not go together with the columns beside it")
	}
	return record
}
