package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

// sample is the file, and perhaps the WAL, of a store with records of every kind, and the result of reading it.
type sample struct {
	older, file, wal []byte // the file some flushes before; the file and its WAL
	ranges           []uuid.UUID
	sessions         []uuid.UUID // some of those that ended
	want, before     []any       // results of read, now and before the last commit
	damagedFile      []byte
	damagedWAL       []byte
	checked          int
}

// newSample makes a store that was closed, or one with the last of 30 flushes of two ranges in its WAL.
func newSample(t *testing.T, withWAL bool) *sample {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	f := &sample{ranges: []uuid.UUID{{1}, {2}, {3}}}
	epochs := make([]uint64, len(f.ranges))
	for i, id := range f.ranges {
		var err error
		epochs[i], err = s.Claim(t.Context(), id, opening)
		require.NoError(t, err)
	}
	flush := func(i int, n uint64) {
		b := storetest.BatchOf(f.ranges[i], epochs[i], n)
		require.NoError(t, s.Flush(t.Context(), b))
		if n%5 == 1 && i < 2 {
			f.sessions = append(f.sessions, b.Ended[0].Session.ID)
		}
	}
	for n := uint64(1); n <= 30; n++ {
		if n == 25 {
			require.NoError(t, s.Close())
			f.older = content(t, path)
			s = openAt(t, path)
		}
		flush(0, n)
		flush(1, n)
	}
	f.sessions = append(f.sessions, storetest.BatchOf(f.ranges[2], 0, 1).Ended[0].Session.ID)
	f.before = f.read(t, s)
	flush(2, 1) // of this one there is hardly anything, in one page
	f.want = f.read(t, s)
	for _, answer := range f.want {
		require.NotImplements(t, (*error)(nil), answer)
	}
	if withWAL {
		f.wal = content(t, path+"-wal")
	}
	if !withWAL {
		require.NoError(t, s.Close())
	}
	f.file = content(t, path)
	return f
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// read returns the result of every read, or its error.
func (f *sample) read(t *testing.T, s *Store) (results []any) {
	add := func(result any, err error) {
		if err != nil {
			result = err
		}
		results = append(results, result)
	}
	for _, id := range f.ranges {
		loaded, err := s.Load(t.Context(), store.InAnyEpoch(id))
		add(loaded, err)
		for after := uint64(0); after < 90; after += 15 {
			events, err := s.Events(t.Context(), store.InAnyEpoch(id), after, 15)
			add(events, err)
			history, err := s.History(t.Context(), store.InAnyEpoch(id), after, 15)
			add(history, err)
			acts, err := s.Acts(t.Context(), store.InAnyEpoch(id), after, 15)
			add(acts, err)
		}
		for _, externalID := range []string{"receipt-0", "receipt-1"} {
			found, err := s.HistoryOf(t.Context(), store.InAnyEpoch(id), externalID, 0, 30)
			add(found, err)
		}
		for _, session := range f.sessions {
			ended, err := s.Ended(t.Context(), store.InAnyEpoch(id), session)
			if errors.Is(err, store.ErrNotFound) { // another range has it
				err = nil
			}
			add(ended, err)
		}
	}
	return results
}

// The results of a trial.
const (
	harmless = "harmless"  // everything is as it was
	named    = "named"     // an error names the file
	tornTail = "torn tail" // the last commit is missing, as after a crash
)

// try opens the damaged copy, reads everything and flushes.
func (f *sample) try(t *testing.T, damage string) string {
	path := filepath.Join(t.TempDir(), "damaged.db")
	require.NoError(t, os.WriteFile(path, f.damagedFile, 0o600))
	if f.damagedWAL != nil {
		require.NoError(t, os.WriteFile(path+"-wal", f.damagedWAL, 0o600))
	}
	s, err := Open(path, keepAll)
	if err != nil {
		require.ErrorContains(t, err, path, damage)
		require.True(t, bytes.Equal(f.damagedFile, content(t, path)), "%s: the file is left as it is", damage)
		if f.damagedWAL != nil {
			require.True(t, bytes.Equal(f.damagedWAL, content(t, path+"-wal")), "%s: the WAL is left as it is", damage)
		}
		return named
	}
	defer func() { require.NoError(t, s.Close(), damage) }()
	answers := f.read(t, s)
	found := harmless
	if f.wal != nil && reflect.DeepEqual(answers, f.before) {
		return tornTail
	}
	for i, answer := range answers {
		var corrupt *store.CorruptError
		if err, failed := answer.(error); failed {
			found = named
			if errors.As(err, &corrupt) {
				require.Equal(t, path, corrupt.Where, damage)
			} else {
				require.ErrorContains(t, err, path, damage)
			}
			continue
		}
		require.Equal(t, f.want[i], answer, damage)
	}
	f.checked++
	id := f.ranges[f.checked%len(f.ranges)]
	epoch, err := s.Claim(t.Context(), id, opening)
	if err == nil {
		err = s.Flush(t.Context(), storetest.BatchOf(id, epoch, 1))
	}
	if err != nil {
		found = named
		require.ErrorIs(t, err, store.ErrRefused, damage)
	}
	return found
}

// trials is how many of so many trials are made: ROUNDS times as many in a soak, and a tenth with -short, which is
// how the race detector sees them.
func trials(count int) int {
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		return count * n
	}
	if testing.Short() {
		return max(1, count/10)
	}
	return count
}

