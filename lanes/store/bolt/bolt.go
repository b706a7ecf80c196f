// Package bolt keeps snapshots in one file: the store that needs nothing installed.
//
// Flushes that wait at the same time, of whatever ranges, share one transaction and so one fsync. What they write goes to
// a journal in the file first, and from there to where it belongs (journal.go, fold.go). The file holds a bucket for each
// range:
//
//	meta       one record: (epoch, n), the checkpoint, the last cursors, how many records each bucket has
//	lanes      lane id → snapshot              keys       name → answer kept
//	events     cursor → event log entry        pending    cursor → nothing, of each event without its attempt
//	history    cursor → ended session          sessions   session id → cursor
//	holds      one record: the range's holds; in files of older versions there is no such bucket
//	acts       cursor → what staff did; there is no such bucket before the first
//
// A file may be damaged in any way and gives an error, never another number: every value is sealed with its key
// (value.go), and when the file is opened its pages and the numbers of its records are audited (audit.go, pages.go).
package bolt

import (
	"context"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"

	"rangegate/lanes/store"
)

// Store is one open file.
type Store struct {
	path      string
	retention store.Retention
	pace      pace
	jobs      chan *job
	closing   chan struct{}
	close     sync.Once
	written   chan struct{} // closed when the writer has ended
	claims    claims

	mu     sync.RWMutex // held for reading while the file is read, and for writing while the writer changes these
	file   *file        // nil: it could not be opened again
	broken error        // something failed: nothing is written until the file is opened again
}

// Open opens the file, and makes it where there is none. A file that is locked, damaged or newer is an error that
// names it; it is left as it is.
func Open(path string, r store.Retention) (*Store, error) { return openAtPace(path, r, usual) }

func openAtPace(path string, r store.Retention, p pace) (*Store, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("store %s: creating it: %w", path, err)
	}
	file, err := open(path, p)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	s := &Store{
		path: path, retention: r, pace: p, file: file,
		jobs: make(chan *job, 4*maxJobs), closing: make(chan struct{}), written: make(chan struct{}),
	}
	go s.write()
	return s, nil
}

// Close commits what has been taken and releases the file.
func (s *Store) Close() (err error) {
	s.close.Do(func() {
		close(s.closing)
		<-s.written
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.file == nil {
			return
		}
		if err = s.file.db.Close(); err != nil {
			err = fmt.Errorf("store %s: closing: %w", s.path, err)
		}
	})
	return err
}

// view reads in a transaction of its own, and what lies over the file in it.
func (s *Store) view(ctx context.Context, read func(tx *bbolt.Tx, over layers) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("store %s: reading: %w", s.path, err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.file == nil {
		return fmt.Errorf("store %s: closed since it failed: %w", s.path, s.broken)
	}
	if err := s.file.inPlace(); err != nil {
		return fmt.Errorf("store %s: %w", s.path, err)
	}
	s.file.journal.mu.RLock()
	defer s.file.journal.mu.RUnlock()
	var answer error
	err := careful(func() error {
		return s.file.db.View(func(tx *bbolt.Tx) error {
			answer = read(tx, s.file.journal.layers)
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("store %s: reading: %w", s.path, err)
	}
	return answer
}
