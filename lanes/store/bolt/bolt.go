// Package bolt keeps snapshots in one file: the store that needs nothing installed.
//
// Flushes that wait at the same time, of whatever ranges, share one transaction and so one fsync. The file holds a
// bucket for each range:
//
//	meta        one record: (epoch, n), the last cursors, counts         checkpoint   one record
//	lanes       lane id → snapshot                                       keys         name → answer kept
//	events      cursor → event log entry                                 pending      cursor → nothing
//	history     cursor → ended session                                   sessions     session id → cursor
//
// Every value is a record of package store behind its CRC, so that a flipped bit is an error and never another number.
package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"rangegate/lanes/store"
)

const lockPatience = time.Second // how long another process may take to let go of the file

// Store is one open file.
type Store struct {
	path      string
	retention store.Retention
	jobs      chan *job
	closing   chan struct{}
	written   chan struct{} // closed when the writer has ended

	mu     sync.RWMutex // held for reading while db is used
	db     *bbolt.DB
	broken error // a commit failed: nothing is written until the file is reopened
}

// Open opens the file, and makes it where there is none. A file that is locked, damaged or newer is an error that
// names it; it is left as it is.
func Open(path string, r store.Retention) (*Store, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("store %s: creating it: %w", path, err)
	}
	db, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	s := &Store{
		path: path, retention: r, db: db,
		jobs: make(chan *job, 4*maxJobs), closing: make(chan struct{}), written: make(chan struct{}),
	}
	go s.write()
	return s, nil
}

// create makes an empty store where there is no file. It is made beside and renamed, so that whatever stands at path was
// whole once, and one that is empty or cut short is damage.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := bbolt.Open(fresh, 0o600, &bbolt.Options{Timeout: lockPatience})
	if err != nil {
		return err
	}
	if err := errors.Join(examine(db), db.Close()); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

// open opens the file and looks whether it can be what it says. The freelist is kept in memory as a map, which is
// faster to change, and on disk, so that opening need not read every page.
func open(path string) (db *bbolt.DB, err error) {
	defer caught(&err)
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return nil, errors.New("the file is empty, and a store never is: something has cut it")
	}
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockPatience, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, errors.New("the file is locked by another process: is another rangegate running?")
	}
	if err != nil {
		return nil, err
	}
	if err := examine(db); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// examine refuses a file that was cut short, or that a newer version laid out.
func examine(db *bbolt.DB) error {
	return db.Update(func(tx *bbolt.Tx) error {
		info, err := os.Stat(db.Path())
		if err != nil {
			return err
		}
		if info.Size() < tx.Size() {
			return fmt.Errorf("the file is cut short: %d bytes of %d", info.Size(), tx.Size())
		}
		format := tx.Bucket(formatBucket)
		if format != nil {
			var f struct{}
			return decode(format.Get(formatKey), &f)
		}
		if name, _ := tx.Cursor().First(); name != nil {
			return errors.New("the file is no store of rangegate")
		}
		format, err = tx.CreateBucket(formatBucket)
		if err != nil {
			return err
		}
		return put(format, formatKey, struct{}{})
	})
}

// caught turns what bbolt does about a damaged page, a panic or a fault in the mapped file, into an error.
func caught(err *error) {
	if defect := recover(); defect != nil {
		*err = fmt.Errorf("the file is damaged: %v", defect)
	}
}

// Close commits what has been taken and releases the file.
func (s *Store) Close() error {
	close(s.closing)
	<-s.written
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("store %s: closing: %w", s.path, err)
	}
	return nil
}

var (
	formatBucket = []byte("rangegate")
	formatKey    = []byte("format")

	metaKey       = []byte("meta")
	checkpointKey = []byte("checkpoint")
	lanesBucket   = []byte("lanes")
	eventsBucket  = []byte("events")
	pendingBucket = []byte("pending")
	historyBucket = []byte("history")
	sessionBucket = []byte("sessions")
	keysBucket    = []byte("keys")
)

func rangeBucket(id uuid.UUID) []byte { return []byte("range " + id.String()) }

// view reads in a transaction of its own.
func (s *Store) view(read func(tx *bbolt.Tx) error) (err error) {
	defer caught(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return fmt.Errorf("store %s: %w", s.path, s.broken)
	}
	return s.db.View(read)
}