// After any damage to the file, the store does not open, or names a damaged record, or has all its data.
func TestDamageOfTheFileIsNamedOrHarmless(t *testing.T) {
	t.Parallel()
	f := newSample(t, false)
	random := rand.New(rand.NewPCG(2026, 11)) // so that the damage is the same every time
	file := func() []byte { return f.damagedFile }
	anywhere := func() int { return random.IntN(len(f.file)) }
	page := func(of []byte, number int) []byte { return of[number*pageSize:][:pageSize] }
	aPage := func() []byte { return page(file(), random.IntN(len(f.file)/pageSize)) }
	for _, damage := range []struct {
		name  string
		times int
		do    func()
	}{
		{"a bit flipped", 60, func() { file()[anywhere()] ^= 1 << random.IntN(8) }},
		{"a bit flipped at a page's begin", 40, func() { aPage()[random.IntN(96)] ^= 1 << random.IntN(8) }},
		{"a byte written over", 20, func() { file()[anywhere()] = byte(random.Uint32()) }},
		{"a sector of zeros", 10, func() { clear(file()[anywhere()&^511:][:512]) }},
		{"a sector of ones", 10, func() { copy(file()[anywhere()&^511:], bytes.Repeat([]byte{0xff}, 512)) }},
		{"a page of zeros", 10, func() { clear(aPage()) }},
		{"a page in another's place", 10, func() { copy(aPage(), aPage()) }},
		{"a page as it was before", 20, func() {
			number := random.IntN(min(len(f.older), len(f.file)) / pageSize)
			copy(page(file(), number), page(f.older, number))
		}},
		{"the header of an older file", 1, func() { copy(file()[:100], f.older) }},
	} {
		counted := map[string]int{}
		for i := range trials(damage.times) {
			f.damagedFile = slices.Clone(f.file)
			damage.do()
			counted[f.try(t, fmt.Sprint(damage.name, " ", i))]++
		}
		t.Log(damage.name, counted)
	}
}

// One bit flips, in a closed file, in a file with its WAL after a crash, or in that WAL, where SQLite itself
// notices none.
func TestFlippedBitsAreNamedOrHarmlessOrATornTail(t *testing.T) {
	t.Parallel()
	closed, crashed := newSample(t, false), newSample(t, true)
	random := rand.New(rand.NewPCG(2026, 14))
	for _, damaged := range []struct {
		name  string
		f     *sample
		bytes *[]byte
	}{
		{"a closed file", closed, &closed.damagedFile},
		{"a file with its WAL", crashed, &crashed.damagedFile},
		{"the WAL", crashed, &crashed.damagedWAL},
	} {
		counted := map[string]int{}
		for range trials(30) {
			f := damaged.f
			f.damagedFile, f.damagedWAL = slices.Clone(f.file), slices.Clone(f.wal)
			offset := random.IntN(len(*damaged.bytes))
			(*damaged.bytes)[offset] ^= 1 << random.IntN(8)
			counted[f.try(t, fmt.Sprintf("%s, byte %d", damaged.name, offset))]++
		}
		t.Log(damaged.name, counted)
		if !testing.Short() {
			require.Positive(t, counted[named])
		}
	}
}

