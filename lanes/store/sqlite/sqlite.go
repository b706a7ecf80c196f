// Package sqlite keeps snapshots in one SQLite file: the store that needs nothing installed.
//
// The file is in WAL mode with synchronous=FULL. One goroutine writes (writer.go): flushes that wait at the same time, of
// whatever ranges, share one transaction and so one fsync. Readers have connections of their own and see only what is
// durable. Checkpoints run in the background (checkpoint.go). The tables are in schema.go.
//
// Damage is an error that names the file, never another number: each record has a checksum (record.go), each range
// counts its records and sums their checksums, and the file and its WAL are audited before they are used (audit.go,
// wal.go).
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"

	"rangegate/lanes/store"
)

// Store is one open file.
type Store struct {
	path      string
	retention store.Retention
	jobs      chan *job
	closing   chan struct{}
	closeOnce sync.Once
	written   chan struct{} // closed when the writer has ended
	claims    claims
	problems  chan error

	// What follows is the writer's.
	checkpoints     chan checkpointed // of 1: what came of the one in the background
	checkpointAfter int               // rows
	lastRow         fileRow           // of the file that was open last

	mu     sync.RWMutex // held for reading while the file is read, for writing while the writer replaces these
	file   *file        // nil: it could not be opened again
	broken error        // why nothing is written until the file is opened again
}

// Open opens the file, and makes it where there is none. A file that is locked, damaged, newer, or no store is an error
// that names it; it is left as it is. The WAL that a crash left is brought into the file. A file over auditAtOnce bytes is audited in the background: see Problems.
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
	if err := opened.settle(); err != nil && !errors.Is(err, errReading) {
		return nil, errors.Join(fmt.Errorf("store %s: %w", path, err), opened.abandon())
	}
	s := &Store{
		path: path, retention: r, file: opened, checkpointAfter: checkpointAfter,
		jobs: make(chan *job, 4*maxJobs), closing: make(chan struct{}), written: make(chan struct{}),
		problems: make(chan error, 16), checkpoints: make(chan checkpointed, 1),
	}
	s.auditInBackground()
	go s.write()
	return s, nil
}

// Problems tells of what an operator should know and no caller asked for: a checkpoint that failed, a WAL that a long
// read keeps from shrinking, damage that the background audit found. It is closed by Close.
func (s *Store) Problems() <-chan error { return s.problems }

// problem drops what nobody reads.
func (s *Store) problem(err error) {
	select {
	case s.problems <- fmt.Errorf("store %s: %w", s.path, err):
	default:
	}
}

// Close commits what was submitted, brings all of it into the file itself and releases it. A file that somebody has
// replaced is left as it is, with the WAL beside it.
func (s *Store) Close() (err error) {
	s.closeOnce.Do(func() {
		close(s.closing)
		<-s.written
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.file != nil {
			if err = s.file.untouched(); err != nil || s.broken != nil {
				err = errors.Join(err, s.file.abandon())
			} else {
				err = s.file.close()
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

// view reads in one transaction on a connection for reading. It waits for a free one until ctx ends; a read that has
// begun is not cut short.
func (s *Store) view(ctx context.Context, read func(c *sqlite.Conn) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.file == nil {
		return fmt.Errorf("store %s: not open since it failed: %w", s.path, s.broken)
	}
	if err := s.file.inPlace(); err != nil {
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

// withFileName adds the file's name to an error of SQLite. The store's own errors pass as they are.
func (s *Store) withFileName(err error) error {
	var corrupt *store.CorruptError
	if err == nil || errors.As(err, &corrupt) || errors.Is(err, store.ErrNotFound) {
		return err
	}
	return fmt.Errorf("store %s: reading: %w", s.path, err)
}
