package archive_test

import (
	"context"
	"fmt"
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
)

var ids = []uuid.UUID{{1}, {2}}

// records are the lines of an export without what is of that export alone: when, how it stands, its sum.
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

// Nothing is lost or changed on the way from a file to a server and back, to the byte.
func TestFromSQLiteToRedisAndBack(t *testing.T) {
	t.Parallel()
	for _, way := range [][]place{{file(t), server(t), file(t)}, {server(t), file(t), server(t)}} {
		first := way[0]
		first.fill(t, ids...)
		exported, want := first.export(t), first.read(t, ids...)
		for _, w := range want {
			require.NotEmpty(t, w.Pending)
			require.Greater(t, w.Log[0].Cursor, uint64(1), "some were trimmed")
			require.Empty(t, w.History[0].Session.Customer, "its name is gone")
			require.NotEmpty(t, w.History[len(w.History)-1].Session.Customer)
			require.Greater(t, w.Acts[0].Cursor, uint64(2), "some were trimmed")
		}
		for _, next := range way[1:] {
			require.NoError(t, next.bring(t, exported, opening))
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

// Cursors go on behind the last ones given, although what they belonged to is not there any more.
func TestCursorsGoOnWhereTheyWere(t *testing.T) {
	t.Parallel()
	from := file(t)
	s := from.serve(t, store.Retention{Events: time.Minute, History: time.Minute, Names: time.Minute, Cap: 10})
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
	for _, to := range []place{file(t), server(t)} {
		require.NoError(t, to.bring(t, from.export(t), opening))
		got := to.read(t, ids[0])[0]
		require.Empty(t, got.Log)
		require.Empty(t, got.History)
		require.Empty(t, got.Acts)
		require.Equal(t, uint64(2), got.LastEvent, to.name)
		require.Equal(t, uint64(1), got.LastEnded, to.name)
		require.Equal(t, uint64(3), got.LastAct, to.name)
	}
}

// A gateway that still runs when its store is put back has to let go, whatever the clock says.
func TestWhatWasCarriedFencesTheGatewayOfBefore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	at := on(server)
	s := at.serve(t, keepAll)
	defer func() { require.NoError(t, s.Close()) }()
	epoch, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context(), batchOf(ids[0], epoch, 1)))
	exported := at.export(t)
	require.NoError(t, admin(t, server).FlushAll(t.Context()).Err())
	require.NoError(t, at.bring(t, exported, opening.Add(-time.Hour)))
	require.ErrorIs(t, s.Flush(t.Context(), batchOf(ids[0], epoch, 2)), store.ErrFenced)
	refill := batchOf(ids[0], epoch, 2)
	refill.Refill = true
	require.ErrorIs(t, s.Flush(t.Context(), refill), store.ErrFenced)
	next, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context(), batchOf(ids[0], next, 1)), "and the next one goes on")
}

func TestAStoreThatHasARangeOfTheFileIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	from := file(t)
	from.fill(t, ids...)
	exported := from.export(t)
	for _, to := range []place{file(t), server(t)} {
		to.fill(t, ids[1])
		before := to.export(t)
		err := to.bring(t, exported, opening)
		require.ErrorIs(t, err, store.ErrExists)
		require.ErrorContains(t, err, ids[1].String())
		require.NotContains(t, err.Error(), ids[0].String())
		require.Equal(t, before, to.export(t), to.name)

		// Two at it at once: it was not there when they looked.
		a, err := archive.Open(strings.NewReader(exported))
		require.NoError(t, err)
		s := to.serve(t, keepAll)
		require.ErrorIs(t, a.Import(t.Context(), blind{s}, opening, func(archive.Contents) {}), store.ErrExists)
		require.NoError(t, s.Close())
		got := to.read(t, ids[1])[0]
		require.Contains(t, before, fmt.Sprintf(`"last_event":%d`, got.LastEvent))
	}
}

// blind sees no ranges.
type blind struct{ archive.Target }

