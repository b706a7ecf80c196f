package sqlite

import (
	"errors"
	"fmt"
	"strings"

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

// auditTallies compares what is there with what was counted. A range whose record cannot be read is left to Claim, which then
// says so.
func auditTallies(c *sqlite.Conn) error {
	about, err := readFileRow(c)
	if err != nil {
		return err
	}
	compare := func(what, counted, found string) error {
		return query(c, "SELECT "+counted+", "+found, func(r *sqlite.Stmt) error {
			wanted, there := tally{r.ColumnInt64(0), r.ColumnInt64(1)}, tally{r.ColumnInt64(2), r.ColumnInt64(3)}
			if wanted != there {
				return fmt.Errorf("not the %d %s that were written last, but %d", wanted.Count, what, there.Count)
			}
			return nil
		})
	}
	counted := fmt.Sprintf("%d, %d", about.ranges.Count, about.ranges.Sum)
	if err := compare("ranges", counted, "count(*), coalesce(sum(checksum), 0) FROM ranges"); err != nil {
		return err
	}
	for _, table := range []string{"lanes", "keys", "holds", "events", "ended", "acts"} {
		owner := "range"
		if table == "lanes" {
			owner = fmt.Sprintf("place >> %d", placeBits)
		}
		orphans := "count(*), 0 FROM " + table + " WHERE " + owner + " NOT IN (SELECT number FROM ranges)"
		if err := compare(table+" of no range", "0, 0", orphans); err != nil {
			return err
		}
		counted := fmt.Sprintf("record ->> '$.%s.count', record ->> '$.%[1]s.sum'", table)
		found := fmt.Sprintf("coalesce(found, 0), coalesce(sum, 0) FROM ranges LEFT JOIN "+
			"(SELECT %s AS owner, count(*) AS found, sum(checksum) AS sum FROM %s GROUP BY owner) ON owner = number "+
			"WHERE CASE WHEN json_valid(record) THEN record ->> '$.%[2]s' IS NOT NULL END", owner, table)
		if err := compare(table, counted, found); err != nil {
			return err
		}
	}
	return nil
}

// backgroundAudit is the audit of a large file while it serves, on a connection of its own. It ends before the file is let
// go of: SQLite would otherwise count its locks as those of the connections that come after.
type backgroundAudit struct {
	end   chan struct{}
	ended chan struct{}
}

func (f *file) endAudit() {
	if f.audit != nil {
		close(f.audit.end)
		<-f.audit.ended
	}
}

// auditInBackground begins it, if the file is too large for the audit to come first.
func (s *Store) auditInBackground() {
	if s.file.opened.Size() <= auditAtOnce {
		return
	}
	running := &backgroundAudit{make(chan struct{}), make(chan struct{})}
	s.file.audit = running
	go func() {
		defer close(running.ended)
		c, err := connect(s.path, sqlite.OpenReadOnly)
		if err == nil {
			c.SetInterrupt(running.end)
			err = errors.Join(audit(c), c.Close())
		}
		select {
		case <-running.end:
		default:
			if err != nil {
				s.problem(fmt.Errorf("the audit in the background: %w", err))
			}
		}
	}()
}
