// Package sqlite stores ranges in one SQLite file. It needs no other software.
//
// The file is in WAL mode with synchronous=FULL. One goroutine writes (runWriter): flushes that wait at the
// same time, of any ranges, share one transaction and so one fsync. Readers have connections of their own and
// see only durable data. Checkpoints run in the background (file.go). The tables are in schema.go.
//
// Damage is an error that names the file, never wrong data: each record has a checksum (schema.go), each range has the
// number of its records and the sum of their checksums, and the file and its WAL are audited before use (audit.go).
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes/store"
)

// Store is one open file.
type Store struct {
	path      string
	place     string // see Place
	retention store.Retention
	jobs      chan *job
	closing   chan struct{}
	closeOnce sync.Once
	written   chan struct{} // closed when the writer has ended
	// range id → the store.Recovered that Claim has read, until Load or the next flush: decoding is slow
	claims   sync.Map
	problems chan error

	// These belong to the writer.
	checkpoints     chan checkpointResult // of one: from the checkpoint in the background
	checkpointAfter int                   // rows
	lastRow         fileRow               // of the file that was open last
	forgot          bool                  // a range: Close overwrites what is left of it

	mu     sync.RWMutex // read-locked while the file is read; locked while the writer replaces the two below
	file   *file        // nil: it could not be opened again
	broken error        // why the file must be opened again before the next write
}

// Open opens the file, or makes it where there is none. A file that is locked, damaged, newer or no store is
// an error that names it, and is not changed. Open checkpoints the WAL that a crash left. A file over
// auditAtOnce bytes is audited in the background: see Problems.
func Open(path string, r store.Retention) (*Store, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := create(path); err != nil {
		return nil, fmt.Errorf("store %s: creating it: %w", path, err)
	}
	opened, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	if err := opened.emptyWAL(); err != nil && !errors.Is(err, errReading) {
		return nil, errors.Join(fmt.Errorf("store %s: %w", path, err), opened.closeKeepingWAL())
	}
	s := &Store{
		path: path, place: opened.row.id, retention: r, file: opened, checkpointAfter: checkpointAfter,
		jobs: make(chan *job, 4*maxJobs), closing: make(chan struct{}), written: make(chan struct{}),
		problems: make(chan error, 16), checkpoints: make(chan checkpointResult, 1),
	}
	s.auditInBackground()
	go s.runWriter()
	return s, nil
}

// Place names the file. A backup of it has another name.
func (s *Store) Place() string { return s.place }

// Problems receives errors that no caller gets: a failed checkpoint, a WAL that does not shrink during a long
// read, damage that the background audit found. Close closes the channel.
func (s *Store) Problems() <-chan error { return s.problems }

// reportProblem drops the error when the channel is full.
func (s *Store) reportProblem(err error) {
	select {
	case s.problems <- fmt.Errorf("store %s: %w", s.path, err):
	default:
	}
}

// Close commits what was submitted, checkpoints the WAL and releases the file. After a Forget it makes the file anew
// before. It does not change a file that another process has replaced, nor its WAL.
func (s *Store) Close() (err error) {
	s.closeOnce.Do(func() {
		close(s.closing)
		<-s.written
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.file != nil {
			if err = s.file.checkUnchanged(); err != nil || s.broken != nil {
				err = errors.Join(err, s.file.closeKeepingWAL())
			} else {
				if s.forgot {
					err = s.file.overwriteFree()
				}
				err = errors.Join(err, s.file.close())
			}
			if err != nil {
				err = fmt.Errorf("store %s: closing: %w", s.path, err)
			}
		}
		s.file, s.broken = nil, errors.New("it was closed")
		close(s.problems)
	})
	return err
}

