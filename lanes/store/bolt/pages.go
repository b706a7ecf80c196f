package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// pages reads the pages of a bbolt file as they are on disk. bbolt maps them into memory and trusts them, so that a
// damaged one can hide records or end the process. Here nothing is trusted: every page has to be where it belongs,
// once, and in order (tree.go).
//
//	a page        id 8, kind 2, count 2, overflow 4, then elements; with overflow it is so many pages longer
//	pages 0, 1    a header each, of which the one of the later transaction counts: magic 4, version 4, page size 4,
//	              flags 4, root page 8, sequence 8, page of the free pages 8, pages 8, transaction 8, sum 8
//	a branch      elements of position 4, key size 4, page 8
//	a leaf        elements of flags 4, position 4, key size 4, value size 4; the flag 1 makes the value a bucket
//	a bucket      root page 8, sequence 8; with root page 0 its only page follows
//	free pages    ids of 8; when count is 0xffff the first one is the count
//
// Numbers are in the machine's byte order, and positions relative to their element.
type pages struct {
	file     io.ReaderAt
	pageSize int
	root     uint64 // the page at which the outermost bucket begins
	free     uint64 // the page of the free pages
	count    uint64 // of the pages, in use or free; the file may be longer
	met      []bool // by page

	transaction uint64 // the last one
}

const (
	pageHead   = 16
	headerSize = 64

	branchPage = 0x01
	leafPage   = 0x02
	freePage   = 0x10

	magic         = 0xED0CDAED
	layoutVersion = 2
	manyFree      = 0xffff
)

var machine = binary.NativeEndian

// readHeaders reads both headers, which the commits write in turn. That one is damaged, or an old one, is an error
// although there is the other: it may have been the last commit.
func readHeaders(file io.ReaderAt) (*pages, error) {
	first, err := readHeader(file, 0)
	if err != nil {
		return nil, fmt.Errorf("header 0: %w", err)
	}
	second, err := readHeader(file, int64(first.pageSize))
	if err != nil {
		return nil, fmt.Errorf("header 1: %w", err)
	}
	switch first.transaction - second.transaction {
	case 1:
		return first, nil
	case ^uint64(0): // -1
		return second, nil
	}
	return nil, fmt.Errorf("headers of the transactions %d and %d, which are not consecutive",
		first.transaction, second.transaction)
}

func readHeader(file io.ReaderAt, at int64) (*pages, error) {
	h := make([]byte, headerSize)
	if _, err := file.ReadAt(h, at+pageHead); err != nil {
		return nil, err
	}
	body, sum := h[:headerSize-8], fnv.New64a()
	sum.Write(body)
	if machine.Uint32(h) != magic || sum.Sum64() != machine.Uint64(h[len(body):]) {
		return nil, errors.New("it is not what was written")
	}
	if v := machine.Uint32(h[4:]); v != layoutVersion {
		return nil, fmt.Errorf("written in layout %d of bbolt, this version knows %d", v, layoutVersion)
	}
	return &pages{
		file: file, pageSize: int(machine.Uint32(h[8:])),
		root: machine.Uint64(h[16:]), free: machine.Uint64(h[32:]), count: machine.Uint64(h[40:]),
		transaction: machine.Uint64(h[48:]),
	}, nil
}

// end is how long the file is at least.
func (p *pages) end() int64 { return int64(p.count) * int64(p.pageSize) }

// walk goes through the whole file: the outermost bucket, which visit is told of, then those in it, by inner.
func (p *pages) walk(visit visit, inner func() error) error {
	if err := p.walkFree(); err != nil {
		return err
	}
	if err := p.tree(p.root, nil, nil, visit); err != nil {
		return err
	}
	if err := inner(); err != nil {
		return err
	}
	for id, met := range p.met {
		if !met {
			return fmt.Errorf("page %d is neither in use nor free", id)
		}
	}
	return nil
}

// walkFree begins anew with the headers and the free pages.
func (p *pages) walkFree() error {
	p.met = make([]bool, p.count)
	p.met[0], p.met[1] = true, true
	page, err := p.read(p.free)
	if err != nil {
		return err
	}
	if kind := machine.Uint16(page[8:]); kind != freePage {
		return fmt.Errorf("page %d does not list the free pages: it is of kind %#x", p.free, kind)
	}
	ids, count := page[pageHead:], uint64(machine.Uint16(page[10:]))
	if count == manyFree {
		count, ids = machine.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return fmt.Errorf("page %d: %d free pages do not fit", p.free, count)
	}
	for i := range count {
		if err := p.meet(machine.Uint64(ids[8*i:])); err != nil {
			return err
		}
	}
	return nil
}

// meet notes that the page has its place.
func (p *pages) meet(id uint64) error {
	if id >= p.count {
		return fmt.Errorf("page %d is beyond the last one, %d", id, p.count-1)
	}
	if p.met[id] {
		return fmt.Errorf("page %d is in two places", id)
	}
	p.met[id] = true
	return nil
}

// read meets a page and reads it, with its overflow.
func (p *pages) read(id uint64) ([]byte, error) {
	if err := p.meet(id); err != nil {
		return nil, err
	}
	page, err := p.readAt(id, 1)
	if err != nil {
		return nil, err
	}
	if itself := machine.Uint64(page); itself != id {
		return nil, fmt.Errorf("page %d says that it is page %d", id, itself)
	}
	overflow := uint64(machine.Uint32(page[12:]))
	if overflow == 0 {
		return page, nil
	}
	for i := range overflow {
		if err := p.meet(id + 1 + i); err != nil {
			return nil, err
		}
	}
	return p.readAt(id, 1+overflow)
}

func (p *pages) readAt(id, count uint64) ([]byte, error) {
	page := make([]byte, count*uint64(p.pageSize))
	if _, err := p.file.ReadAt(page, int64(id)*int64(p.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return page, nil
}
