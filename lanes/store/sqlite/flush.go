package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Flush writes the batch. Its records are encoded in the caller's goroutine, outside the transaction.
func (s *Store) Flush(ctx context.Context, batch store.Batch) error {
	rows, err := encodeBatch(batch)
	if err != nil {
		return err
	}
	s.claims.Delete(batch.Range)
	return s.submit(ctx, func(tx *transaction) (rejection, failure error) { return tx.flush(batch, rows, s.retention) })
}

// Restore writes a range that the file does not have, all of it or nothing, and trims nothing: store.ErrExists.
// The epoch of one that was forgotten rises.
func (s *Store) Restore(ctx context.Context, whole store.Batch) error {
	rows, err := encodeBatch(whole)
	if err != nil {
		return err
	}
	return s.submit(ctx, func(tx *transaction) (rejection, failure error) {
		state, err := tx.rangeOf(whole.Range)
		switch {
		case err != nil:
			return nil, err
		case state == nil:
			state, err = tx.makeRange(whole.Range)
		case state.isForgotten():
			whole.Epoch = max(whole.Epoch, state.Epoch+1)
		default:
			return fmt.Errorf("store %s: %w: %s", s.path, store.ErrExists, whole.Range), nil
		}
		if err != nil {
			return nil, err
		}
		if err := tx.writeBatch(state, whole, rows); err != nil {
			return nil, err
		}
		return nil, tx.save(state)
	})
}

