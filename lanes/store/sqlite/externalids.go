package sqlite

import (
	"context"
	"errors"
	"math"

	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// externalIDsSchema finds the ended sessions that have an external id. The first of them makes it: a file
// without any stays as it was. Its rows have no checksum, as each follows from a record: the audit compares
// the index with the table, and the number of rows with the range's record; a read compares a row with its
// record.
var externalIDsSchema = []string{
	`CREATE TABLE external_ids (
	range       INTEGER NOT NULL,
	position    INTEGER NOT NULL, -- of the record in ended
	external_id TEXT    NOT NULL,
	PRIMARY KEY (range, position)
) WITHOUT ROWID`,
	`CREATE INDEX external_ids_by_id ON external_ids (external_id, range)`,
}

// hasExternalIDs reports whether the table exists.
func hasExternalIDs(c *sqlite.Conn) (bool, error) {
	count, err := number(c, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'external_ids'")
	return count > 0, err
}

// writeExternalIDs writes the external ids of the sessions of a batch, besides their records.
func (tx *transaction) writeExternalIDs(state *rangeState, ended []lanes.Ended) error {
	made := false
	for i := range ended {
		id := ended[i].Session.Correlation.IDOrNone()
		if id == "" {
			continue
		}
		if !made {
			if err := tx.makeExternalIDs(); err != nil {
				return err
			}
			made = true
		}
		tx.written++
		position := positionOf(ended[i].Cursor)
		replaced, err := number(tx.writer, "SELECT count(*) FROM external_ids WHERE range = ? AND position = ?",
			state.number, position)
		if err != nil {
			return err
		}
		state.ExternalIDs += 1 - replaced
		err = execute(tx.writer, "INSERT INTO external_ids (range, position, external_id) VALUES (?, ?, ?) "+
			"ON CONFLICT DO UPDATE SET external_id = excluded.external_id", state.number, position, id)
		if err != nil {
			return err
		}
	}
	return nil
}

func (tx *transaction) makeExternalIDs() error {
	exists, err := hasExternalIDs(tx.writer)
	if exists || err != nil {
		return err
	}
	for _, statement := range externalIDsSchema {
		if err := executeOnce(tx.writer, statement); err != nil {
			return err
		}
	}
	return nil
}

// trimExternalIDs deletes those of the sessions up to the position, whose records were deleted.
func (tx *transaction) trimExternalIDs(state *rangeState, position int64) error {
	if state.ExternalIDs == 0 {
		return nil
	}
	return query(tx.writer, "DELETE FROM external_ids WHERE range = ? AND position <= ? RETURNING position",
		func(*sqlite.Stmt) error {
			state.ExternalIDs--
			return nil
		}, state.number, position)
}

// auditExternalIDs compares the number of rows of every range, each with its ended session, with that in the
// range's record. It skips a range whose record cannot be read.
func auditExternalIDs(c *sqlite.Conn) error {
	exists, err := hasExternalIDs(c)
	if err != nil {
		return err
	}
	const stored = "coalesce(CASE WHEN json_valid(record) THEN record ->> '$.external_ids' END, 0)"
	text := "SELECT coalesce(sum(" + stored + "), 0) FROM ranges"
	if exists {
		text = "SELECT count(*) FROM ranges WHERE CASE WHEN json_valid(record) THEN record ->> '$.ended' IS NOT " +
			"NULL END AND " + stored +
			" <> (SELECT count(*) FROM external_ids JOIN ended USING (range, position) WHERE range = number)"
	}
	faults, err := number(c, text)
	if err == nil && faults != 0 {
		err = errors.New("not the external ids that were written last")
	}
	return err
}

// HistoryOf reads the ended sessions with the external id behind the cursor, oldest first.
func (s *Store) HistoryOf(
	ctx context.Context, of store.RangeEpoch, externalID string, after uint64, limit int,
) ([]lanes.Ended, error) {
	if limit <= 0 || after == math.MaxUint64 {
		return nil, ctx.Err()
	}
	found, err := read[lanes.Ended](ctx, s, of, func(c *sqlite.Conn, state *rangeState) ([]row, error) {
		if exists, err := hasExternalIDs(c); !exists || err != nil {
			return nil, err
		}
		return rowsOf(c, "ended", of.Range, selectByExternalID, externalID, state.number,
			positionOf(after), int64(limit))
	})
	if err != nil {
		return nil, err
	}
	for _, ended := range found {
		if ended.Session.Correlation.IDOrNone() != externalID {
			err := errors.New("damaged: it is found by another external id")
			return nil, (&rangeState{path: s.path, rangeRecord: rangeRecord{Range: of.Range}}).
				corrupt(key{table: "ended", position: positionOf(ended.Cursor)}.String(), err)
		}
	}
	return found, nil
}

const selectByExternalID = "SELECT session_id, position, 0, checksum, record FROM external_ids JOIN ended USING " +
	"(range, position) WHERE external_id = ? AND range = ? AND position > ? ORDER BY position LIMIT ?"

// checkExternalID returns why the session of a record would not be found by its external id.
func (r *Reader) checkExternalID(state *rangeState, record store.Record) error {
	ended, readable := record.Value.(lanes.Ended)
	id := ""
	if readable {
		id = ended.Session.Correlation.IDOrNone()
	}
	if id == "" {
		return nil
	}
	exists, err := hasExternalIDs(r.conn)
	if err != nil {
		return err
	}
	var found int64
	if exists {
		found, err = number(r.conn, "SELECT count(*) FROM external_ids WHERE external_id = ? AND range = "+
			"? AND position = ?",
			id, state.number, positionOf(ended.Cursor))
	}
	if err == nil && found == 0 {
		err = errors.New("it would not be found by its external id")
	}
	return err
}
