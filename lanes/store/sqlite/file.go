package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes/store"
)

const (
	lockPatience = time.Second // how long another process may take to let go of the file
	readerCount  = 2           // reads that run at the same time
	pageSize     = 4096
)

// ErrLocked: another process has the file open to write to it.
var ErrLocked = errors.New("the file is locked by another process: is another rangegate running?")

// file is a file that is open.
type file struct {
	path    string
	lock    *os.File // carries the lock; closed last, since closing it ends SQLite's own locks on the file
	writer  *sqlite.Conn
	readers chan *sqlite.Conn
	opened  os.FileInfo
	audit   *backgroundAudit // nil: there is none

	// What follows is the writer's.
	row           fileRow
	ranges        map[uuid.UUID]*rangeState
	known, wal    os.FileInfo // of the file and its WAL, after the last checkpoint
	checkpointing bool        // in the background
	rows          int         // written since the last checkpoint
	newGeneration bool        // the next commit is the first since a complete checkpoint
}

// open opens a file that is there, after an audit of its WAL and, up to auditAtOnce bytes, of all of it.
func open(path string) (*file, error) {
	lock, err := lockFile(path, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, lock: lock, readers: make(chan *sqlite.Conn, readerCount), ranges: map[uuid.UUID]*rangeState{}}
	if err := f.open(); err != nil {
		return nil, errors.Join(withDiskError(path, err), f.abandon())
	}
	return f, nil
}

func (f *file) open() (err error) {
	if f.opened, err = f.lock.Stat(); err != nil {
		return err
	}
	if err := auditWAL(f.path + "-wal"); err != nil {
		return err
	}
	f.newGeneration = !hasWAL(f.path)
	alone, both := withoutWAL(f.path)
	for range readerCount {
		reader, err := connect(f.path, sqlite.OpenReadOnly)
		if err != nil {
			return err
		}
		f.readers <- reader
		f.row, err = readFileRow(reader)
		if both && !errors.Is(err, store.ErrNewer) && (err != nil || !f.row.follows(alone)) {
			return errors.Join(errOtherWAL, err)
		}
		if err != nil {
			return err
		}
		if len(f.readers) == 1 && f.opened.Size() <= auditAtOnce {
			if err := audit(reader); err != nil {
				return err
			}
		}
	}
	// Only now: a connection for writing would bring a WAL into the file when it is the last one to be closed.
	if f.writer, err = connect(f.path, sqlite.OpenReadWrite); err != nil {
		return err
	}
	return f.remember()
}

// errOtherWAL: the file was replaced, or put back from a backup, and the WAL beside it is of the one that was there.
var errOtherWAL = errors.New("the file is damaged, or the WAL beside it (-wal) is of another file: if this one was put back from a " +
	"backup, remove that WAL")

// withoutWAL reads what the file alone says of itself. It is not ok without a WAL, and where a crash has come into a
// checkpoint: then the WAL has what is missing.
func withoutWAL(path string) (row fileRow, ok bool) {
	if !hasWAL(path) {
		return row, false
	}
	c, err := sqlite.OpenConn(uri(path)+"?immutable=1", sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		return row, false
	}
	defer func() { _ = c.Close() }()
	row, err = readFileRow(c)
	return row, err == nil
}

// hasWAL tells whether there is a WAL with a frame in it.
func hasWAL(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > walHeaderSize
}

// follows tells whether the row, read with the WAL, is of the file that alone was read from. A WAL has the commits of one
// generation, and the checkpoint of it may be under way.
func (row fileRow) follows(alone fileRow) bool {
	return row.id == alone.id && (row.generation == alone.generation || row.generation == alone.generation+1)
}

// resolve follows symbolic links: SQLite keeps the WAL beside what they lead to.
func resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return filepath.Clean(path), nil
	}
	return resolved, err
}

