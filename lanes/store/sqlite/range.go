package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Claim claims the range for this process. It does not claim a range that Load could not read: a gateway that
// cannot start, and is restarted again and again, does not change it. Claim keeps the records that it has
// read for Load.
func (s *Store) Claim(ctx context.Context, rangeID uuid.UUID, now time.Time) (uint64, error) {
	var epoch uint64
	var loaded store.Recovered
	err := s.submit(ctx, func(tx *transaction) (rejection, failure error) {
		state, err := tx.rangeOf(rangeID)
		if state != nil && err == nil {
			loaded, err = load(tx.writer, state)
		}
		if err != nil {
			return rejectUnlessDisk(err)
		}
		if state == nil {
			if state, err = tx.makeRange(rangeID); err != nil {
				return nil, err
			}
		}
		epoch = max(state.Epoch+1, uint64(max(0, now.UnixMilli())))
		state.Epoch, state.N = epoch, 0
		return nil, tx.save(state)
	})
	if err != nil {
		return 0, err
	}
	s.claims.Store(rangeID, loaded)
	return epoch, nil
}

// Load reads what brings the range back.
func (s *Store) Load(ctx context.Context, of store.RangeEpoch) (loaded store.Recovered, err error) {
	err = s.view(ctx, func(c *sqlite.Conn) error {
		state, err := findRange(c, s.path, of.Range)
		if err != nil {
			return err
		}
		if state == nil {
			return of.Check(0, 0)
		}
		if err := of.Check(state.Epoch, state.N); err != nil {
			return err
		}
		if claimed, found := s.claims.LoadAndDelete(of.Range); found {
			loaded = claimed.(store.Recovered)
			return nil
		}
		loaded, err = load(c, state)
		return err
	})
	if err != nil {
		return store.Recovered{}, err
	}
	return loaded, nil
}

// load reads the records of a range, and compares them with the totals in its own record.
func load(c *sqlite.Conn, state *rangeState) (loaded store.Recovered, err error) {
	if state.Checkpoint != nil {
		loaded.Checkpoint = *state.Checkpoint
	}
	loaded.LastEvent, loaded.LastEnded, loaded.LastAct = state.LastEvent, state.LastEnded, state.LastAct
	err = visitTable(c, "lanes", state, state.Lanes, func(lane lanes.Snapshot) {
		loaded.Lanes = append(loaded.Lanes, lane)
	})
	if err != nil {
		return loaded, err
	}
	err = visitTable(c, "keys", state, state.Keys, func(key lanes.KeptAnswer) {
		loaded.Keys = append(loaded.Keys, key.Shed())
	})
	if err != nil {
		return loaded, err
	}
	if err = visitTable(c, "holds", state, state.Holds, func(holds lanes.Holds) { loaded.Holds = holds }); err != nil {
		return loaded, err
	}
	rows, err := rowsOf(c, "events", state.Range, selectPending, state.number, positionOf(state.OldestOpen))
	if err == nil && int64(len(rows)) != state.Pending {
		err = fmt.Errorf("damaged: there are %d of %d", len(rows), state.Pending)
	}
	if err != nil {
		return loaded, state.corrupt("the pending events", err)
	}
	loaded.Pending, err = decodeRows[lanes.Logged](state, rows)
	return loaded, err
}

// recordsAtATime bounds how many records of a table are in memory before they are visited.
const recordsAtATime = 2048

// visitTable visits all records of the range in a table, and compares them with the stored total.
func visitTable[T any](c *sqlite.Conn, table string, state *rangeState, stored total, visit func(T)) error {
	var found total
	var rows []row
	decodeSome := func() error {
		some, err := decodeRows[T](state, rows)
		for _, record := range some {
			visit(record)
		}
		rows = rows[:0]
		return err
	}
	err := eachRow(c, table, state.Range, selects[table], func(r row) error {
		found.add(r.checksum)
		if rows = append(rows, r); len(rows) < recordsAtATime {
			return nil
		}
		return decodeSome()
	}, state.number)
	if err == nil {
		err = decodeSome()
	}
	var corrupt *store.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return err
	case err != nil:
		return state.corrupt("the "+table, err)
	case found != stored:
		return state.corrupt("the "+table, fmt.Errorf("damaged: not the %d that were written, but %d",
			stored.Count, found.Count))
	}
	return nil
}

// rowsPerGoroutine is how many rows justify another goroutine.
const rowsPerGoroutine = 256

