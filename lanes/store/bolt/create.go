package bolt

import (
	"errors"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

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
	if errors.Is(err, ErrLocked) {
		return err
	}
	if err != nil { // a crash has left it half made: the next try begins anew
		return errors.Join(err, os.Remove(fresh))
	}
	if there, err := exists(path); there || err != nil {
		return errors.Join(err, db.Close(), os.RemoveAll(fresh))
	}
	empty := &file{db: db, journal: &journal{}, memory: memory{}}
	if err := empty.update(func(*fileTx) error { return nil }); err != nil {
		return errors.Join(err, db.Close(), os.Remove(fresh))
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
