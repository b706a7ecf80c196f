package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"rangegate/lanes/store"
)

const (
	applicationID = 0x72676174 // "rgat": marks a store of rangegate
	schemaVersion = 1          // user_version
)

// schema makes the tables, whose records are the versioned JSON of package store, and the views that show the fields of
// the records. (Computed columns in the tables would be computed at every write.)
//
// A cursor is stored as position = cursor - 2^63: SQLite's integers are signed, and positions sort as cursors do.
// Checksums come before their records: adding them up reads no overflow pages.
const schema = `
CREATE TABLE file (
	id         TEXT    NOT NULL, -- of this file; a backup gets one of its own
	generation INTEGER NOT NULL, -- raised by the first commit after each complete checkpoint
	ranges     INTEGER NOT NULL, -- number of ranges
	sum        INTEGER NOT NULL, -- of their checksums
	checksum   INTEGER NOT NULL  -- of all this
);
CREATE TABLE ranges (
	number     INTEGER PRIMARY KEY,
	range_id   TEXT    NOT NULL UNIQUE,
	checksum   INTEGER NOT NULL,
	record     TEXT    NOT NULL
);
CREATE TABLE lanes (
	place      INTEGER PRIMARY KEY, -- range number * 2^24 + number in the range
	lane_id    TEXT    NOT NULL,
	checksum   INTEGER NOT NULL,
	record     TEXT    NOT NULL
);
CREATE TABLE keys (
	range      INTEGER NOT NULL,
	name       TEXT    NOT NULL,
	checksum   INTEGER NOT NULL,
	record     TEXT    NOT NULL,
	PRIMARY KEY (range, name)
) WITHOUT ROWID;
CREATE TABLE holds (
	range      INTEGER PRIMARY KEY,
	checksum   INTEGER NOT NULL,
	record     TEXT    NOT NULL
);
CREATE TABLE events (
	range      INTEGER NOT NULL,
	position   INTEGER NOT NULL,
	pending    INTEGER NOT NULL, -- 1: no attempt has begun
	checksum   INTEGER NOT NULL,
	record     TEXT    NOT NULL,
	PRIMARY KEY (range, position)
) WITHOUT ROWID;
CREATE TABLE ended (
	range      INTEGER NOT NULL,
	position   INTEGER NOT NULL,
	session_id TEXT    NOT NULL,
	checksum   INTEGER NOT NULL,
	record     TEXT    NOT NULL,
	PRIMARY KEY (range, position)
) WITHOUT ROWID;
CREATE INDEX ended_by_session ON ended (session_id, range);
CREATE TABLE acts (
	range      INTEGER NOT NULL,
	position   INTEGER NOT NULL,
	checksum   INTEGER NOT NULL,
	record     TEXT    NOT NULL,
	PRIMARY KEY (range, position)
) WITHOUT ROWID;

CREATE VIEW range_view AS SELECT range_id, number,
	record ->> '$.epoch' AS epoch, record ->> '$.n' AS n, record ->> '$.checkpoint.at.wall' AS checkpoint_at,
	record ->> '$.pending' AS pending_events, record
	FROM ranges;
CREATE VIEW lane_view AS SELECT range_id, lane_id,
	lanes.record ->> '$.session.session_id' AS session_id, lanes.record ->> '$.session.phase' AS phase,
	lanes.record ->> '$.session.left_ns' / 60e9 AS minutes_left, lanes.record ->> '$.session.since.wall' AS since,
	lanes.record ->> '$.held' AS held, lanes.record
	FROM lanes JOIN ranges ON number = place >> 24;
CREATE VIEW event_view AS SELECT range_id, position + 9223372036854775807 + 1 AS cursor,
	events.record ->> '$.event.event' AS kind, events.record ->> '$.event.session_id' AS session_id,
	events.record ->> '$.event.lane_id' AS lane_id, events.record ->> '$.event.at' AS at, pending,
	events.record ->> '$.attempt.at' AS attempt_at, events.record ->> '$.attempt.status' AS status,
	events.record ->> '$.attempt.error' AS error, events.record
	FROM events JOIN ranges ON number = range;
CREATE VIEW ended_view AS SELECT range_id, position + 9223372036854775807 + 1 AS cursor, session_id,
	ended.record ->> '$.lane_id' AS lane_id, ended.record ->> '$.ended_at' AS at, ended.record ->> '$.end_reason' AS reason,
	ended.record ->> '$.used_ns' / 60e9 AS minutes_used, ended.record
	FROM ended JOIN ranges ON number = range;
CREATE VIEW act_view AS SELECT range_id, position + 9223372036854775807 + 1 AS cursor,
	acts.record ->> '$.at' AS at, acts.record ->> '$.who' AS who, acts.record ->> '$.what' AS what,
	acts.record ->> '$.lane_id' AS lane_id, acts.record ->> '$.session_id' AS session_id, acts.record
	FROM acts JOIN ranges ON number = range;
`

