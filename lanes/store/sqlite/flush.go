package sqlite

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes/store"
)

// Flush writes the batch. Its records are encoded in the goroutine of whoever flushes, and not in the transaction.
func (s *Store) Flush(ctx context.Context, batch store.Batch) error {
	encoded, err := recordsOf(batch)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	s.claims.drop(batch.Range)
	return s.submit(ctx, func(tx *transaction) (verdict, failure error) { return tx.flush(batch, encoded, s.retention) })
}

// Restore writes a whole range that the file does not have, all of it or nothing, and trims nothing of it: ErrExists.
func (s *Store) Restore(ctx context.Context, whole store.Batch) error {
	encoded, err := recordsOf(whole)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	}
	return s.submit(ctx, func(tx *transaction) (verdict, failure error) {
		found, err := tx.rangeOf(whole.Range)
		if err != nil {
			return nil, err
		}
		if found != nil {
			return fmt.Errorf("store %s: %w: %s", s.path, store.ErrExists, whole.Range), nil
		}
		state, err := tx.makeRange(whole.Range)
		if err != nil {
			return nil, err
		}
		state.Epoch, state.N = whole.Epoch, whole.N
		if err := tx.write(state, whole, encoded); err != nil {
			return nil, err
		}
		return nil, tx.save(state)
	})
}

// records are a batch's rows.
type records struct {
	lanes, keys, events, ended, acts []row
	holds                            *row
}

func recordsOf(batch store.Batch) (r records, err error) {
	add := func(to *[]row, k key, v any) {
		k.rangeID = batch.Range
		if k.position == positionOf(0) && err == nil {
			err = fmt.Errorf("%s: cursors begin at 1", k)
		}
		made, failed := rowOf(k, v)
		if failed != nil && err == nil {
			err = failed
		}
		*to = append(*to, made)
	}
	r.lanes, r.events = make([]row, 0, len(batch.Lanes)), make([]row, 0, len(batch.Events))
	for i := range batch.Lanes {
		add(&r.lanes, key{table: "lanes", name: batch.Lanes[i].ID.String()}, batch.Lanes[i])
	}
	for i := range batch.Keys {
		add(&r.keys, key{table: "keys", name: batch.Keys[i].Name}, batch.Keys[i])
	}
	for i := range batch.Events {
		event := &batch.Events[i]
		add(&r.events, key{table: "events", position: positionOf(event.Cursor), pending: event.Attempt == nil}, event)
	}
	for i := range batch.Ended {
		ended := &batch.Ended[i]
		add(&r.ended, endedKey(ended.Cursor, ended.Session.ID.String()), ended)
	}
	for i := range batch.Acts {
		add(&r.acts, key{table: "acts", position: positionOf(batch.Acts[i].Cursor)}, batch.Acts[i])
	}
	if batch.Holds != nil {
		var holds []row
		add(&holds, key{table: "holds"}, *batch.Holds)
		r.holds = &holds[0]
	}
	if batch.Checkpoint != nil && err == nil { // it is part of the range's record, which is encoded in the transaction
		_, err = store.Encode(*batch.Checkpoint)
	}
	return r, err
}

func endedKey(cursor uint64, session string) key {
	return key{table: "ended", position: positionOf(cursor), name: session}
}

