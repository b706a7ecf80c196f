package history

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// memory is a store and a committer of one range: what is saved, and what they answer.
type memory struct {
	err     error // of every read
	events  []lanes.Logged
	history []lanes.Ended
	acts    []lanes.Act
	answers map[string]lanes.KeptAnswer
	ended   map[uuid.UUID]lanes.Ended
	ending  map[uuid.UUID]lanes.Ended // not durable yet

	savedEvent, savedEnded uint64
	fenced                 bool
	during                 func() // of each read
	n                      uint64 // of the newest durable flush
	askedFor               store.RangeEpoch
	checkpoints            int // that were asked for
}

func (m *memory) read(of store.RangeEpoch) error {
	m.askedFor = of
	if m.during != nil {
		m.during()
	}
	return m.err
}

func (m *memory) Confirm(_ context.Context, of store.RangeEpoch) error { return m.read(of) }

func (m *memory) Ended(_ context.Context, of store.RangeEpoch, id uuid.UUID) (lanes.Ended, error) {
	return find(m.ended, id, m.read(of))
}

func (m *memory) Answer(_ context.Context, of store.RangeEpoch, name string) (lanes.KeptAnswer, error) {
	return find(m.answers, name, m.read(of))
}

func (m *memory) Events(_ context.Context, of store.RangeEpoch, _ uint64, limit int) ([]lanes.Logged, error) {
	return m.events[:min(limit, len(m.events))], m.read(of)
}

func (m *memory) History(_ context.Context, of store.RangeEpoch, _ uint64, limit int) ([]lanes.Ended, error) {
	return m.history[:min(limit, len(m.history))], m.read(of)
}

func (m *memory) HistoryOf(_ context.Context, of store.RangeEpoch, _ string, _ uint64, _ int) ([]lanes.Ended, error) {
	return m.history, m.read(of)
}

func (m *memory) Acts(_ context.Context, of store.RangeEpoch, _ uint64, _ int) ([]lanes.Act, error) {
	return m.acts, m.read(of)
}

func (m *memory) Ending(id uuid.UUID) (lanes.Ended, bool) {
	ended, found := m.ending[id]
	return ended, found
}

func (m *memory) Follow() (uint64, *commit.Follower)      { return m.savedEvent, nil }
func (m *memory) LogID() uint64                           { return 7 }
func (m *memory) SavedEvent() uint64                      { return m.savedEvent }
func (m *memory) SavedEnded() uint64                      { return m.savedEnded }
func (m *memory) LastCursors() (event, ended, act uint64) { return m.savedEvent, m.savedEnded, 1 }
func (m *memory) IsFenced() bool                          { return m.fenced }
func (m *memory) Checkpoint()                             { m.checkpoints++ }
func (m *memory) RangeEpoch() store.RangeEpoch {
	return store.RangeEpoch{Range: uuid.Max, Epoch: 3, N: m.n}
}

func find[K comparable, V any](all map[K]V, key K, err error) (V, error) {
	value, found := all[key]
	if err == nil && !found {
		err = store.ErrNotFound
	}
	return value, err
}

// newReader returns a reader of the memory, and its log.
func newReader(m *memory) (*Reader, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return New(Deps{
		Store: m, Committer: m, Log: zerolog.New(log),
		Fenced: func() { m.fenced = true },
	}), log
}

func logged(cursors ...uint64) (entries []lanes.Logged) {
	for _, cursor := range cursors {
		entries = append(entries, lanes.Logged{Cursor: cursor})
	}
	return entries
}

// reads are all methods that ask the store.
var reads = map[string]func(r *Reader, ctx context.Context) error{
	"Entries":           func(r *Reader, ctx context.Context) error { return errorOf(r.Entries(ctx, 0, 10)) },
	"EventsKeptBehind":  func(r *Reader, ctx context.Context) error { return errorOf(r.EventsKeptBehind(ctx)) },
	"HistoryKeptBehind": func(r *Reader, ctx context.Context) error { return errorOf(r.HistoryKeptBehind(ctx)) },
	"History":           func(r *Reader, ctx context.Context) error { return errorOf(r.History(ctx, 0, 10)) },
	"HistoryOf":         func(r *Reader, ctx context.Context) error { return errorOf(r.HistoryOf(ctx, "a", 0, 10)) },
	"Acts":              func(r *Reader, ctx context.Context) error { return errorOf(r.Acts(ctx, 0, 10)) },
	"EndedSession":      func(r *Reader, ctx context.Context) error { return errorOf(r.EndedSession(ctx, uuid.Max)) },
	"SessionEnd":        func(r *Reader, ctx context.Context) error { return errorOf(r.SessionEnd(ctx, uuid.Max)) },
	"Answer":            func(r *Reader, ctx context.Context) error { return errorOf(r.Answer(ctx, "key")) },
}

func errorOf[T any](_ T, err error) error { return err }

