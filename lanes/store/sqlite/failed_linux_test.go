package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// redirect replaces every open descriptor of path by the other file, except the one with the lock.
func redirect(t *testing.T, s *Store, path string, other *os.File) {
	t.Helper()
	descriptors, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	found := 0
	for _, d := range descriptors {
		number, err := strconv.Atoi(d.Name())
		require.NoError(t, err)
		at, _ := os.Readlink(filepath.Join("/proc/self/fd", d.Name()))
		if at != path || number == int(other.Fd()) || number == int(s.file.lock.Fd()) {
			continue
		}
		require.NoError(t, unix.Dup3(int(other.Fd()), number, unix.O_CLOEXEC))
		found++
	}
	require.Positive(t, found)
}

// writesFail makes every write to the WAL fail until it is opened again, as on a disk that has become read-only.
func writesFail(t *testing.T, s *Store) {
	readOnly, err := os.Open(s.path + "-wal")
	require.NoError(t, err)
	defer func() { require.NoError(t, readOnly.Close()) }()
	redirect(t, s, s.path+"-wal", readOnly)
}

// syncsFail drops every write to the WAL, and makes every fsync of it fail.
func syncsFail(t *testing.T, s *Store) {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, null.Close()) }()
	redirect(t, s, s.path+"-wal", null)
}

// After a failed fsync the outcome of the commit is unknown. The store opens the file again, and a repeat resolves it.
func TestARepeatResolvesACommitWhoseFsyncFailed(t *testing.T) {
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
	syncsFail(t, s)
	p.goOn()
	for _, answer := range answers {
		isUnknown(t, <-answer)
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

// A commit that could not be written is refused: the file has nothing of it, also after a crash. Reads succeed.
func TestACommitThatCannotBeWrittenIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	b.N, b.Events[0].Cursor = 2, 2
	writesFail(t, s)
	err := s.Flush(t.Context(), b)
	require.ErrorIs(t, err, store.ErrRefused)
	require.ErrorContains(t, err, path)
	onlyEvents(t, s, b.Range, 1)
	require.NoError(t, s.Flush(t.Context(), b), "the disk takes writes, so that the file is opened anew")
	onlyEvents(t, s, b.Range, 2)
}

// While the file cannot be opened again, flushes are refused and reads return the reason. Afterwards both succeed.
func TestABrokenFileRefusesUntilItIsRepaired(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	b.N, b.Events[0].Cursor = 2, 2

	syncsFail(t, s)
	isUnknown(t, s.Flush(t.Context(), b))
	before := content(t, path)
	damaged := bytes.Clone(before)
	clear(damaged[:80])
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	for range 3 {
		err := s.Flush(t.Context(), b)
		require.ErrorIs(t, err, store.ErrRefused)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "damaged")
		_, err = s.Claim(t.Context(), b.Range, opening)
		require.ErrorIs(t, err, store.ErrRefused)
		_, err = s.Load(t.Context(), store.InAnyEpoch(b.Range))
		require.ErrorContains(t, err, "not open since it failed")
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
	syncsFail(t, s)
	epoch, err := s.Claim(t.Context(), b.Range, opening)
	isUnknown(t, err)
	assert.Zero(t, epoch)
	epoch, err = s.Claim(t.Context(), b.Range, opening)
	require.NoError(t, err)
	assert.Greater(t, epoch, b.Epoch)
}

// The open file is removed or truncated. Restored with its WAL, it has lost nothing.
func TestAFileThatIsRemovedWhileOpenIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	for _, takeAway := range []func() error{
		func() error { return os.Truncate(path, 0) },
		func() error { return os.Truncate(path, 8192) },
		func() error { return os.Remove(path) },
		func() error { return os.Rename(path, path+".moved") },
	} {
		whole := content(t, path)
		b.N++
		b.Events[0].Cursor++
		require.NoError(t, takeAway())
		for range 2 {
			_, err := s.Load(t.Context(), store.InAnyEpoch(b.Range))
			require.ErrorContains(t, err, path)
			err = s.Flush(t.Context(), b)
			require.ErrorIs(t, err, store.ErrRefused)
			require.ErrorContains(t, err, path)
		}
		require.NoError(t, os.WriteFile(path, whole, 0o600))
		require.NoError(t, s.Flush(t.Context(), b))
		onlyEvents(t, s, b.Range, int(b.N))
	}
}

