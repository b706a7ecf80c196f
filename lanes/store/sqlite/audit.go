package sqlite

import (
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
)

// auditAtOnce is the size up to which a file is audited before it is used. A larger one is audited in the background:
// Claim compares what it reads of a range with the totals anyway.
const auditAtOnce = 64 << 20

// audit finds damage that reading a record would not: missing or older pages, missing records, entries that a lookup would
// miss. It does not decode records: a damaged entry of a log does not keep the store from opening.
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
			return asDamage(err)
		}
		if len(faults) > 0 {
			return fmt.Errorf("the file is damaged: %s", strings.Join(faults, "; "))
		}
		if err := auditTotals(c); err != nil {
			return fmt.Errorf("the file is damaged: %w", err)
		}
		return nil
	})
}

// auditTotals compares the tables with the totals. It skips a range whose record cannot be read: Claim returns that error.
func auditTotals(c *sqlite.Conn) error {
	row, err := readFileRow(c)
	if err != nil {
		return err
	}
	compare := func(records, stored, found string) error {
		return query(c, "SELECT "+stored+", "+found, func(r *sqlite.Stmt) error {
			want, got := total{r.ColumnInt64(0), r.ColumnInt64(1)}, total{r.ColumnInt64(2), r.ColumnInt64(3)}
			if want != got {
				return fmt.Errorf("not the %d %s that were written last, but %d", want.Count, records, got.Count)
			}
			return nil
		})
	}
	stored := fmt.Sprintf("%d, %d", row.ranges.Count, row.ranges.Sum)
	if err := compare("ranges", stored, "count(*), coalesce(sum(checksum), 0) FROM ranges"); err != nil {
		return err
	}
	for _, table := range []string{"lanes", "keys", "holds", "events", "ended", "acts"} {
		rangeNumber := "range"
		if table == "lanes" {
			rangeNumber = fmt.Sprintf("place >> %d", placeBits)
		}
		orphans := "count(*), 0 FROM " + table + " WHERE " + rangeNumber + " NOT IN (SELECT number FROM ranges)"
		if err := compare(table+" of no range", "0, 0", orphans); err != nil {
			return err
		}
		stored := fmt.Sprintf("record ->> '$.%s.count', record ->> '$.%[1]s.sum'", table)
		found := fmt.Sprintf("coalesce(found, 0), coalesce(sum, 0) FROM ranges LEFT JOIN "+
			"(SELECT %s AS owner, count(*) AS found, sum(checksum) AS sum FROM %s GROUP BY owner) ON owner = number "+
			"WHERE CASE WHEN json_valid(record) THEN record ->> '$.%[2]s' IS NOT NULL END", rangeNumber, table)
		if err := compare(table, stored, found); err != nil {
			return err
		}
	}
	return nil
}

// backgroundAudit audits a large file while it is used, on a connection of its own. It ends before the file is released:
// SQLite would otherwise take its locks for those of later connections.
type backgroundAudit struct {
	stop chan struct{}
	done chan struct{}
}

func (f *file) stopAudit() {
	if f.audit != nil {
		close(f.audit.stop)
		<-f.audit.done
	}
}

// auditInBackground begins the audit of a file that open has not audited.
func (s *Store) auditInBackground() {
	if s.file.opened.Size() <= auditAtOnce {
		return
	}
	running := &backgroundAudit{make(chan struct{}), make(chan struct{})}
	s.file.audit = running
	go func() {
		defer close(running.done)
		c, err := connect(s.path, sqlite.OpenReadOnly)
		if err == nil {
			c.SetInterrupt(running.stop)
			err = errors.Join(audit(c), c.Close())
		}
		select {
		case <-running.stop:
		default:
			if err != nil {
				s.reportProblem(fmt.Errorf("the audit in the background: %w", err))
			}
		}
	}()
}
