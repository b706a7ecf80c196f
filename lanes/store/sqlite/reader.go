package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Reader reads everything in a file, and writes nothing.
type Reader struct {
	path string
	lock *os.File // nil beside a gateway, which has it
	conn *sqlite.Conn
}

// OpenReader opens the file for reading. A file that is missing, locked by a gateway, damaged or newer is an error that
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

// OpenBeside is OpenReader, also of a file that a gateway has. What a Reader beside a gateway reads is of one
// instant within a call, and not from one call to the next.
func OpenBeside(path string) (*Reader, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	r, err := openBeside(path)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	return r, nil
}

// openBeside opens a file that a gateway may have open. Where none has, file and WAL are audited first.
func openBeside(path string) (*Reader, error) {
	r, err := openReader(path)
	if !errors.Is(err, ErrLocked) {
		return r, err
	}
	conn, err := connect(path, sqlite.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	return &Reader{path: path, conn: conn}, nil
}

func openReader(path string) (*Reader, error) { return openReaderUntil(nil, path) }

// openReaderUntil is openReader. The audit, and what is read later, fails once interrupted is closed.
func openReaderUntil(interrupted <-chan struct{}, path string) (*Reader, error) {
	lock, err := lockFile(path, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, lock: lock}
	if err := r.open(interrupted); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open(interrupted <-chan struct{}) (err error) {
	if err := auditWAL(r.path + "-wal"); err != nil {
		return err
	}
	without, ok := readFileRowWithoutWAL(r.path)
	if !hasWAL(r.path) { // immutable: the file alone, in a folder that may be read-only
		r.conn, err = sqlite.OpenConn(uri(r.path)+"?immutable=1", sqlite.OpenReadOnly|sqlite.OpenURI)
	} else {
		r.conn, err = connect(r.path, sqlite.OpenReadOnly)
	}
	if err != nil {
		return err
	}
	r.conn.SetInterrupt(interrupted)
	if _, err := readFileRowWithWAL(r.conn, without, ok); err != nil {
		return err
	}
	return audit(r.conn)
}

// Close releases the file.
func (r *Reader) Close() (err error) {
	if r.conn != nil {
		err = r.conn.Close()
	}
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
	}
	return err
}

// Describe names the file and its size.
func (r *Reader) Describe() string {
	info, err := os.Stat(r.path)
	if err != nil {
		return r.path
	}
	return fmt.Sprintf("%s: %d bytes", r.path, info.Size())
}

// Ranges returns the ranges in the file.
func (r *Reader) Ranges(ctx context.Context) (ids []uuid.UUID, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return rangesIn(r.conn)
}

// Ranges returns the ranges in the file.
func (s *Store) Ranges(ctx context.Context) (ids []uuid.UUID, err error) {
	err = s.view(ctx, func(c *sqlite.Conn) error {
		ids, err = rangesIn(c)
		return err
	})
	return ids, err
}

// rangesIn leaves out ranges that were forgotten. One whose record cannot be read is among them.
func rangesIn(c *sqlite.Conn) (ids []uuid.UUID, err error) {
	const text = "SELECT range_id FROM ranges WHERE CASE WHEN json_valid(record) " +
		"THEN record -> '$.forgotten_at' = record -> '$.epoch' END IS NOT TRUE ORDER BY range_id"
	err = query(c, text, func(r *sqlite.Stmt) error {
		id, err := uuid.Parse(r.ColumnText(0))
		if err != nil {
			return fmt.Errorf("%q is no range", r.ColumnText(0))
		}
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// Meta reads the range's own record: store.ErrNotFound.
func (r *Reader) Meta(ctx context.Context, rangeID uuid.UUID) (store.RangeMeta, error) {
	state, err := r.find(ctx, rangeID)
	if err != nil {
		return store.RangeMeta{}, err
	}
	return state.RangeMeta, nil
}

// Events reads the event log behind the cursor, oldest first.
func (r *Reader) Events(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Logged, error) {
	return readPage[lanes.Logged](ctx, r, "events", rangeID, after, limit)
}

// History reads the ended sessions behind the cursor, oldest first.
func (r *Reader) History(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Ended, error) {
	return readPage[lanes.Ended](ctx, r, "ended", rangeID, after, limit)
}

// Acts reads the acts of staff behind the cursor, oldest first.
func (r *Reader) Acts(ctx context.Context, rangeID uuid.UUID, after uint64, limit int) ([]lanes.Act, error) {
	return readPage[lanes.Act](ctx, r, "acts", rangeID, after, limit)
}

func (r *Reader) find(ctx context.Context, rangeID uuid.UUID) (*rangeState, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	state, err := findRange(r.conn, r.path, rangeID)
	var unreadable *store.CorruptError
	switch {
	case errors.As(err, &unreadable):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("store %s: reading: %w", r.path, err)
	case state == nil || state.isForgotten():
		return nil, store.ErrNotFound
	}
	return state, nil
}

func readPage[T any](ctx context.Context, r *Reader, table string, rangeID uuid.UUID, after uint64,
	limit int,
) ([]T, error) {
	state, err := r.find(ctx, rangeID)
	if err != nil || after == math.MaxUint64 {
		return nil, err
	}
	rows, err := logRows(r.conn, table, state, after, limit)
	if err != nil {
		return nil, fmt.Errorf("store %s: reading: %w", r.path, err)
	}
	return decodeRows[T](state, rows)
}

// Read visits every record of the range: the store.RangeMeta first, then the checkpoint, the lanes by id, the
// keys by name, the holds, and the event log, the history and the acts of staff by cursor. It continues after
// a record that cannot be read, and ends with the error of visit.
func (r *Reader) Read(ctx context.Context, rangeID uuid.UUID, visit func(store.Record) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	state, err := r.readMeta(rangeID, visit)
	if err != nil {
		return err
	}
	for _, table := range []string{"lanes", "keys", "holds", "events", "ended", "acts"} {
		if err := r.readTable(table, state, visit); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) readMeta(rangeID uuid.UUID, visit func(store.Record) error) (state *rangeState, err error) {
	const name = "the range's record"
	state, err = findRange(r.conn, r.path, rangeID)
	var unreadable *store.CorruptError
	switch {
	case errors.As(err, &unreadable):
		return state, visit(store.Record{Name: name, Err: unreadable.Err})
	case err != nil:
		return nil, fmt.Errorf("store %s: reading: %w", r.path, err)
	case state == nil || state.isForgotten():
		return nil, store.ErrNotFound
	}
	err = visit(store.Record{Name: name, Value: state.RangeMeta})
	if err == nil && state.Checkpoint != nil {
		err = visit(store.Record{Name: "checkpoint", Value: *state.Checkpoint})
	}
	return state, err
}

// readTable visits the records of a table: lanes by id, and the others in their order.
func (r *Reader) readTable(table string, state *rangeState, visit func(store.Record) error) error {
	text, args := selects[table], []any{state.number}
	switch table {
	case "lanes":
		text = "SELECT * FROM (" + text + ") ORDER BY lane_id"
	case "events", "ended", "acts":
		args = append(args, positionOf(0), int64(-1)) // all
	}
	var visitErr error
	err := eachRow(r.conn, table, state.Range, text, func(found row) error {
		record := recordOf(found)
		if table == "ended" && record.Err == nil {
			record.Err = r.checkExternalID(state, record)
		}
		visitErr = visit(record)
		return visitErr
	}, args...)
	if err != nil && visitErr == nil {
		return fmt.Errorf("store %s: reading: %w", r.path, err)
	}
	return err
}

// recordOf decodes a row. Its checksum covers the columns beside the record.
func recordOf(r row) store.Record {
	switch r.table {
	case "lanes":
		return recordAs[lanes.Snapshot](r)
	case "keys":
		return recordAs[lanes.KeptAnswer](r)
	case "holds":
		return recordAs[lanes.Holds](r)
	case "events":
		return recordAs[lanes.Logged](r)
	case "ended":
		return recordAs[lanes.Ended](r)
	case "acts":
		return recordAs[lanes.Act](r)
	}
	panic("there is no table " + r.table)
}

func recordAs[T any](r row) store.Record {
	value, err := decode[T](r)
	if err != nil {
		return store.Record{Name: r.String(), Err: err}
	}
	return store.Record{Name: r.String(), Value: value}
}