// An operator restores a backup while the gateway runs, over the file or as a new file. The store notices and
// is refilled.
func TestABackupRestoredWhileOpenIsRefilled(t *testing.T) {
	t.Parallel()
	for _, putBack := range []func(path string, backup []byte) error{
		func(path string, backup []byte) error { return os.WriteFile(path, backup, 0o600) },
		func(path string, backup []byte) error {
			return errors.Join(os.WriteFile(path+".other", backup, 0o600), os.Rename(path+".other", path))
		},
	} {
		path := filepath.Join(t.TempDir(), "rangegate.db")
		s := openAt(t, path)
		b := claimed(t, s)
		require.NoError(t, s.Flush(t.Context(), b))
		copied := filepath.Join(t.TempDir(), "backup.db")
		require.NoError(t, Backup(t.Context(), path, copied, func(*Reader) error { return nil }))
		for b.N < 3 {
			b.N++
			b.Events[0].Cursor++
			require.NoError(t, s.Flush(t.Context(), b))
		}

		require.NoError(t, putBack(path, content(t, copied)))
		b.N++
		b.Events[0].Cursor++
		err := s.Flush(t.Context(), b)
		require.ErrorIs(t, err, store.ErrRefused)
		require.ErrorContains(t, err, path)
		require.ErrorIs(t, s.Flush(t.Context(), b), store.ErrRolledBack)
		require.FileExists(t, path+"-wal.replaced", "what is of no use to the backup is kept")
		b.Refill = true
		require.NoError(t, s.Flush(t.Context(), b))
		require.NoError(t, s.Close())
		events, err := openAt(t, path).Events(t.Context(), store.RangeEpoch{Range: b.Range, Epoch: b.Epoch}, 0, 10)
		require.NoError(t, err)
		require.Len(t, events, 2)
	}
}

// The WAL of a killed gateway is not used with a file that is restored beside it.
func TestAWALOfAnotherFileIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	copied := filepath.Join(t.TempDir(), "backup.db")
	require.NoError(t, Backup(t.Context(), path, copied, func(*Reader) error { return nil }))
	require.NoError(t, s.Flush(t.Context(), b))
	wal := content(t, path+"-wal")
	require.NoError(t, s.Close())
	backup := content(t, copied)
	require.NoError(t, os.WriteFile(path, backup, 0o600))
	require.NoError(t, os.WriteFile(path+"-wal", wal, 0o600))
	for range 2 {
		_, err := Open(path, keepAll)
		require.ErrorContains(t, err, "remove that WAL")
		_, err = OpenReader(path)
		require.ErrorContains(t, err, "remove that WAL")
		require.Equal(t, backup, content(t, path))
	}
	require.NoError(t, os.Remove(path+"-wal"))
	loaded, err := openAt(t, path).Load(t.Context(), store.InAnyEpoch(b.Range))
	require.NoError(t, err)
	require.Empty(t, loaded.Pending)
}

// A backup is restored over the file of a running gateway, which is stopped before or after the next write. Neither the
// backup nor the WAL changes.
func TestABackupRestoredOverTheFileSurvivesTheStop(t *testing.T) {
	t.Parallel()
	for _, noticed := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "rangegate.db")
		s := openAt(t, path)
		b := claimed(t, s)
		require.NoError(t, s.Flush(t.Context(), b))
		copied := filepath.Join(t.TempDir(), "backup.db")
		require.NoError(t, Backup(t.Context(), path, copied, func(*Reader) error { return nil }))
		b.N, b.Events[0].Cursor = 2, 2
		require.NoError(t, s.Flush(t.Context(), b))
		backup := content(t, copied)
		require.NoError(t, os.WriteFile(path, backup, 0o600))
		if noticed {
			b.N, b.Events[0].Cursor = 3, 3
			require.ErrorIs(t, s.Flush(t.Context(), b), store.ErrRefused)
		}
		require.ErrorContains(t, s.Close(), "another process has written to it")
		require.Equal(t, backup, content(t, path))
		_, err := Open(path, keepAll)
		require.ErrorContains(t, err, "remove that WAL")
	}
}

// A commit with unknown outcome, the first of its generation, is in the WAL, which a long read keeps from
// being emptied. However often that is tried, the WAL belongs to the file.
func TestAnUnknownCommitStaysInTheWALDuringARead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Close())
	s = openAt(t, path)
	var before fileRow
	onWriter(t, s, func() { before = s.file.row })
	require.NoError(t, s.Flush(t.Context(), b))
	onWriter(t, s, func() { // as if its fsync had failed
		s.file.row, s.file.newGeneration, s.file.ranges = before, true, map[uuid.UUID]*rangeState{}
		s.markBroken(errors.New("its fsync failed"))
	})
	c, err := connect(path, sqlite.OpenReadOnly)
	require.NoError(t, err)
	require.NoError(t, inTransaction(c, func() error {
		_, err := number(c, "SELECT count(*) FROM events")
		for range 3 {
			err := s.Flush(t.Context(), b)
			require.ErrorIs(t, err, store.ErrRefused)
			require.ErrorContains(t, err, "somebody reads the file")
			require.NoFileExists(t, path+"-wal.replaced")
		}
		return err
	}))
	require.NoError(t, c.Close())
	require.NoError(t, s.Flush(t.Context(), b), "a repeat")
	onlyEvents(t, s, b.Range, 1)
}