// view reads in one transaction. It waits for a free connection until ctx ends; a read that has begun runs to its end.
func (s *Store) view(ctx context.Context, read func(c *sqlite.Conn) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.file == nil {
		return fmt.Errorf("store %s: not open since it failed: %w", s.path, s.broken)
	}
	if err := s.file.checkInPlace(); err != nil {
		return fmt.Errorf("store %s: %w", s.path, err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("store %s: reading: %w", s.path, ctx.Err())
	}
	var c *sqlite.Conn
	select {
	case c = <-s.file.readers:
	case <-ctx.Done():
		return fmt.Errorf("store %s: waiting to read: %w", s.path, ctx.Err())
	}
	defer func() { s.file.readers <- c }()
	return s.withFileName(inTransaction(c, func() error { return read(c) }))
}

// withFileName adds the file's name to an error of SQLite. Errors of the store have it already.
func (s *Store) withFileName(err error) error {
	var corrupt *store.CorruptError
	if err == nil || errors.As(err, &corrupt) || errors.Is(err, store.ErrNotFound) {
		return err
	}
	return fmt.Errorf("store %s: reading: %w", s.path, err)
}

const maxJobs = 512 // in one transaction

// job is what one caller wants written.
type job struct {
	ctx context.Context
	// apply writes the job. A rejection concerns this job alone, which then has written nothing; a failure concerns the
	// whole transaction.
	apply     func(tx *transaction) (rejection, failure error)
	rejection error
	done      chan error // of one
}

var errClosing = fmt.Errorf("%w: it is being closed", store.ErrRefused)

// submit queues a job and waits until it is committed. When ctx ends after the writer has begun with the job, the
// transaction continues and the outcome is unknown.
func (s *Store) submit(ctx context.Context, apply func(tx *transaction) (rejection, failure error)) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", store.ErrRefused, ctx.Err())
	}
	select {
	case <-s.closing:
		return errClosing
	default:
	}
	j := &job{ctx: ctx, apply: apply, done: make(chan error, 1)}
	select {
	case s.jobs <- j:
	case <-ctx.Done():
		return fmt.Errorf("%w: its queue is full: %w", store.ErrRefused, ctx.Err())
	case <-s.closing:
		return errClosing
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("store %s: waiting for the commit: %w", s.path, ctx.Err())
	case <-s.written: // the writer may have ended without the job
		select {
		case err := <-j.done:
			return err
		default:
			return errClosing
		}
	}
}

// runWriter is the one goroutine that commits. Jobs that wait at the same time share a transaction.
func (s *Store) runWriter() {
	defer close(s.written)
	for {
		select {
		case j := <-s.jobs:
			s.commit(s.collect(j))
			s.checkpointInBackground()
		case result := <-s.checkpoints:
			s.finishCheckpoint(result)
		case <-s.closing:
			if s.file != nil && s.file.checkpointing {
				s.finishCheckpoint(<-s.checkpoints)
			}
			for len(s.jobs) > 0 {
				s.commit(s.collect(<-s.jobs))
			}
			return
		}
	}
}

// collect gives the first job and those queued behind it, at most maxJobs.
func (s *Store) collect(first *job) []*job {
	jobs := []*job{first}
	for range min(len(s.jobs), maxJobs-1) { // only the writer receives
		jobs = append(jobs, <-s.jobs)
	}
	return jobs
}

// commit writes the jobs in one transaction and answers each.
func (s *Store) commit(jobs []*job) {
	err := s.reopen()
	if err == nil {
		if err = s.file.checkUnchanged(); err != nil {
			s.markBroken(err)
		}
	}
	if err != nil {
		s.refuse(jobs, err)
		return
	}
	switch outcome, err := s.file.transact(jobs); outcome {
	case written:
		for _, j := range jobs {
			j.done <- j.rejection
		}
	case unknown: // the next opening of the file shows whether it is there
		s.markBroken(err)
		for _, j := range jobs {
			j.done <- fmt.Errorf("store %s: committing: %w", s.path, err)
		}
	case rejected:
		if len(jobs) == 1 {
			s.refuse(jobs, err)
			return
		}
		for _, j := range jobs { // only one of them may be at fault
			s.commit([]*job{j})
		}
	case failed:
		reason := diskReason(s.path, err)
		if reason == nil { // the disk can be written: the open file is at fault
			s.markBroken(err)
		}
		s.refuse(jobs, withReason(err, reason))
	}
}

func (s *Store) refuse(jobs []*job, err error) {
	for _, j := range jobs {
		j.done <- fmt.Errorf("%w: store %s: %w", store.ErrRefused, s.path, err)
	}
}

// outcome is the outcome of a transaction.
type outcome int

const (
	written  outcome = iota
	rejected         // nothing was written: SQLite refused a statement
	failed           // nothing was written: the disk or the file failed
	unknown          // it may be in the WAL, where recovery after a crash would find it
)

// transaction is one transaction of the writer.
type transaction struct {
	*file
	written  int     // rows
	next     fileRow // the row of the table file after the commit
	modified []uuid.UUID
}

