package sqlite

import (
	"time"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

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
		if err := tx.trimLog(state, log.table, rows, excess, func(at time.Time) bool { return isExpired(at, batch.Now, log.term) }); err != nil {
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
		if r.pending {
			break
		}
		if deleted >= excess {
			at, err := timeOf(r)
			if err == nil {
				state.oldest[table] = oldest{cursorAt(r.position), at}
			}
			if err != nil || !expired(at) {
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
	return execute(tx.writer, "DELETE FROM "+table+" WHERE range = ? AND position <= ?", state.number, rows[deleted-1].position)
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
		cursor := cursorAt(r.position)
		ended, err := decode[lanes.Ended](r)
		if err == nil && !isExpired(ended.At, batch.Now, term) {
			state.oldest[names] = oldest{cursor, ended.At}
			return nil
		}
		state.NamesTrimmed = cursor
		if err != nil || ended.Session.Customer == "" {
			continue
		}
		ended.Session.Customer = ""
		trimmed, err := rowOf(r.key, ended)
		if err != nil {
			return err
		}
		tx.written++
		if err := tx.replaceLogRow(state, trimmed, r.checksum); err != nil {
			return err
		}
	}
	delete(state.oldest, names)
	return nil
}

// isWithinTerm reports whether the next record to be trimmed is known and not expired.
func (state *rangeState) isWithinTerm(log string, now time.Time, term time.Duration) bool {
	next, found := state.oldest[log]
	return found && !isExpired(next.at, now, term)
}

// forgetOldest drops the oldest record of a log from memory when a record at or before it is written.
func (state *rangeState) forgetOldest(log string, cursor uint64) {
	if next, found := state.oldest[log]; found && cursor <= next.cursor {
		delete(state.oldest, log)
	}
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
