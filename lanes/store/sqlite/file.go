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
	lockTimeout = time.Second // for another process to release the file
	readerCount = 2           // reads at the same time
	pageSize    = 4096
)

// ErrLocked means that another process has the file open for writing.
var ErrLocked = errors.New("the file is locked by another process: is another rangegate running?")

// file is the open file.
type file struct {
	path    string
	lock    *os.File // holds the lock; closed last, because closing it ends SQLite's own locks on the file
	writer  *sqlite.Conn
	readers chan *sqlite.Conn
	opened  os.FileInfo

	stopAudit func() // of the audit in the background

	// These belong to the writer.
	row           fileRow
	ranges        map[uuid.UUID]*rangeState
	info, walInfo os.FileInfo // of the file and its WAL after the last checkpoint
	checkpointing bool        // in the background
	rows          int         // written since the last checkpoint
	newGeneration bool        // the next commit is the first since a complete checkpoint
}

// open opens an existing file, after an audit of its WAL and, up to auditAtOnce bytes, of the whole file.
func open(path string) (*file, error) {
	lock, err := lockFile(path, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	f := &file{
		path: path, lock: lock, readers: make(chan *sqlite.Conn, readerCount), stopAudit: func() {},
		ranges: map[uuid.UUID]*rangeState{},
	}
	if err := f.open(); err != nil {
		return nil, errors.Join(withDiskError(path, err), f.closeKeepingWAL())
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
	without, ok := readFileRowWithoutWAL(f.path)
	for range readerCount {
		reader, err := connect(f.path, sqlite.OpenReadOnly)
		if err != nil {
			return err
		}
		f.readers <- reader
		if f.row, err = readFileRowWithWAL(reader, without, ok); err != nil {
			return err
		}
		if len(f.readers) == 1 && f.opened.Size() <= auditAtOnce {
			if err := audit(reader); err != nil {
				return err
			}
		}
	}
	// After the checks: closing the last connection for writing would checkpoint the WAL.
	if f.writer, err = connect(f.path, sqlite.OpenReadWrite); err != nil {
		return err
	}
	return f.noteInfo()
}

// errOtherWAL means that the file was replaced, or restored from a backup, and its WAL belongs to the old file.
var errOtherWAL = errors.New("the file is damaged, or the WAL beside it (-wal) is of another file: if this one " +
	"was put back from a backup, remove that WAL")

// readFileRowWithWAL reads the row of the table file, and checks that the WAL belongs to the file: without is
// the row that readFileRowWithoutWAL has read, if it was ok.
func readFileRowWithWAL(c *sqlite.Conn, without fileRow, ok bool) (fileRow, error) {
	row, err := readFileRow(c)
	if ok && !errors.Is(err, store.ErrNewer) && (err != nil || !row.follows(without)) {
		err = errors.Join(errOtherWAL, err)
	}
	return row, err
}

// readFileRowWithoutWAL reads the row from the file alone. It is not ok without a WAL, and after a crash during a
// checkpoint: the WAL then has the missing pages.
func readFileRowWithoutWAL(path string) (row fileRow, ok bool) {
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

// hasWAL reports whether there is a WAL with a frame.
func hasWAL(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > walHeaderSize
}

// follows reports whether the row, read with the WAL, belongs to the file whose row was read without it. A WAL has the
// commits of one generation, and its checkpoint may not be complete.
func (row fileRow) follows(without fileRow) bool {
	return row.id == without.id && (row.generation == without.generation || row.generation == without.generation+1)
}

// resolve follows symbolic links: SQLite keeps the WAL beside their target. A link whose target is missing is an error:
// the disk with the store may not be mounted, and a new store would take the place of the link.
func resolve(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, os.ErrNotExist) {
		return resolved, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return "", fmt.Errorf("%s is a symbolic link to a file that is not there: is its disk mounted?", path)
	}
	return filepath.Clean(path), nil
}

func uri(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// connect opens a connection with the settings of the store.
func connect(path string, flags sqlite.OpenFlags) (*sqlite.Conn, error) {
	c, err := sqlite.OpenConn(uri(path), flags|sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(0) // the library's default has no limit
	for _, pragma := range []string{
		"PRAGMA synchronous = FULL",
		"PRAGMA wal_autocheckpoint = 0",
		"PRAGMA journal_size_limit = 67108864", // the WAL file shrinks to 64 MiB when it starts over
		"PRAGMA cache_size = -16384",           // 16 MiB
		"PRAGMA temp_store = MEMORY",
		"PRAGMA secure_delete = FAST", // what is removed or shortened is overwritten where its page is written anyway
	} {
		if err := executeOnce(c, pragma); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// close releases the file. When the last connection is closed, SQLite checkpoints the WAL and removes it;
// where that fails, or another process still reads, the WAL stays and nothing is lost.
func (f *file) close() error {
	f.stopAudit()
	return errors.Join(f.closeReaders(), f.writer.Close(), f.lock.Close())
}

// closeKeepingWAL releases the file without a checkpoint: it closes the connections for reading last, which
// cannot run the one that SQLite makes with its last connection.
func (f *file) closeKeepingWAL() error {
	f.stopAudit()
	var err error
	if f.writer != nil {
		err = f.writer.Close()
	}
	return errors.Join(err, f.closeReaders(), f.lock.Close())
}

// emptyWAL checkpoints the WAL that was found, so that new commits are in a new one: after a crash the old one
// may have commits that are not on the disk, and after a failed fsync pages that no later fsync writes.
func (f *file) emptyWAL() error {
	if err := checkpoint(f.writer, "TRUNCATE").err; err != nil {
		return withDiskError(f.path, err)
	}
	f.newGeneration = true
	return f.noteInfo()
}

func (f *file) closeReaders() (err error) {
	for range len(f.readers) {
		err = errors.Join(err, (<-f.readers).Close())
	}
	return err
}

// create makes an empty store where there is no file. It makes another file and renames it: a file at path was
// complete once, and one that is empty or cut short is damaged. Of two processes the second finds the file.
func create(path string) error {
	if found, err := exists(path); found || err != nil {
		return err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
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
	err = fresh.Truncate(0) // the rest of a crash
	if err == nil {
		err = initialize(fresh.Name())
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh.Name()))
	}
	return errors.Join(os.Rename(fresh.Name(), path), syncFolder(filepath.Dir(path)))
}

// initialize makes the empty file a store.
func initialize(path string) error {
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

// makeFolder makes a folder where there is none, with those above it. It returns when they are durable: a power
// cut would otherwise take the folder, and with it a file that was synced.
func makeFolder(folder string) error {
	if found, err := exists(folder); found || err != nil {
		return err
	}
	above := filepath.Dir(folder)
	if err := makeFolder(above); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) { // another process may make it too
		return err
	}
	return syncFolder(above)
}

// syncFolder makes the names in the folder durable.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// lockFile locks an existing file, for writing (LOCK_EX) or reading (LOCK_SH), and refuses one that cannot be a store.
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
		err = checkHeader(f)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// waitForLock acquires an advisory lock (flock) within lockTimeout: ErrLocked. SQLite uses locks of another kind, so
// sqlite3 can read the file while a gateway has it.
func waitForLock(f *os.File, how int) error {
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(lockTimeout / 20) {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return err
		case time.Now().After(deadline):
			return ErrLocked
		}
	}
}

// ErrBolt means that a release before SQLite has written the file.
var ErrBolt = errors.New("it is a bolt file of an older rangegate: with the release that wrote it run rangegate " +
	"store export, then with this one rangegate store import into a new file")

// checkHeader checks the first bytes: SQLite takes an empty file for a new database, and describes no other fault.
func checkHeader(f *os.File) error {
	head := make([]byte, 100)
	n, err := f.ReadAt(head, 0)
	switch {
	case n == 0:
		return errors.New("the file is empty, and a store never is: something has cut it")
	case n < len(head):
		return errors.New("the file is damaged: it is cut short")
	case err != nil:
		return err
	case bytes.Equal(head[16:20], []byte{0xed, 0xda, 0x0c, 0xed}) ||
		bytes.Equal(head[16:20], []byte{0xed, 0x0c, 0xda, 0xed}):
		return ErrBolt
	case !bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return errors.New("the file is damaged, or no store of rangegate: it does not begin as a SQLite file does")
	}
	return checkSize(f, head)
}

// checkSize compares the file's size with its header, unless there is a WAL: the header may then have the later size.
func checkSize(f *os.File, head []byte) error {
	info, err := f.Stat()
	if err != nil || hasWAL(f.Name()) {
		return err
	}
	if size := int64(binary.BigEndian.Uint32(head[28:])) * pageSize; info.Size() < size {
		return fmt.Errorf("the file is damaged: it is cut short: %d bytes of %d", info.Size(), size)
	}
	return nil
}

// checkInPlace checks that the file still has its path and at least its size. A file that was removed would
// accept writes that nobody finds again.
func (f *file) checkInPlace() error {
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		return fmt.Errorf("it was there when it was opened: %w", err)
	case !os.SameFile(f.opened, info):
		return errors.New("another file is in its place")
	case info.Size() < f.opened.Size():
		return fmt.Errorf("it was cut short: %d bytes of %d", info.Size(), f.opened.Size())
	}
	return nil
}

// noteInfo notes size and time of the file and its WAL. It opens neither: closing them would end SQLite's own locks.
func (f *file) noteInfo() (err error) {
	if f.info, err = os.Stat(f.path); err != nil {
		return err
	}
	f.walInfo, err = os.Stat(f.path + "-wal")
	return err
}

// checkUnchanged checks that only this process has written to the file, which it does in checkpoints, and
// that the WAL is the same: the next checkpoint would ruin a copy that was restored over the file.
func (f *file) checkUnchanged() error {
	if err := f.checkInPlace(); err != nil {
		return err
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if !f.checkpointing && (!info.ModTime().Equal(f.info.ModTime()) || info.Size() != f.info.Size()) {
		return fmt.Errorf("another process has written to it at %s", info.ModTime().UTC().Format(time.RFC3339Nano))
	}
	if wal, err := os.Stat(f.path + "-wal"); err != nil {
		return fmt.Errorf("its WAL was there when it was opened: %w", err)
	} else if !os.SameFile(f.walInfo, wal) {
		return errors.New("another file is in the place of its WAL")
	}
	return nil
}

// asDamage adds that the file is damaged to such an error of SQLite.
func asDamage(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return fmt.Errorf("the file is damaged: %w", err)
	}
	return err
}

// withDiskError adds the error of the operating system, which SQLite's errors lack.
func withDiskError(path string, err error) error { return withReason(err, diskReason(path, err)) }

func withReason(err, reason error) error {
	if reason == nil {
		return err
	}
	return fmt.Errorf("%w (writing beside it: %w)", err, reason)
}

// diskReason returns why the disk cannot be written, if SQLite's error is about that.
func diskReason(path string, err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultIOErr, sqlite.ResultFull, sqlite.ResultReadOnly, sqlite.ResultCantOpen:
		return writePage(path + ".probe")
	}
	return nil
}

// writePage writes a page to a new file, and removes the file.
func writePage(path string) error {
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

const (
	// checkpointAfter is how many rows are written between checkpoints. A row uses at most two pages of the WAL.
	checkpointAfter = 4000
	// maxFinishFrames is how many frames the writer checkpoints between two transactions. With more, the checkpoint
	// continues in the background.
	maxFinishFrames = 1000
	// longWAL is the number of frames from which a WAL is reported: 256 MiB.
	longWAL = 1 << 16
)

// checkpointResult is the result of a checkpoint: the frames in the WAL, and those of them that are in the file.
type checkpointResult struct {
	frames, done int64
	err          error
}

func (c checkpointResult) isComplete() bool { return c.err == nil && c.frames == c.done }

// errReading ends only a checkpoint that must be complete.
var errReading = errors.New("somebody reads the file: a backup, or sqlite3")

// checkpoint copies frames of the WAL to the file. PASSIVE does not wait for readers; TRUNCATE also empties
// the WAL, unless it is being read.
func checkpoint(c *sqlite.Conn, mode string) (result checkpointResult) {
	result.err = query(c, "PRAGMA wal_checkpoint("+mode+")", func(row *sqlite.Stmt) error {
		if row.ColumnInt64(0) != 0 {
			return errReading
		}
		result.frames, result.done = row.ColumnInt64(1), row.ColumnInt64(2)
		return nil
	})
	return result
}

// checkpointInBackground begins a checkpoint when one is due. The writer continues meanwhile.
func (s *Store) checkpointInBackground() {
	f := s.file
	if s.broken != nil || f.checkpointing || f.rows < s.checkpointAfter {
		return
	}
	f.checkpointing, f.rows = true, 0
	go func() {
		c, err := connect(f.path, sqlite.OpenReadWrite)
		if err != nil {
			s.checkpoints <- checkpointResult{err: err}
			return
		}
		result := checkpoint(c, "PASSIVE")
		result.err = errors.Join(result.err, c.Close())
		s.checkpoints <- result
	}()
}

// finishCheckpoint also checkpoints the frames that were written meanwhile, so that the WAL starts over. It
// runs between two transactions. After a failure the WAL grows until the next checkpoint, checkpointAfter
// rows later.
func (s *Store) finishCheckpoint(result checkpointResult) {
	f := s.file
	if f == nil {
		return
	}
	f.checkpointing = false
	if s.broken != nil { // the file may not be the one that was opened
		return
	}
	if frames := result.frames; frames > longWAL {
		s.reportProblem(fmt.Errorf("its WAL has %d MiB: somebody reads the file for long, a backup or sqlite3",
			frames*pageSize>>20))
	}
	if result.err == nil && result.frames-result.done < maxFinishFrames {
		result = checkpoint(f.writer, "PASSIVE")
	}
	if result.err != nil {
		s.reportProblem(fmt.Errorf("a checkpoint failed, and is tried again later: %w",
			withDiskError(s.path, result.err)))
	}
	f.newGeneration = f.newGeneration || result.isComplete()
	if err := f.noteInfo(); err != nil {
		s.markBroken(err)
	}
}
