package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"
)

// Backup copies the file, as it was at one instant, to a new file that only its owner may read; a gateway may have it
// open and goes on. verify reads the copy before it gets its name. Where to is there already, it is an error.
func Backup(ctx context.Context, from, to string, verify func(*Reader) error) error {
	if err := backup(ctx, from, to, verify); err != nil {
		return fmt.Errorf("backup of %s to %s: %w", from, to, err)
	}
	return nil
}

func backup(ctx context.Context, from, to string, verify func(*Reader) error) (err error) {
	if from, err = resolve(from); err != nil {
		return err
	}
	fresh := to + ".new"
	for _, path := range []string{to, fresh} {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s: %w", path, os.ErrExist)
		}
	}
	made, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(fresh), os.RemoveAll(fresh+"-wal"), os.RemoveAll(fresh+"-shm"))
		}
	}()
	if err := copyPages(ctx, from, fresh); err != nil {
		return err
	}
	reader, err := OpenReader(fresh)
	if err != nil {
		return err
	}
	if err := errors.Join(verify(reader), reader.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(fresh, to), syncFolder(filepath.Dir(to)))
}

// copyPages copies in one transaction for reading: the writer of the file is not held up, and its WAL grows meanwhile.
// The copy gets an id of its own, so that a WAL of the file it is a copy of is never taken for its own.
func copyPages(ctx context.Context, from, to string) (err error) {
	source, unlock, err := besideAGateway(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	target, err := sqlite.OpenConn(uri(to), sqlite.OpenReadWrite|sqlite.OpenURI)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(withDiskError(to, err), target.Close()) }()
	copying, err := sqlite.NewBackup(target, "main", source, "main")
	if err != nil {
		return err
	}
	if _, err := copying.Step(-1); err != nil {
		return errors.Join(err, copying.Close())
	}
	if err := errors.Join(copying.Close(), ctx.Err()); err != nil {
		return err
	}
	row, err := readFileRow(target)
	if err != nil {
		return err
	}
	row.id, row.generation = uuid.NewString(), 0
	if err := writeFileRow(target, row); err != nil {
		return err
	}
	return checkpoint(target, "TRUNCATE").err
}

// besideAGateway opens a file for reading that a gateway may have open. Where none has, the WAL that it left is audited
// first.
func besideAGateway(path string) (c *sqlite.Conn, unlock func() error, err error) {
	lock, err := lockFile(path, unix.LOCK_SH)
	switch {
	case errors.Is(err, ErrLocked):
		if c, err = connect(path, sqlite.OpenReadOnly); err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	case err != nil:
		return nil, nil, err
	}
	r := &Reader{path: path, lock: lock}
	if err := r.open(); err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return r.c, r.Close, nil
}