// Every failure of the store has one code for the client and one line in the log, and none is blamed on a
// store that did nothing wrong.
func TestWhatAFailedReadIsAnswered(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	late, stop := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer stop()
	for name, failure := range map[string]struct {
		ctx   context.Context
		err   error
		want  error
		level string
	}{
		"the store fails": {
			context.Background(), errors.New("no disk"),
			lanes.ErrStoreUnavailable, "error",
		},
		"the store took too long":    {context.Background(), context.DeadlineExceeded, lanes.ErrTimeout, "error"},
		"its client has hung up":     {over, context.Canceled, context.Canceled, "debug"},
		"the request's time is over": {late, context.DeadlineExceeded, lanes.ErrTimeout, "warn"},
		"the store lacks a flush": {
			context.Background(), store.ErrRolledBack,
			lanes.ErrStoreUnavailable, "error",
		},
		"another process has claimed": {context.Background(), store.ErrFenced, lanes.ErrNotOwner, ""},
	} {
		for method, read := range reads {
			t.Run(name+", "+method, func(t *testing.T) {
				m := &memory{err: failure.err, n: 5}
				r, log := newReader(m)
				want := failure.want
				if method == "Answer" && errors.Is(failure.err, store.ErrRolledBack) {
					want = lanes.ErrNotSaved // the request is in force
				}
				require.ErrorIs(t, read(r, failure.ctx), want)
				require.Equal(t, store.RangeEpoch{Range: uuid.Max, Epoch: 3, N: 5}, m.askedFor)
				require.Equal(t, errors.Is(failure.err, store.ErrRolledBack), m.checkpoints == 1,
					"it is given what it lacks")
				if failure.level == "" {
					require.Empty(t, log.String())
					require.True(t, m.fenced, "the range is dropped")
					return
				}
				require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), "one line: %s", log)
				require.Contains(t, log.String(), `"level":"`+failure.level+`"`)
			})
		}
	}
}

// The read succeeds, and the committer has heard of another owner meanwhile: nothing of before is returned.
func TestAReadOfARangeThatWasClaimedMeanwhile(t *testing.T) {
	for method, read := range reads {
		if method == "EventsKeptBehind" || method == "HistoryKeptBehind" { // they only say what is not kept
			continue
		}
		t.Run(method, func(t *testing.T) {
			m := &memory{
				events: logged(1), savedEvent: 1, ended: map[uuid.UUID]lanes.Ended{uuid.Max: {}},
				answers: map[string]lanes.KeptAnswer{"key": {Status: 201}},
			}
			m.during = func() { m.fenced = true }
			r, _ := newReader(m)
			require.Equal(t, lanes.ErrNotOwner, read(r, context.Background()))
		})
	}
}

// The store has an entry before its flush is acknowledged; a failover may lose it.
func TestEntriesThatAreNotAcknowledgedAreNotShown(t *testing.T) {
	r, _ := newReader(&memory{events: logged(1, 2, 3), savedEvent: 2})
	entries, err := r.Entries(context.Background(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, logged(1, 2), entries)
}

func TestWhereTheRecordsBegin(t *testing.T) {
	for name, c := range map[string]struct {
		m             memory
		events, ended uint64
	}{
		"nothing was ever saved": {memory{}, 0, 0},
		"all was dropped":        {memory{savedEvent: 9, savedEnded: 4}, 9, 4},
		"the oldest are dropped": {memory{
			savedEvent: 9, savedEnded: 4, events: logged(6, 7),
			history: []lanes.Ended{{Cursor: 3}},
		}, 5, 2},
		"the oldest is not acknowledged " +
			"yet": {memory{savedEvent: 3, savedEnded: 1, events: logged(6), history: []lanes.Ended{{Cursor: 5}}}, 3, 1},
		"everything from the first is stored": {memory{
			savedEvent: 2, savedEnded: 2, events: logged(1, 2),
			history: []lanes.Ended{{Cursor: 1}},
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newReader(&c.m)
			events, err := r.EventsKeptBehind(context.Background())
			require.NoError(t, err)
			ended, err := r.HistoryKeptBehind(context.Background())
			require.NoError(t, err)
			require.Equal(t, []uint64{c.events, c.ended}, []uint64{events, ended})
		})
	}
}

func TestASessionThatIsOnNoLane(t *testing.T) {
	at := time.Unix(1000, 0)
	session, saving, damaged := uuid.New(), uuid.New(), uuid.New()
	m := &memory{
		ended:  map[uuid.UUID]lanes.Ended{session: {At: at}},
		ending: map[uuid.UUID]lanes.Ended{saving: {At: at.Add(time.Hour)}},
	}
	r, log := newReader(m)
	end, err := r.SessionEnd(context.Background(), session)
	require.NoError(t, err)
	require.Equal(t, at, end)
	end, err = r.SessionEnd(context.Background(), saving)
	require.NoError(t, err, "its end is in force, and on its way to the store")
	require.Equal(t, at.Add(time.Hour), end)
	require.ErrorIs(t, errorOf(r.SessionEnd(context.Background(), uuid.New())), lanes.ErrSessionNotFound)
	m.err = store.ErrRolledBack
	require.ErrorIs(t, errorOf(r.SessionEnd(context.Background(), session)), lanes.ErrStoreUnavailable,
		"the store lacks what is saved: it may have lost the session in a fail-over")
	m.err = &store.CorruptError{Record: "session", Err: errors.New("cut")}
	end, err = r.SessionEnd(context.Background(), damaged)
	require.NoError(t, err, "it has ended, and nobody can learn more of it")
	require.Zero(t, end)
	require.Contains(t, log.String(), damaged.String())
}

func TestAnAnswerThatTheStoreHasLost(t *testing.T) {
	r, log := newReader(&memory{answers: map[string]lanes.KeptAnswer{"key": {Name: "key", Status: 201, Body: "{}"}}})
	kept, err := r.Answer(context.Background(), "key")
	require.NoError(t, err)
	require.Equal(t, 201, kept.Status)
	require.ErrorIs(t, errorOf(r.Answer(context.Background(), "another")), lanes.ErrNotSaved)
	require.Contains(t, log.String(), "has lost the answer")
}

func TestTheEpochIsConfirmed(t *testing.T) {
	m := &memory{}
	r, _ := newReader(m)
	require.NoError(t, r.Confirm(context.Background()))
	m.err = errors.New("away")
	require.ErrorIs(t, r.Confirm(context.Background()), lanes.ErrStoreUnavailable)
	require.False(t, m.fenced)
	m.err = store.ErrFenced
	require.ErrorIs(t, r.Confirm(context.Background()), lanes.ErrNotOwner)
	require.True(t, m.fenced)
}
