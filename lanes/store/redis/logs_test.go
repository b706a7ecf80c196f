package redis_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

// The customer's name is stored beside the record, so that it is removed without writing the record again.
func TestNamesAreRemovedAndRecordsStay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	o := own(t, open(t, server.URL()))
	hash := func(name string) map[string]string {
		fields, err := admin.HGetAll(t.Context(), o.keys(name)).Result()
		require.NoError(t, err)
		return fields
	}

	batch := o.next()
	for i, name := range []string{"Jo Smith", "Ann Lee", ""} {
		batch.Ended = append(batch.Ended, lanes.Ended{
			Cursor: uint64(i + 1), At: opening.Add(time.Duration(i) * 24 * time.Hour), Reason: lanes.Expired,
			Session: lanes.Session{ID: uuid.New(), Customer: name},
		})
	}
	require.NoError(t, o.store.Flush(t.Context(), batch))
	o.n++
	require.Equal(t, map[string]string{"1": "Jo Smith", "2": "Ann Lee"}, hash("names"))
	records := hash("history")
	require.Len(t, records, 3)
	require.NotContains(t, records["1"], "Jo")
	found, err := o.store.History(t.Context(), o.rangeEpoch(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, batch.Ended, found)

	batch.N, batch.Ended, batch.Now = 2, nil, opening.Add(retention.Names+time.Hour)
	require.NoError(t, o.store.Flush(t.Context(), batch))
	require.Equal(t, map[string]string{"2": "Ann Lee"}, hash("names"))
	require.Equal(t, records, hash("history"))
	ended, err := o.store.Ended(t.Context(), o.rangeEpoch(), found[0].Session.ID)
	require.NoError(t, err)
	found[0].Session.Customer = ""
	require.Equal(t, found[0], ended)

	batch.N, batch.Now = 3, opening.Add(retention.History+30*24*time.Hour)
	require.NoError(t, o.store.Flush(t.Context(), batch))
	for _, name := range []string{"history", "names", "sessions"} {
		require.Empty(t, hash(name), name)
	}
}

// Lua's numbers are exact up to 2^53. The scripts compare cursors and epochs as text.
func TestNumbersStayExact(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	o.n = 1<<63 + 1
	first, last := o.next(), o.next()
	first.Refill = true // so that n may begin here
	first.Events[0].Cursor = math.MaxUint64 - 1
	first.Lanes[0].Log.Seq = math.MaxUint64
	last.N++
	last.Events[0].Cursor = math.MaxUint64
	last.Lanes = first.Lanes
	first.Acts = []lanes.Act{{Cursor: math.MaxUint64 - 1, At: opening}}
	last.Acts = []lanes.Act{{Cursor: math.MaxUint64, At: opening}}
	require.NoError(t, o.store.Flush(t.Context(), first))
	require.NoError(t, o.store.Flush(t.Context(), last))
	require.NoError(t, o.store.Flush(t.Context(), first), "a repeat")

	r, err := o.store.Load(t.Context(), o.rangeEpoch())
	require.NoError(t, err)
	require.Equal(t, uint64(math.MaxUint64), r.LastEvent)
	require.Equal(t, uint64(math.MaxUint64), r.Lanes[0].Log.Seq)
	found, err := o.store.Events(t.Context(), o.rangeEpoch(), math.MaxUint64-1, 10)
	require.NoError(t, err)
	require.Equal(t, last.Events, found)
	require.Equal(t, uint64(math.MaxUint64), r.LastAct)
	acts, err := o.store.Acts(t.Context(), o.rangeEpoch(), math.MaxUint64-1, 10)
	require.NoError(t, err)
	require.Equal(t, last.Acts, acts)

	require.NoError(t, client(t, server.URL()).
		HSet(t.Context(), o.keys("meta"), "epoch", "9007199254740993").Err())
	epoch, err := o.store.Claim(t.Context(), o.rangeID, opening)
	require.NoError(t, err)
	require.Equal(t, uint64(9007199254740994), epoch)
}

// One flush trims a limited number of records, however count have expired since the last one.
func TestAFlushTrimsALimitedNumber(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	o := own(t, open(t, server.URL()))
	const count = 1000
	batch := o.next()
	batch.Events = nil
	for i := range count {
		batch.Events = append(batch.Events, lanes.Logged{
			Cursor: uint64(i + 1), Event: lanes.Event{At: opening},
			Delivery: lanes.Delivery{Attempt: &lanes.Attempt{At: opening}},
		})
	}
	require.NoError(t, o.store.Flush(t.Context(), batch))

	batch.Events, batch.Now = nil, opening.Add(retention.Events+time.Second)
	left, flushes := count, 0
	for left > 0 {
		batch.N++
		flushes++
		require.NoError(t, o.store.Flush(t.Context(), batch))
		found, err := o.store.Events(t.Context(), o.rangeEpoch(), 0, count)
		require.NoError(t, err)
		require.Less(t, len(found), left)
		left = len(found)
	}
	require.Greater(t, flushes, 5)
}

// The cap holds after every flush, also after one with more records than the cap.
func TestTheCapHoldsAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	capped := retention
	capped.Cap = 3
	s, err := redis.Open(t.Context(), server.URL(), capped)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	o := own(t, s)
	batch := o.next()
	batch.Events = nil
	for i := range 10 {
		cursor := uint64(i + 1)
		batch.Events = append(batch.Events, lanes.Logged{
			Cursor: cursor, Event: lanes.Event{At: opening},
			Delivery: lanes.Delivery{Attempt: &lanes.Attempt{At: opening}},
		})
		batch.Ended = append(batch.Ended,
			lanes.Ended{Cursor: cursor, At: opening, Session: lanes.Session{ID: uuid.New()}})
		batch.Acts = append(batch.Acts, lanes.Act{Cursor: cursor, At: opening})
	}
	require.NoError(t, s.Flush(t.Context(), batch))
	events, err := s.Events(t.Context(), o.rangeEpoch(), 0, 100)
	require.NoError(t, err)
	require.Equal(t, batch.Events[7:], events)
	ended, err := s.History(t.Context(), o.rangeEpoch(), 0, 100)
	require.NoError(t, err)
	require.Equal(t, batch.Ended[7:], ended)
	acts, err := s.Acts(t.Context(), o.rangeEpoch(), 0, 100)
	require.NoError(t, err)
	require.Equal(t, batch.Acts[7:], acts)
	_, err = s.Ended(t.Context(), o.rangeEpoch(), batch.Ended[0].Session.ID)
	require.ErrorIs(t, err, store.ErrNotFound)
}
