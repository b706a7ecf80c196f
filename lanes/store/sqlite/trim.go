package sqlite

import (
	"time"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// trimStep is how many records of a table a flush trims at most, beyond twice what it added: a little at a time, and
// always more than comes in.
const trimStep = 64

const names = "names" // what the history is trimmed of before its sessions, in rangeState.oldest

// trim takes away what is past its term or beyond the cap, oldest first. A record that cannot be read has no age and
// waits until it is beyond the cap; whoever reads it is told.
func (tx *transaction) trim(state *rangeState, batch store.Batch, keep store.Retention) error {
	for _, log := range []struct {
		table string
		count *tally
		added int
		term  time.Duration
		at    func(row) (time.Time, error)
	}{
		{"events", &state.Events, len(batch.Events), keep.Events, timeOfEvent},
		{"ended", &state.Ended, len(batch.Ended), keep.History, timeOfEnded},
		{"acts", &state.Acts, len(batch.Acts), keep.History, timeOfAct},
	} {
		excess := int(log.count.Count) - keep.Cap
		if log.count.Count == 0 || excess <= 0 && state.withinTerm(log.table, batch.Now, log.term) {
			continue
		}
		old, err := logRows(tx.writer, log.table, state, 0, trimStep+2*log.added)
		if err != nil {
			return err
		}
		if err := tx.trimLog(state, log.count, old, excess, func(r row) bool {
			at, err := log.at(r)
			if err == nil {
				state.oldest[r.table] = oldest{cursorAt(r.position), at}
			}
			return err == nil && expired(at, batch.Now, log.term)
		}); err != nil {
			return err
		}
	}
	return tx.trimNames(state, batch, keep.Names)
}

// trimLog deletes the first of the old rows: as many as are in excess, or over their term, and no pending event.
func (tx *transaction) trimLog(state *rangeState, count *tally, old []row, excess int, expired func(row) bool) error {
	deleted := 0
	for i, r := range old {
		if r.pending || (i >= excess && !expired(r)) {
			break
		}
		count.remove(r.checksum)
		if r.table == "events" {
			delete(state.unfinished, cursorAt(r.position)) // the outcome of its attempt, if it is to come, finds no row
		}
		deleted++
	}
	if deleted == 0 {
		return nil
	}
	last := old[deleted-1]
	if deleted == len(old) { // what comes next is not known
		delete(state.oldest, last.table)
	}
	tx.written += deleted
	return execute(tx.writer, "DELETE FROM "+last.table+" WHERE range = ? AND position <= ?", state.number, last.position)
}

// trimNames empties the customers' names in the history. A record that cannot be read is passed over.
func (tx *transaction) trimNames(state *rangeState, batch store.Batch, term time.Duration) error {
	if state.Nameless >= state.LastEnded || state.withinTerm(names, batch.Now, term) {
		return nil
	}
	rows, err := logRows(tx.writer, "ended", state, state.Nameless, trimStep+2*len(batch.Ended))
	if err != nil {
		return err
	}
	for _, r := range rows {
		cursor := cursorAt(r.position)
		ended, err := decode[lanes.Ended](r)
		if err == nil && !expired(ended.At, batch.Now, term) {
			state.oldest[names] = oldest{cursor, ended.At}
			return nil
		}
		state.Nameless = cursor
		if err != nil || ended.Session.Customer == "" {
			continue
		}
		ended.Session.Customer = ""
		nameless, err := rowOf(r.key, ended)
		if err != nil {
			return err
		}
		if err := tx.writeRow(state, &state.Ended, &state.LastEnded, cursor, r.checksum, true, nameless); err != nil {
			return err
		}
	}
	delete(state.oldest, names)
	return nil
}

// withinTerm tells whether the next record to be trimmed is known, and its term is not over.
func (state *rangeState) withinTerm(what string, now time.Time, term time.Duration) bool {
	next, known := state.oldest[what]
	return known && !expired(next.at, now, term)
}

// forgetOldest forgets what was known of the oldest record when this one is not behind it.
func (state *rangeState) forgetOldest(what string, cursor uint64) {
	if next, known := state.oldest[what]; known && cursor <= next.cursor {
		delete(state.oldest, what)
	}
}

func expired(at, now time.Time, term time.Duration) bool { return now.Sub(at) > term }

func timeOfEvent(r row) (time.Time, error) {
	event, err := decode[lanes.Logged](r)
	return event.Event.At, err
}

func timeOfEnded(r row) (time.Time, error) {
	ended, err := decode[lanes.Ended](r)
	return ended.At, err
}

func timeOfAct(r row) (time.Time, error) {
	act, err := decode[lanes.Act](r)
	return act.At, err
}