func (blind) Ranges(context.Context) ([]uuid.UUID, error) { return nil, nil }

// A range that needs more than one script is there as a whole or not at all.
func TestALargeRangeIsWholeOrNotThere(t *testing.T) {
	t.Parallel()
	const many = 12_000
	from := file(t)
	s := from.serve(t, keepAll)
	epoch, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	b := batchOf(ids[0], epoch, 1)
	b.Events, b.Ended, b.Acts = nil, nil, nil
	for i := range uint64(many) {
		at := opening.Add(time.Duration(i) * time.Second)
		b.Events = append(b.Events, lanes.Logged{Cursor: i + 1, Event: lanes.Event{ID: uuid.NewSHA1(ids[0], fmt.Append(nil, i)), At: at}})
		ended := lanes.Ended{Cursor: i + 1, At: at}
		ended.Session.ID, ended.Session.Customer = uuid.NewSHA1(ids[1], fmt.Append(nil, i)), "Jo"
		b.Ended = append(b.Ended, ended)
	}
	for i := range uint64(many + 6000) { // more than of the others
		b.Acts = append(b.Acts, lanes.Act{Cursor: i + 1, At: opening, Who: "sam", What: "stop"})
	}
	require.NoError(t, s.Flush(t.Context(), b))
	require.NoError(t, s.Close())
	exported := from.export(t)

	server := redistest.Start(t)
	to, memory := on(server), admin(t, server)
	require.NoError(t, memory.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())
	require.NoError(t, memory.ConfigSet(t.Context(), "maxmemory", "8mb").Err())
	require.ErrorContains(t, to.bring(t, exported, opening), "OOM")
	size, err := memory.DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Positive(t, size, "it had begun")
	r := to.reader(t)
	there, err := r.Ranges(t.Context())
	require.NoError(t, err)
	require.Empty(t, there)
	require.NoError(t, r.Close())

	require.NoError(t, memory.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.NoError(t, to.bring(t, exported, opening))
	require.Equal(t, records(t, exported), records(t, to.export(t)))
	keys, err := memory.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	assert.False(t, slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, "aside") }), keys)
}

// A file on a store that is written to meanwhile would be of no one instant.
func TestARangeThatIsWrittenToWhileItIsRead(t *testing.T) {
	t.Parallel()
	at := server(t)
	at.fill(t, ids[0])
	s, r := at.serve(t, keepAll), at.reader(t)
	defer func() { require.NoError(t, s.Close()); require.NoError(t, r.Close()) }()
	epoch, err := s.Claim(t.Context(), ids[0], opening)
	require.NoError(t, err)
	n := uint64(0)
	write := func() {
		n++
		require.NoError(t, s.Flush(t.Context(), store.Batch{Range: ids[0], Epoch: epoch, N: n, Now: opening}))
	}

	_, err = archive.Export(t.Context(), &between{Source: r, do: write, often: 1}, opening, &strings.Builder{})
	require.ErrorIs(t, err, store.ErrChanging)
	_, faults, err := archive.Check(t.Context(), &between{Source: r, do: write, often: 2}, ids[0])
	require.NoError(t, err, "it is read again")
	require.Empty(t, faults)
	_, _, err = archive.Check(t.Context(), &between{Source: r, do: write, often: 99}, ids[0])
	require.ErrorIs(t, err, store.ErrChanging)
}

func TestWhatThereIsIsCounted(t *testing.T) {
	t.Parallel()
	for _, at := range []place{file(t), server(t)} {
		at.fill(t, ids...)
		r := at.reader(t)
		there, err := r.Ranges(t.Context())
		require.NoError(t, err)
		require.Equal(t, ids, there)
		c, faults, err := archive.Check(t.Context(), r, ids[1])
		require.NoError(t, err)
		require.Empty(t, faults)
		require.NoError(t, r.Close())
		want := at.read(t, ids[1])[0]
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
