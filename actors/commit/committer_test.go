package commit_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/actors/clock/clocktest"
	"rangegate/actors/commit"
	"rangegate/actors/idempotency"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
)

// fixture is a committer on a SQLite file, in a synctest bubble.
type fixture struct {
	*testing.T
	*commit.Committer
	rangeID uuid.UUID
	clock   *clocktest.Clock
	path    string
	store   *hookedStore
	quit    func() // the range has ended
}

// hookedStore is a store whose flushes a test can watch, delay or fail.
type hookedStore struct {
	store.Store
	hook atomic.Pointer[func(batch store.Batch, flush func() error) error]
}

func (s *hookedStore) Flush(ctx context.Context, batch store.Batch) error {
	flush := func() error { return s.Store.Flush(ctx, batch) }
	if hook := s.hook.Load(); hook != nil {
		return (*hook)(batch, flush)
	}
	return flush()
}

// setHook sets the hook for the flushes from now on; nil removes it.
func (s *hookedStore) setHook(hook func(batch store.Batch, flush func() error) error) {
	if hook == nil {
		s.hook.Store(nil)
		return
	}
	s.hook.Store(&hook)
}

// runFixture runs a test with a committer of a range that has nothing saved.
func runFixture(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{
			T: t, rangeID: uuid.New(), clock: clocktest.New(), path: filepath.Join(t.TempDir(), "range.db"),
			store: &hookedStore{},
		}
		f.openStore()
		epoch, err := f.store.Claim(t.Context(), f.rangeID, f.clock.Now().Wall)
		require.NoError(t, err)
		quit := make(chan struct{})
		f.quit = sync.OnceFunc(func() { close(quit) })
		f.Committer = commit.New(commit.Config{
			Range: f.rangeID, Epoch: epoch, Store: f.store, Clock: f.clock, Keys: idempotency.New(nil),
			Metrics: metrics.New(prometheus.NewRegistry()), Log: zerolog.Nop(), Quit: quit, Fenced: func() {},
		}, store.Recovered{})
		t.Cleanup(func() {
			f.store.setHook(nil)
			require.NoError(t, f.Drain(context.Background()))
			f.quit()
			require.NoError(t, f.store.Close())
		})
		test(t, f)
	})
}

func (f *fixture) openStore() {
	f.Helper()
	file, err := sqlite.Open(f.path, store.Retention{
		Events: 24 * time.Hour, History: 24 * time.Hour,
		Names: 24 * time.Hour, Cap: 1_000_000,
	})
	require.NoError(f, err)
	f.store.Store = file
}

// wipeStore loses everything that was saved, as a store that is restored from nothing does. No flush may be
// under way.
func (f *fixture) wipeStore() {
	f.Helper()
	require.NoError(f, f.store.Close())
	require.NoError(f, os.Remove(f.path))
	f.openStore()
}

// save saves the write. Its outcomes come through the channel.
func (f *fixture) save(w *commit.Write) <-chan commit.Outcome {
	outcomes := make(chan commit.Outcome, 2)
	w.Done = func(outcome commit.Outcome) { outcomes <- outcome }
	f.Save(w)
	return outcomes
}

func (f *fixture) load() store.Recovered {
	f.Helper()
	recovered, err := f.store.Load(f.Context(), store.InAnyEpoch(f.rangeID))
	require.NoError(f, err)
	return recovered
}

