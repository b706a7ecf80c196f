package bolt

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"rangegate/lanes/store"
)

const lockPatience = time.Second // how long another process may take to let go of the file

// file is a file that is open.
type file struct {
	db          *bbolt.DB
	info        os.FileInfo // when it was opened
	transaction uint64      // the last one, which the writer counts on
	journal     *journal
	memory      memory // the writer's
}

// open opens a file that is there. It is read whole before it is mapped and trusted.
func open(path string, p pace) (*file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	before, found, err := audited(path)
	if err != nil {
		return nil, err
	}
	if err := before.Close(); err != nil {
		return nil, err
	}
	// The list of free pages is a map in memory, which is faster to change, and on disk, so that the audit finds a
	// page that is both free and in use.
	db, err := lock(path, bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	found.journal.pace = p
	return &file{db: db, info: info, transaction: found.transaction, journal: found.journal, memory: memory{}}, nil
}

// audited opens the file for reading alone and audits it. Nobody can write to it before it is closed.
func audited(path string) (db *bbolt.DB, found findings, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, findings{}, err
	}
	if info.Size() == 0 {
		return nil, findings{}, errors.New("the file is empty, and a store never is: something has cut it")
	}
	if db, err = lock(path, bbolt.Options{ReadOnly: true}); err != nil {
		return nil, findings{}, err
	}
	err = reading(path, func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		found, err = audit(f, info.Size())
		if err != nil && !errors.Is(err, store.ErrNewer) {
			err = fmt.Errorf("the file is damaged: %w", err)
		}
		return err
	})
	if err != nil {
		return nil, findings{}, errors.Join(err, db.Close())
	}
	return db, found, nil
}

func reading(path string, read func(f *os.File) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return read(f)
}

// inPlace looks whether the file is still where it was opened, and as long. A file that was removed would go on taking
// what nobody finds again; one that was cut short is gone from memory too, and bbolt would fail with its locks held.
func (f *file) inPlace() error {
	now, err := os.Stat(f.db.Path())
	switch {
	case err != nil:
		return fmt.Errorf("it was there when it was opened: %w", err)
	case !os.SameFile(f.info, now):
		return errors.New("another file is in its place")
	case now.Size() < f.info.Size():
		return fmt.Errorf("it was cut short: %d bytes of %d", now.Size(), f.info.Size())
	}
	return nil
}

// untouched looks whether nobody but the writer, who asks, has written to the file: a copy that was put back over it
// would be ruined by the next commit, which knows other pages as free.
func (f *file) untouched() error {
	if err := f.inPlace(); err != nil {
		return err
	}
	return reading(f.db.Path(), func(there *os.File) error {
		p, err := readHeaders(there)
		if err != nil {
			return err
		}
		if p.transaction != f.transaction {
			return fmt.Errorf("somebody else has written to it: transaction %d instead of %d", p.transaction, f.transaction)
		}
		return nil
	})
}

// ErrLocked: another process has the file open to write to it.
var ErrLocked = errors.New("the file is locked by another process: is another rangegate running?")

// lock opens the file as soon as no other process has it.
func lock(path string, o bbolt.Options) (db *bbolt.DB, err error) {
	o.Timeout = lockPatience
	err = careful(func() error {
		db, err = bbolt.Open(path, 0o600, &o)
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, ErrLocked
	}
	return db, err
}

// careful turns what bbolt does about a page it cannot make sense of, a panic or a fault in the mapped file, into an
// error.
func careful(do func() error) (err error) {
	defer func() {
		if defect := recover(); defect != nil {
			err = fmt.Errorf("the file is damaged: %v", defect)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return do()
}