// A page that the disk has acknowledged and not written has its content of some transactions before, with
// valid records.
func TestAPageThatWasLostIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	f := &sample{ranges: []uuid.UUID{{1}}}
	var files [][]byte
	var epoch uint64
	for n := range uint64(12) {
		s := openAt(t, path)
		if n == 0 {
			var err error
			epoch, err = s.Claim(t.Context(), f.ranges[0], opening)
			require.NoError(t, err)
		}
		b := storetest.BatchOf(f.ranges[0], epoch, n+1)
		if n > 3 { // from then on little of the range changes
			b.Lanes, b.Events, b.Ended, b.Acts, b.Keys, b.Forget, b.Holds = nil, nil, nil, nil, nil, nil, nil
		}
		require.NoError(t, s.Flush(t.Context(), b))
		f.want = f.read(t, s)
		require.NoError(t, s.Close())
		files = append(files, content(t, path))
	}
	f.file = files[len(files)-1]
	every := pageSize * max(1, 40/trials(40)) // with -short every tenth page
	for i, older := range files {
		for offset := 0; offset < min(len(older), len(f.file)); offset += every {
			f.damagedFile = slices.Clone(f.file)
			copy(f.damagedFile[offset:offset+pageSize], older[offset:])
			f.try(t, fmt.Sprintf("page %d of flush %d", offset/pageSize, i+1))
		}
	}
}

// A damaged entry of the index of session ids is damage, not a session that never was.
func TestADamagedIndexIsNoticed(t *testing.T) {
	t.Parallel()
	f := newSample(t, false)
	for _, session := range f.sessions[:4] {
		text := []byte(session.String())
		noticed := 0
		for offset := 0; ; offset++ {
			next := bytes.Index(f.file[offset:], text)
			if next < 0 {
				break
			}
			offset += next
			f.damagedFile = bytes.Clone(f.file)
			f.damagedFile[offset+len(text)-1] ^= 1
			if f.try(t, fmt.Sprintf("session %s at %d", session, offset)) == named {
				noticed++
			}
		}
		assert.GreaterOrEqual(t, noticed, 3,
			"in the index, in the column and in the record; elsewhere it is free space")
	}
}

// Missing records are damage: one of each table, or all.
func TestMissingRecordsAreNoticed(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"lanes", "keys", "holds", "events", "ended", "acts"} {
		for _, which := range []string{"", " WHERE checksum = (SELECT checksum FROM " + table + " LIMIT 1)"} {
			path := filepath.Join(t.TempDir(), "rangegate.db")
			s := openAt(t, path)
			id := uuid.UUID{1}
			epoch, err := s.Claim(t.Context(), id, opening)
			require.NoError(t, err)
			for n := uint64(1); n < 5; n++ {
				require.NoError(t, s.Flush(t.Context(), storetest.BatchOf(id, epoch, n)))
			}
			require.NoError(t, s.Close())
			tamper(t, path, "DELETE FROM "+table+which)
			_, err = Open(path, keepAll)
			require.ErrorContains(t, err, "the file is damaged", table)
			require.ErrorContains(t, err, table)
		}
	}
}

// A row vanishes while the store is open, and is written again because its lane or its event changes: the
// write has the whole record, so that nothing is lost and the file is in order. Until then, and if it is
// never written again, the next start notices it.
func TestAVanishedRowIsWrittenAgainOrNoticed(t *testing.T) {
	t.Parallel()
	id := uuid.UUID{1}
	// Which writes the lane of the first batch again, the attempt of an event, and forgets a key.
	last := storetest.BatchOf(id, 0, 8)
	attempted := last.Events[len(last.Events)-1]
	for table, c := range map[string]struct {
		which   string
		written bool
	}{
		"lanes":  {fmt.Sprintf("lane_id = '%s'", last.Lanes[0].ID), true},
		"events": {fmt.Sprintf("position = %d", positionOf(attempted.Cursor)), true},
		"keys":   {fmt.Sprintf("name = '%s'", last.Forget[0]), false},
		"ended":  {fmt.Sprintf("position = %d", positionOf(3)), false},
	} {
		for _, again := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "rangegate.db")
			s := openAt(t, path)
			epoch, err := s.Claim(t.Context(), id, opening)
			require.NoError(t, err)
			for n := uint64(1); n < 8; n++ {
				require.NoError(t, s.Flush(t.Context(), storetest.BatchOf(id, epoch, n)))
			}
			before := s.rowCount(t, table)
			tamper(t, path, "DELETE FROM "+table+" WHERE "+c.which)
			require.Equal(t, before-1, s.rowCount(t, table))
			if again {
				require.NoError(t, s.Flush(t.Context(), storetest.BatchOf(id, epoch, 8)))
			}
			require.NoError(t, s.Close())
			s, err = Open(path, keepAll)
			if !again || !c.written {
				require.ErrorContains(t, err, "the file is damaged", table)
				require.ErrorContains(t, err, table)
				continue
			}
			require.NoError(t, err, table)
			_, err = s.Claim(t.Context(), id, opening)
			require.NoError(t, err)
			loaded, err := s.Load(t.Context(), store.InAnyEpoch(id))
			require.NoError(t, err)
			require.Len(t, loaded.Lanes, 7)
			require.Contains(t, loaded.Lanes, last.Lanes[0])
			log, err := s.Events(t.Context(), store.InAnyEpoch(id), attempted.Cursor-1, 1)
			require.NoError(t, err)
			require.Equal(t, attempted, log[0])
			require.NoError(t, s.Close())
		}
	}
}

