package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes/store"
)

const maxJobs = 512 // in one transaction

// job is what one caller wants written.
type job struct {
	ctx context.Context
	// apply writes it. A verdict is the answer to this job alone, which then has written nothing; a failure is one of
	// the whole transaction.
	apply   func(tx *transaction) (verdict, failure error)
	verdict error
	done    chan error // of one
}

var errClosing = fmt.Errorf("%w: it is being closed", store.ErrRefused)

// submit has the job written together with whatever else waits. When ctx ends after the writer has begun with it, the
// transaction goes on and its outcome is not known.
func (s *Store) submit(ctx context.Context, apply func(tx *transaction) (verdict, failure error)) error {
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

// write is the one goroutine that commits: all jobs that wait at the same time in one transaction.
func (s *Store) write() {
	defer close(s.written)
	for {
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
			s.checkpointInBackground()
		case result := <-s.checkpoints:
			s.finishCheckpoint(result)
		case <-s.closing:
			if s.file != nil && s.file.checkpointing {
				s.finishCheckpoint(<-s.checkpoints)
			}
			s.commitRest()
			return
		}
	}
}

func (s *Store) commitRest() {
	for {
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
		default:
			return
		}
	}
}

func (s *Store) gather(first *job) []*job {
	together := []*job{first}
	for len(together) < maxJobs {
		select {
		case j := <-s.jobs:
			together = append(together, j)
		default:
			return together
		}
	}
	return together
}

// commit writes the jobs and tells each what became of it.
func (s *Store) commit(together []*job) {
	err := s.reopen()
	if err == nil {
		if err = s.file.untouched(); err != nil {
			s.fail(err)
		}
	}
	if err != nil {
		for _, j := range together {
			j.done <- fmt.Errorf("%w: store %s: %w", store.ErrRefused, s.path, err)
		}
		return
	}
	switch came, err := s.file.transact(together); came {
	case written:
		for _, j := range together {
			j.done <- j.verdict
		}
	case unknown: // whether the file has it shows when it is opened again
		s.fail(err)
		for _, j := range together {
			j.done <- fmt.Errorf("store %s: committing: %w", s.path, err)
		}
	case rejected:
		if len(together) > 1 { // one of them is to blame, and the others shall not suffer for it
			for _, j := range together {
				s.commit([]*job{j})
			}
			return
		}
		together[0].done <- fmt.Errorf("%w: store %s: %w", store.ErrRefused, s.path, err)
	case failed:
		said := withDiskError(s.path, err)
		if said == err { // the disk takes writes, so that something is wrong with the open file
			s.fail(err)
		}
		for _, j := range together {
			j.done <- fmt.Errorf("%w: store %s: %w", store.ErrRefused, s.path, said)
		}
	}
}

// outcome is what came of a transaction.
type outcome int

const (
	written  outcome = iota
	rejected         // nothing was written: SQLite refused a statement
	failed           // nothing was written: the disk, or the file, is to blame
	unknown          // it may be in the WAL, and a crash may find it there
)

// transaction is one transaction of the writer.
type transaction struct {
	*file
	written int     // rows
	about   fileRow // as the commit leaves it
	touched []uuid.UUID
}

// transact runs one transaction.
func (f *file) transact(together []*job) (outcome, error) {
	if err := execute(f.writer, "BEGIN IMMEDIATE"); err != nil {
		return outcomeOf(err), err
	}
	tx := &transaction{file: f, about: f.row}
	accepted, err := tx.apply(together)
	if err == nil && accepted {
		err = tx.describe()
	}
	if err != nil || !accepted {
		if undoing := tx.undo(); undoing != nil {
			return failed, errors.Join(err, undoing)
		}
		return outcomeOf(err), err
	}
	if err := execute(f.writer, "COMMIT"); err != nil {
		came := unknown
		if notWritten(err) {
			came = failed
		}
		return came, errors.Join(err, tx.undo())
	}
	f.row, f.newGeneration = tx.about, false
	f.rows += tx.written
	return written, nil
}

// outcomeOf is that of a transaction that did not come to its COMMIT.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return written
	case onDisk(err):
		return failed
	}
	return rejected
}

// onDisk tells whether an error of SQLite is about the disk, and so everybody's. A page that is damaged is the trouble of
// those who need it.
func onDisk(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr, sqlite.ResultFull, sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultNotADB:
		return true
	}
	return false
}

// notWritten tells whether a COMMIT that failed has surely left nothing: the write of a frame failed, and the frame that
// commits is the last. After a failed fsync a crash might find the commit in the WAL.
func notWritten(err error) bool {
	code := sqlite.ErrCode(err)
	return code.ToPrimary() == sqlite.ResultFull || code == sqlite.ResultIOErrWrite
}

// apply writes the jobs. accepted: something is to be committed.
func (tx *transaction) apply(together []*job) (accepted bool, err error) {
	for _, j := range together {
		if j.ctx.Err() != nil {
			j.verdict = fmt.Errorf("%w: %w", store.ErrRefused, j.ctx.Err())
			continue
		}
		if j.verdict, err = j.apply(tx); err != nil {
			return false, err
		}
		accepted = accepted || j.verdict == nil
	}
	return accepted, nil
}

// undo ends a transaction that writes nothing. What it has changed in memory is read again when it is needed.
func (tx *transaction) undo() error {
	for _, id := range tx.touched {
		delete(tx.ranges, id)
	}
	if tx.writer.AutocommitEnabled() {
		return nil // SQLite has rolled it back itself
	}
	return execute(tx.writer, "ROLLBACK")
}

// describe writes what the file says of itself, if that has changed.
func (tx *transaction) describe() error {
	if tx.newGeneration {
		tx.about.generation++
	}
	if tx.about == tx.row {
		return nil
	}
	return writeFileRow(tx.writer, tx.about)
}

// fail keeps the writer from the file until it is opened again.
func (s *Store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

// reopen opens the file anew after a failure, and settles what it then holds before anybody builds on it: a repeat of a
// batch is told that it was written when it is there.
func (s *Store) reopen() error {
	if s.broken == nil { // which nobody but this goroutine changes
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		if s.file.checkpointing {
			<-s.checkpoints
		}
		s.lastRow = s.file.row
		_ = s.file.abandon() // its file descriptors may be what is broken
		s.file = nil
	}
	if alone, ok := withoutWAL(s.path); ok && !s.lastRow.follows(alone) { // it was replaced while it was open
		aside := s.path + "-wal.replaced"
		if err := os.Rename(s.path+"-wal", aside); err != nil {
			return fmt.Errorf("setting the WAL of the replaced file aside: %w", err)
		}
		s.problem(fmt.Errorf("the file was replaced; the WAL of the one before is %s", aside))
	}
	opened, err := open(s.path)
	if err != nil {
		return fmt.Errorf("opening it again after a failure (%w): %w", s.broken, err)
	}
	s.lastRow = opened.row // which settling it may bring into the file
	if err := opened.settle(); err != nil {
		return errors.Join(fmt.Errorf("writing it anew after a failure (%w): %w", s.broken, err), opened.abandon())
	}
	s.file, s.broken = opened, nil
	s.auditInBackground()
	return nil
}