const (
	placeBits = 24 // of a lane's place, for its number in the range
	maxLanes  = 1 << placeBits
)

// positionOf maps cursors to SQLite's signed integers in their order; cursorAt is its inverse.
func positionOf(cursor uint64) int64 { return int64(cursor ^ 1<<63) }
func cursorAt(position int64) uint64 { return uint64(position) ^ 1<<63 }

// makeSchema fills an empty database.
func makeSchema(c *sqlite.Conn, id string) error {
	script := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; %s", applicationID,
		schemaVersion, schema)
	if err := sqlitex.ExecuteScript(c, script, nil); err != nil {
		return err
	}
	if err := execute(c, "INSERT INTO file VALUES ('', 0, 0, 0, 0)"); err != nil {
		return err
	}
	return writeFileRow(c, fileRow{id: id})
}

// fileRow is the row of the table file.
type fileRow struct {
	id         string
	generation int64
	ranges     total
}

// readFileRow reads the row of the table file, and refuses a file that this release cannot use.
func readFileRow(c *sqlite.Conn) (row fileRow, err error) {
	application, err := number(c, "PRAGMA application_id")
	if err != nil {
		return row, asDamage(err)
	}
	version, err := number(c, "PRAGMA user_version")
	switch {
	case err != nil:
		return row, asDamage(err)
	case application != applicationID:
		return row, errors.New("this is no store of rangegate")
	case version > schemaVersion:
		return row, fmt.Errorf("%w: its schema is %d, this gateway knows up to %d", store.ErrNewer,
			version, schemaVersion)
	case version < 1:
		return row, fmt.Errorf("the file is damaged: its schema version is %d", version)
	}
	valid := 0
	err = query(c, "SELECT id, generation, ranges, sum, checksum FROM file", func(r *sqlite.Stmt) error {
		row = fileRow{r.ColumnText(0), r.ColumnInt64(1), total{Count: r.ColumnInt64(2), Sum: r.ColumnInt64(3)}}
		if r.ColumnInt64(4) == row.checksum() {
			valid++
		}
		return nil
	})
	if err == nil && valid != 1 {
		err = errors.New("the table file is not what was written")
	}
	if err != nil {
		err = fmt.Errorf("the file is damaged: %w", err)
	}
	return row, err
}

func (row fileRow) checksum() int64 {
	return key{table: "file"}.checksum(fmt.Sprint(row.id, " ", row.generation, " ", row.ranges.Count, " ",
		row.ranges.Sum))
}

