package sqlite

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// rangeRecord is the range's record in the table ranges.
type rangeRecord struct {
	Range        uuid.UUID         `json:"range_id"`
	Epoch        uint64            `json:"epoch"`
	N            uint64            `json:"n"`
	Checkpoint   *lanes.Checkpoint `json:"checkpoint"` // nil until one was flushed
	LastEvent    uint64            `json:"last_event"`
	LastEnded    uint64            `json:"last_ended"`
	LastAct      uint64            `json:"last_act"`
	NamesTrimmed uint64            `json:"nameless"`    // the history has no names up to this cursor
	OldestOpen   uint64            `json:"oldest_open"` // no event before this cursor is pending
	Pending      int64             `json:"pending"`     // events

	Lanes  total `json:"lanes"`
	Keys   total `json:"keys"`
	Holds  total `json:"holds"`
	Events total `json:"events"`
	Ended  total `json:"ended"`
	Acts   total `json:"acts"`
}

// rangeState is the writer's memory of a range: its record, the places of its lanes, its open events and what is trimmed
// next. It saves a flush most reads, and is dropped when a transaction fails.
type rangeState struct {
	number   int64 // in the tables
	checksum int64 // of the stored record
	rangeRecord

	lanes      map[uuid.UUID]laneRow
	unfinished map[uint64]int64  // checksums of events without the result of their attempt, by cursor; may lack some
	queue      []uint64          // cursors of the pending events, ascending
	oldest     map[string]oldest // by table, and for names
}

type laneRow struct{ place, checksum int64 }

// oldest is the record of a log that is trimmed next.
type oldest struct {
	cursor uint64
	at     time.Time
}

// corrupt names a record of the range that cannot be read.
func corrupt(path string, rangeID uuid.UUID, record string, err error) error {
	return &store.CorruptError{Where: path, Record: fmt.Sprintf("%s of range %s", record, rangeID), Err: err}
}

// corruptUnlessDisk returns an error of the disk as it is: it does not concern the range.
func corruptUnlessDisk(path string, rangeID uuid.UUID, record string, err error) error {
	if isDiskError(err) {
		return err
	}
	return corrupt(path, rangeID, record, asDamage(err))
}

// findRange reads the range's record; lanes and events are not read yet. It returns nil for a range that was never
// written.
func findRange(c *sqlite.Conn, path string, id uuid.UUID) (state *rangeState, err error) {
	var stored row
	err = query(c, "SELECT number, checksum, record FROM ranges WHERE range_id = ?", func(r *sqlite.Stmt) error {
		stored = row{key{table: "ranges", rangeID: id}, r.ColumnInt64(1), r.ColumnText(2)}
		state = newRangeState(r.ColumnInt64(0), stored.checksum)
		return nil
	}, id.String())
	if err != nil || state == nil {
		return nil, err
	}
	if state.rangeRecord, err = decode[rangeRecord](stored); err != nil {
		return nil, corrupt(path, id, "the record", err)
	}
	return state, nil
}

func newRangeState(number, checksum int64) *rangeState {
	return &rangeState{
		number: number, checksum: checksum,
		lanes: map[uuid.UUID]laneRow{}, unfinished: map[uint64]int64{}, oldest: map[string]oldest{},
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
			return nil, corruptUnlessDisk(tx.path, id, "the lanes", err)
		}
		if err := state.readQueue(tx.writer); err != nil {
			return nil, corruptUnlessDisk(tx.path, id, "the pending events", err)
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
	if err := execute(tx.writer, "INSERT INTO ranges (range_id, checksum, record) VALUES (?, 0, '')", id.String()); err != nil {
		return nil, err
	}
	state := newRangeState(tx.writer.LastInsertRowID(), 0)
	state.Range = id
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
	return execute(tx.writer, "UPDATE ranges SET checksum = ?, record = ? WHERE number = ?", r.checksum, r.record, state.number)
}

// enqueue and dequeue keep the cursors of the pending events in order. Nearly all come at the end and leave near the
// front.
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
