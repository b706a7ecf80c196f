package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/archive"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/sqlite"
)

var (
	opening = time.Date(2026, time.November, 21, 9, 0, 0, 123_456_789, time.UTC)
	keepAll = store.Retention{Events: 1e6 * time.Hour, History: 1e6 * time.Hour, Names: 1e6 * time.Hour, Cap: 1_000_000}
)

// testStore is a closed store: a file, or a server.
type testStore struct {
	name   string
	serve  func(t *testing.T, r store.Retention) openStore
	reader func(t *testing.T) openReader
}

type openStore interface {
	store.Store
	archive.Target
}

type openReader interface {
	archive.Source
	Close() error
}

func file(t *testing.T) testStore {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	return testStore{
		"sqlite",
		func(t *testing.T, r store.Retention) openStore {
			s, err := sqlite.Open(path, r)
			require.NoError(t, err)
			return s
		},
		func(t *testing.T) openReader {
			r, err := sqlite.OpenReader(path)
			require.NoError(t, err)
			return r
		},
	}
}

func server(t *testing.T) testStore { return on(redistest.Start(t)) }

func on(server *redistest.Server) testStore {
	url := server.URL() + "?read_timeout=1m" // what is tested here is no bound, and the machine may be slow
	return testStore{
		"redis",
		func(t *testing.T, r store.Retention) openStore {
			s, err := redis.Open(t.Context(), url, r)
			require.NoError(t, err)
			return s
		},
		func(t *testing.T) openReader {
			r, err := redis.OpenReader(t.Context(), url)
			require.NoError(t, err)
			return r
		},
	}
}

func admin(t *testing.T, server *redistest.Server) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (p testStore) export(t *testing.T) string {
	t.Helper()
	r := p.reader(t)
	defer func() { require.NoError(t, r.Close()) }()
	var out bytes.Buffer
	_, err := archive.Export(t.Context(), r, opening, &out)
	require.NoError(t, err)
	return out.String()
}

func (p testStore) importFrom(t *testing.T, exported string, now time.Time) error {
	t.Helper()
	a, err := archive.Open(strings.NewReader(exported))
	require.NoError(t, err)
	s := p.serve(t, keepAll)
	defer func() { require.NoError(t, s.Close()) }()
	return a.Import(t.Context(), s, now, func(archive.Contents) {})
}

// fill serves ranges until the store has records of every kind, with trimmed records and names, pending
// events, and text that is hard to encode.
func (p testStore) fill(t *testing.T, ids ...uuid.UUID) {
	t.Helper()
	s := p.serve(t, store.Retention{
		Events: 20 * time.Minute, History: 20 * time.Minute,
		Names: 10 * time.Minute, Cap: 1000,
	})
	defer func() { require.NoError(t, s.Close()) }()
	for _, id := range ids {
		epoch, err := s.Claim(t.Context(), id, opening)
		require.NoError(t, err)
		for n := uint64(1); n <= 40; n++ {
			require.NoError(t, s.Flush(t.Context(), batchOf(id, epoch, n)))
		}
	}
}