func writeFileRow(c *sqlite.Conn, row fileRow) error {
	return execute(c, "UPDATE file SET id = ?, generation = ?, ranges = ?, sum = ?, checksum = ?",
		row.id, row.generation, row.ranges.Count, row.ranges.Sum, row.checksum())
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// key is what a record is stored under. The checksum covers it, so a record under another key is damage.
type key struct {
	table    string
	rangeID  uuid.UUID
	name     string // a lane's id, the name of an idempotency key, or an ended session's id; otherwise empty
	position int64  // in a log
	pending  bool   // of events
}

// row is a record as it is stored.
type row struct {
	key
	checksum int64
	record   string
	ifAbsent bool // it does not replace one with its key
}

func (k key) checksum(record string) int64 {
	var fixed [25]byte
	copy(fixed[:16], k.rangeID[:])
	binary.BigEndian.PutUint64(fixed[16:], uint64(k.position))
	if k.pending {
		fixed[24] = 1
	}
	sum := crc32.Checksum(fixed[:], castagnoli)
	for _, text := range []string{k.table, k.name, record} {
		sum = crc32.Update(sum, castagnoli, []byte(text))
	}
	return int64(sum)
}

// String names the record for people.
func (k key) String() string {
	switch k.table {
	case "lanes":
		return "lane " + k.name
	case "keys":
		return fmt.Sprintf("idempotency key %q", k.name)
	case "events":
		return fmt.Sprint("event ", cursorAt(k.position))
	case "ended":
		return fmt.Sprint("ended session ", cursorAt(k.position))
	case "acts":
		return fmt.Sprint("act ", cursorAt(k.position))
	}
	return k.table
}

// rowOf encodes a value as the row of a key.
func rowOf(k key, v any) (row, error) {
	record, err := store.Encode(v)
	if err != nil {
		return row{}, err
	}
	return row{key: k, checksum: k.checksum(string(record)), record: string(record)}, nil
}

// decode reads a row that rowOf made.
func decode[T any](r row) (T, error) {
	if r.key.checksum(r.record) != r.checksum {
		var none T
		return none, errors.New("damaged: it is not what was written")
	}
	return store.Decode[T]([]byte(r.record))
}

// total is the number of records and the sum of their checksums. A missing record, or an older one in its
// place, changes it.
type total struct {
	Count int64 `json:"count"`
	Sum   int64 `json:"sum"`
}

func (t *total) add(checksum int64)          { *t = total{t.Count + 1, t.Sum + checksum} }
func (t *total) remove(checksum int64)       { *t = total{t.Count - 1, t.Sum - checksum} }
func (t *total) replace(old, checksum int64) { t.Sum += checksum - old }

// execute runs one statement, which the connection keeps prepared.
func execute(c *sqlite.Conn, text string, args ...any) error {
	return query(c, text, func(*sqlite.Stmt) error { return nil }, args...)
}

// executeOnce runs one statement that is not kept.
func executeOnce(c *sqlite.Conn, text string) error { return sqlitex.ExecuteTransient(c, text, nil) }

// query runs one statement and visits its rows; an error of visit ends it. Arguments are int64, string or bool.
func query(c *sqlite.Conn, text string, visit func(row *sqlite.Stmt) error, args ...any) (err error) {
	statement, err := c.Prepare(text)
	if err != nil {
		return err
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			statement.BindInt64(i+1, v)
		case string:
			statement.BindText(i+1, v)
		case bool:
			statement.BindBool(i+1, v)
		default:
			panic(fmt.Sprintf("a %T is bound to a statement", arg))
		}
	}
	for {
		hasRow, err := statement.Step()
		if err != nil {
			return err
		}
		if !hasRow {
			return statement.Reset()
		}
		if err := visit(statement); err != nil {
			return errors.Join(err, statement.Reset())
		}
	}
}

// number returns the one integer of a statement's result.
func number(c *sqlite.Conn, text string, args ...any) (n int64, err error) {
	err = query(c, text, func(row *sqlite.Stmt) error {
		n = row.ColumnInt64(0)
		return nil
	}, args...)
	return n, err
}

// inTransaction reads in one transaction. The writer commits in transact.
func inTransaction(c *sqlite.Conn, read func() error) error {
	if err := execute(c, "BEGIN"); err != nil {
		return err
	}
	if err := read(); err != nil {
		return errors.Join(err, execute(c, "ROLLBACK"))
	}
	return execute(c, "COMMIT")
}
