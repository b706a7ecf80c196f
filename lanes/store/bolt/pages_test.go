package bolt

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noticed checks that the audit of the damaged file is an error.
func (f *sample) noticed(t *testing.T, damage string, at ...any) {
	t.Helper()
	_, err := audit(bytes.NewReader(f.damaged), int64(len(f.damaged)))
	assert.Error(t, err, append([]any{damage}, at...)...)
}

// flipEach damages each bit of that part of the file, one at a time.
func (f *sample) flipEach(t *testing.T, part string, from, behind int) {
	t.Helper()
	f.damaged = bytes.Clone(f.whole)
	for at := from; at < behind; at++ {
		for bit := range 8 {
			f.damaged[at] ^= 1 << bit
			f.noticed(t, part+", byte %d bit %d", at-from, bit)
			f.damaged[at] ^= 1 << bit
		}
	}
}

func TestEveryBitOfTheHeadersCounts(t *testing.T) {
	t.Parallel()
	f := newSample(t)
	p, err := readHeaders(bytes.NewReader(f.whole))
	require.NoError(t, err)
	f.flipEach(t, "header 0", pageHead, pageHead+headerSize)
	f.flipEach(t, "header 1", p.pageSize+pageHead, p.pageSize+pageHead+headerSize)
}

// A page that is listed as free while it is in use would be written over.
func TestEveryBitOfTheListOfFreePagesCounts(t *testing.T) {
	t.Parallel()
	f := newSample(t)
	p, err := readHeaders(bytes.NewReader(f.whole))
	require.NoError(t, err)
	at := int(p.free) * p.pageSize
	count := int(machine.Uint16(f.whole[at+10:]))
	require.NotZero(t, count)
	f.flipEach(t, "the list of free pages", at, at+pageHead+8*count)
}

// inUse gives the pages of the kind that are in use and hold more than one element.
func (f *sample) inUse(t *testing.T, kind uint16) (pages []int) {
	t.Helper()
	p, err := readHeaders(bytes.NewReader(f.whole))
	require.NoError(t, err)
	require.NoError(t, p.walkFree())
	for id := 2; id < int(p.count); id++ {
		at := id * p.pageSize
		if !p.met[id] && machine.Uint16(f.whole[at+8:]) == kind && machine.Uint16(f.whole[at+10:]) > 1 {
			pages = append(pages, at)
		}
	}
	require.NotEmpty(t, pages)
	return pages
}

// Records that are all there and all whole, but not in order, would not be found.
func TestElementsOutOfOrderAreNoticed(t *testing.T) {
	t.Parallel()
	f := newSample(t)
	for kind, position := range map[uint16]int{branchPage: 0, leafPage: 4} {
		for _, at := range f.inUse(t, kind) {
			f.damaged = bytes.Clone(f.whole)
			first, second := f.damaged[at+pageHead:][:16], f.damaged[at+pageHead+16:][:16]
			former := bytes.Clone(first)
			copy(first, second)
			copy(second, former)
			machine.PutUint32(first[position:], machine.Uint32(first[position:])+16)
			machine.PutUint32(second[position:], machine.Uint32(second[position:])-16)
			f.noticed(t, "page at %d", at)
		}
	}
}

// Nor would those be found that a branch looks for in the page beside theirs.
func TestABranchThatLeadsAstrayIsNoticed(t *testing.T) {
	t.Parallel()
	f := newSample(t)
	for _, at := range f.inUse(t, branchPage) {
		// The keys at which the first two pages below begin.
		keyAt := func(element int) []byte {
			begin := at + pageHead + 16*element
			position, size := machine.Uint32(f.damaged[begin:]), machine.Uint32(f.damaged[begin+4:])
			return f.damaged[begin+int(position):][:size]
		}
		f.damaged = bytes.Clone(f.whole)
		second := keyAt(1)
		second[len(second)-1]++ // the first record of its page is before it now
		f.noticed(t, "page at %d, raised", at)

		f.damaged = bytes.Clone(f.whole)
		first, second := keyAt(0), keyAt(1)
		if len(first) == len(second) {
			copy(second, first)
			second[len(second)-1]++ // all records but one of the first page are behind it now
			f.noticed(t, "page at %d, lowered", at)
		}
	}
}