// The store opens a large file again while it is audited. The audit ends first, and SQLite's locks are held.
func TestAFailureDuringTheAuditInTheBackground(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	locks := func() (count int) {
		info, err := os.Stat(path)
		require.NoError(t, err)
		table, err := os.ReadFile("/proc/locks")
		require.NoError(t, err)
		inode := fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)
		for _, line := range strings.Split(string(table), "\n") {
			if strings.Contains(line, inode) && strings.Contains(line, "POSIX") {
				count++
			}
		}
		return count
	}
	held := locks()
	require.Positive(t, held)
	c, err := connect(path, sqlite.OpenReadOnly)
	require.NoError(t, err)
	require.NoError(t, execute(c, "BEGIN"))
	_, err = number(c, "SELECT count(*) FROM events")
	require.NoError(t, err)
	onWriter(t, s, func() {
		s.file.stopAudit = func() { assert.NoError(t, errors.Join(execute(c, "COMMIT"), c.Close())) }
		s.markBroken(errors.New("a failure"))
	})
	b.N, b.Events[0].Cursor = 2, 2
	require.NoError(t, s.Flush(t.Context(), b))
	// A read of /proc/locks may miss an entry while other processes release locks; a lock that is lost stays lost.
	require.Eventually(t, func() bool { return locks() == held }, time.Minute, time.Millisecond)
}

// A page of one range's lanes is damaged while the gateway runs. Flushes of that range are refused, others succeed.
func TestADamagedPageStopsItsRangeAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	damaged, sound := claimed(t, s), claimed(t, s)
	for i := range 400 {
		damaged.Lanes = append(damaged.Lanes,
			lanes.Snapshot{Lane: lanes.Lane{ID: uuid.UUID{byte(i), byte(i >> 8)}, Fault: strings.Repeat("lane", 100)}})
	}
	require.NoError(t, s.Flush(t.Context(), damaged))
	require.NoError(t, s.Flush(t.Context(), sound))
	require.NoError(t, s.Close())
	s = openAt(t, path)
	bytesOfFile := content(t, path)
	offset := bytes.LastIndex(bytesOfFile[:len(bytesOfFile)/2], []byte("lanelane")) &^ (pageSize - 1)
	clear(bytesOfFile[offset:][:64])
	onWriter(t, s, func() { // only the page itself shows the damage
		require.NoError(t, os.WriteFile(path, bytesOfFile, 0o600))
		require.NoError(t, s.file.noteInfo())
	})
	_, err := s.Claim(t.Context(), damaged.Range, opening)
	require.ErrorIs(t, err, store.ErrRefused)
	var corrupt *store.CorruptError
	require.ErrorAs(t, err, &corrupt)
	sound.N, sound.Events[0].Cursor = 2, 2
	require.NoError(t, s.Flush(t.Context(), sound))
	onlyEvents(t, s, sound.Range, 2)
}

// A power cut tears the page of the table file during a checkpoint. The WAL has the page, and belongs to the file.
func TestATornCheckpointIsRecovered(t *testing.T) {
	t.Parallel()
	for range 5 {
		path := filepath.Join(t.TempDir(), "rangegate.db")
		s := openAt(t, path)
		b := claimed(t, s)
		require.NoError(t, s.Close())
		s = openAt(t, path)
		for b.N = 1; b.N <= 4; b.N++ {
			b.Events[0].Cursor = b.N
			require.NoError(t, s.Flush(t.Context(), b))
		}
		root, err := number(s.file.writer, "SELECT rootpage FROM sqlite_schema WHERE name = 'file'")
		require.NoError(t, err)
		file, wal := content(t, path), content(t, path+"-wal")
		require.NoError(t, s.Close())
		var page []byte
		for offset := walHeaderSize; offset < len(wal); offset += frameSize {
			if int64(binary.BigEndian.Uint32(wal[offset:])) == root {
				page = wal[offset+frameHeaderSize:][:pageSize]
			}
		}
		for _, part := range [][2]int{{0, 512}, {512, pageSize}} {
			torn := bytes.Clone(file)
			copy(torn[(root-1)*pageSize:][part[0]:part[1]], page[part[0]:])
			tornPath := filepath.Join(t.TempDir(), "torn.db")
			require.NoError(t, os.WriteFile(tornPath, torn, 0o600))
			require.NoError(t, os.WriteFile(tornPath+"-wal", wal, 0o600))
			onlyEvents(t, openAt(t, tornPath), b.Range, 4)
		}
	}
}

