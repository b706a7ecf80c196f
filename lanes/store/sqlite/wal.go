package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"

	"zombiezen.com/go/sqlite"
)

// The format of the WAL is on https://www.sqlite.org/fileformat2.html#walformat: a header of 32 bytes, then frames of 24
// bytes and a page each. A frame is valid when it has the header's salts and the right checksum, which continues that of
// the frame before. SQLite uses the frames up to the last commit before the first invalid one, and ignores the
// rest without an error.
const (
	walHeaderSize   = 32
	frameHeaderSize = 24
	walMagic        = 0x377f0682 // its last bit set: checksums are of big-endian words
)

// auditWAL finds damage that SQLite's recovery would take for the end of the WAL. A commit is on the disk before the next
// one begins, so a crash can tear only the last one: two or more commits from an invalid frame on, with the same salts, are
// damage. Other frames are ignored as SQLite does; a gateway that still runs notices the loss
// (store.ErrRolledBack).
func auditWAL(path string) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	reader := bufio.NewReaderSize(f, 1<<20)
	header := make([]byte, walHeaderSize)
	if _, err := io.ReadFull(reader, header); err != nil {
		return endOfWAL(err)
	}
	w := walChecksum{order: binary.ByteOrder(binary.LittleEndian)}
	if binary.BigEndian.Uint32(header)&1 == 1 {
		w.order = binary.BigEndian
	}
	w.sum(header[:24])
	broken, commits := int64(-1), 0 // the first invalid frame, 0 for the header; the commits from it on
	headerValid := binary.BigEndian.Uint32(header)&^1 == walMagic && binary.BigEndian.Uint32(header[8:]) == pageSize &&
		w.equals(header[24:])
	salts := [8]byte(header[16:24])
	if !headerValid {
		broken = 0
	}
	frame := make([]byte, frameHeaderSize+pageSize)
	for number := int64(1); ; number++ {
		if _, err := io.ReadFull(reader, frame); err != nil {
			if err := endOfWAL(err); err != nil {
				return err
			}
			break
		}
		if number == 1 && !headerValid {
			salts = [8]byte(frame[8:16])
		}
		// Salts that differ in one bit are those of this WAL with a flipped bit; those of an older WAL differ in about 16.
		distance := bits.OnesCount64(binary.BigEndian.Uint64(salts[:]) ^ binary.BigEndian.Uint64(frame[8:]))
		if broken < 0 {
			w.sum(frame[:8])
			w.sum(frame[frameHeaderSize:])
			if distance != 0 || !w.equals(frame[16:24]) || binary.BigEndian.Uint32(frame) == 0 {
				broken = number
			}
		}
		if broken >= 0 && distance <= 1 && binary.BigEndian.Uint32(frame[4:]) != 0 {
			commits++ // the invalid frame may be a commit itself
		}
	}
	switch {
	case broken < 0 || commits < 2:
		return nil
	case broken == 0:
		return fmt.Errorf("the file is damaged: the header of %s is not what was written, and it has %d commits", path, commits)
	}
	return fmt.Errorf("the file is damaged: frame %d of %s is not what was written, and there are %d commits from it on", broken, path, commits)
}

// endOfWAL returns nil where the WAL ends, also within a frame.
func endOfWAL(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// walChecksum is the running checksum of the frames.
type walChecksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (w *walChecksum) sum(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		w.s0 += w.order.Uint32(data) + w.s1
		w.s1 += w.order.Uint32(data[4:]) + w.s0
	}
}

func (w *walChecksum) equals(stored []byte) bool {
	return w.s0 == binary.BigEndian.Uint32(stored) && w.s1 == binary.BigEndian.Uint32(stored[4:])
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

// checkpoint copies frames of the WAL to the file. PASSIVE does not wait for readers; TRUNCATE also empties the WAL, unless
// it is being read.
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

// finishCheckpoint also checkpoints the frames that were written meanwhile, so that the WAL starts over. It runs between
// two transactions. After a failure the WAL grows until the next checkpoint, checkpointAfter rows later.
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
		s.reportProblem(fmt.Errorf("its WAL has %d MiB: somebody reads the file for long, a backup or sqlite3", frames*pageSize>>20))
	}
	if result.err == nil && result.frames-result.done < maxFinishFrames {
		result = checkpoint(f.writer, "PASSIVE")
	}
	if result.err != nil {
		s.reportProblem(fmt.Errorf("a checkpoint failed, and is tried again later: %w", withDiskError(s.path, result.err)))
	}
	f.newGeneration = f.newGeneration || result.isComplete()
	if err := f.noteInfo(); err != nil {
		s.markBroken(err)
	}
}
