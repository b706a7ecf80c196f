package sqlite

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

const (
	// checkpointAfter is how many rows are written between checkpoints; in the worst case each takes two pages of the WAL.
	checkpointAfter = 4000
	// finishAtMost is how many frames the writer brings into the file between two transactions. More are left to another
	// round in the background.
	finishAtMost = 1000
	// longWAL is how many frames make a WAL worth a warning: 256 MiB.
	longWAL = 1 << 16
)

// checkpointed is what came of a checkpoint: of so many frames in the WAL so many are in the file.
type checkpointed struct {
	frames, done int64
	err          error
}

func (c checkpointed) complete() bool { return c.err == nil && c.frames == c.done }

// errReading: only a checkpoint that is to be complete minds.
var errReading = errors.New("somebody reads the file: a backup, or sqlite3")

// checkpoint brings frames of the WAL into the file. PASSIVE waits for nobody, and TRUNCATE also empties the WAL, if
// nobody reads from it.
func checkpoint(c *sqlite.Conn, mode string) (result checkpointed) {
	result.err = query(c, "PRAGMA wal_checkpoint("+mode+")", func(row *sqlite.Stmt) error {
		if row.ColumnInt64(0) != 0 {
			return errReading
		}
		result.frames, result.done = row.ColumnInt64(1), row.ColumnInt64(2)
		return nil
	})
	return result
}

// checkpointInBackground begins a checkpoint when one is due. The writer goes on meanwhile.
func (s *Store) checkpointInBackground() {
	f := s.file
	if s.broken != nil || f.checkpointing || f.rows < s.checkpointAfter {
		return
	}
	f.checkpointing, f.rows = true, 0
	go func() {
		c, err := connect(f.path, sqlite.OpenReadWrite)
		if err != nil {
			s.checkpoints <- checkpointed{err: err}
			return
		}
		result := checkpoint(c, "PASSIVE")
		result.err = errors.Join(result.err, c.Close())
		s.checkpoints <- result
	}()
}

// finishCheckpoint brings the frames that came during a checkpoint into the file too, so that the WAL begins anew. It runs
// between two transactions. After a failure the WAL grows until the next checkpoint, which is tried after as many rows.
func (s *Store) finishCheckpoint(result checkpointed) {
	f := s.file
	if f == nil {
		return
	}
	f.checkpointing = false
	if s.broken != nil { // the file may not be the one that was opened
		return
	}
	if frames := result.frames; frames > longWAL {
		s.problem(fmt.Errorf("its WAL has %d MiB: somebody reads the file for long, a backup or sqlite3", frames*pageSize>>20))
	}
	if result.err == nil && result.frames-result.done < finishAtMost {
		result = checkpoint(f.writer, "PASSIVE")
	}
	if result.err != nil {
		s.problem(fmt.Errorf("a checkpoint failed, and is tried again later: %w", withDiskError(s.path, result.err)))
	}
	f.newGeneration = f.newGeneration || result.complete()
	if err := f.remember(); err != nil {
		s.fail(err)
	}
}
