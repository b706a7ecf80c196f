package redis_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
)

// More records of each kind than one command has, some of which exist already.
func TestMoreThanOneCommandTakes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	const count = 1100 // a command has 1000
	first := o.next()
	first.Events, first.Lanes = nil, nil
	for i := range count {
		cursor, name := uint64(2*i+1), strconv.Itoa(i)
		first.Lanes = append(first.Lanes, lanes.Snapshot{Lane: lanes.Lane{ID: uuid.New()}, Boot: name})
		first.Keys = append(first.Keys, lanes.KeptAnswer{Name: name})
		first.Events = append(first.Events,
			lanes.Logged{Cursor: cursor, Event: lanes.Event{ID: uuid.New(), At: opening}})
		first.Ended = append(first.Ended, lanes.Ended{
			Cursor: cursor, At: opening, Session: lanes.Session{ID: uuid.New(), Customer: name},
		})
	}
	require.NoError(t, o.store.Flush(t.Context(), first))
	o.n++

	// Every event is attempted, and a new one follows each.
	second := o.next()
	second.Lanes, second.Events = nil, nil
	for _, event := range first.Events {
		event.Attempt = &lanes.Attempt{At: opening, Status: 204}
		second.Events = append(second.Events, event,
			lanes.Logged{Cursor: event.Cursor + 1, Event: lanes.Event{ID: uuid.New(), At: opening.Add(time.Second)}})
	}
	for _, key := range first.Keys {
		second.Forget = append(second.Forget, key.Name)
	}
	require.NoError(t, o.store.Flush(t.Context(), second))

	r, err := o.store.Load(t.Context(), o.rangeEpoch())
	require.NoError(t, err)
	require.ElementsMatch(t, first.Lanes, r.Lanes)
	require.Empty(t, r.Keys)
	require.Len(t, r.Pending, count)
	for i, event := range r.Pending {
		require.Equal(t, second.Events[2*i+1], event)
	}
	log, err := o.store.Events(t.Context(), o.rangeEpoch(), 0, 3*count)
	require.NoError(t, err)
	require.Equal(t, second.Events, log)
	history, err := o.store.History(t.Context(), o.rangeEpoch(), 0, 2*count)
	require.NoError(t, err)
	require.Equal(t, first.Ended, history)
	for _, i := range []int{0, count / 2, count - 1} {
		found, err := o.store.Ended(t.Context(), o.rangeEpoch(), first.Ended[i].Session.ID)
		require.NoError(t, err)
		require.Equal(t, first.Ended[i], found)
	}
}

