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

// rangeRecord is what a range says of itself: the record in the table ranges.
type rangeRecord struct {
	Range      uuid.UUID         `json:"range_id"`
	Epoch      uint64            `json:"epoch"`
	N          uint64            `json:"n"`
	Checkpoint *lanes.Checkpoint `json:"checkpoint"` // nil until one was flushed
	LastEvent  uint64            `json:"last_event"`
	LastEnded  uint64            `json:"last_ended"`
	LastAct    uint64            `json:"last_act"`
	Nameless   uint64            `json:"nameless"`    // up to this cursor the history has lost its names
	OldestOpen uint64            `json:"oldest_open"` // no event before this cursor is pending
	Pending    int64             `json:"pending"`     // events

	Lanes  tally `json:"lanes"`
	Keys   tally `json:"keys"`
	Holds  tally `json:"holds"`
	Events tally `json:"events"`
	Ended  tally `json:"ended"`
	Acts   tally `json:"acts"`
}

// rangeState is what the writer remembers of a range, so that a flush reads nothing but what it has to: the range's
// record, where its lanes are, which events are open, and what is trimmed next. It is dropped when a transaction fails.
type rangeState struct {
	number   int64 // in the tables
	checksum int64 // of the range's record as it is stored
	rangeRecord

	lanes      map[uuid.UUID]laneRow
	unfinished map[uint64]int64  // checksums of events whose attempt is not over, by cursor, as far as they are known
	queue      []uint64          // cursors of the pending events, ascending
	oldest     map[string]oldest // by table, and of the names in the history
}

type laneRow struct{ place, checksum int64 }

// oldest is the record of a table that is trimmed next, if it is known.
type oldest struct {
	cursor uint64
	at     time.Time
}

// corrupt names a record of the range that cannot be read.
func corrupt(path string, rangeID uuid.UUID, record string, err error) error {
	return &store.CorruptError{Where: path, Record: fmt.Sprintf("%s of range %s", record, rangeID), Err: err}
}

// corruptUnlessDisk leaves an error of the disk as it is, for it is not about the range.
func corruptUnlessDisk(path string, rangeID uuid.UUID, record string, err error) error {
	if onDisk(err) {
		return err
	}
	return corrupt(path, rangeID, record, damaged(err))
}

// findRange reads the range's record. The state has neither lanes nor events yet; nil: the range was never written.
func findRange(c *sqlite.Conn, path string, id uuid.UUID) (state *rangeState, err error) {
	var own row
	err = query(c, "SELECT number, checksum, record FROM ranges WHERE range_id = ?", func(r *sqlite.Stmt) error {
		own = row{key{table: "ranges", rangeID: id}, r.ColumnInt64(1), r.ColumnText(2)}
		state = newRangeState(r.ColumnInt64(0), own.checksum)
		return nil
	}, id.String())
	if err != nil || state == nil {
		return nil, err
	}
	if state.rangeRecord, err = decode[rangeRecord](own); err != nil {
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

// rangeOf is the state of a range in the transaction, or nil when it was never written.
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
	tx.touched = append(tx.touched, id)
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

// places are the first and the last that the range's lanes may have.
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
	tx.about.ranges.add(0)
	tx.ranges[id] = state
	tx.touched = append(tx.touched, id)
	return state, nil
}

// save writes the range's record, last of all.
func (tx *transaction) save(state *rangeState) error {
	state.Pending, state.OldestOpen = int64(len(state.queue)), state.LastEvent
	if len(state.queue) > 0 {
		state.OldestOpen = state.queue[0]
	}
	own, err := rowOf(key{table: "ranges", rangeID: state.Range}, state.rangeRecord)
	if err != nil {
		return err
	}
	tx.about.ranges.replace(state.checksum, own.checksum)
	state.checksum = own.checksum
	tx.written++
	return execute(tx.writer, "UPDATE ranges SET checksum = ?, record = ? WHERE number = ?", own.checksum, own.record, state.number)
}

// enqueue and dequeue keep the cursors of the pending events in order. Nearly always they come at the end and leave
// near the front.
func (state *rangeState) enqueue(cursor uint64) {
	if at, found := slices.BinarySearch(state.queue, cursor); !found {
		state.queue = slices.Insert(state.queue, at, cursor)
	}
}

func (state *rangeState) dequeue(cursor uint64) (wasPending bool) {
	at, found := slices.BinarySearch(state.queue, cursor)
	if found {
		state.queue = slices.Delete(state.queue, at, at+1)
	}
	return found
}
