package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// Whatever befalls the file, the store does not open, or says that a record is damaged, or has everything as it was.
func TestDamageIsAnErrorOrHarmless(t *testing.T) {
	t.Parallel()
	for name, p := range paces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sampleAt(t, p).damage(t)
		})
	}
}

func (f *sample) damage(t *testing.T) {
	random := rand.New(rand.NewPCG(2026, 11)) // so that the damage, too, is the same every time
	used, size := f.used(t), os.Getpagesize()
	anywhere := func() int { return random.IntN(used) }
	page := func(file []byte, number int) []byte { return file[number*size:][:size] }
	aPage := func() []byte { return page(f.damaged, random.IntN(used/size)) }
	for _, damage := range []struct {
		name  string
		times int
		do    func()
	}{
		{"a bit flipped", 150, func() { f.damaged[anywhere()] ^= 1 << random.IntN(8) }},
		{"a bit flipped at a page's begin", 150, func() { aPage()[random.IntN(96)] ^= 1 << random.IntN(8) }},
		{"a byte written over", 50, func() { f.damaged[anywhere()] = byte(random.Uint32()) }},
		{"a sector of zeros", 25, func() { clear(f.damaged[anywhere()&^511:][:512]) }},
		{"a sector of ones", 25, func() { copy(f.damaged[anywhere()&^511:], bytes.Repeat([]byte{0xff}, 512)) }},
		{"a page of zeros", 25, func() { clear(aPage()) }},
		{"a page in another's place", 25, func() { copy(aPage(), aPage()) }},
		{"a page as it was before", 50, func() {
			number := random.IntN(min(len(f.older), used) / size)
			copy(page(f.damaged, number), page(f.older, number))
		}},
		{"a header of an older file", 1, func() { copy(f.damaged[:size], f.older) }},
		{"the other header of an older file", 1, func() { copy(f.damaged[size:2*size], f.older[size:]) }},
		{"the headers of an older file", 1, func() { copy(f.damaged, f.older[:2*size]) }},
		{"all but the headers of an older file", 1, func() { copy(f.damaged[2*size:], f.older[2*size:]) }},
	} {
		for i := range damage.times {
			f.damaged = slices.Clone(f.whole)
			damage.do()
			f.check(t, fmt.Sprint(damage.name, " ", i))
		}
	}
}

// A page that the disk has never written, though it said so, is there as it was some transactions before: whole, and
// with records that are as good as any. (Of the headers only the very last one can be lost unnoticed: then the file is
// what it was one transaction before.)
func TestAPageThatWasLostIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	f := &sample{ranges: []uuid.UUID{{1}}}
	epoch, err := s.Claim(t.Context(), f.ranges[0], opening)
	require.NoError(t, err)
	var files [][]byte
	for n := range uint64(12) {
		b := batchOf(f.ranges[0], epoch, n+1)
		if n > 3 { // from then on one page of the range changes, and comes to the same places again and again
			b.Lanes, b.Events, b.Ended, b.Acts, b.Keys, b.Holds = nil, nil, nil, nil, nil, nil
		}
		require.NoError(t, s.Flush(t.Context(), b))
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		files = append(files, file)
	}
	f.want = f.read(t, s)
	f.whole = files[len(files)-1]
	size := os.Getpagesize()
	for i, older := range files {
		for at := 2 * size; at < min(len(older), f.used(t)); at += size {
			f.damaged = slices.Clone(f.whole)
			copy(f.damaged[at:at+size], older[at:])
			f.check(t, fmt.Sprintf("page %d of flush %d", at/size, i+1))
		}
	}
}

// The keys by which sessions are found are in no record.
func TestADamagedKeyIsNoticed(t *testing.T) {
	t.Parallel()
	f := newSample(t)
	for _, session := range f.sessions {
		noticed := 0
		for at := 0; ; at++ {
			next := bytes.Index(f.whole[at:], session[:])
			if next < 0 {
				break
			}
			at += next
			f.damaged = bytes.Clone(f.whole)
			f.damaged[at+len(session)-1] ^= 1
			if !f.check(t, fmt.Sprintf("session %s at %d", session, at)) {
				noticed++
			}
		}
		assert.Equal(t, 1, noticed, "the others are in pages that are free by now")
	}
}

// The holds are found whatever their key: one that is damaged must not look like a range without any.
func TestADamagedKeyOfTheHoldsIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	b.Holds = new(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "Jo Smith", opening))
	require.NoError(t, s.Flush(t.Context(), b))
	s = foldedWhole(t, s)
	require.NoError(t, s.file.db.Update(func(tx *bbolt.Tx) error {
		bucket := findRange(tx, b.Range).stored(holdsBucket)
		value := bytes.Clone(bucket.Get(holdsKey))
		return errors.Join(bucket.Delete(holdsKey), bucket.Put([]byte("recorl"), value))
	}))
	require.NoError(t, s.Close())

	_, err := openAt(t, path).Load(t.Context(), b.Range)
	var corrupt *store.CorruptError
	require.ErrorAs(t, err, &corrupt)
	assert.Equal(t, "holds of range "+b.Range.String(), corrupt.Record)
}

