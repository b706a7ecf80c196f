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

// Beside opens another connection for reading the file. It is for the process that has the store open, where OpenBeside
// is not: closing a file that it has opened ends SQLite's own locks on it, those of the store among them. It has to be
// closed before the store is.
func (s *Store) Beside() (*Reader, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.file == nil {
		return nil, fmt.Errorf("store %s: not open since it failed: %w", s.path, s.broken)
	}
	if err := s.file.checkInPlace(); err != nil {
		return nil, fmt.Errorf("store %s: %w", s.path, err)
	}
	conn, err := connect(s.file.path, sqlite.OpenReadOnly)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", s.path, err)
	}
	return &Reader{path: s.file.path, conn: conn}, nil
}

// Backup is the function Backup, in the process that has the store open.
func (s *Store) Backup(ctx context.Context, target string, verify func(*Reader) error) error {
	return describeBackup(s.path, target, backup(ctx, s.Beside, target, verify))
}

// Backup copies the file, as it is at one instant, to a new file that only its owner may read, while the gateway of
// another process may use it. verify reads the copy before it gets its name. It ends soon after ctx does, and then
// leaves no file. An existing file at target is os.ErrExist.
func Backup(ctx context.Context, path, target string, verify func(*Reader) error) error {
	open := func() (*Reader, error) {
		path, err := resolve(path)
		if err != nil {
			return nil, err
		}
		return openBeside(path)
	}
	return describeBackup(path, target, backup(ctx, open, target, verify))
}

func describeBackup(path, target string, err error) error {
	if err != nil {
		return fmt.Errorf("backup of %s to %s: %w", path, target, err)
	}
	return nil
}

// Unfinished is what the name of a copy ends with that is not complete, or not read yet.
const Unfinished = ".new"

func backup(
	ctx context.Context, open func() (*Reader, error), target string, verify func(*Reader) error,
) (err error) {
	fresh := target + Unfinished
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
	if err := copyPages(ctx, open, fresh); err != nil {
		return err
	}
	reader, err := openReaderUntil(ctx.Done(), fresh)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	if err := errors.Join(verify(reader), reader.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(fresh, target), syncFolder(filepath.Dir(target)))
}

// copiedAtOnce is how many pages are copied until it is looked whether to go on: 4 MiB.
const copiedAtOnce = 1024

// copyPages copies in one read transaction: writers continue, and the WAL grows meanwhile. The copy gets an
// id of its own, so that the WAL of the original is never taken for its own.
func copyPages(ctx context.Context, open func() (*Reader, error), copyPath string) (err error) {
	source, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := sqlite.OpenConn(uri(copyPath), sqlite.OpenReadWrite|sqlite.OpenURI)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(withDiskError(copyPath, err), target.Close()) }()
	err = inTransaction(source.conn, func() error {
		if _, err := readFileRow(source.conn); err != nil { // the instant of the copy
			return err
		}
		return copyAll(ctx, target, source.conn)
	})
	if err != nil {
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

// copyAll copies what the transaction of the source sees.
func copyAll(ctx context.Context, target, source *sqlite.Conn) error {
	copying, err := sqlite.NewBackup(target, "main", source, "main")
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		if more, err = copying.Step(copiedAtOnce); err == nil {
			err = context.Cause(ctx)
		}
	}
	return errors.Join(err, copying.Close())
}
