package commit_test

import (
	"context"
	"errors"
	"math/rand/v2"
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

	"rangegate/actors/clock/clocktest"
	"rangegate/actors/commit"
	"rangegate/actors/idempotency"
	"rangegate/actors/metrics"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/sqlite"
)

func someEvents(n int) (events []lanes.Logged) {
	for range n {
		events = append(events, lanes.Logged{Event: lanes.Event{ID: uuid.New(), Kind: lanes.Help, At: time.Now()}})
	}
	return events
}

func cursorsOf(events []lanes.Logged) (cursors []uint64) {
	for _, event := range events {
		cursors = append(cursors, event.Cursor)
	}
	return cursors
}

func TestAFollowerGetsEventsOnceTheyAreDurable(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{Events: someEvents(2)}))
		saved, follower := f.Follow()
		require.EqualValues(t, 2, saved)
		nothing, wake := follower.Next()
		require.Empty(t, nothing)

		release := make(chan struct{})
		f.store.setHook(func(_ store.Batch, flush func() error) error {
			err := flush()
			<-release // it is written, and not answered
			return err
		})
		outcome := f.save(&commit.Write{Events: someEvents(1)})
		synctest.Wait()
		select {
		case <-wake:
			require.Fail(t, "the follower was woken before the flush was answered")
		default:
		}
		require.EqualValues(t, 2, f.SavedEvent())
		close(release)
		require.Equal(t, commit.Saved, <-outcome)
		<-wake
		events, _ := follower.Next()
		require.Equal(t, []uint64{3}, cursorsOf(events))
		require.EqualValues(t, 3, f.SavedEvent())
	})
}

// The outcome of an attempt is no news to who follows the log: it belongs to an event that they have.
func TestAFollowerGetsAnEventOnce(t *testing.T) {
	runFixture(t, func(t *testing.T, f *fixture) {
		_, follower := f.Follow()
		first := someEvents(1)
		first[0].Attempt = &lanes.Attempt{Error: lanes.Interrupted}
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{Events: first}))
		first[0].Attempt = &lanes.Attempt{Status: 204}
		require.Equal(t, commit.Saved, <-f.save(&commit.Write{Events: append(first, someEvents(1)...)}))
		synctest.Wait()
		events, _ := follower.Next()
		require.Equal(t, []uint64{1}, cursorsOf(events))
		require.Equal(t, lanes.UnderWay, events[0].Attempt.Error, "the attempt is being made")
		events, _ = follower.Next()
		require.Equal(t, []uint64{2}, cursorsOf(events))
		nothing, wake := follower.Next()
		require.Empty(t, nothing)
		require.NotNil(t, wake)
	})
}

// Whoever reads behind the cursor of what they read last misses nothing and gets nothing twice: not while
// many save at once, and not while the store refuses flushes, or makes them and loses its answer.
func TestEventsBecomeVisibleInTheOrderOfTheirCursors(t *testing.T) {
	kept := store.Retention{Events: 24 * time.Hour, History: 24 * time.Hour, Names: 24 * time.Hour, Cap: 1_000_000}
	t.Run("SQLite", func(t *testing.T) {
		file, err := sqlite.Open(filepath.Join(t.TempDir(), "range.db"), kept)
		require.NoError(t, err)
		readWhileSaving(t, file)
	})
	t.Run("Redis", func(t *testing.T) {
		server, err := redis.Open(t.Context(), redistest.Start(t).URL(), kept)
		require.NoError(t, err)
		readWhileSaving(t, server)
	})
}

func readWhileSaving(t *testing.T, file store.Store) {
	rangeID, quit := uuid.New(), make(chan struct{})
	hooked := &hookedStore{Store: file}
	clock := clocktest.New()
	epoch, err := file.Claim(t.Context(), rangeID, clock.Now().Wall)
	require.NoError(t, err)
	c := commit.New(commit.Config{
		Range: rangeID, Epoch: epoch, Store: hooked, Clock: clock, Keys: idempotency.New(nil),
		Metrics: metrics.New(prometheus.NewRegistry()), Log: zerolog.Nop(), Quit: quit, Fenced: func() {},
	}, store.Recovered{})
	defer func() {
		close(quit)
		require.NoError(t, file.Close())
	}()
	hooked.setHook(func(_ store.Batch, flush func() error) error {
		switch rand.N(20) {
		case 0:
			return store.ErrRefused
		case 1:
			return errors.Join(flush(), errors.New("the answer is lost"))
		}
		return flush()
	})

	_, follower := c.Follow()
	var done atomic.Bool
	var polled, followed []uint64
	var readers, writers sync.WaitGroup
	readers.Go(func() {
		for last, after := false, uint64(0); ; {
			saved := c.SavedEvent()
			page, err := file.Events(context.Background(), store.InAnyEpoch(rangeID), after, 100)
			if err != nil {
				t.Error(err)
				return
			}
			for len(page) > 0 && page[len(page)-1].Cursor > saved {
				page = page[:len(page)-1]
			}
			if len(page) > 0 {
				polled, after = append(polled, cursorsOf(page)...), page[len(page)-1].Cursor
				continue
			}
			if last {
				return
			}
			last = done.Load()
		}
	})
	readers.Go(func() {
		for {
			last := done.Load()
			events, _ := follower.Next()
			followed = append(followed, cursorsOf(events)...)
			if len(events) == 0 && last {
				return
			}
		}
	})
	for range 8 {
		writers.Go(func() {
			for i := range 30 {
				outcome := make(chan commit.Outcome, 2)
				w := &commit.Write{Events: someEvents(1 + i%3), MustSave: i%2 == 0, Done: func(o commit.Outcome) {
					if o != commit.Unresolved {
						outcome <- o
					}
				}}
				c.Save(w)
				<-outcome
			}
		})
	}
	writers.Wait()
	hooked.setHook(nil)
	require.NoError(t, c.Drain(t.Context()))
	done.Store(true)
	readers.Wait()

	log, err := file.Events(t.Context(), store.InAnyEpoch(rangeID), 0, 1_000_000)
	require.NoError(t, err)
	require.NotEmpty(t, log)
	require.Equal(t, cursorsOf(log), polled, "read from the store")
	require.Equal(t, cursorsOf(log), followed, "followed")
}