// transact runs one transaction.
func (f *file) transact(jobs []*job) (outcome, error) {
	if err := execute(f.writer, "BEGIN IMMEDIATE"); err != nil {
		return outcomeBeforeCommit(err), err
	}
	tx := &transaction{file: f, next: f.row}
	accepted, err := tx.apply(jobs)
	if err == nil && accepted {
		err = tx.saveFileRow()
	}
	if err != nil || !accepted {
		if rollbackErr := tx.rollback(); rollbackErr != nil {
			return failed, errors.Join(err, rollbackErr)
		}
		return outcomeBeforeCommit(err), err
	}
	if err := execute(f.writer, "COMMIT"); err != nil {
		outcome := unknown
		if isSurelyNotCommitted(err) {
			outcome = failed
		}
		return outcome, errors.Join(err, tx.rollback())
	}
	f.row, f.newGeneration = tx.next, false
	f.rows += tx.written
	return written, nil
}

// outcomeBeforeCommit is the outcome of a transaction that has not reached its COMMIT.
func outcomeBeforeCommit(err error) outcome {
	switch {
	case err == nil:
		return written
	case isDiskError(err):
		return failed
	}
	return rejected
}

// isDiskError reports whether an error of SQLite concerns the disk, and so every range. A damaged page
// concerns the ranges that need it.
func isDiskError(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr, sqlite.ResultFull, sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultNotADB:
		return true
	}
	return false
}

// isSurelyNotCommitted reports whether a failed COMMIT has left nothing: the write of a frame failed, and the
// frame that commits is the last one. After a failed fsync a crash may leave the commit in the WAL.
func isSurelyNotCommitted(err error) bool {
	code := sqlite.ErrCode(err)
	return code.ToPrimary() == sqlite.ResultFull || code == sqlite.ResultIOErrWrite
}

// apply writes the jobs. accepted: at least one is to be committed.
func (tx *transaction) apply(jobs []*job) (accepted bool, err error) {
	for _, j := range jobs {
		if j.ctx.Err() != nil {
			j.rejection = fmt.Errorf("%w: %w", store.ErrRefused, j.ctx.Err())
			continue
		}
		if j.rejection, err = j.apply(tx); err != nil {
			return false, err
		}
		accepted = accepted || j.rejection == nil
	}
	return accepted, nil
}

// rollback ends a transaction without writing. The states of its ranges are read again when they are needed.
func (tx *transaction) rollback() error {
	for _, id := range tx.modified {
		delete(tx.ranges, id)
	}
	if tx.writer.AutocommitEnabled() {
		return nil // SQLite has rolled it back itself
	}
	return execute(tx.writer, "ROLLBACK")
}

// saveFileRow writes the row of the table file, if it has changed.
func (tx *transaction) saveFileRow() error {
	if tx.newGeneration {
		tx.next.generation++
	}
	if tx.next == tx.row {
		return nil
	}
	return writeFileRow(tx.writer, tx.next)
}

// markBroken makes the writer open the file again before the next transaction.
func (s *Store) markBroken(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// reopen opens the file again after a failure, and empties its WAL, before the next write: a repeat of a batch whose
// outcome was unknown then sees whether it was written.
func (s *Store) reopen() error {
	if s.broken == nil { // which only this goroutine changes
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		if s.file.checkpointing {
			<-s.checkpoints
		}
		s.lastRow = s.file.row
		_ = s.file.closeKeepingWAL() // its file descriptors may be at fault
		s.file = nil
	}
	// The file was replaced while it was open.
	if row, ok := readFileRowWithoutWAL(s.path); ok && !s.lastRow.follows(row) {
		replaced := s.path + "-wal.replaced"
		if err := os.Rename(s.path+"-wal", replaced); err != nil {
			return fmt.Errorf("setting the WAL of the replaced file aside: %w", err)
		}
		s.reportProblem(fmt.Errorf("the file was replaced; the WAL of the one before is %s", replaced))
	}
	opened, err := open(s.path)
	if err != nil {
		return fmt.Errorf("opening it again after a failure (%w): %w", s.broken, err)
	}
	s.lastRow = opened.row // which emptyWAL may bring into the file
	if err := opened.emptyWAL(); err != nil {
		return errors.Join(fmt.Errorf("emptying its WAL after a failure (%w): %w", s.broken, err),
			opened.closeKeepingWAL())
	}
	s.file, s.broken = opened, nil
	s.auditInBackground()
	return nil
}
