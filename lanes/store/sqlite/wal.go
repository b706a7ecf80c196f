package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
)

// The format of the WAL is on https://www.sqlite.org/fileformat2.html#walformat: a header of 32 bytes, then frames of 24
// bytes and a page each. A frame is valid when its salts are the header's and its checksum, which goes on from that of the
// frame before, is right. SQLite uses the frames up to the last commit before the first that is not valid, and says
// nothing of what is behind.
const (
	walHeaderSize   = 32
	frameHeaderSize = 24
	walMagic        = 0x377f0682 // its last bit set: checksums are of big-endian words
)

// auditWAL looks for damage that SQLite's recovery would take for the end of the WAL. A commit is on the disk before the
// next one begins, so that a crash can tear the last one only: at least two commits from an invalid frame on, of
// the same salts, are damage. Anything else is cut as SQLite does, and what is lost with it is noticed by the gateway that
// wrote it, if it still runs (store.ErrRolledBack).
func auditWAL(path string) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	from := bufio.NewReaderSize(f, 1<<20)
	header := make([]byte, walHeaderSize)
	if _, err := io.ReadFull(from, header); err != nil {
		return endOfWAL(err)
	}
	w := walReader{order: binary.ByteOrder(binary.LittleEndian)}
	if binary.BigEndian.Uint32(header)&1 == 1 {
		w.order = binary.BigEndian
	}
	w.sum(header[:24])
	broken, commits := int64(-1), 0 // the first frame that is not valid, 0 for the header; commits from there on
	headerValid := binary.BigEndian.Uint32(header)&^1 == walMagic && binary.BigEndian.Uint32(header[8:]) == pageSize &&
		w.equals(header[24:])
	salts := [8]byte(header[16:24])
	if !headerValid {
		broken = 0
	}
	frame := make([]byte, frameHeaderSize+pageSize)
	for number := int64(1); ; number++ {
		if _, err := io.ReadFull(from, frame); err != nil {
			if err := endOfWAL(err); err != nil {
				return err
			}
			break
		}
		if number == 1 && !headerValid {
			salts = [8]byte(frame[8:16])
		}
		// Salts that differ in one bit are this WAL's with a bit flipped; those of an older one differ in about 16.
		distance := bits.OnesCount64(binary.BigEndian.Uint64(salts[:]) ^ binary.BigEndian.Uint64(frame[8:]))
		if broken < 0 {
			w.sum(frame[:8])
			w.sum(frame[frameHeaderSize:])
			if distance != 0 || !w.equals(frame[16:24]) || binary.BigEndian.Uint32(frame) == 0 {
				broken = number
			}
		}
		if broken >= 0 && distance <= 1 && binary.BigEndian.Uint32(frame[4:]) != 0 {
			commits++ // the frame that is not valid may be one itself
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

// endOfWAL: the WAL ends here, maybe within a frame.
func endOfWAL(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// walReader computes the running checksum.
type walReader struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (w *walReader) sum(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		w.s0 += w.order.Uint32(data) + w.s1
		w.s1 += w.order.Uint32(data[4:]) + w.s0
	}
}

func (w *walReader) equals(stored []byte) bool {
	return w.s0 == binary.BigEndian.Uint32(stored) && w.s1 == binary.BigEndian.Uint32(stored[4:])
}