// rowCount returns how many rows of the table are in the file.
func (s *Store) rowCount(t *testing.T, table string) (rows int) {
	t.Helper()
	c, err := sqlite.OpenConn(s.path, sqlite.OpenReadOnly)
	require.NoError(t, err)
	require.NoError(t, query(c, "SELECT count(*) FROM "+table, func(r *sqlite.Stmt) error {
		rows = r.ColumnInt(0)
		return nil
	}))
	require.NoError(t, c.Close())
	return rows
}

// tamper changes the file as sqlite3 would.
func tamper(t *testing.T, path string, statements ...string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	for _, text := range statements {
		require.NoError(t, executeOnce(c, text))
	}
	require.NoError(t, c.Close())
}

func TestATruncatedFileIsAnError(t *testing.T) {
	t.Parallel()
	f := newSample(t, false)
	size := len(f.file)
	for _, cut := range []int{1, 15, 80, 511, 4095, 4096, 4097, 8192, 12288, size / 2, size - 4096, size - 1} {
		f.damagedFile = f.file[:cut]
		assert.Equal(t, named, f.try(t, fmt.Sprint("cut to ", cut)), "cut to %d of %d was not noticed", cut, size)
	}
}

// A gateway that cannot load a range, and is restarted again and again, does not change the file.
func TestARangeThatCannotBeLoadedIsNotClaimed(t *testing.T) {
	t.Parallel()
	id := uuid.UUID{1}
	lane := storetest.BatchOf(id, 1, 1).Lanes[0].ID.String()
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
		require.NoError(t, s.Flush(t.Context(), storetest.BatchOf(id, epoch, 1)))
		require.NoError(t, s.Close())
		record.Range = id
		b.Overwrite(t, record, fmt.Appendf(nil, `{"v":%d}`, store.Version+1))
		before := content(t, b.path)
		for range 2 {
			s = openAt(t, b.path)
			_, err = s.Claim(t.Context(), id, opening.Add(time.Hour))
			require.ErrorIs(t, err, store.ErrRefused)
			var corrupt *store.CorruptError
			require.ErrorAs(t, err, &corrupt)
			require.ErrorContains(t, err, "newer version")
			require.NoError(t, s.Close())
			require.True(t, bytes.Equal(before, content(t, b.path)), record)
		}
	}
}

// A large file is audited while the gateway serves, and damage is reported.
func TestALargeFileIsAuditedWhileItServes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := openAt(t, path)
	b := claimed(t, s)
	said := strings.Repeat("said ", 10_000)
	for cursor := uint64(1); cursor <= 2000; cursor++ {
		b.Events = append(b.Events, lanes.Logged{
			Cursor: cursor, Event: lanes.Event{ID: uuid.New(), At: opening},
			Delivery: lanes.Delivery{Attempt: &lanes.Attempt{Error: said}},
		})
	}
	require.NoError(t, s.Flush(t.Context(), b))
	require.NoError(t, s.Close())
	tamper(t, path, fmt.Sprintf("DELETE FROM events WHERE position = %d", positionOf(1000)))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(auditAtOnce))

	s = openAt(t, path)
	b.Epoch, err = s.Claim(t.Context(), b.Range, opening)
	require.NoError(t, err)
	require.ErrorContains(t, <-s.Problems(), "the file is damaged: not the 2000 events")
}
