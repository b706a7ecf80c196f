package archive_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/archive"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/storetest"
)

var ids = []uuid.UUID{{1}, {2}}

// records returns the lines of an export except those that differ in each: time, meta record, sum.
func records(t *testing.T, exported string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(exported) {
		if !strings.HasPrefix(line, `{"kind":"archive"`) && !strings.HasPrefix(line, `{"kind":"range"`) &&
			!strings.HasPrefix(line, `{"kind":"end"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Every record survives the way from a file to a server and back, byte by byte.
func TestFromSQLiteToRedisAndBack(t *testing.T) {
	t.Parallel()
	for _, route := range [][]testStore{{file(t), server(t), file(t)}, {server(t), file(t), server(t)}} {
		first := route[0]
		first.fill(t, ids...)
		exported, want := first.export(t), first.read(t, ids...)
		for _, w := range want {
			require.NotEmpty(t, w.Pending)
			require.Greater(t, w.Log[0].Cursor, uint64(1), "some were trimmed")
			require.Empty(t, w.History[0].Session.Customer, "its name is gone")
			require.NotEmpty(t, w.History[len(w.History)-1].Session.Customer)
			require.Greater(t, w.Acts[0].Cursor, uint64(2), "some were trimmed")
		}
		for _, next := range route[1:] {
			require.NoError(t, next.importFrom(t, exported, opening))
			again := next.export(t)
			require.Equal(t, records(t, exported), records(t, again), "%s to %s", first.name, next.name)
			got := next.read(t, ids...)
			for i := range want {
				require.ElementsMatch(t, want[i].Lanes, got[i].Lanes)
				require.ElementsMatch(t, want[i].Keys, got[i].Keys)
				want[i].Lanes, want[i].Keys, got[i].Lanes, got[i].Keys = nil, nil, nil, nil
			}
			require.Equal(t, want, got)
			exported = again
			want = next.read(t, ids...)
		}
	}
}

// Cursors continue after the last ones given, although their records were trimmed.
func TestCursorsContinueAfterAnImport(t *testing.T) {
	t.Parallel()
	source := file(t)
	s := source.serve(t, store.Retention{Events: time.Minute, History: time.Minute, Names: time.Minute, Cap: 10})
	epoch, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	b := batchOf(ids[0], epoch, 1)
	for i := range b.Events {
		b.Events[i].Attempt = &lanes.Attempt{At: opening, Status: 204}
	}
	b.Now = opening.Add(time.Hour)
	require.NoError(t, s.Flush(t.Context(), b))
	require.NoError(t, s.Close())
	require.NotEmpty(t, b.Acts)
	for _, target := range []testStore{file(t), server(t)} {
		require.NoError(t, target.importFrom(t, source.export(t), opening))
		got := target.read(t, ids[0])[0]
		require.Empty(t, got.Log)
		require.Empty(t, got.History)
		require.Empty(t, got.Acts)
		require.Equal(t, uint64(2), got.LastEvent, target.name)
		require.Equal(t, uint64(1), got.LastEnded, target.name)
		require.Equal(t, uint64(3), got.LastAct, target.name)
	}
}

// An import fences a gateway that still serves the range, whatever the clock says.
func TestAnImportFencesTheOldGateway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	target := on(server)
	s := target.serve(t, keepAll)
	defer func() { require.NoError(t, s.Close()) }()
	epoch, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context(), batchOf(ids[0], epoch, 1)))
	exported := target.export(t)
	require.NoError(t, admin(t, server).FlushAll(t.Context()).Err())
	require.NoError(t, target.importFrom(t, exported, opening.Add(-time.Hour)))
	require.ErrorIs(t, s.Flush(t.Context(), batchOf(ids[0], epoch, 2)), store.ErrFenced)
	refill := batchOf(ids[0], epoch, 2)
	refill.Refill = true
	require.ErrorIs(t, s.Flush(t.Context(), refill), store.ErrFenced)
	next, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context(), batchOf(ids[0], next, 1)), "and the next one goes on")
}

func TestAStoreThatHasARangeOfTheFileIsNotChanged(t *testing.T) {
	t.Parallel()
	source := file(t)
	source.fill(t, ids...)
	exported := source.export(t)
	for _, target := range []testStore{file(t), server(t)} {
		target.fill(t, ids[1])
		before := target.export(t)
		err := target.importFrom(t, exported, opening)
		require.ErrorIs(t, err, store.ErrExists)
		require.ErrorContains(t, err, ids[1].String())
		require.NotContains(t, err.Error(), ids[0].String())
		require.Equal(t, before, target.export(t), target.name)

		// Two imports at once: the range did not exist when the second one checked.
		a, err := archive.Open(strings.NewReader(exported))
		require.NoError(t, err)
		s := target.serve(t, keepAll)
		require.ErrorIs(t, a.Import(t.Context(), emptyTarget{s}, opening, func(archive.Contents) {}), store.ErrExists)
		require.NoError(t, s.Close())
		got := target.read(t, ids[1])[0]
		require.Contains(t, before, fmt.Sprintf(`"last_event":%d`, got.LastEvent))
	}
}

// emptyTarget hides the ranges of a target.
type emptyTarget struct{ archive.Target }

func (emptyTarget) Ranges(context.Context) ([]uuid.UUID, error) { return nil, nil }

// A range that needs several scripts is written completely or not at all.
func TestALargeRangeIsWrittenCompletelyOrNotAtAll(t *testing.T) {
	t.Parallel()
	const count = 5500 // a script has 5000
	source := file(t)
	s := source.serve(t, keepAll)
	epoch, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	b := batchOf(ids[0], epoch, 1)
	b.Events, b.Ended, b.Acts = nil, nil, nil
	for i := range uint64(count) {
		at := opening.Add(time.Duration(i) * time.Second)
		b.Events = append(b.Events, lanes.Logged{
			Cursor: i + 1,
			Event:  lanes.Event{ID: uuid.NewSHA1(ids[0], fmt.Append(nil, i)), At: at},
		})
		ended := lanes.Ended{Cursor: i + 1, At: at}
		ended.Session.ID, ended.Session.Customer = uuid.NewSHA1(ids[1], fmt.Append(nil, i)), "Jo"
		b.Ended = append(b.Ended, ended)
	}
	for i := range uint64(2 * count) { // more than of other kinds
		b.Acts = append(b.Acts, lanes.Act{Cursor: i + 1, At: opening, Who: "sam", What: "stop"})
	}
	require.NoError(t, s.Flush(t.Context(), b))
	require.NoError(t, s.Close())
	exported := source.export(t)

	server := redistest.Start(t)
	target, memory := on(server), admin(t, server)
	require.NoError(t, memory.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	require.NoError(t, memory.ConfigSet(t.Context(), "maxmemory", "4mb").Err())
	require.ErrorContains(t, target.importFrom(t, exported, opening), "OOM")
	size, err := memory.DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Positive(t, size, "it had begun")
	r := target.reader(t)
	found, err := r.Ranges(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	require.NoError(t, r.Close())

	require.NoError(t, memory.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.NoError(t, target.importFrom(t, exported, opening))
	require.Equal(t, records(t, exported), records(t, target.export(t)))
	keys, err := memory.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	assert.False(t, slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "aside") }), keys)
}

// A range that is written to while it is read is an error: its records would be of different instants.
func TestARangeThatIsWrittenToWhileItIsRead(t *testing.T) {
	t.Parallel()
	target := server(t)
	target.fill(t, ids[0])
	s, r := target.serve(t, keepAll), target.reader(t)
	defer func() { require.NoError(t, s.Close()); require.NoError(t, r.Close()) }()
	epoch, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	n := uint64(0)
	write := func() {
		n++
		require.NoError(t, s.Flush(t.Context(), store.Batch{Range: ids[0], Epoch: epoch, N: n, Now: opening}))
	}

	_, err = archive.Export(t.Context(), &interruptedSource{Source: r, interrupt: write, times: 1}, opening,
		&strings.Builder{})
	require.ErrorIs(t, err, store.ErrChanging)
	_, faults, err := archive.Check(t.Context(), &interruptedSource{Source: r, interrupt: write, times: 2}, ids[0])
	require.NoError(t, err, "it is read again")
	require.Empty(t, faults)
	_, _, err = archive.Check(t.Context(), &interruptedSource{Source: r, interrupt: write, times: 99}, ids[0])
	require.ErrorIs(t, err, store.ErrChanging)
}

func TestContentsAreCounted(t *testing.T) {
	t.Parallel()
	for _, target := range []testStore{file(t), server(t)} {
		target.fill(t, ids...)
		r := target.reader(t)
		found, err := r.Ranges(t.Context())
		require.NoError(t, err)
		require.Equal(t, ids, found)
		c, faults, err := archive.Check(t.Context(), r, ids[1])
		require.NoError(t, err)
		require.Empty(t, faults)
		require.NoError(t, r.Close())
		want := target.read(t, ids[1])[0]
		assert.Equal(t, len(want.Lanes), c.Lanes)
		assert.Equal(t, len(want.Lanes), c.Sessions)
		assert.Equal(t, len(want.Keys), c.Keys)
		assert.Equal(t, 1, c.Holds)
		assert.Equal(t, len(want.Log), c.Events)
		assert.Equal(t, len(want.Pending), c.Pending)
		assert.Equal(t, len(want.History), c.Ended)
		assert.Equal(t, len(want.Acts), c.Acts)
		assert.Equal(t, want.LastAct, c.Meta.LastAct)
		assert.Equal(t, want.LastEvent, c.Meta.LastEvent)
		assert.Equal(t, want.Checkpoint.At.Wall, c.LastSeen)
	}
}

// An export of any older version is imported completely: the next export has the same records, in the present format.
func TestAnExportOfEachVersion(t *testing.T) {
	t.Parallel()
	for version := 1; version <= store.Version; version++ {
		exported, err := os.ReadFile(fmt.Sprintf("testdata/version-%d.jsonl", version))
		require.NoError(t, err)
		want := records(t, string(exported))
		for i := range want {
			want[i] = strings.Replace(want[i], fmt.Sprintf(`"record":{"v":%d,`, version),
				fmt.Sprintf(`"record":{"v":%d,`, store.Version), 1)
		}
		original := storetest.Written(version)
		for _, target := range []testStore{file(t), server(t)} {
			require.NoError(t, target.importFrom(t, string(exported), opening), target.name)
			require.Equal(t, want, records(t, target.export(t)), "version %d, %s", version, target.name)
			got := target.read(t, original.Range)[0]
			require.Equal(t, original.LastEvent, got.LastEvent)
			require.Equal(t, original.LastEnded, got.LastEnded)
			require.Equal(t, original.LastAct, got.LastAct)
		}
	}
}