func batchOf(id uuid.UUID, epoch, n uint64) store.Batch {
	now := lanes.Instant{Wall: opening.Add(time.Duration(n) * time.Minute), Mono: time.Duration(n)}
	lane := uuid.NewSHA1(id, []byte{byte(n % 7)})
	session := lanes.Session{
		ID: uuid.NewSHA1(lane, []byte{byte(n)}), Customer: fmt.Sprintf("Zoë \"O'Brien\" & <sons>\u2028\n %d", n),
		Since:   now,
		Created: now, Phase: lanes.Running, Sold: time.Hour, Left: time.Hour,
	}
	event := func(cursor uint64) lanes.Logged {
		return lanes.Logged{Cursor: cursor, Event: lanes.Event{
			ID: uuid.NewSHA1(id, fmt.Append(nil, cursor)), Kind: lanes.Help, Session: session.ID, Lane: lane,
			At: opening.Add(time.Duration(cursor) * time.Minute / 2),
		}}
	}
	b := store.Batch{
		Range: id, Epoch: epoch, N: n, Now: now.Wall, Checkpoint: &lanes.Checkpoint{At: now, Boot: "boot"},
		Lanes: []lanes.Snapshot{{
			Lane: lanes.Lane{ID: lane, Session: &session, Log: lanes.Log{ID: "log", Seq: n}},
			Boot: "boot",
		}},
		Events: []lanes.Logged{event(2*n - 1), event(2 * n)},
		Ended: []lanes.Ended{{
			Cursor: n, Session: session, Lane: lane, At: now.Wall, Reason: lanes.Expired,
			Used: time.Hour,
		}},
		Keys: []lanes.KeptAnswer{{
			Name: fmt.Sprintf("key &<%d>", n), Fingerprint: "f", Status: 201, Body: `{"a":1}`,
			At: now.Wall,
		}},
	}
	if n%2 == 1 {
		b.Lanes[0].Sale, b.Lanes[0].Stray, session.RanOn = lanes.OffSale, &now.Wall, 90*time.Second
		b.Lanes[0].Help = &lanes.HelpCall{At: now.Wall, Coming: true}
		b.Lanes[0].Uncleared = &lanes.Uncleared{Session: session.ID, Since: now}
		b.Acts = []lanes.Act{
			{
				Cursor: 2 * n, At: now.Wall, Who: "Zoë & <sam>", What: "add_time", Lane: lane, Session: session.ID,
				Detail: "5 minutes",
			},
			{Cursor: 2*n + 1, At: now.Wall, Who: "Kim", What: "hold"},
		}
	}
	if n%3 == 0 {
		b.Holds = new(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "Jo", opening).
			Lift(lanes.Scope{Kind: lanes.OverLane, ID: lane}, opening))
	}
	for cursor := 2*n - 1; n > 3 && cursor <= 2*n; cursor++ { // three flushes later they are delivered
		done := event(cursor - 6)
		done.Event.At = opening.Add(time.Duration(cursor-6) * time.Minute / 2)
		done.Attempt = &lanes.Attempt{At: now.Wall, Status: 204, Duration: time.Millisecond}
		b.Events = append(b.Events, done)
	}
	if n > 5 {
		b.Forget = []string{fmt.Sprintf("key &<%d>", n-5)}
	}
	return b
}

// whole is everything that a gateway reads of a range.
type whole struct {
	store.Recovered
	Log     []lanes.Logged
	History []lanes.Ended
	Acts    []lanes.Act
}

func (p testStore) read(t *testing.T, ids ...uuid.UUID) (ranges []whole) {
	t.Helper()
	s := p.serve(t, keepAll)
	defer func() { require.NoError(t, s.Close()) }()
	for _, id := range ids {
		var w whole
		var err error
		w.Recovered, err = s.Load(t.Context(), store.InAnyEpoch(id))
		require.NoError(t, err)
		byID := map[uuid.UUID]bool{}
		for _, lane := range w.Lanes {
			byID[lane.ID] = true
		}
		require.Len(t, byID, len(w.Lanes))
		w.Log, err = s.Events(t.Context(), store.InAnyEpoch(id), 0, 1_000_000)
		require.NoError(t, err)
		w.History, err = s.History(t.Context(), store.InAnyEpoch(id), 0, 1_000_000)
		require.NoError(t, err)
		w.Acts, err = s.Acts(t.Context(), store.InAnyEpoch(id), 0, 1_000_000)
		require.NoError(t, err)
		for _, ended := range w.History {
			found, err := s.Ended(t.Context(), store.InAnyEpoch(id), ended.Session.ID)
			require.NoError(t, err)
			require.Equal(t, ended, found)
		}
		ranges = append(ranges, w)
	}
	return ranges
}

// interruptedSource calls interrupt during the first reads of a range.
type interruptedSource struct {
	archive.Source
	interrupt func()
	reads     int
	times     int
}

func (b *interruptedSource) Read(ctx context.Context, id uuid.UUID, visit func(store.Record) error) error {
	b.reads++
	first := true
	return b.Source.Read(ctx, id, func(r store.Record) error {
		if first && b.reads <= b.times {
			b.interrupt()
		}
		first = false
		return visit(r)
	})
}