func (f *fixture) advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Clients that were answered together come back one shortly after the other. They share the next flush, too.
func TestClientsThatWereAnsweredTogetherShareTheNextFlush(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var sizes []int
		f.store.setHook(func(batch store.Batch, flush func() error) error {
			if len(batch.Lanes) > 0 {
				sizes = append(sizes, len(batch.Lanes))
			}
			time.Sleep(time.Millisecond)
			return flush()
		})
		const clients, rounds = 20, 4
		lane := uuid.New()
		var saved atomic.Int64
		var running sync.WaitGroup
		for client := range clients {
			running.Go(func() {
				for range rounds {
					if <-f.save(&commit.Write{Lanes: []lanes.Lane{{ID: lane}}, Awaited: true}) == commit.Saved {
						saved.Add(1)
					}
					time.Sleep(time.Duration(client) * 10 * time.Microsecond)
				}
			})
		}
		running.Wait()
		require.EqualValues(t, clients*rounds, saved.Load())
		require.LessOrEqual(t, len(sizes), rounds+1, "%v", sizes)
	})
}

// The store may lose what it acknowledged a moment ago, before anybody else knows that it was saved. A lane
// is never saved without a checkpoint of the same boot: the process may end right after its first flush.
func TestTheFirstFlushHasACheckpoint(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		var checkpoints []bool
		f.store.setHook(func(batch store.Batch, flush func() error) error {
			checkpoints = append(checkpoints, batch.Checkpoint != nil)
			return flush()
		})
		for range 2 {
			f.Save(&commit.Write{Lanes: []lanes.Lane{{ID: uuid.New()}}, Done: func(commit.Outcome) {}})
			require.NoError(t, f.Drain(t.Context()))
		}
		require.Equal(t, []bool{true, false}, checkpoints)
	})
}

// A range that is handed over is saved up to when that was asked for, however much comes meanwhile.
func TestABusyRangeIsDrained(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.store.setHook(func(_ store.Batch, flush func() error) error {
			time.Sleep(100 * time.Millisecond)
			return flush()
		})
		busy, rest := context.WithCancel(t.Context())
		var saving sync.WaitGroup
		save := func(done func(commit.Outcome)) {
			f.Save(&commit.Write{Lanes: []lanes.Lane{{ID: uuid.New()}}, Done: done})
		}
		saving.Go(func() {
			for clock.Sleep(busy, 20*time.Millisecond) {
				save(func(commit.Outcome) {})
			}
		})
		time.Sleep(time.Second)
		var waited atomic.Bool
		save(func(outcome commit.Outcome) { waited.Store(outcome == commit.Saved) })
		drain, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.NoError(t, f.Drain(drain))
		require.True(t, waited.Load())
		rest()
		saving.Wait()
	})
}

func TestAKeySavedAMomentBeforeTheStoreIsLostIsKept(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		kept := lanes.KeptAnswer{Name: "k", Fingerprint: "f", Status: 201, Body: "b", At: f.clock.Now().Wall}
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{Kept: &kept}))
		synctest.Wait()
		f.wipeStore()
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{}))
		answer, err := f.store.Answer(t.Context(), store.InAnyEpoch(f.rangeID), "k")
		require.NoError(t, err)
		require.Equal(t, kept, answer)
	})
}

// Memory has the bodies of the newest answers alone. Of an older one, which the store has lost, a key is left
// that its repeat recognizes: the request is not made twice.
func TestAKeySavedLongBeforeTheStoreIsLostStaysInUse(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		kept := lanes.KeptAnswer{Name: "k", Fingerprint: "f", Status: 201, Body: "b", At: f.clock.Now().Wall}
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{Kept: &kept}))
		f.advance(2 * time.Minute)
		f.Checkpoint()
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{}))
		f.wipeStore()
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{}))
		answer, err := f.store.Answer(t.Context(), store.InAnyEpoch(f.rangeID), "k")
		require.NoError(t, err)
		require.True(t, answer.IsLost())
		require.Equal(t, []lanes.KeptAnswer{{Name: "k", Fingerprint: "f", Status: 201, At: kept.At, InStore: true}},
			f.load().Keys)
	})
}