// fence compares the stored pair with the batch's. repeat: it was committed already, if only because later ones were.
func fence(stored rangeRecord, batch store.Batch) (repeat bool, err error) {
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

// flush writes one batch in the transaction. A verdict against it leaves no trace.
func (tx *transaction) flush(batch store.Batch, encoded records, keep store.Retention) (verdict, failure error) {
	state, err := tx.rangeOf(batch.Range)
	if err != nil {
		return refusal(err)
	}
	var stored rangeRecord
	if state != nil {
		stored = state.rangeRecord
	}
	if repeat, err := fence(stored, batch); repeat || err != nil {
		return err, nil
	}
	if state == nil {
		if state, err = tx.makeRange(batch.Range); err != nil {
			return nil, err
		}
	}
	state.Epoch, state.N = batch.Epoch, batch.N
	if err := tx.write(state, batch, encoded); err != nil {
		return nil, err
	}
	if err := tx.trim(state, batch, keep); err != nil {
		return nil, err
	}
	return nil, tx.save(state)
}

// refusal is a verdict for a range that cannot be read. A disk that cannot be read is everybody's failure.
func refusal(err error) (verdict, failure error) {
	if onDisk(err) {
		return nil, err
	}
	return fmt.Errorf("%w: %w", store.ErrRefused, err), nil
}

func (tx *transaction) write(state *rangeState, batch store.Batch, encoded records) error {
	if batch.Refill { // it has every lane and every key
		if err := tx.empty(state); err != nil {
			return err
		}
	}
	if batch.Checkpoint != nil {
		state.Checkpoint = batch.Checkpoint
	}
	for i := range encoded.lanes {
		if err := tx.writeLane(state, batch.Lanes[i].ID, encoded.lanes[i]); err != nil {
			return err
		}
	}
	if err := tx.writeKeys(state, encoded.keys, batch.Forget); err != nil {
		return err
	}
	if encoded.holds != nil {
		if err := tx.writeHolds(state, *encoded.holds); err != nil {
			return err
		}
	}
	for i := range encoded.events {
		if err := tx.writeEvent(state, batch.Events[i].Cursor, encoded.events[i]); err != nil {
			return err
		}
	}
	for i := range encoded.ended {
		if err := tx.writeEnded(state, batch.Ended[i].Cursor, encoded.ended[i]); err != nil {
			return err
		}
	}
	for i := range encoded.acts {
		if err := tx.writeAct(state, batch.Acts[i].Cursor, encoded.acts[i]); err != nil {
			return err
		}
	}
	state.LastEvent = max(state.LastEvent, batch.LastEvent)
	state.LastEnded = max(state.LastEnded, batch.LastEnded)
	state.LastAct = max(state.LastAct, batch.LastAct)
	return nil
}

// empty takes away all lanes and keys.
func (tx *transaction) empty(state *rangeState) error {
	first, last := state.places()
	if err := execute(tx.writer, "DELETE FROM lanes WHERE place BETWEEN ? AND ?", first, last); err != nil {
		return err
	}
	if err := execute(tx.writer, "DELETE FROM keys WHERE range = ?", state.number); err != nil {
		return err
	}
	clear(state.lanes)
	state.Lanes, state.Keys = tally{}, tally{}
	return nil
}

// writeLane gives a lane that is new the next place, so that lanes lie as they came: in the order of the layout.
func (tx *transaction) writeLane(state *rangeState, id uuid.UUID, r row) error {
	tx.written++
	was, found := state.lanes[id]
	if found {
		state.Lanes.replace(was.checksum, r.checksum)
		state.lanes[id] = laneRow{was.place, r.checksum}
		return tx.updateOne("UPDATE lanes SET checksum = ?, record = ? WHERE place = ?", r.checksum, r.record, was.place)
	}
	if len(state.lanes) == maxLanes {
		return fmt.Errorf("a range has at most %d lanes", maxLanes)
	}
	first, _ := state.places()
	place := first + int64(len(state.lanes)) // none is ever deleted alone
	state.Lanes.add(r.checksum)
	state.lanes[id] = laneRow{place, r.checksum}
	return execute(tx.writer, "INSERT INTO lanes (place, lane_id, checksum, record) VALUES (?, ?, ?, ?)", place, r.name, r.checksum, r.record)
}

func (tx *transaction) writeKeys(state *rangeState, keys []row, forget []string) error {
	for _, r := range keys {
		tx.written++
		const insert = "INSERT OR IGNORE INTO keys (range, name, checksum, record) VALUES (?, ?, ?, ?)"
		if err := execute(tx.writer, insert, state.number, r.name, r.checksum, r.record); err != nil {
			return err
		}
		if tx.writer.Changes() == 1 {
			state.Keys.add(r.checksum)
			continue
		}
		was, err := number(tx.writer, "SELECT checksum FROM keys WHERE range = ? AND name = ?", state.number, r.name)
		if err != nil {
			return err
		}
		state.Keys.replace(was, r.checksum)
		const update = "UPDATE keys SET checksum = ?, record = ? WHERE range = ? AND name = ?"
		if err := execute(tx.writer, update, r.checksum, r.record, state.number, r.name); err != nil {
			return err
		}
	}
	for _, name := range forget {
		tx.written++
		err := query(tx.writer, "DELETE FROM keys WHERE range = ? AND name = ? RETURNING checksum", func(r *sqlite.Stmt) error {
			state.Keys.remove(r.ColumnInt64(0))
			return nil
		}, state.number, name)
		if err != nil {
			return err
		}
	}
	return nil
}

func (tx *transaction) writeHolds(state *rangeState, r row) error {
	tx.written++
	state.Holds = tally{1, r.checksum}
	return execute(tx.writer, "INSERT OR REPLACE INTO holds (range, checksum, record) VALUES (?, ?, ?)", state.number, r.checksum, r.record)
}

// writeEvent appends an event, or writes over one that is there: its attempt.
func (tx *transaction) writeEvent(state *rangeState, cursor uint64, r row) (err error) {
	was, found := state.unfinished[cursor]
	if !found {
		if was, found, err = tx.stored(state, state.LastEvent, cursor, r); err != nil {
			return err
		}
	}
	wasPending := state.dequeue(cursor)
	switch {
	case r.pending:
		state.enqueue(cursor)
		state.unfinished[cursor] = r.checksum
	case wasPending: // the outcome of its attempt is to come
		state.unfinished[cursor] = r.checksum
	default:
		delete(state.unfinished, cursor)
	}
	if len(state.unfinished) > 2*len(state.queue)+4096 { // some attempts never had an outcome of their own
		clear(state.unfinished)
	}
	return tx.writeRow(state, &state.Events, &state.LastEvent, cursor, was, found, r)
}

func (tx *transaction) writeEnded(state *rangeState, cursor uint64, r row) error {
	was, found, err := tx.stored(state, state.LastEnded, cursor, r)
	if err != nil {
		return err
	}
	state.forgetOldest(names, cursor)
	if cursor <= state.Nameless { // a refill brings a name back
		state.Nameless = max(cursor, 1) - 1
	}
	return tx.writeRow(state, &state.Ended, &state.LastEnded, cursor, was, found, r)
}

func (tx *transaction) writeAct(state *rangeState, cursor uint64, r row) error {
	was, found, err := tx.stored(state, state.LastAct, cursor, r)
	if err != nil {
		return err
	}
	return tx.writeRow(state, &state.Acts, &state.LastAct, cursor, was, found, r)
}

// insertRow and updateRow write a row of a log. Their arguments are the same, in the same order.
var (
	insertRow = map[string]string{
		"events": "INSERT INTO events (checksum, record, pending, range, position) VALUES (?, ?, ?, ?, ?)",
		"ended":  "INSERT INTO ended (checksum, record, session_id, range, position) VALUES (?, ?, ?, ?, ?)",
		"acts":   "INSERT INTO acts (checksum, record, range, position) VALUES (?, ?, ?, ?)",
	}
	updateRow = map[string]string{
		"events": "UPDATE events SET checksum = ?, record = ?, pending = ? WHERE range = ? AND position = ?",
		"ended":  "UPDATE ended SET checksum = ?, record = ?, session_id = ? WHERE range = ? AND position = ?",
		"acts":   "UPDATE acts SET checksum = ?, record = ? WHERE range = ? AND position = ?",
	}
)

// writeRow appends a row to a log, or, where one was found under its cursor, writes over that. It keeps the log's count and its
// last cursor.
func (tx *transaction) writeRow(state *rangeState, count *tally, last *uint64, cursor uint64, was int64, found bool, r row) error {
	*last = max(*last, cursor)
	state.forgetOldest(r.table, cursor)
	tx.written++
	args := append(make([]any, 0, 5), r.checksum, r.record)
	switch r.table {
	case "events":
		args = append(args, r.pending)
	case "ended":
		args = append(args, r.name)
	}
	args = append(args, state.number, r.position)
	if found {
		count.replace(was, r.checksum)
		return tx.updateOne(updateRow[r.table], args...)
	}
	count.add(r.checksum)
	return execute(tx.writer, insertRow[r.table], args...)
}

// stored is the checksum of the row that this one takes the place of. Behind the last cursor of a log there is none.
func (tx *transaction) stored(state *rangeState, last, cursor uint64, r row) (checksum int64, found bool, err error) {
	if cursor > last {
		return 0, false, nil
	}
	err = query(tx.writer, "SELECT checksum FROM "+r.table+" WHERE range = ? AND position = ?", func(at *sqlite.Stmt) error {
		checksum, found = at.ColumnInt64(0), true
		return nil
	}, state.number, r.position)
	return checksum, found, err
}

// updateOne changes exactly one row: were it none, what is counted would differ from what is there.
func (tx *transaction) updateOne(update string, args ...any) error {
	if err := execute(tx.writer, update, args...); err != nil {
		return err
	}
	if changed := tx.writer.Changes(); changed != 1 {
		return fmt.Errorf("%d rows and not one are changed by %s", changed, update)
	}
	return nil
}