// An event that is dropped before its first save is in one flush twice.
func TestAnEventThatIsTwiceInAFlush(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	batch := o.next()
	batch.Events = append(batch.Events, batch.Events[0])
	batch.Events[1].Attempt = &lanes.Attempt{At: opening, Error: lanes.Interrupted}
	require.NoError(t, o.store.Flush(t.Context(), batch))
	log, err := o.store.Events(t.Context(), o.rangeEpoch(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, batch.Events[1:], log)
	r, err := o.store.Load(t.Context(), o.rangeEpoch())
	require.NoError(t, err)
	require.Empty(t, r.Pending)
}

// A store that was restored from a copy may have another event under a cursor. The event that replaces it
// gets no second order entry.
func TestAReplacedRecordKeepsItsOrderEntry(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	o := own(t, open(t, server.URL()))
	batch := o.next()
	batch.Ended = []lanes.Ended{{Cursor: 1, At: opening, Session: lanes.Session{ID: uuid.New()}}}
	require.NoError(t, o.store.Flush(t.Context(), batch))
	order := func() (places []string) {
		for _, name := range []string{"events:order", "history:order"} {
			found, err := admin.ZRange(t.Context(), o.keys(name), 0, -1).Result()
			require.NoError(t, err)
			places = append(places, found...)
		}
		return places
	}
	before := order()

	batch.N++
	batch.Events[0].Event.At = opening.Add(time.Hour)
	batch.Ended[0].At = opening.Add(time.Hour)
	require.NoError(t, o.store.Flush(t.Context(), batch))
	require.Equal(t, before, order())
	log, err := o.store.Events(t.Context(), o.rangeEpoch(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, batch.Events, log)
}

// A flush of many lanes, trimming included, runs as count commands as one of few: each command costs time and
// log space.
func TestAFlushOfManyLanesRunsAsManyCommandsAsOneOfFew(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	s := open(t, server.URL())
	flush := func(batch store.Batch) int {
		require.NoError(t, admin.ConfigResetStat(t.Context()).Err())
		require.NoError(t, s.Flush(t.Context(), batch))
		return writes(t, admin)
	}
	live := func(of int) (comes, leaves int) {
		batch := own(t, s).next()
		batch.Events = nil
		for i := range of {
			name := strconv.Itoa(i)
			batch.Lanes = append(batch.Lanes, lanes.Snapshot{Lane: lanes.Lane{ID: uuid.New()}})
			batch.Keys = append(batch.Keys, lanes.KeptAnswer{Name: name})
			batch.Forget = append(batch.Forget, name)
			batch.Ended = append(batch.Ended, lanes.Ended{
				Cursor: uint64(i + 1), At: opening, Session: lanes.Session{ID: uuid.New(), Customer: "Jo Smith"},
			})
			batch.Events = append(batch.Events, lanes.Logged{
				Cursor: uint64(i + 1), Event: lanes.Event{At: opening},
				Delivery: lanes.Delivery{Attempt: &lanes.Attempt{At: opening}},
			})
		}
		batch.Events = append(batch.Events, lanes.Logged{Cursor: uint64(of + 1), Event: lanes.Event{At: opening}})
		comes = flush(batch)
		later := store.Batch{Range: batch.Range, Epoch: batch.Epoch, N: 2, Now: opening.Add(2 * retention.History)}
		return comes, flush(later)
	}
	comes, leaves := live(2)
	manyCome, manyLeave := live(60)
	require.Equal(t, comes, manyCome)
	require.Equal(t, leaves, manyLeave)
}

// writes returns how count writing commands the server has run.
func writes(t *testing.T, c *goredis.Client) (count int) {
	t.Helper()
	stats, err := c.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	for line := range strings.Lines(stats) {
		for _, name := range []string{"hset", "hdel", "zadd", "zrem"} {
			if calls, found := strings.CutPrefix(line, "cmdstat_"+name+":calls="); found {
				calls, _, _ = strings.Cut(calls, ",")
				n, err := strconv.Atoi(calls)
				require.NoError(t, err)
				count += n
			}
		}
	}
	return count
}

// A range with more idempotency keys than one page has: each is loaded once, without its body. A refill with
// all of them takes no body from the store, and writes those that it has lost.
func TestKeysAreLoadedInPages(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	const count = 3500 // a page has about 1000, and so has a command
	batch := o.next()
	var want []lanes.KeptAnswer
	for i := range count {
		key := lanes.KeptAnswer{
			Name: fmt.Sprintf("%04d", i), Fingerprint: "f", Status: 201,
			Body: strings.Repeat("b", 100), At: opening,
		}
		batch.Keys, want = append(batch.Keys, key), append(want, key.Shed())
	}
	require.NoError(t, o.store.Flush(t.Context(), batch))
	o.n++
	requireKeys := func() {
		r, err := o.store.Load(t.Context(), o.rangeEpoch())
		require.NoError(t, err)
		slices.SortFunc(r.Keys, func(a, b lanes.KeptAnswer) int { return strings.Compare(a.Name, b.Name) })
		require.Equal(t, want, r.Keys)
	}
	requireKeys()

	require.NoError(t, client(t, server.URL()).HDel(t.Context(), o.keys("answers"), "0000", "3499").Err())
	refill := o.next()
	refill.Refill, refill.Keys = true, want
	require.NoError(t, o.store.Flush(t.Context(), refill))
	requireKeys()
	for name, isLost := range map[string]bool{"0000": true, "0001": false, "1000": false, "3498": false, "3499": true} {
		answer, err := o.store.Answer(t.Context(), o.rangeEpoch(), name)
		require.NoError(t, err)
		require.Equal(t, isLost, answer.IsLost(), name)
	}
}