// encodeBatch makes the rows of a batch: store.ErrRefused.
func encodeBatch(batch store.Batch) (rows []row, err error) {
	rows = make([]row, 0, len(batch.Lanes)+len(batch.Keys)+1+len(batch.Events)+len(batch.Ended)+len(batch.Acts))
	add := func(k key, v any) {
		k.rangeID = batch.Range
		if k.position == positionOf(0) && err == nil {
			err = fmt.Errorf("%s: cursors begin at 1", k)
		}
		r, encodeErr := rowOf(k, v)
		if encodeErr != nil && err == nil {
			err = encodeErr
		}
		rows = append(rows, r)
	}
	for i := range batch.Lanes {
		add(key{table: "lanes", name: batch.Lanes[i].ID.String()}, batch.Lanes[i])
	}
	for i := range batch.Keys {
		add(key{table: "keys", name: batch.Keys[i].Name}, batch.Keys[i])
		rows[len(rows)-1].ifAbsent = batch.Keys[i].InStore
	}
	if batch.Holds != nil {
		add(key{table: "holds"}, *batch.Holds)
	}
	for i := range batch.Events {
		event := &batch.Events[i]
		add(key{table: "events", position: positionOf(event.Cursor), pending: event.Pending()}, event)
	}
	for i := range batch.Ended {
		ended := &batch.Ended[i]
		add(key{table: "ended", position: positionOf(ended.Cursor), name: ended.Session.ID.String()}, ended)
	}
	for i := range batch.Acts {
		add(key{table: "acts", position: positionOf(batch.Acts[i].Cursor)}, batch.Acts[i])
	}
	if batch.Checkpoint != nil && err == nil { // a part of the range's record, which is encoded in the transaction
		_, err = store.Encode(*batch.Checkpoint)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	return rows, nil
}

// fence compares the stored pair with the batch's. repeated: this batch, or a later one, was committed already.
func fence(stored rangeRecord, batch store.Batch) (repeated bool, err error) {
	switch {
	case stored.Epoch > batch.Epoch:
		return false, fmt.Errorf("%w: its epoch is %d, this one is %d", store.ErrFenced, stored.Epoch, batch.Epoch)
	case stored.Epoch == batch.Epoch && stored.N >= batch.N:
		return true, nil
	case stored.Epoch == batch.Epoch && stored.N+1 == batch.N, batch.Refill:
		return false, nil
	}
	return false, fmt.Errorf("%w: it has (%d, %d) and is given (%d, %d)",
		store.ErrRolledBack, stored.Epoch, stored.N, batch.Epoch, batch.N)
}

// flush writes one batch in the transaction. A batch that is rejected has written nothing.
func (tx *transaction) flush(batch store.Batch, rows []row, retention store.Retention) (rejection, failure error) {
	state, err := tx.rangeOf(batch.Range)
	if err != nil {
		return rejectUnlessDisk(err)
	}
	var stored rangeRecord
	if state != nil {
		stored = state.rangeRecord
	}
	if repeated, err := fence(stored, batch); repeated || err != nil {
		return err, nil
	}
	if state == nil {
		if state, err = tx.makeRange(batch.Range); err != nil {
			return nil, err
		}
	}
	if err := tx.writeBatch(state, batch, rows); err != nil {
		return nil, err
	}
	if err := tx.trim(state, batch, retention); err != nil {
		return nil, err
	}
	return nil, tx.save(state)
}

// rejectUnlessDisk rejects a job whose range cannot be read. An error of the disk is a failure of the transaction.
func rejectUnlessDisk(err error) (rejection, failure error) {
	if isDiskError(err) {
		return nil, err
	}
	return fmt.Errorf("%w: %w", store.ErrRefused, err), nil
}

func (tx *transaction) writeBatch(state *rangeState, batch store.Batch, rows []row) error {
	state.Epoch, state.N = batch.Epoch, batch.N
	if batch.Refill { // it has every lane, and may have older records than the oldest
		clear(state.oldest)
		if err := tx.deleteLanes(state); err != nil {
			return err
		}
	}
	if batch.Checkpoint != nil {
		state.Checkpoint = batch.Checkpoint
	}
	for _, r := range rows {
		if err := tx.writeRow(state, r); err != nil {
			return err
		}
	}
	if err := tx.writeExternalIDs(state, batch.Ended); err != nil {
		return err
	}
	tx.written += len(rows) + len(batch.Forget)
	for _, name := range batch.Forget {
		if err := tx.deleteKey(state, name); err != nil {
			return err
		}
	}
	state.LastEvent = max(state.LastEvent, batch.LastEvent)
	state.LastEnded = max(state.LastEnded, batch.LastEnded)
	state.LastAct = max(state.LastAct, batch.LastAct)
	return nil
}

func (tx *transaction) deleteLanes(state *rangeState) error {
	first, last := state.places()
	if err := execute(tx.writer, "DELETE FROM lanes WHERE place BETWEEN ? AND ?", first, last); err != nil {
		return err
	}
	clear(state.lanes)
	state.Lanes = total{}
	return nil
}

// writeRow writes a row, in the place of the one that it replaces, and keeps the totals in line.
func (tx *transaction) writeRow(state *rangeState, r row) (err error) {
	switch r.table {
	case "lanes":
		return tx.writeLane(state, r)
	case "keys":
		if r.ifAbsent {
			found, err := rowsOf(tx.writer, "keys", state.Range, selectKey, state.number, r.name)
			if len(found) > 0 || err != nil {
				return err
			}
		}
		if err := tx.deleteKey(state, r.name); err != nil {
			return err
		}
		state.Keys.add(r.checksum)
	case "holds":
		state.Holds = total{1, r.checksum}
	default:
		if err := tx.noteLogRow(state, r); err != nil {
			return err
		}
	}
	return execute(tx.writer, puts[r.table], r.columns(state)...)
}

// writeLane gives a new lane the next place, so that lanes are stored in the order of the layout.
func (tx *transaction) writeLane(state *rangeState, r row) error {
	id := uuid.MustParse(r.name)
	lane, found := state.lanes[id]
	if found {
		state.Lanes.remove(lane.checksum)
	} else {
		if len(state.lanes) == maxLanes {
			return fmt.Errorf("a range has at most %d lanes", maxLanes)
		}
		first, _ := state.places()
		lane.place = first + int64(len(state.lanes)) // a lane is never deleted alone
	}
	state.Lanes.add(r.checksum)
	state.lanes[id] = laneRow{lane.place, r.checksum}
	return execute(tx.writer, puts["lanes"], lane.place, r.name, r.checksum, r.record)
}

func (tx *transaction) deleteKey(state *rangeState, name string) error {
	return query(tx.writer, "DELETE FROM keys WHERE range = ? AND name = ? RETURNING checksum",
		func(r *sqlite.Stmt) error {
			state.Keys.remove(r.ColumnInt64(0))
			return nil
		}, state.number, name)
}

// noteLogRow notes a row that is appended to a log, or that replaces the row with its cursor: the attempt of an event.
func (tx *transaction) noteLogRow(state *rangeState, r row) (err error) {
	cursor := cursorAt(r.position)
	count, last := state.log(r.table)
	if old, found := state.unfinished[cursor]; found && r.table == "events" {
		count.remove(old)
	} else if cursor <= *last {
		text := "SELECT checksum FROM " + r.table + " WHERE range = ? AND position = ?"
		err = query(tx.writer, text, func(stored *sqlite.Stmt) error {
			count.remove(stored.ColumnInt64(0))
			return nil
		}, state.number, r.position)
	}
	switch r.table {
	case "events":
		state.noteEvent(cursor, r)
	case "ended":
		if cursor <= state.NamesTrimmed { // a refill writes the name again
			state.NamesTrimmed = max(cursor, 1) - 1
		}
	}
	*last = max(*last, cursor)
	count.add(r.checksum)
	return err
}

// log gives what the range's record has of a log: its total and its last cursor.
func (state *rangeState) log(table string) (count *total, last *uint64) {
	switch table {
	case "events":
		return &state.Events, &state.LastEvent
	case "ended":
		return &state.Ended, &state.LastEnded
	}
	return &state.Acts, &state.LastAct
}

// noteEvent keeps queue and unfinished in line with an event that is written.
func (state *rangeState) noteEvent(cursor uint64, r row) {
	wasPending := state.dequeue(cursor)
	switch {
	case r.pending:
		state.enqueue(cursor)
		state.unfinished[cursor] = r.checksum
	case wasPending: // the result of its attempt follows in another batch
		state.unfinished[cursor] = r.checksum
	default:
		delete(state.unfinished, cursor)
	}
	if len(state.unfinished) > 2*len(state.queue)+4096 { // some attempts never get a result of their own
		clear(state.unfinished)
	}
}

// puts write a row of a table, or replace the one with its key. All but that of lanes have the parameters of
// columns. INSERT OR REPLACE would delete the old row and insert the new one, and so write twice as many
// pages. A row that has vanished from the table is written again as well: the record is whole, and the
// totals, which still have the old row, are right afterwards. One that is not written again is damage to the
// next start.
var puts = map[string]string{
	"lanes": "INSERT INTO lanes (place, lane_id, checksum, record) VALUES (?, ?, ?, ?)" + orReplace,
	"keys":  "INSERT INTO keys (checksum, record, range, name) VALUES (?, ?, ?, ?)" + orReplace,
	"holds": "INSERT INTO holds (checksum, record, range) VALUES (?, ?, ?)" + orReplace,
	"events": "INSERT INTO events (checksum, record, range, position, pending) VALUES (?, ?, ?, ?, ?)" + orReplace +
		", pending = excluded.pending",
	"ended": "INSERT INTO ended (checksum, record, range, position, session_id) VALUES (?, ?, ?, ?, ?)" + orReplace +
		", session_id = excluded.session_id",
	"acts": "INSERT INTO acts (checksum, record, range, position) VALUES (?, ?, ?, ?)" + orReplace,
}

const orReplace = " ON CONFLICT DO UPDATE SET checksum = excluded.checksum, record = excluded.record"

func (r row) columns(state *rangeState) []any {
	columns := append(make([]any, 0, 5), r.checksum, r.record, state.number)
	switch r.table {
	case "keys":
		columns = append(columns, r.name)
	case "events":
		columns = append(columns, r.position, r.pending)
	case "ended":
		columns = append(columns, r.position, r.name)
	case "acts":
		columns = append(columns, r.position)
	}
	return columns
}

// trimStep is how many records of a log a flush trims at most, besides twice as many as it added: always more than come
// in.
const trimStep = 64

const names = "names" // the key of the history's names in rangeState.oldest

// trim deletes records over their term or over the cap, oldest first. A record that cannot be read has no age: it is
// deleted when it is over the cap; until then a read of it is an error.
func (tx *transaction) trim(state *rangeState, batch store.Batch, retention store.Retention) error {
	for _, log := range []struct {
		table string
		added int
		term  time.Duration
	}{
		{"events", len(batch.Events), retention.Events},
		{"ended", len(batch.Ended), retention.History},
		{"acts", len(batch.Acts), retention.History},
	} {
		count, _ := state.log(log.table)
		excess := int(count.Count) - retention.Cap
		if count.Count == 0 || excess <= 0 && state.isWithinTerm(log.table, batch.Now, log.term) {
			continue
		}
		rows, err := logRows(tx.writer, log.table, state, 0, trimStep+2*log.added)
		if err != nil {
			return err
		}
		if err := tx.trimLog(state, log.table, rows, excess,
			func(at time.Time) bool { return isExpired(at, batch.Now, log.term) }); err != nil {
			return err
		}
	}
	return tx.trimNames(state, batch, retention.Names)
}

// trimLog deletes the first rows of a log: those in excess and those that are expired, up to the first pending event.
func (tx *transaction) trimLog(
	state *rangeState, table string, rows []row, excess int, expired func(at time.Time) bool,
) error {
	count, _ := state.log(table)
	deleted := 0
	for _, r := range rows {
		if r.pending || deleted >= excess {
			at, err := timeOf(r)
			if err == nil {
				// also of a pending event: flushes need not read the log while it is within its term
				state.oldest[table] = at
			}
			if r.pending || err != nil || !expired(at) {
				break
			}
		}
		count.remove(r.checksum)
		if table == "events" {
			delete(state.unfinished, cursorAt(r.position)) // the result of its attempt may come later, and finds no row
		}
		deleted++
	}
	if deleted == 0 {
		return nil
	}
	if deleted == len(rows) { // the next record was not read
		delete(state.oldest, table)
	}
	tx.written += deleted
	last := rows[deleted-1].position
	if table == "ended" {
		if err := tx.trimExternalIDs(state, last); err != nil {
			return err
		}
	}
	return execute(tx.writer, "DELETE FROM "+table+" WHERE range = ? AND position <= ?", state.number, last)
}

// trimNames removes expired customers' names from the history. It skips a record that cannot be read.
func (tx *transaction) trimNames(state *rangeState, batch store.Batch, term time.Duration) error {
	if state.NamesTrimmed >= state.LastEnded || state.isWithinTerm(names, batch.Now, term) {
		return nil
	}
	rows, err := logRows(tx.writer, "ended", state, state.NamesTrimmed, trimStep+2*len(batch.Ended))
	if err != nil {
		return err
	}
	for _, r := range rows {
		ended, err := decode[lanes.Ended](r)
		if err == nil && !isExpired(ended.At, batch.Now, term) {
			state.oldest[names] = ended.At
			return nil
		}
		state.NamesTrimmed = cursorAt(r.position)
		if err != nil || ended.Session.Customer == "" {
			continue
		}
		ended.Session.Customer = ""
		trimmed, err := rowOf(r.key, ended)
		if err != nil {
			return err
		}
		tx.written++
		state.Ended.replace(r.checksum, trimmed.checksum)
		if err := execute(tx.writer, puts["ended"], trimmed.columns(state)...); err != nil {
			return err
		}
	}
	delete(state.oldest, names)
	return nil
}

// isWithinTerm reports whether the next record to be trimmed is known and not expired.
func (state *rangeState) isWithinTerm(log string, now time.Time, term time.Duration) bool {
	at, found := state.oldest[log]
	return found && !isExpired(at, now, term)
}

func isExpired(at, now time.Time, term time.Duration) bool { return now.Sub(at) > term }

// timeOf reads the time of a row of a log.
func timeOf(r row) (time.Time, error) {
	switch r.table {
	case "events":
		event, err := decode[lanes.Logged](r)
		return event.Event.At, err
	case "ended":
		ended, err := decode[lanes.Ended](r)
		return ended.At, err
	}
	act, err := decode[lanes.Act](r)
	return act.At, err
}
