package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite/sqlitex"

	"rangegate/actors"
	"rangegate/cmd/rangebench/figures"
	"rangegate/lanes"
)

func TestExperimentsAreNamedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range experiments {
		require.NotEmpty(t, e.what, e.name)
		require.False(t, seen[e.name], e.name)
		seen[e.name] = true
	}
}

func TestOnlyTakesANameItsBeginningOrAFigure(t *testing.T) {
	for only, want := range map[string]string{
		"http/":              "http/sqlite, http/redis, http/get, http/list",
		"expiry/10k":         "expiry/10k, expiry/10k-selling",
		"http/sqlite create": "http/sqlite",
		"memory connected":   "memory",
		"startup":            "startup",
		"expiry/100k p99.9 ": "expiry/100k",
	} {
		chosen, err := all{Only: []string{only}}.chosen()
		require.NoError(t, err, only)
		require.Equal(t, want, names(chosen), only)
	}
	_, err := all{Only: []string{"startup", "nowhere"}}.chosen()
	require.ErrorContains(t, err, `nothing is called "nowhere"`)
}

func TestOursAndTheLimitAreMeasuredInTurns(t *testing.T) {
	var order []string
	half := func(name string, value float64) func(context.Context) ([]float64, error) {
		return func(context.Context) ([]float64, error) {
			order = append(order, name)
			return []float64{value, 2 * value}, nil
		}
	}
	tried := &trial{experiment: experiment{name: "x"}, report: &figures.Report{}, progress: io.Discard}
	require.NoError(t, tried.compare(t.Context(), 2, half("ours", 3), half("limit", 1), figures.Figure{Name: "a"},
		figures.Figure{Name: "b"}))
	require.Equal(t, "ours limit ours limit", strings.Join(order, " "))
	require.Equal(t, []figures.Figure{
		{Name: "x a", Ours: []float64{3, 3}, Floor: []float64{1, 1}},
		{Name: "x b", Ours: []float64{6, 6}, Floor: []float64{2, 2}},
	}, tried.report.Figures)
}

func TestFewerLanesAndRounds(t *testing.T) {
	require.Equal(t, 10_000, (&trial{}).lanes(10_000))
	require.Equal(t, 500, (&trial{all: all{Lanes: 500}}).lanes(10_000))
	require.Equal(t, 100, (&trial{all: all{Lanes: 500}}).lanes(100), "never more")
	require.Equal(t, 3, (&trial{}).rounds(3))
	require.Equal(t, 5, (&trial{all: all{Rounds: 5}}).rounds(3))
}

func TestAClientReadsOneAnswerAfterTheOther(t *testing.T) {
	from := bufio.NewReader(strings.NewReader("HTTP/1.1 201 Created\r\ntrace-id: x\r\ncontent-length: 5\r\n\r\nhello" +
		"HTTP/1.1 204 No Content\r\n\r\n"))
	var body bytes.Buffer
	status, err := answer(from, &body)
	require.NoError(t, err)
	require.Equal(t, 201, status)
	require.Equal(t, "hello", body.String())
	status, err = answer(from, &body)
	require.NoError(t, err)
	require.Equal(t, 204, status)
	require.Empty(t, body.String())
	_, err = answer(from, &body)
	require.ErrorIs(t, err, io.EOF)
}

// The limit of the screens writes as often as a stream does: one message at a time.
func TestABareStreamWritesEachMessageForItself(t *testing.T) {
	text := []byte("event: change\ndata: {}\n\nevent: change\ndata: {\"now\":1}\n\n")
	var apart []string
	for part := range (&bareStreams{apart: true}).parts(text) {
		apart = append(apart, string(part))
	}
	require.Equal(t, []string{"event: change\ndata: {}\n\n", "event: change\ndata: {\"now\":1}\n\n"}, apart)
	for part := range (&bareStreams{}).parts(text) {
		require.Equal(t, text, part)
	}
}

// memoryStore is a bare store that counts its writes.
type memoryStore struct {
	bareStore
	mu     sync.Mutex
	writes int
	all    []entry
	began  chan struct{} // a write waits at the gate
	gate   chan struct{}
}

func (m *memoryStore) write(records []entry) error {
	m.began <- struct{}{}
	<-m.gate
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	m.all = append(m.all, records...)
	return nil
}

func TestWhatWaitsIsCommittedTogether(t *testing.T) {
	kept := &memoryStore{began: make(chan struct{}, 50), gate: make(chan struct{})}
	commit := newGroupCommit(kept)
	var saving sync.WaitGroup
	save := func() { _ = commit.save(entry{bucket: "lanes"}, entry{bucket: "events"}) }
	saving.Go(save)
	<-kept.began // alone: later writes wait for it
	for range 49 {
		saving.Go(save)
	}
	require.Eventually(t, func() bool { return len(commit.queue) == 49 }, time.Minute, time.Millisecond)
	close(kept.gate)
	saving.Wait()
	commit.close()
	require.Len(t, kept.all, 100)
	require.Equal(t, 2, kept.writes, "the first alone, and those that waited for it")
}

func TestABareFileKeepsWhatWasWrittenLast(t *testing.T) {
	d, err := newDisk(sqliteStore)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.remove()) }()
	kept, err := d.bare()
	require.NoError(t, err)
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2",
		"wal_autocheckpoint": "4000",
	} {
		had, err := sqlitex.ResultText(kept.(bareSQLite).connection.Prep("PRAGMA " + pragma))
		require.NoError(t, err, pragma)
		require.Equal(t, want, had, pragma)
	}
	a, b := cursorKey(1), cursorKey(2)
	require.NoError(t, kept.write([]entry{
		{"lanes", b, []byte("longer")},
		{"lanes", a, []byte("old")},
		{"events", a, []byte("event")},
	}))
	require.NoError(t, kept.write([]entry{{"lanes", b, []byte("new")}, {"history", a, nil}}))
	require.NoError(t, kept.close())

	kept, err = d.bare()
	require.NoError(t, err)
	defer func() { require.NoError(t, kept.close()) }()
	for bucket, want := range map[string][]string{"lanes": {"old", "new"}, "events": {"event"}, "history": {""}} {
		var had []string
		require.NoError(t, kept.read(bucket, func(value []byte) error {
			had = append(had, string(value))
			return nil
		}))
		require.Equal(t, want, had, bucket)
	}
	require.ErrorIs(t, kept.read("lanes", func([]byte) error { return io.ErrUnexpectedEOF }), io.ErrUnexpectedEOF)
}

func TestAPlantedRangeRunsOn(t *testing.T) {
	g, err := newGateway()
	require.NoError(t, err)
	defer func() { require.NoError(t, g.close()) }()
	layout := layoutOf(5)
	at := deadlineInAnHour(g.clock)
	require.NoError(t, seed{layout: layout, sessions: 3, deadline: at}.plant(t.Context(), g.file, g.clock))
	r, err := g.startWith(t.Context(), actors.Settings{Layout: layout, Driver: g.hardware})
	require.NoError(t, err)
	require.Len(t, r.Sessions(), 3)
	for i, lane := range r.Lanes()[:3] {
		deadline, running := lane.Lane.Deadline()
		require.True(t, running)
		require.Equal(t, at(i).Mono, deadline.Mono)
		require.Equal(t, lanes.Running, lane.Lane.Session.Phase)
		require.Zero(t, lane.Lane.Session.RanOn, "it was down for a moment only")
	}
}
