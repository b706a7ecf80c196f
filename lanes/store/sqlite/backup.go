package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
)

// Backup copies the file, as it is at one instant, to a new file that only its owner may read, while a gateway may use it.
// verify reads the copy before it gets its name. An existing file at target is os.ErrExist.
func Backup(ctx context.Context, path, target string, verify func(*Reader) error) error {
	if err := backup(ctx, path, target, verify); err != nil {
		return fmt.Errorf("backup of %s to %s: %w", path, target, err)
	}
	return nil
}

func backup(ctx context.Context, path, target string, verify func(*Reader) error) (err error) {
	if path, err = resolve(path); err != nil {
		return err
	}
	fresh := target + ".new"
	for _, output := range []string{target, fresh} {
		if _, err := os.Lstat(output); err == nil {
			return fmt.Errorf("%s: %w", output, os.ErrExist)
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
	if err := copyPages(ctx, path, fresh); err != nil {
		return err
	}
	reader, err := OpenReader(fresh)
	if err != nil {
		return err
	}
	if err := errors.Join(verify(reader), reader.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(fresh, target), syncFolder(filepath.Dir(target)))
}

// copyPages copies in one read transaction: writers continue, and the WAL grows meanwhile. The copy gets an id of its own,
// so that the WAL of the original is never taken for its own.
func copyPages(ctx context.Context, path, copyPath string) (err error) {
	source, closeSource, err := connectToRead(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	target, err := sqlite.OpenConn(uri(copyPath), sqlite.OpenReadWrite|sqlite.OpenURI)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(withDiskError(copyPath, err), target.Close()) }()
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

// connectToRead opens a file that a gateway may have open. Where none has, file and WAL are audited first.
func connectToRead(path string) (c *sqlite.Conn, closeFile func() error, err error) {
	r, err := openReader(path)
	switch {
	case errors.Is(err, ErrLocked):
		if c, err = connect(path, sqlite.OpenReadOnly); err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	case err != nil:
		return nil, nil, err
	}
	return r.conn, r.Close, nil
}
