// Package sqlite stores ranges in one SQLite file. It needs no other software.
//
// The file is in WAL mode with synchronous=FULL. One goroutine writes (writer.go): flushes that wait at the same time, of
// any ranges, share one transaction and so one fsync. Readers have connections of their own and see only durable data.
// Checkpoints run in the background (wal.go). The tables are in schema.go.
//
// Damage is an error that names the file, never wrong data: each record has a checksum (record.go), each range has the
// number of its records and the sum of their checksums, and the file and its WAL are audited before use (audit.go, wal.go).
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

	// These belong to the writer.
	checkpoints     chan checkpointResult // of one: from the checkpoint in the background
	checkpointAfter int                   // rows
	lastRow         fileRow               // of the file that was open last

	mu     sync.RWMutex // read-locked while the file is read; locked while the writer replaces the two below
	file   *file        // nil: it could not be opened again
	broken error        // why the file must be opened again before the next write
}

// Open opens the file, or makes it where there is none. A file that is locked, damaged, newer or no store is an error that
// names it, and is not changed. Open checkpoints the WAL that a crash left. A file over auditAtOnce bytes is audited in the
// background: see Problems.
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
		path: path, retention: r, file: opened, checkpointAfter: checkpointAfter,
		jobs: make(chan *job, 4*maxJobs), closing: make(chan struct{}), written: make(chan struct{}),
		problems: make(chan error, 16), checkpoints: make(chan checkpointResult, 1),
	}
	s.auditInBackground()
	go s.runWriter()
	return s, nil
}

// Problems receives errors that no caller gets: a failed checkpoint, a WAL that does not shrink during a long read, damage
// that the background audit found. Close closes the channel.
func (s *Store) Problems() <-chan error { return s.problems }

// reportProblem drops the error when the channel is full.
func (s *Store) reportProblem(err error) {
	select {
	case s.problems <- fmt.Errorf("store %s: %w", s.path, err):
	default:
	}
}

// Close commits what was submitted, checkpoints the WAL and releases the file. It does not change a file that another
// process has replaced, nor its WAL.
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
