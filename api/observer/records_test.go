package observer

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// numbered is a record of a log whose oldest ones may be trimmed.
type numbered struct {
	cursor uint64
	at     time.Time
}

// memoryLog is a log with those records that counts its reads.
func memoryLog(records []numbered, reads *int) storedLog[numbered] {
	return storedLog[numbered]{
		last: records[len(records)-1].cursor,
		read: func(_ context.Context, after uint64, limit int) ([]numbered, error) {
			*reads++
			begin := slices.IndexFunc(records, func(n numbered) bool { return n.cursor > after })
			if begin < 0 {
				return nil, nil
			}
			return slices.Clone(records[begin:min(len(records), begin+limit)]), nil
		},
		cursor: func(n numbered) uint64 { return n.cursor },
		times: func(block []numbered) []time.Time {
			return endpoint.Views(block, func(n numbered) time.Time { return n.at })
		},
	}
}

// Whatever was trimmed, and wherever the time begins and ends, a log is read to its end page by page: each record once,
// the newest first.
func TestALogIsReadBackwardsPageByPage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		trimmed, size := random.Uint64N(3000), 1+random.IntN(3000)
		records := make([]numbered, size)
		at := noon
		for i := range records {
			if random.IntN(4) > 0 { // several may be of one instant
				at = at.Add(time.Duration(random.Int64N(int64(20 * time.Second))))
			}
			records[i] = numbered{trimmed + uint64(i) + 1, at}
		}
		span := at.Sub(noon) + 1
		since := noon.Add(time.Duration(random.Int64N(int64(span))))
		before := since.Add(time.Duration(random.Int64N(int64(span))) + 1)
		var wanted, found []uint64
		for _, record := range slices.Backward(records) {
			if !record.at.Before(since) && record.at.Before(before) {
				wanted = append(wanted, record.cursor)
			}
		}
		for until := before; ; {
			reads := 0
			var page []numbered
			reached, err := memoryLog(records, &reads).backwards(t.Context(), since, until,
				func(block []numbered, _ []time.Time) bool {
					page = append(page, block...)
					return len(page) < 100
				})
			require.NoError(t, err)
			require.Less(t, reads, 60, "reads are bounded")
			for _, record := range page {
				if record.at.After(reached) {
					found = append(found, record.cursor)
				}
			}
			if reached.IsZero() {
				break
			}
			require.True(t, reached.Before(until), "each page gets on")
			until = reached.Add(1)
		}
		require.Equal(t, wanted, found)
	}
}

// A search that finds nothing stops at its bound, and says how far it has come.
func TestALongSearchIsSeveralPages(t *testing.T) {
	records := make([]numbered, 50_000)
	for i := range records {
		records[i] = numbered{uint64(i) + 1, noon.Add(time.Duration(i) * time.Second)}
	}
	reads := 0
	reached, err := memoryLog(records, &reads).backwards(t.Context(), noon, noon.Add(24*time.Hour),
		func([]numbered, []time.Time) bool { return true })
	require.NoError(t, err)
	require.Equal(t, records[len(records)-maxBlocks*blockSize].at, reached)
	require.LessOrEqual(t, reads, maxBlocks+20)
}

// What a wall clock that was set back has left is found nevertheless, and does not end a search too early.
func TestALogWithAClockThatWasSetBack(t *testing.T) {
	records := []numbered{
		{1, noon},
		{2, noon.Add(time.Hour)},
		{3, noon.Add(time.Hour - 30*time.Second)},
		{4, noon.Add(-3 * time.Hour)},
		{5, noon.Add(time.Hour + time.Second)},
	}
	reads, found := 0, []uint64{}
	reached, err := memoryLog(records, &reads).backwards(t.Context(), noon, noon.Add(2*time.Hour),
		func(block []numbered, _ []time.Time) bool {
			for _, record := range block {
				found = append(found, record.cursor)
			}
			return true
		})
	require.NoError(t, err)
	require.Zero(t, reached)
	require.Equal(t, []uint64{5, 3, 2, 1}, found)
}

// Events of one change were decided together, at the instant that the first one of them says.
func TestWhenEventsWereDecided(t *testing.T) {
	session := uuid.New()
	event := func(at time.Time, d *lanes.Decision) lanes.Logged {
		return lanes.Logged{Event: lanes.Event{Session: session, At: at, Decision: d}}
	}
	late := &lanes.Decision{Late: time.Minute, Stepped: -time.Second}
	require.Equal(t, []time.Time{noon, noon.Add(59 * time.Second), noon.Add(59 * time.Second), noon.Add(time.Hour)},
		decidedTimes([]lanes.Logged{
			event(noon, nil), event(noon, late), event(noon.Add(time.Second), nil),
			{Event: lanes.Event{Session: uuid.New(), At: noon.Add(time.Hour)}},
		}))
}

// A store that does not answer is refused as unavailable. What is wrong with the range stays what it is.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	for given, code := range map[error]string{
		lanes.ErrTimeout: "store_unavailable", lanes.ErrStoreUnavailable: "store_unavailable",
		lanes.ErrNotOwner: "not_owner",
	} {
		_, err := readRecord(t.Context(), func(ctx context.Context) (int, error) {
			deadline, bounded := ctx.Deadline()
			require.True(t, bounded)
			require.LessOrEqual(t, time.Until(deadline), storeWait)
			return 0, given
		})
		var coded interface{ Code() string }
		require.True(t, errors.As(err, &coded))
		require.Equal(t, code, coded.Code())
	}
}