// One act that is gone, or all of them with their bucket, must not look like none.
func TestActsThatAreGoneAreNoticed(t *testing.T) {
	t.Parallel()
	for _, lose := range []func(*rangeTx) error{
		func(r *rangeTx) error { return r.stored(actsBucket).Delete(cursorKey(2)) },
		func(r *rangeTx) error { return r.b.DeleteBucket([]byte(actsBucket)) },
	} {
		path := filepath.Join(t.TempDir(), "rangegate.db")
		s := openAt(t, path)
		b := claimed(t, s)
		b.Acts = []lanes.Act{{Cursor: 1, At: opening, Who: "sam"}, {Cursor: 2, At: opening, Who: "kim"}}
		require.NoError(t, s.Flush(t.Context(), b))
		s = foldedWhole(t, s)
		require.NoError(t, s.file.db.Update(func(tx *bbolt.Tx) error { return lose(findRange(tx, b.Range)) }))
		require.NoError(t, s.Close())
		_, err := Open(path, keepAll)
		require.ErrorContains(t, err, "not the 2 acts that were written")
	}
}

func TestATruncatedFileIsAnError(t *testing.T) {
	t.Parallel()
	f := newSample(t)
	used := f.used(t)
	for _, size := range []int{1, 15, 80, 511, 4095, 4096, 4097, 8192, 12288, used / 2, used - 4096, used - 1} {
		f.damaged = f.whole[:size]
		assert.False(t, f.check(t, fmt.Sprint("cut to ", size)), "cut to %d of %d was not noticed", size, used)
	}
	f.damaged = f.whole[:used] // what is behind is kept for growing
	assert.True(t, f.check(t, "cut to what is in use"))
}

// A gateway that cannot bring a range back, and is started again and again, leaves the file as it is.
func TestARangeThatCannotBeLoadedIsNotClaimed(t *testing.T) {
	t.Parallel()
	id := uuid.UUID{1}
	lane := batchOf(id, 1, 1).Lanes[0].ID.String()
	for _, record := range []storetest.Record{
		{Kind: storetest.Lane, Name: lane},
		{Kind: storetest.Key, Name: "key-1"},
		{Kind: storetest.Holds},
		{Kind: storetest.Event, Name: "2"},
		{Kind: storetest.Checkpoint},
	} {
		b := benchAt(filepath.Join(t.TempDir(), "rangegate.db"))
		s := openAt(t, b.path)
		epoch, err := s.Claim(t.Context(), id, opening)
		require.NoError(t, err)
		require.NoError(t, s.Flush(t.Context(), batchOf(id, epoch, 1)))
		require.NoError(t, s.Close())
		record.Range = id
		b.Overwrite(t, record, fmt.Appendf(nil, `{"v":%d}`, store.Version+1))
		before, err := os.ReadFile(b.path)
		require.NoError(t, err)
		for range 2 {
			s = openAt(t, b.path)
			_, err = s.Claim(t.Context(), id, opening.Add(time.Hour))
			require.ErrorIs(t, err, store.ErrRefused)
			var corrupt *store.CorruptError
			require.ErrorAs(t, err, &corrupt)
			require.ErrorContains(t, err, "newer version")
			require.NoError(t, s.Close())
			after, err := os.ReadFile(b.path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(before, after), record)
		}
	}
}

// check opens the damaged file, reads all of it and writes some. whole: nothing was noticed, and nothing was wrong.
func (f *sample) check(t *testing.T, damage string) (whole bool) {
	path := filepath.Join(t.TempDir(), "damaged.db")
	require.NoError(t, os.WriteFile(path, f.damaged, 0o600))
	s, err := Open(path, keepAll)
	if err != nil {
		assert.ErrorContains(t, err, path, damage)
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.True(t, slices.Equal(f.damaged, left), "%s: the file is left as it is", damage)
		return false
	}
	whole = true
	for i, answer := range f.read(t, s) {
		var corrupt *store.CorruptError
		if err, failed := answer.(error); failed {
			whole = false
			require.ErrorAs(t, err, &corrupt, damage)
			require.Equal(t, path, corrupt.Where, damage)
			continue
		}
		require.Equal(t, f.want[i], answer, damage)
	}
	f.checked++
	id := f.ranges[f.checked%len(f.ranges)]
	epoch, err := s.Claim(t.Context(), id, opening)
	if err == nil {
		err = s.Flush(t.Context(), batchOf(id, epoch, 1))
	}
	if err != nil {
		whole = false
		require.ErrorIs(t, err, store.ErrRefused, damage)
	}
	require.NoError(t, s.Close(), damage)
	return whole
}