// decodeRows decodes the rows on all processors. The error is about the first row that cannot be read.
func decodeRows[T any](state *rangeState, rows []row) ([]T, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	list := make([]T, len(rows))
	shares := min(runtime.GOMAXPROCS(0), 1+len(rows)/rowsPerGoroutine)
	errs := make([]error, shares)
	var decoding sync.WaitGroup
	for s := range shares {
		decoding.Go(func() {
			for i := len(rows) * s / shares; i < len(rows)*(s+1)/shares; i++ {
				var err error
				if list[i], err = decode[T](rows[i]); err != nil {
					errs[s] = state.corrupt(rows[i].String(), err)
					return
				}
			}
		})
	}
	decoding.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Confirm reads nothing but the pair.
func (s *Store) Confirm(ctx context.Context, of store.RangeEpoch) error {
	_, err := read[lanes.Ended](ctx, s, of, func(*sqlite.Conn, *rangeState) ([]row, error) { return nil, nil })
	return err
}

// Ended finds a session in the history: store.ErrNotFound.
func (s *Store) Ended(ctx context.Context, of store.RangeEpoch, session uuid.UUID) (lanes.Ended, error) {
	return readOne[lanes.Ended](ctx, s, of, "ended", selectEnded, session.String())
}

// readOne reads one row of a range by its name: store.ErrNotFound.
func readOne[T any](ctx context.Context, s *Store, of store.RangeEpoch, table, text, name string) (value T, err error) {
	found, err := read[T](ctx, s, of, func(c *sqlite.Conn, state *rangeState) ([]row, error) {
		return rowsOf(c, table, of.Range, text, state.number, name)
	})
	if err != nil {
		return value, err
	}
	if len(found) == 0 {
		return value, store.ErrNotFound
	}
	return found[0], nil
}

// Answer reads a kept answer with its body: store.ErrNotFound.
func (s *Store) Answer(ctx context.Context, of store.RangeEpoch, name string) (lanes.KeptAnswer, error) {
	return readOne[lanes.KeptAnswer](ctx, s, of, "keys", selectKey, name)
}

// Events reads the event log behind the cursor, oldest first.
func (s *Store) Events(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Logged, error) {
	return page[lanes.Logged](ctx, s, "events", of, after, limit)
}

// History reads the ended sessions behind the cursor, oldest first.
func (s *Store) History(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Ended, error) {
	return page[lanes.Ended](ctx, s, "ended", of, after, limit)
}

// Acts reads the acts of staff behind the cursor, oldest first.
func (s *Store) Acts(ctx context.Context, of store.RangeEpoch, after uint64, limit int) ([]lanes.Act, error) {
	return page[lanes.Act](ctx, s, "acts", of, after, limit)
}

func page[T any](
	ctx context.Context, s *Store, table string, of store.RangeEpoch, after uint64, limit int,
) ([]T, error) {
	if limit <= 0 || after == math.MaxUint64 {
		return nil, ctx.Err()
	}
	return read[T](ctx, s, of, func(c *sqlite.Conn, state *rangeState) ([]row, error) {
		return logRows(c, table, state, after, limit)
	})
}

// read decodes rows of a range after the connection is free again. The state of a range that was never
// written has the number 0. A range whose own record cannot be read fences nobody: no process can claim it.
func read[T any](
	ctx context.Context, s *Store, of store.RangeEpoch, query func(c *sqlite.Conn, state *rangeState) ([]row, error),
) ([]T, error) {
	var rows []row
	var state *rangeState
	err := s.view(ctx, func(c *sqlite.Conn) (err error) {
		if state, err = findRange(c, s.path, of.Range); state == nil {
			state = newRangeState(s.path, of.Range, 0, 0)
		}
		if err == nil {
			err = of.Check(state.Epoch, state.N)
		}
		var corrupt *store.CorruptError
		if err != nil && !errors.As(err, &corrupt) {
			return err
		}
		rows, err = query(c, state)
		return err
	})
	if err != nil {
		return nil, err
	}
	return decodeRows[T](state, rows)
}

// selects read a range's rows, all in the columns of rowsOf. Those of the logs begin behind a position.
var selects = map[string]string{
	"lanes": "SELECT lane_id, 0, 0, checksum, record FROM lanes WHERE place >> 24 = ?1 AND place BETWEEN ?1 << " +
		"24 AND (?1 + 1) << 24 ORDER BY place",
	"keys":  "SELECT name, 0, 0, checksum, record FROM keys WHERE range = ? ORDER BY name",
	"holds": "SELECT '', 0, 0, checksum, record FROM holds WHERE range = ?",
	"events": "SELECT '', position, pending, checksum, record FROM events WHERE range = ? AND position > ? ORDER " +
		"BY position LIMIT ?",
	"ended": "SELECT session_id, position, 0, checksum, record FROM ended WHERE range = ? AND position > ? ORDER " +
		"BY position LIMIT ?",
	"acts": "SELECT '', position, 0, checksum, record FROM acts WHERE range = ? AND position > ? ORDER " +
		"BY position LIMIT ?",
}

const (
	selectPending = "SELECT '', position, pending, checksum, record FROM events WHERE range = ? AND position >= " +
		"? AND pending = 1 ORDER BY position"
	selectKey   = "SELECT name, 0, 0, checksum, record FROM keys WHERE range = ? AND name = ?"
	selectEnded = "SELECT session_id, position, 0, checksum, record FROM ended WHERE range = ? AND session_id = " +
		"? ORDER BY position DESC LIMIT 1"
)

// rowsOf runs a statement such as those in selects.
func rowsOf(c *sqlite.Conn, table string, rangeID uuid.UUID, text string, args ...any) (rows []row, err error) {
	err = eachRow(c, table, rangeID, text, func(r row) error {
		rows = append(rows, r)
		return nil
	}, args...)
	return rows, err
}

func eachRow(c *sqlite.Conn, table string, rangeID uuid.UUID, text string, visit func(row) error, args ...any) error {
	return query(c, text, func(r *sqlite.Stmt) error {
		k := key{
			table: table, rangeID: rangeID, name: r.ColumnText(0), position: r.ColumnInt64(1),
			pending: r.ColumnInt64(2) != 0,
		}
		return visit(row{key: k, checksum: r.ColumnInt64(3), record: r.ColumnText(4)})
	}, args...)
}

// logRows reads rows of a log behind the cursor.
func logRows(c *sqlite.Conn, table string, state *rangeState, after uint64, limit int) ([]row, error) {
	return rowsOf(c, table, state.Range, selects[table], state.number, positionOf(after), int64(limit))
}

// rangeRecord is the range's record in the table ranges.
type rangeRecord struct {
	Range uuid.UUID `json:"range_id"`
	store.RangeMeta
	Checkpoint   *lanes.Checkpoint `json:"checkpoint"`  // nil until one was flushed
	NamesTrimmed uint64            `json:"nameless"`    // the history has no names up to this cursor
	OldestOpen   uint64            `json:"oldest_open"` // no event before this cursor is pending
	Pending      int64             `json:"pending"`     // events
	// ForgottenAt is the epoch in which the range was forgotten. While that is its epoch, it has no records.
	ForgottenAt uint64 `json:"forgotten_at,omitempty"`

	Lanes  total `json:"lanes"`
	Keys   total `json:"keys"`
	Holds  total `json:"holds"`
	Events total `json:"events"`
	Ended  total `json:"ended"`
	Acts   total `json:"acts"`

	ExternalIDs int64 `json:"external_ids,omitempty"` // rows of external_ids
}

// isForgotten reports whether nothing is known of the range but its epoch.
func (r rangeRecord) isForgotten() bool { return r.ForgottenAt != 0 && r.ForgottenAt == r.Epoch }

// rangeState is the writer's memory of a range: its record, the places of its lanes, its open events and what
// is trimmed next. It saves a flush most reads, and is dropped when a transaction fails.
type rangeState struct {
	path     string // of the file
	number   int64  // in the tables
	checksum int64  // of the stored record
	rangeRecord

	lanes      map[uuid.UUID]laneRow
	unfinished map[uint64]int64     // checksums of events without the result of their attempt, by cursor; may lack some
	queue      []uint64             // cursors of the pending events, ascending
	oldest     map[string]time.Time // of the record of a log that is trimmed next, by table, and for names
}

type laneRow struct{ place, checksum int64 }

// corrupt names a record of the range that cannot be read. An error of the disk does not concern the range.
func (state *rangeState) corrupt(record string, err error) error {
	if isDiskError(err) {
		return err
	}
	return &store.CorruptError{
		Where: state.path, Record: fmt.Sprintf("%s of range %s", record, state.Range),
		Err: asDamage(err),
	}
}

// findRange reads the range's record; lanes and events are not read yet. It returns nil for a range that was
// never written.
func findRange(c *sqlite.Conn, path string, id uuid.UUID) (state *rangeState, err error) {
	err = query(c, "SELECT number, checksum, record FROM ranges WHERE range_id = ?", func(r *sqlite.Stmt) error {
		stored := row{key: key{table: "ranges", rangeID: id}, checksum: r.ColumnInt64(1), record: r.ColumnText(2)}
		state = newRangeState(path, id, r.ColumnInt64(0), stored.checksum)
		record, err := decode[rangeRecord](stored)
		if err != nil {
			return state.corrupt("the record", err)
		}
		state.rangeRecord = record
		return nil
	}, id.String())
	return state, err
}

func newRangeState(path string, id uuid.UUID, number, checksum int64) *rangeState {
	return &rangeState{
		path: path, number: number, checksum: checksum, rangeRecord: rangeRecord{Range: id},
		lanes: map[uuid.UUID]laneRow{}, unfinished: map[uint64]int64{}, oldest: map[string]time.Time{},
	}
}

// rangeOf returns the state of a range in the transaction, or nil for a range that was never written.
func (tx *transaction) rangeOf(id uuid.UUID) (*rangeState, error) {
	state := tx.ranges[id]
	if state == nil {
		var err error
		if state, err = findRange(tx.writer, tx.path, id); state == nil || err != nil {
			return nil, err
		}
		if err := state.readPlaces(tx.writer); err != nil {
			return nil, state.corrupt("the lanes", err)
		}
		if err := state.readQueue(tx.writer); err != nil {
			return nil, state.corrupt("the pending events", err)
		}
		tx.ranges[id] = state
	}
	tx.modified = append(tx.modified, id)
	return state, nil
}

func (state *rangeState) readPlaces(c *sqlite.Conn) error {
	first, last := state.places()
	const text = "SELECT place, lane_id, checksum FROM lanes WHERE place BETWEEN ? AND ?"
	return query(c, text, func(r *sqlite.Stmt) error {
		id, err := uuid.Parse(r.ColumnText(1))
		if err != nil {
			return fmt.Errorf("damaged: %q is no lane's id", r.ColumnText(1))
		}
		state.lanes[id] = laneRow{r.ColumnInt64(0), r.ColumnInt64(2)}
		return nil
	}, first, last)
}

// places returns the first and the last place that a lane of the range can have.
func (state *rangeState) places() (first, last int64) {
	return state.number << placeBits, state.number<<placeBits + maxLanes - 1
}

func (state *rangeState) readQueue(c *sqlite.Conn) error {
	rows, err := rowsOf(c, "events", state.Range, selectPending, state.number, positionOf(state.OldestOpen))
	for _, r := range rows {
		state.queue = append(state.queue, cursorAt(r.position))
		state.unfinished[cursorAt(r.position)] = r.checksum
	}
	return err
}

// makeRange makes a range that was never written.
func (tx *transaction) makeRange(id uuid.UUID) (*rangeState, error) {
	if err := execute(tx.writer, "INSERT INTO ranges (range_id, checksum, record) VALUES (?, 0, '')",
		id.String()); err != nil {
		return nil, err
	}
	state := newRangeState(tx.path, id, tx.writer.LastInsertRowID(), 0)
	tx.next.ranges.add(0)
	tx.ranges[id] = state
	tx.modified = append(tx.modified, id)
	return state, nil
}

// save writes the range's record, after all other rows.
func (tx *transaction) save(state *rangeState) error {
	state.Pending, state.OldestOpen = int64(len(state.queue)), state.LastEvent
	if len(state.queue) > 0 {
		state.OldestOpen = state.queue[0]
	}
	r, err := rowOf(key{table: "ranges", rangeID: state.Range}, state.rangeRecord)
	if err != nil {
		return err
	}
	tx.next.ranges.replace(state.checksum, r.checksum)
	state.checksum = r.checksum
	tx.written++
	return execute(tx.writer, "UPDATE ranges SET checksum = ?, record = ? WHERE number = ?", r.checksum,
		r.record, state.number)
}

// enqueue and dequeue keep the cursors of the pending events in order. Nearly all come at the end and leave
// near the front.
func (state *rangeState) enqueue(cursor uint64) {
	if i, found := slices.BinarySearch(state.queue, cursor); !found {
		state.queue = slices.Insert(state.queue, i, cursor)
	}
}

func (state *rangeState) dequeue(cursor uint64) (wasPending bool) {
	i, found := slices.BinarySearch(state.queue, cursor)
	if found {
		state.queue = slices.Delete(state.queue, i, i+1)
	}
	return found
}