// A store that loses the refill as well is refilled again without haste, and each refill is as large as the
// first.
func TestAStoreThatLosesItsRefillTooIsTriedRarely(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		lane := lanes.Lane{ID: uuid.New()}
		kept := lanes.KeptAnswer{Name: "k", Fingerprint: "f", Status: 201, Body: "b", At: f.clock.Now().Wall}
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{Lanes: []lanes.Lane{lane}, Kept: &kept}))
		synctest.Wait()
		var refills, mostKeys, mostLanes atomic.Int64
		f.store.setHook(func(batch store.Batch, _ func() error) error {
			if batch.Refill {
				refills.Add(1)
				mostKeys.Store(max(mostKeys.Load(), int64(len(batch.Keys))))
				mostLanes.Store(max(mostLanes.Load(), int64(len(batch.Lanes))))
			}
			return store.ErrRolledBack
		})
		stopped := lanes.Ended{
			Session: lanes.Session{ID: uuid.New()}, Lane: lane.ID,
			Reason: lanes.EndReason(lanes.ByPOS), At: f.clock.Now().Wall,
		}
		outcomes := f.save(&commit.Write{Lanes: []lanes.Lane{lane}, Ended: []lanes.Ended{stopped}, MustSave: true})
		f.advance(time.Second)
		require.Equal(t, commit.Unresolved, <-outcomes)
		require.False(t, f.Writable())
		ending, found := f.Ending(stopped.Session.ID)
		require.True(t, found)
		require.Equal(t, stopped.Session.ID, ending.Session.ID)
		f.advance(time.Minute)
		require.Positive(t, refills.Load())
		require.Less(t, refills.Load(), int64(60))
		require.EqualValues(t, 1, mostKeys.Load())
		require.EqualValues(t, 1, mostLanes.Load())

		f.wipeStore()
		f.store.setHook(nil)
		f.advance(8 * time.Second)
		require.Equal(t, commit.Saved, <-outcomes)
		require.True(t, f.Writable())
		record, err := f.store.Ended(t.Context(), store.InAnyEpoch(f.rangeID), stopped.Session.ID)
		require.NoError(t, err)
		require.Equal(t, stopped.Reason, record.Reason)
		require.Equal(t, []lanes.KeptAnswer{kept.Shed()}, f.load().Keys)
	})
}

// A range that is given away is released by the last that is saved of it. Where a fail-over has lost both, all of it is
// written again, and released by that too.
func TestAReleaseThatWasLostIsRepeatedWithEverything(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		lane := lanes.Lane{ID: uuid.New()}
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{Lanes: []lanes.Lane{lane}}))
		f.quit()
		var releases, refills int
		f.store.setHook(func(batch store.Batch, flush func() error) error {
			require.True(t, batch.Release)
			releases++
			if batch.Refill {
				refills++
			}
			return flush()
		})
		require.NoError(t, f.Release(t.Context()))
		require.Equal(t, []int{1, 0}, []int{releases, refills})

		f.wipeStore()
		require.NoError(t, f.Release(t.Context()))
		require.Equal(t, []int{3, 1}, []int{releases, refills}, "the store says first that it has lost something")
		require.Len(t, f.load().Lanes, 1)
	})
}

// The store refuses the release, gives no answer, hangs: it is tried again until the time is over.
func TestAReleaseIsTriedUntilItsTimeIsOver(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		f.quit()
		answers := []error{store.ErrRefused, context.DeadlineExceeded, store.ErrRefused}
		tries := 0
		f.store.setHook(func(_ store.Batch, flush func() error) error {
			if tries++; tries <= len(answers) {
				return answers[tries-1]
			}
			return flush()
		})
		require.NoError(t, f.Release(t.Context()))
		require.Equal(t, len(answers)+1, tries)

		f.store.setHook(func(store.Batch, func() error) error { return store.ErrRefused })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, f.Release(ctx), store.ErrRefused)
		require.Equal(t, 10*time.Second, time.Since(began))

		f.store.setHook(func(store.Batch, func() error) error { return store.ErrFenced })
		require.NoError(t, f.Release(t.Context()), "it is another's already")
	})
}
