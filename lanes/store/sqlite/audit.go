package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"strings"

	"zombiezen.com/go/sqlite"
)

// auditAtOnce is the size up to which a file is audited before it is used. A larger one is audited in the background:
// Claim compares what it reads of a range with the totals anyway.
const auditAtOnce = 64 << 20

// audit finds damage that reading a record would not: missing or older pages, missing records, entries that a
// lookup would miss. It does not decode records: a damaged entry of a log does not keep the store from
// opening.
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

// auditTotals compares the tables with the totals. It skips a range whose record cannot be read: Claim
// returns that error.
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
	return auditExternalIDs(c)
}

// auditInBackground begins the audit of a file that open has not audited, on a connection of its own. It ends
// before the file is released: SQLite would otherwise take its locks for those of later connections.
func (s *Store) auditInBackground() {
	if s.file.opened.Size() <= auditAtOnce {
		return
	}
	stop, done := make(chan struct{}), make(chan struct{})
	s.file.stopAudit = func() {
		close(stop)
		<-done
	}
	go func() {
		defer close(done)
		c, err := connect(s.path, sqlite.OpenReadOnly)
		if err == nil {
			c.SetInterrupt(stop)
			err = errors.Join(audit(c), c.Close())
		}
		select {
		case <-stop:
		default:
			if err != nil {
				s.reportProblem(fmt.Errorf("the audit in the background: %w", err))
			}
		}
	}()
}

// The format of the WAL is on https://www.sqlite.org/fileformat2.html#walformat: a header of 32 bytes, then
// frames of 24 bytes and a page each. A frame is valid when it has the header's salts and the right checksum,
// which continues that of the frame before. SQLite uses the frames up to the last commit before the first
// invalid one, and ignores the rest without an error.
const (
	walHeaderSize   = 32
	frameHeaderSize = 24
	walMagic        = 0x377f0682 // its last bit set: checksums are of big-endian words
)

// auditWAL finds damage that SQLite's recovery would take for the end of the WAL. A commit is on the disk
// before the next one begins, so a crash can tear only the last one: two or more commits from an invalid
// frame on, with the same salts, are damage. Other frames are ignored as SQLite does; a gateway that still
// runs notices the loss (store.ErrRolledBack).
func auditWAL(path string) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	reader := bufio.NewReaderSize(f, 1<<20)
	header := make([]byte, walHeaderSize)
	if _, err := io.ReadFull(reader, header); err != nil {
		return endOfWAL(err)
	}
	w := walChecksum{order: binary.ByteOrder(binary.LittleEndian)}
	if binary.BigEndian.Uint32(header)&1 == 1 {
		w.order = binary.BigEndian
	}
	w.sum(header[:24])
	broken, commits := int64(-1), 0 // the first invalid frame, 0 for the header; the commits from it on
	headerValid := binary.BigEndian.Uint32(header)&^1 == walMagic && binary.BigEndian.Uint32(header[8:]) == pageSize &&
		w.equals(header[24:])
	salts := [8]byte(header[16:24])
	if !headerValid {
		broken = 0
	}
	frame := make([]byte, frameHeaderSize+pageSize)
	for number := int64(1); ; number++ {
		if _, err := io.ReadFull(reader, frame); err != nil {
			if err := endOfWAL(err); err != nil {
				return err
			}
			break
		}
		if number == 1 && !headerValid {
			salts = [8]byte(frame[8:16])
		}
		// Salts that differ in one bit are those of this WAL with a flipped bit; those of an older WAL differ
		// in about 16.
		distance := bits.OnesCount64(binary.BigEndian.Uint64(salts[:]) ^ binary.BigEndian.Uint64(frame[8:]))
		if broken < 0 {
			w.sum(frame[:8])
			w.sum(frame[frameHeaderSize:])
			if distance != 0 || !w.equals(frame[16:24]) || binary.BigEndian.Uint32(frame) == 0 {
				broken = number
			}
		}
		if broken >= 0 && distance <= 1 && binary.BigEndian.Uint32(frame[4:]) != 0 {
			commits++ // the invalid frame may be a commit itself
		}
	}
	switch {
	case broken < 0 || commits < 2:
		return nil
	case broken == 0:
		return fmt.Errorf("the file is damaged: the header of %s is not what was written, and it has %d commits", path,
			commits)
	}
	return fmt.Errorf("the file is damaged: frame %d of %s is not what was written, and there are %d commits from "+
		"it on", broken, path, commits)
}

// endOfWAL returns nil where the WAL ends, also within a frame.
func endOfWAL(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// walChecksum is the running checksum of the frames.
type walChecksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (w *walChecksum) sum(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		w.s0 += w.order.Uint32(data) + w.s1
		w.s1 += w.order.Uint32(data[4:]) + w.s0
	}
}

func (w *walChecksum) equals(stored []byte) bool {
	return w.s0 == binary.BigEndian.Uint32(stored) && w.s1 == binary.BigEndian.Uint32(stored[4:])
}
