package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
)

var (
	retention = store.Retention{Events: 72 * time.Hour, History: 720 * time.Hour, Names: 240 * time.Hour, Cap: 10_000}
	opening   = time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
)

func open(t *testing.T, url string) *redis.Store {
	t.Helper()
	s, err := redis.Open(t.Context(), url, retention)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// client is a connection besides the store's, to read and change the server.
func client(t *testing.T, url string) *goredis.Client {
	t.Helper()
	options, err := goredis.ParseURL(url)
	require.NoError(t, err)
	c := goredis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// owner owns a range as a gateway does. Each of its flushes has a lane and an event with the cursor n, and
// every other one has holds.
type owner struct {
	t       testing.TB
	store   *redis.Store
	rangeID uuid.UUID
	lane    uuid.UUID
	epoch   uint64
	n       uint64 // of the last flush that was acknowledged
}

func (o *owner) rangeEpoch() store.RangeEpoch {
	return store.RangeEpoch{Range: o.rangeID, Epoch: o.epoch, N: o.n}
}

func own(t testing.TB, s *redis.Store) *owner {
	t.Helper()
	o := &owner{t: t, store: s, rangeID: uuid.New(), lane: uuid.New()}
	o.known(func() (err error) {
		o.epoch, err = s.Claim(t.Context(), o.rangeID, opening)
		return err
	})
	return o
}

// known requires that do succeeds. It is done again, as a gateway does, while it is not known whether the store or its
// replicas have it: on a busy machine they may take longer than the store waits for them.
func (o *owner) known(do func() error) {
	o.t.Helper()
	var err error
	require.Eventually(o.t, func() bool {
		err = do()
		return err == nil || isDefinite(err)
	}, patience, tick, "%v", &err)
	require.NoError(o.t, err)
}

// save flushes the batch until that is acknowledged.
func (o *owner) save(batch store.Batch) {
	o.t.Helper()
	o.known(func() error { return o.store.Flush(o.t.Context(), batch) })
	o.n++
}

// keys returns the name of a key of the range, or a pattern of several.
func (o *owner) keys(name string) string { return "rangegate:{" + o.rangeID.String() + "}:" + name }

// next returns the batch after the last one acknowledged.
func (o *owner) next() store.Batch {
	n := o.n + 1
	at := opening.Add(time.Duration(n) * time.Second)
	batch := store.Batch{
		Range: o.rangeID, Epoch: o.epoch, N: n, Now: at,
		Checkpoint: &lanes.Checkpoint{At: lanes.Instant{Wall: at, Mono: time.Duration(n)}, Boot: "boot"},
		Lanes:      []lanes.Snapshot{{Lane: lanes.Lane{ID: o.lane, Log: lanes.Log{ID: "log", Seq: n}}, Boot: "boot"}},
		Events: []lanes.Logged{{
			Cursor: n,
			Event:  lanes.Event{ID: uuid.New(), Kind: lanes.Help, Session: uuid.New(), Lane: o.lane, At: at},
		}},
	}
	if n%2 == 1 {
		batch.Holds = o.holds(n)
	}
	return batch
}

// holds returns the holds after flush n.
func (o *owner) holds(n uint64) *lanes.Holds {
	var h lanes.Holds
	if n > 0 {
		who := fmt.Sprint("who ", n-(n+1)%2) // flushes of even n have none of their own
		h = h.Set(lanes.Scope{Kind: lanes.OverRange}, who, opening).
			Lift(lanes.Scope{Kind: lanes.OverLane, ID: o.lane}, opening)
	}
	return &h
}

// flush flushes the next batch.
func (o *owner) flush(ctx context.Context) error {
	err := o.store.Flush(ctx, o.next())
	if err == nil {
		o.n++
	}
	return err
}

// saved requires that the store has every acknowledged flush once, and nothing else.
func (o *owner) saved() {
	o.t.Helper()
	r, err := o.store.Load(o.t.Context(), o.rangeEpoch())
	require.NoError(o.t, err)
	require.Equal(o.t, o.n, r.LastEvent)
	require.Len(o.t, r.Pending, int(o.n))
	for i, event := range r.Pending {
		require.Equal(o.t, uint64(i+1), event.Cursor)
	}
	require.Equal(o.t, *o.holds(o.n), r.Holds)
	if o.n == 0 {
		require.Empty(o.t, r.Lanes)
		return
	}
	require.Len(o.t, r.Lanes, 1)
	require.Equal(o.t, o.n, r.Lanes[0].Log.Seq)
	require.Equal(o.t, time.Duration(o.n), r.Checkpoint.At.Mono)
}

// How long a test waits for a condition, and how often it checks.
const (
	patience = time.Minute
	tick     = 20 * time.Millisecond
)

// restore writes keys that dump has read.
func restore(t *testing.T, c *goredis.Client, values map[string]any) {
	t.Helper()
	for key, value := range values {
		switch value := value.(type) {
		case map[string]string:
			require.NoError(t, c.HSet(t.Context(), key, value).Err())
		case []string:
			for _, member := range value {
				require.NoError(t, c.ZAdd(t.Context(), key, goredis.Z{Member: member}).Err())
			}
		}
	}
}

// dump returns the values of all keys that match the pattern.
func dump(t *testing.T, c *goredis.Client, pattern string) map[string]any {
	t.Helper()
	values := map[string]any{}
	found, err := c.Keys(t.Context(), pattern).Result()
	require.NoError(t, err)
	for _, key := range found {
		kind, err := c.Type(t.Context(), key).Result()
		require.NoError(t, err)
		switch kind {
		case "hash":
			values[key], err = c.HGetAll(t.Context(), key).Result()
		case "zset":
			values[key], err = c.ZRange(t.Context(), key, 0, -1).Result()
		default:
			values[key] = kind
		}
		require.NoError(t, err)
	}
	return values
}
