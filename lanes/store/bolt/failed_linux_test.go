package bolt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rangegate/lanes/store"
)

// failing makes every write to the store's file fail, as on a disk that has gone read-only, until it is opened anew.
// What is mapped can still be read, and the lock is held on.
func failing(t *testing.T, path string) {
	readOnly, err := os.Open(path)
	require.NoError(t, err)
	defer readOnly.Close()
	descriptors, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	found := 0
	for _, d := range descriptors {
		number, err := strconv.Atoi(d.Name())
		require.NoError(t, err)
		at, _ := os.Readlink(filepath.Join("/proc/self/fd", d.Name()))
		if at != path || number == int(readOnly.Fd()) {
			continue
		}
		require.NoError(t, unix.Dup3(int(readOnly.Fd()), number, unix.O_CLOEXEC))
		found++
	}
	require.Equal(t, 1, found)
}

// A failed commit leaves the outcome open. The file is opened again by itself, and the repeat settles it.
func TestAFailedCommitIsSettledByTheRepeat(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	batches := make([]store.Batch, 10)
	for i := range batches {
		batches[i] = claimed(t, s)
		require.NoError(t, s.Flush(t.Context(), batches[i]))
		batches[i].N, batches[i].Events[0].Cursor = 2, 2
	}
	p := pause(t, s)
	var answers []<-chan error
	for _, b := range batches {
		answers = append(answers, p.flush(t.Context(), b))
	}
	failing(t, path)
	p.goOn()
	for _, answer := range answers {
		unknown(t, <-answer)
	}
	for _, b := range batches {
		require.NoError(t, s.Flush(t.Context(), b))
		require.NoError(t, s.Flush(t.Context(), b), "and another repeat")
		onlyEvents(t, s, b.Range, 2)
	}
	require.NoError(t, s.Close())
	again := openAt(t, path)
	for _, b := range batches {
		onlyEvents(t, again, b.Range, 2)
	}
}

// As long as the file cannot be opened again, nothing is written; reading tells why. Then everything goes on.
func TestABrokenFileRefusesUntilItIsMended(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	b.N, b.Events[0].Cursor = 2, 2

	failing(t, path)
	unknown(t, s.Flush(t.Context(), b))
	onlyEvents(t, s, b.Range, 1) // what is in memory can be read

	before := damage(t, path, func(file []byte) { clear(file[:80]) })
	for range 3 {
		err := s.Flush(t.Context(), b)
		require.ErrorIs(t, err, store.ErrRefused)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "header 0")
		_, err = s.Claim(t.Context(), b.Range, opening)
		require.ErrorIs(t, err, store.ErrRefused)
		_, err = s.Load(t.Context(), b.Range)
		require.ErrorContains(t, err, "closed since it failed")
	}
	require.NoError(t, os.WriteFile(path, before, 0o600))
	require.NoError(t, s.Flush(t.Context(), b))
	onlyEvents(t, s, b.Range, 2)
}

func TestAFailedClaimIsNotGiven(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	failing(t, path)
	epoch, err := s.Claim(t.Context(), b.Range, opening)
	unknown(t, err)
	assert.Zero(t, epoch)
	epoch, err = s.Claim(t.Context(), b.Range, opening)
	require.NoError(t, err)
	assert.Greater(t, epoch, b.Epoch)
}

// Somebody removes the file, or cuts it, or puts an older one in its place, while it is open.
func TestAFileThatIsTakenAwayWhileOpenIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, takeAway := range []func() error{
		func() error { return os.Truncate(path, 0) },
		func() error { return os.Truncate(path, 8192) },
		func() error { return os.Remove(path) },
		func() error { return os.Rename(path, path+".moved") },
	} {
		b.N++
		b.Events[0].Cursor++
		require.NoError(t, takeAway())
		for range 2 {
			_, err := s.Load(t.Context(), b.Range)
			require.ErrorContains(t, err, path)
			err = s.Flush(t.Context(), b)
			require.ErrorIs(t, err, store.ErrRefused)
			require.ErrorContains(t, err, path)
		}
		require.NoError(t, os.WriteFile(path, whole, 0o600))
		refill := b
		refill.Refill = true
		if b.N > 2 { // it is more than one flush behind
			require.ErrorIs(t, s.Flush(t.Context(), b), store.ErrRolledBack)
		}
		require.NoError(t, s.Flush(t.Context(), refill))
	}
}

// An operator puts a backup back while the gateway runs, over the file or in its place.
func TestACopyPutBackWhileOpenIsRefilled(t *testing.T) {
	t.Parallel()
	for reason, putBack := range map[string]func(path string, backup []byte) error{
		"somebody else has written to it": func(path string, backup []byte) error {
			return os.WriteFile(path, backup, 0o600)
		},
		"another file is in its place": func(path string, backup []byte) error {
			return errors.Join(os.WriteFile(path+".backup", backup, 0o600), os.Rename(path+".backup", path))
		},
	} {
		path := filepath.Join(t.TempDir(), "rangegate.db")
		s := openAt(t, path)
		b := claimed(t, s)
		require.NoError(t, s.Flush(t.Context(), b))
		backup, err := os.ReadFile(path)
		require.NoError(t, err)
		for b.N < 3 {
			b.N++
			b.Events[0].Cursor++
			require.NoError(t, s.Flush(t.Context(), b))
		}

		require.NoError(t, putBack(path, backup))
		b.N++
		b.Events[0].Cursor++
		err = s.Flush(t.Context(), b)
		require.ErrorIs(t, err, store.ErrRefused)
		require.ErrorContains(t, err, reason)
		require.ErrorIs(t, s.Flush(t.Context(), b), store.ErrRolledBack)
		b.Refill = true
		require.NoError(t, s.Flush(t.Context(), b))
		require.NoError(t, s.Close())
		events, err := openAt(t, path).Events(t.Context(), b.Range, 0, 10)
		require.NoError(t, err)
		require.Len(t, events, 2)
	}
}

// damage changes the file beside the store. It gives the file as it was.
func damage(t *testing.T, path string, change func(file []byte)) (before []byte) {
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	before = bytes.Clone(file)
	change(file)
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return before
}

// unknown checks that the error leaves open whether it was written.
func unknown(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for _, definite := range []error{store.ErrRefused, store.ErrFenced, store.ErrRolledBack, context.Canceled} {
		require.NotErrorIs(t, err, definite)
	}
}

// onlyEvents checks that the event log has the cursors up to last, each once.
func onlyEvents(t *testing.T, s *Store, rangeID uuid.UUID, last uint64) {
	t.Helper()
	events, err := s.Events(t.Context(), rangeID, 0, 1000)
	require.NoError(t, err)
	require.Len(t, events, int(last))
	for i, event := range events {
		require.Equal(t, uint64(i+1), event.Cursor)
	}
}
