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
	return row{k, k.checksum(string(record)), string(record)}, nil
}

// decode reads a row that rowOf made.
func decode[T any](r row) (T, error) {
	if r.key.checksum(r.record) != r.checksum {
		var none T
		return none, errors.New("damaged: it is not what was written")
	}
	return store.Decode[T]([]byte(r.record))
}

// total is the number of records and the sum of their checksums. A missing record, or an older one in its place, changes
// it.
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
