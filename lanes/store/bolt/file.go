package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const lockPatience = time.Second // how long another process may take to let go of the file

// create makes an empty store where there is no file. It is made beside and renamed, so that whatever stands at path
// was whole once, and one that is empty or cut short is damage. Of two processes at it the second waits for the first
// one's lock, and then finds the file.
func create(path string) error {
	if there, err := exists(path); there || err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	fresh := path + ".new"
	db, err := lock(fresh, bbolt.Options{})
	if errors.Is(err, errLocked) {
		return err
	}
	if err != nil { // a crash has left it half made: the next try begins anew
		return errors.Join(err, os.Remove(fresh))
	}
	err = update(db, func(*fileTx) error { return nil })
	if there, failed := exists(path); there || failed != nil || err != nil {
		return errors.Join(err, failed, db.Close(), os.Remove(fresh))
	}
	return errors.Join(os.Rename(fresh, path), db.Close(), syncFolder(filepath.Dir(path)))
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// syncFolder makes a rename in the folder durable.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// open opens a file that is there. It is read whole before it is mapped and trusted.
func open(path string) (*bbolt.DB, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 {
		return nil, nil, errors.New("the file is empty, and a store never is: something has cut it")
	}
	if err := auditLocked(path); err != nil {
		return nil, nil, err
	}
	// The list of free pages is a map in memory, which is faster to change, and on disk, so that the audit finds a
	// page that is both free and in use.
	db, err := lock(path, bbolt.Options{FreelistType: bbolt.FreelistMapType})
	return db, info, err
}

// auditLocked audits the file while nobody can write to it.
func auditLocked(path string) (err error) {
	db, err := lock(path, bbolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := audit(file, info.Size()); err != nil {
		return fmt.Errorf("the file is damaged: %w", err)
	}
	return nil
}

var errLocked = errors.New("the file is locked by another process: is another rangegate running?")

// lock opens the file as soon as no other process has it.
func lock(path string, o bbolt.Options) (db *bbolt.DB, err error) {
	o.Timeout = lockPatience
	err = careful(func() error {
		db, err = bbolt.Open(path, 0o600, &o)
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, errLocked
	}
	return db, err
}

// rewrite writes what the file holds once more. A sync that has failed may leave pages in memory that never reach the
// disk although the next sync succeeds: that one speaks only of what was written since. The caller holds the lock.
func rewrite(path string) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p, err := readHeaders(file)
	if err != nil {
		return err
	}
	part := make([]byte, 256*p.pageSize)
	for at, end := int64(0), p.end(); at < end; at += int64(len(part)) {
		part = part[:min(int64(len(part)), end-at)]
		if _, err := file.ReadAt(part, at); err != nil {
			return err
		}
		if _, err := file.WriteAt(part, at); err != nil {
			return err
		}
	}
	return file.Sync()
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