func uri(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// connect opens a connection as all of ours are.
func connect(path string, flags sqlite.OpenFlags) (*sqlite.Conn, error) {
	c, err := sqlite.OpenConn(uri(path), flags|sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(0) // the library's default waits for ever
	for _, pragma := range []string{
		"PRAGMA synchronous = FULL",
		"PRAGMA wal_autocheckpoint = 0",
		"PRAGMA journal_size_limit = 67108864", // the WAL file shrinks to 64 MiB when it begins anew
		"PRAGMA cache_size = -16384",           // 16 MiB
		"PRAGMA temp_store = MEMORY",
	} {
		if err := executeOnce(c, pragma); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// close lets go of the file. With its last connection, the writer's, SQLite brings the WAL into the file and removes it;
// where that fails, or another process still reads, the WAL stays and nothing is lost.
func (f *file) close() error {
	f.endAudit()
	return errors.Join(f.closeReaders(), f.writer.Close(), f.lock.Close())
}

// abandon lets go of the file and leaves it and its WAL as they are: a connection for reading that is closed last, as
// these are, cannot run the checkpoint that SQLite makes with its last connection.
func (f *file) abandon() error {
	f.endAudit()
	var err error
	if f.writer != nil {
		err = f.writer.Close()
	}
	return errors.Join(err, f.closeReaders(), f.lock.Close())
}

// settle brings the WAL that was found into the file, so that what comes is in a WAL of its own: a crash may have left
// commits in it that are not on the disk, and an fsync that failed may have left pages in memory that no later one
// brings there.
func (f *file) settle() error {
	if err := checkpoint(f.writer, "TRUNCATE").err; err != nil {
		return withDiskError(f.path, err)
	}
	f.newGeneration = true
	return f.remember()
}

func (f *file) closeReaders() (err error) {
	for range len(f.readers) {
		err = errors.Join(err, (<-f.readers).Close())
	}
	return err
}

// create makes an empty store where there is no file. It is made beside and renamed, so that whatever stands at path
// was whole once, and one that is empty or cut short is damage. Of two processes at it the second finds the file.
func create(path string) error {
	if found, err := exists(path); found || err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	fresh, err := os.OpenFile(path+".new", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = fresh.Close() }()
	if err := waitForLock(fresh, unix.LOCK_EX); err != nil {
		return err
	}
	if found, err := exists(path); found || err != nil {
		return errors.Join(err, os.RemoveAll(fresh.Name()))
	}
	err = fresh.Truncate(0) // what a crash has left
	if err == nil {
		err = fill(fresh.Name())
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh.Name()))
	}
	return errors.Join(os.Rename(fresh.Name(), path), syncFolder(filepath.Dir(path)))
}

// fill makes the empty file a store.
func fill(path string) error {
	c, err := connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	err = executeOnce(c, fmt.Sprintf("PRAGMA page_size = %d", pageSize))
	if err == nil {
		err = executeOnce(c, "PRAGMA journal_mode = WAL")
	}
	if err == nil {
		err = makeSchema(c, uuid.NewString())
	}
	if err == nil {
		err = checkpoint(c, "TRUNCATE").err
	}
	return withDiskError(path, errors.Join(err, c.Close()))
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

// lockFile locks a file that is there, for writing (LOCK_EX) or reading (LOCK_SH), and refuses what can be no store.
func lockFile(path string, how int) (*os.File, error) {
	mode := os.O_RDWR
	if how == unix.LOCK_SH {
		mode = os.O_RDONLY
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, err
	}
	err = waitForLock(f, how)
	if err == nil {
		err = plausible(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// waitForLock takes an advisory lock (flock) for a while. It is not of the kind that SQLite uses, so sqlite3 can read
// the file while a gateway has it.
func waitForLock(f *os.File, how int) error {
	for until := time.Now().Add(lockPatience); ; time.Sleep(lockPatience / 20) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return err
		case time.Now().After(until):
			return ErrLocked
		}
	}
}

// ErrBolt: the file is one of the releases before SQLite.
var ErrBolt = errors.New("it is a bolt file of an older rangegate: with the release that wrote it run rangegate store export, " +
	"then with this one rangegate store import into a new file")

// plausible looks at the first bytes: SQLite takes an empty file for a new database, and says of others little.
func plausible(f *os.File) error {
	head := make([]byte, 100)
	n, err := f.ReadAt(head, 0)
	switch {
	case n == 0:
		return errors.New("the file is empty, and a store never is: something has cut it")
	case n < len(head):
		return errors.New("the file is damaged: it is cut short")
	case err != nil:
		return err
	case bytes.Equal(head[16:20], []byte{0xed, 0xda, 0x0c, 0xed}) || bytes.Equal(head[16:20], []byte{0xed, 0x0c, 0xda, 0xed}):
		return ErrBolt
	case !bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return errors.New("the file is damaged, or no store of rangegate: it does not begin as a SQLite file does")
	}
	return checkSize(f, head)
}

// checkSize compares the file's size with its header. While there is a WAL the header may be ahead of the file.
func checkSize(f *os.File, head []byte) error {
	info, err := f.Stat()
	if err != nil || hasWAL(f.Name()) {
		return err
	}
	if said := int64(binary.BigEndian.Uint32(head[28:])) * pageSize; info.Size() < said {
		return fmt.Errorf("the file is damaged: it is cut short: %d bytes of %d", info.Size(), said)
	}
	return nil
}

// inPlace looks whether the file is still where it was opened, and as long. A file that was removed would go on taking
// what nobody finds again.
func (f *file) inPlace() error {
	now, err := os.Stat(f.path)
	switch {
	case err != nil:
		return fmt.Errorf("it was there when it was opened: %w", err)
	case !os.SameFile(f.opened, now):
		return errors.New("another file is in its place")
	case now.Size() < f.opened.Size():
		return fmt.Errorf("it was cut short: %d bytes of %d", now.Size(), f.opened.Size())
	}
	return nil
}

// remember notes how the file and its WAL are now. (To open the file for that outside SQLite would end SQLite's own locks.)
func (f *file) remember() (err error) {
	if f.known, err = os.Stat(f.path); err != nil {
		return err
	}
	f.wal, err = os.Stat(f.path + "-wal")
	return err
}

// untouched looks whether nobody but this process has written to the file, which happens in checkpoints alone, and
// whether its WAL is there: a copy that was put back over the file would be ruined by the next checkpoint.
func (f *file) untouched() error {
	if err := f.inPlace(); err != nil {
		return err
	}
	now, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if !f.checkpointing && (!now.ModTime().Equal(f.known.ModTime()) || now.Size() != f.known.Size()) {
		return fmt.Errorf("somebody else has written to it at %s", now.ModTime().UTC().Format(time.RFC3339Nano))
	}
	if wal, err := os.Stat(f.path + "-wal"); err != nil {
		return fmt.Errorf("its WAL was there when it was opened: %w", err)
	} else if !os.SameFile(f.wal, wal) {
		return errors.New("another file is in the place of its WAL")
	}
	return nil
}

// damaged names damage that SQLite has noticed.
func damaged(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return fmt.Errorf("the file is damaged: %w", err)
	}
	return err
}

// withDiskError adds to an error of SQLite what the disk says: SQLite's errors lack the operating system's.
func withDiskError(path string, err error) error {
	if err == nil {
		return nil
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr, sqlite.ResultFull, sqlite.ResultReadOnly, sqlite.ResultCantOpen:
		if reason := probe(path + ".probe"); reason != nil {
			return fmt.Errorf("%w (writing beside it: %w)", err, reason)
		}
	}
	return err
}

// probe has a page on the disk and takes it away again.
func probe(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, pageSize))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(path))
}
