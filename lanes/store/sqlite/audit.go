package sqlite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
)

// auditAtOnce is how large a file is audited before it is used. A larger one is audited while it serves: what of it
// brings a range back is read and compared in Claim anyway.
const auditAtOnce = 64 << 20

// audit looks for the damage that reading a record would not notice: pages that are gone or are older ones, records that
// are gone, entries that a lookup would miss. The records themselves are left to whoever reads them, so that one damaged
// entry of a log does not keep the whole store from opening.
func audit(c *sqlite.Conn) error {
	return inTransaction(c, func() error {
		var faults []string
		err := query(c, "PRAGMA integrity_check(4)", func(r *sqlite.Stmt) error {
			if found := r.ColumnText(0); found != "ok" {
				faults = append(faults, found)
			}
			return nil
		})
		if err != nil {
			return damaged(err)
		}
		if len(faults) > 0 {
			return fmt.Errorf("the file is damaged: %s", strings.Join(faults, "; "))
		}
		if err := auditTallies(c); err != nil {
			return fmt.Errorf("the file is damaged: %w", err)
		}
		return nil
	})
}

// auditTallies compares what is there with what was counted.
func auditTallies(c *sqlite.Conn) error {
	about, err := readFileRow(c)
	if err != nil {
		return err
	}
	counted, ranges, err := countedTallies(c)
	if err != nil {
		return err
	}
	if about.ranges != ranges {
		return fmt.Errorf("not the %d ranges that were written last, but %d", about.ranges.Count, ranges.Count)
	}
	for _, table := range []string{"lanes", "keys", "holds", "events", "ended", "acts"} {
		of := "range"
		if table == "lanes" {
			of = fmt.Sprintf("place >> %d", placeBits)
		}
		err := query(c, fmt.Sprintf("SELECT %s AS owner, count(*), sum(checksum) FROM %s GROUP BY owner", of, table), func(r *sqlite.Stmt) error {
			number, found := r.ColumnInt64(0), tally{r.ColumnInt64(1), r.ColumnInt64(2)}
			wanted := counted[number]
			if wanted == nil {
				return fmt.Errorf("%d %s belong to no range", found.Count, table)
			}
			if wanted[table] != found && !wanted.unreadable() {
				return fmt.Errorf("not the %d %s of range number %d that were written, but %d", wanted[table].Count, table, number, found.Count)
			}
			delete(wanted, table)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for number, wanted := range counted {
		for table, missing := range wanted {
			if missing != (tally{}) && !wanted.unreadable() {
				return fmt.Errorf("the %d %s of range number %d are gone", missing.Count, table, number)
			}
		}
	}
	return nil
}

// tallies are those of a range, by table. Of a range whose record cannot be read they are not known: it is left to Claim,
// which then says so.
type tallies map[string]tally

const unreadable = "record that cannot be read"

func (t tallies) unreadable() bool { return t[unreadable] != tally{} }

// countedTallies are what the ranges' records say, by number, and the tally of these records.
func countedTallies(c *sqlite.Conn) (counted map[int64]tallies, ranges tally, err error) {
	counted = map[int64]tallies{}
	err = query(c, "SELECT number, checksum, record, range_id FROM ranges", func(r *sqlite.Stmt) error {
		id, err := uuid.Parse(r.ColumnText(3))
		if err != nil {
			return errors.New("a range's id is none")
		}
		own := rowAt(key{table: "ranges", rangeID: id}, r, 1)
		ranges.add(own.checksum)
		record, err := decode[rangeRecord](own)
		if err != nil {
			counted[r.ColumnInt64(0)] = tallies{unreadable: {Count: 1}}
			return nil
		}
		counted[r.ColumnInt64(0)] = tallies{
			"lanes": record.Lanes, "keys": record.Keys, "holds": record.Holds,
			"events": record.Events, "ended": record.Ended, "acts": record.Acts,
		}
		return nil
	})
	return counted, ranges, err
}

// auditInBackground audits a large file while it serves, on a connection of its own, and ends early with the store.
func (s *Store) auditInBackground() {
	c, err := connect(s.path, sqlite.OpenReadOnly)
	if err == nil {
		c.SetInterrupt(s.closing)
		err = errors.Join(audit(c), c.Close())
	}
	select {
	case <-s.closing:
	default:
		if err != nil {
			s.problem(fmt.Errorf("the audit in the background: %w", err))
		}
	}
}
