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

// Records that are all there and all whole, but not in order, would not be found.
func TestElementsOutOfOrderAreNoticed(t *testing.T) {
	t.Parallel()
	f := newSample(t)
	p, err := readHeaders(bytes.NewReader(f.whole))
	require.NoError(t, err)
	require.NoError(t, p.walkFree())
	swapped := map[uint16]int{}
	for id := uint64(2); id < p.count; id++ {
		at := int(id) * p.pageSize
		kind, count := machine.Uint16(f.whole[at+8:]), machine.Uint16(f.whole[at+10:])
		if p.met[id] || count < 2 || kind != branchPage && kind != leafPage {
			continue
		}
		f.damaged = bytes.Clone(f.whole)
		first, second := f.damaged[at+pageHead:][:16], f.damaged[at+pageHead+16:][:16]
		former := bytes.Clone(first)
		copy(first, second)
		copy(second, former)
		position := 4 * int(kind-branchPage) // behind the flags, which only a leaf has
		machine.PutUint32(first[position:], machine.Uint32(first[position:])+16)
		machine.PutUint32(second[position:], machine.Uint32(second[position:])-16)
		f.noticed(t, "page %d", id)
		swapped[kind]++
	}
	assert.NotZero(t, swapped[branchPage])
	assert.NotZero(t, swapped[leafPage])
}