// A gateway is killed before the fsync of a commit and started again; then the power fails. It tears at most
// one commit, because the start has emptied the WAL.
func TestAStartEmptiesTheWAL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	file, wal := content(t, path), content(t, path+"-wal")
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(path, file, 0o600))
	require.NoError(t, os.WriteFile(path+"-wal", wal, 0o600))
	s = openAt(t, path)
	require.False(t, hasWAL(path))
	settled, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotEqual(t, file, settled)
	onlyEvents(t, s, b.Range, 1)
}

// The path is a symbolic link, has a slash too many, or characters that a URI escapes.
func TestPathsOfAllKinds(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{
		"a b", "50%", "a?b", "a#b", "%20", "ä", "a&b=c", "a:b", "a;b", "a'b\"c",
		"a\\b", "+", "/x",
	} {
		path := filepath.Join(folder, name) + "/r.db"
		s := openAt(t, strings.Replace(path, "/", "//", 1))
		b := claimed(t, s)
		require.NoError(t, s.Flush(t.Context(), b))
		require.FileExists(t, path+"-wal")
		file, wal := content(t, path), content(t, path+"-wal")
		require.NoError(t, s.Close())
		require.NoError(t, os.WriteFile(path, file, 0o600))
		require.NoError(t, os.WriteFile(path+"-wal", wal, 0o600)) // as a gateway that was killed leaves it

		link := filepath.Join(t.TempDir(), "link.db")
		require.NoError(t, os.Symlink(path, link))
		r, err := OpenReader(link)
		require.NoError(t, err)
		ids, err := r.Ranges(t.Context())
		require.NoError(t, err)
		require.Equal(t, []uuid.UUID{b.Range}, ids)
		require.NoError(t, r.Close())
		require.NoError(t, Backup(t.Context(), link, path+".backup", func(*Reader) error { return nil }))
		s = openAt(t, link)
		onlyEvents(t, s, b.Range, 1)
		require.NoError(t, s.Close())
	}
}

// The disk that a link leads to is not mounted. No empty store takes the place of the link: once the disk is there, so
// is everything that is saved.
func TestALinkWhoseTargetIsMissingIsNoPlaceForANewStore(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "disk")
	path := filepath.Join(disk, "r.db")
	s := openAt(t, path)
	b := claimed(t, s)
	require.NoError(t, s.Flush(t.Context(), b))
	require.NoError(t, s.Close())
	link := filepath.Join(t.TempDir(), "r.db")
	require.NoError(t, os.Symlink(path, link))

	require.NoError(t, os.Rename(disk, disk+".unmounted"))
	_, err := Open(link, keepAll)
	require.ErrorContains(t, err, "a symbolic link to a file that is not there")
	_, err = OpenReader(link)
	require.ErrorContains(t, err, "a symbolic link to a file that is not there")

	require.NoError(t, os.Rename(disk+".unmounted", disk))
	s = openAt(t, link)
	onlyEvents(t, s, b.Range, 1)
	require.NoError(t, s.Close())
}

// onWriter runs a function in the writer's goroutine. The transaction around it writes nothing.
func onWriter(t *testing.T, s *Store, run func()) {
	t.Helper()
	require.Error(t, s.submit(t.Context(), func(*transaction) (rejection, failure error) {
		run()
		return nil, errors.New("nothing is to be written")
	}))
}

// isUnknown requires an error after which the outcome is unknown.
func isUnknown(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for _, definite := range []error{store.ErrRefused, store.ErrFenced, store.ErrRolledBack, context.Canceled} {
		require.NotErrorIs(t, err, definite)
	}
}

// onlyEvents requires that the event log has the cursors up to last, each once.
func onlyEvents(t *testing.T, s *Store, rangeID uuid.UUID, last int) {
	t.Helper()
	events, err := s.Events(t.Context(), store.InAnyEpoch(rangeID), 0, 1000)
	require.NoError(t, err)
	require.Len(t, events, last)
	for i, event := range events {
		require.Equal(t, uint64(i+1), event.Cursor)
	}
}
