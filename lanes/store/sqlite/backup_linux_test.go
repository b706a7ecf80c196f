package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
)

// locksOn counts SQLite's own locks on a file, as the kernel has them.
func locksOn(t *testing.T, path string) (n int) {
	info, err := os.Stat(path)
	require.NoError(t, err)
	inode := strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10)
	locks, err := os.ReadFile("/proc/locks")
	require.NoError(t, err)
	for line := range strings.Lines(string(locks)) {
		if strings.Contains(line, "POSIX") && strings.Contains(line, ":"+inode+" ") {
			n++
		}
	}
	return n
}

// A store is read and backed up within its own process, and keeps its locks: another process, which takes the file for
// its own without them, could remove the WAL.
func TestReadingBesideAStoreKeepsItsLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s, err := Open(path, store.Retention{})
	require.NoError(t, err)
	held := locksOn(t, path)
	require.Positive(t, held)

	beside, err := s.Beside()
	require.NoError(t, err)
	ids, err := beside.Ranges(t.Context())
	require.NoError(t, err)
	require.Empty(t, ids)
	require.NoError(t, beside.Close())
	target := path + ".backup"
	require.NoError(t, s.Backup(t.Context(), target, func(*Reader) error { return nil }))
	require.Equal(t, held, locksOn(t, path))

	copied, err := Open(target, store.Retention{})
	require.NoError(t, err)
	require.NoError(t, copied.Close())
	require.ErrorIs(t, s.Backup(t.Context(), target, nil), os.ErrExist)
	require.NoError(t, s.Close())
	_, err = s.Beside()
	require.ErrorContains(t, err, "it was closed")
}

// A backup whose context has ended leaves no file.
func TestABackupIsInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s, err := Open(path, store.Retention{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	target := path + ".backup"
	require.ErrorContains(t, s.Backup(ctx, target, func(*Reader) error { return nil }), "enough")
	ctx, cancel = context.WithCancelCause(t.Context())
	err = s.Backup(ctx, target, func(r *Reader) error {
		cancel(errors.New("enough"))
		_, err := rangesIn(r.conn)
		return err
	})
	require.ErrorContains(t, err, "interrupt")
	left, err := filepath.Glob(target + "*")
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, s.Close())
}
