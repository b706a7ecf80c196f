package bolt

import (
	"errors"
	"fmt"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"rangegate/lanes/store"
)

const maxJobs = 512 // batches in one transaction

// write is the one goroutine that commits: all batches that wait at the same time in one transaction.
func (s *Store) write() {
	defer close(s.written)
	for {
		select {
		case j := <-s.jobs:
			s.commit(s.gather(j))
		case <-s.closing:
			for {
				select {
				case j := <-s.jobs:
					s.commit(s.gather(j))
				default:
					return
				}
			}
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

// commit writes the batches and tells each what became of it.
func (s *Store) commit(together []*job) {
	if err := s.mend(); err != nil {
		for _, j := range together {
			j.done <- fmt.Errorf("%w: %w", store.ErrRefused, err)
		}
		return
	}
	begun, err := s.transact(together)
	for _, j := range together {
		switch {
		case err == nil:
			j.done <- j.verdict
		case begun: // whether the file has it is not known until it is opened again
			j.done <- fmt.Errorf("store %s: committing: %w", s.path, err)
		default:
			j.done <- fmt.Errorf("%w: %w", store.ErrRefused, err)
		}
	}
	if err != nil && begun {
		s.mu.Lock()
		s.broken = err
		s.mu.Unlock()
	}
}

// transact runs one transaction. begun tells whether a failure came once the commit had begun.
func (s *Store) transact(together []*job) (begun bool, err error) {
	defer caught(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	err = s.db.Update(func(tx *bbolt.Tx) error {
		for _, j := range together {
			if j.ctx.Err() != nil {
				j.verdict = fmt.Errorf("%w: %w", store.ErrRefused, j.ctx.Err())
				continue
			}
			if err := s.apply(tx, j); err != nil {
				return err
			}
		}
		begun = true
		return nil
	})
	return begun, err
}

// mend opens the file anew, and checks it whole, after a commit that failed.
func (s *Store) mend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		return nil
	}
	if s.db != nil {
		_ = s.db.Close()
		s.db = nil
	}
	db, err := open(s.path)
	if err != nil {
		return fmt.Errorf("store %s: opening it again after a failed commit (%w): %w", s.path, s.broken, err)
	}
	if err := check(db); err != nil {
		_ = db.Close()
		return fmt.Errorf("store %s: damaged by a failed commit (%w): %w", s.path, s.broken, err)
	}
	s.db, s.broken = db, nil
	return nil
}

func check(db *bbolt.DB) error {
	return db.View(func(tx *bbolt.Tx) error {
		var faults []error
		for fault := range tx.Check() {
			faults = append(faults, fault)
		}
		return errors.Join(faults...)
	})
}
