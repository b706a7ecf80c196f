package bolt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rangegate/lanes/store"
)

const maxJobs = 512 // in one transaction

// job is what one caller wants written.
type job struct {
	ctx context.Context
	// apply writes it. A verdict is the answer to this job alone, which then has written nothing; a failure is one of
	// the whole transaction.
	apply   func(tx *fileTx) (verdict, failure error)
	verdict error
	done    chan error // of one
}

var errClosing = fmt.Errorf("%w: it is being closed", store.ErrRefused)

// submit has the job written together with whatever else waits. When ctx ends after the writer has taken it, the
// transaction goes on and its outcome is not known.
func (s *Store) submit(ctx context.Context, apply func(tx *fileTx) (verdict, failure error)) error {
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

// write is the one goroutine that commits: all jobs that wait at the same time in one transaction. While none comes, it
// goes on with what is being folded.
func (s *Store) write() {
	defer close(s.written)
	for {
		var idle <-chan time.Time
		if s.folding() {
			idle = time.After(idleAfter)
		}
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
		case <-idle:
			s.commit(nil)
		case <-s.closing:
			s.finish()
			return
		}
	}
}

// idleAfter is how long no job has come when the writer turns to what is being folded.
const idleAfter = 20 * time.Millisecond

// finish commits what has been taken, and leaves a journal that the next start has little to do with.
func (s *Store) finish() {
	for {
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
		default:
			if !s.folding() {
				return
			}
			s.commit(nil)
		}
	}
}

// folding tells whether the journal has more than it should, and the file takes it.
func (s *Store) folding() bool { return s.broken == nil && s.file.journal.full() }

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
	err := s.mend()
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
	begun, err := s.transact(together)
	switch {
	case err == nil:
		for _, j := range together {
			j.done <- j.verdict
		}
	case errors.Is(err, errFolding): // what is wrong with the file shows when it is opened again
		s.fail(err)
		for _, j := range together {
			j.done <- fmt.Errorf("%w: store %s: %w", store.ErrRefused, s.path, err)
		}
	case begun || len(together) == 0: // whether the file has it shows when it is opened again
		s.fail(err)
		for _, j := range together {
			j.done <- fmt.Errorf("store %s: committing: %w", s.path, err)
		}
	case len(together) > 1: // one of them is to blame, and the others shall not suffer for it
		for _, j := range together {
			s.commit([]*job{j})
		}
	default:
		together[0].done <- fmt.Errorf("%w: store %s: %w", store.ErrRefused, s.path, err)
	}
}

// errNothing ends a transaction that would write nothing: the file stays as it is, to the byte.
var errNothing = errors.New("there is nothing to write")

// transact runs one transaction. begun tells whether a failure came once the commit had begun.
func (s *Store) transact(together []*job) (begun bool, err error) {
	err = s.file.update(func(tx *fileTx) error {
		accepted := len(together) == 0 // it is for what is being folded
		for _, j := range together {
			if j.ctx.Err() != nil {
				j.verdict = fmt.Errorf("%w: %w", store.ErrRefused, j.ctx.Err())
				continue
			}
			var failure error
			if j.verdict, failure = j.apply(tx); failure != nil {
				return failure
			}
			accepted = accepted || j.verdict == nil
		}
		if !accepted {
			return errNothing
		}
		begun = true
		return nil
	})
	if errors.Is(err, errNothing) {
		return false, nil
	}
	if err == nil {
		s.file.transaction++
	}
	return begun, err
}
