package sqlite_test

import (
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/sqlite"
)

const (
	together  = 64     // records in one flush, or ranges that flush at once
	laneCount = 10_000 // that a range's flushes go round
)

// BenchmarkFlush writes and syncs 64 records at a time: events, and the lanes of a range of 10,000 with a session each.
// In the last case 64 ranges flush at once, each a lane with an ended session and two events.
func BenchmarkFlush(b *testing.B) {
	now := lanes.Instant{Wall: time.Now().UTC(), Mono: time.Hour}
	for _, c := range []struct {
		name   string
		ranges int
		fill   func(batch *store.Batch, n uint64)
	}{
		{"of events", 1, func(batch *store.Batch, n uint64) {
			for i := range uint64(together) {
				batch.Events = append(batch.Events, event(n*together+i+1, now))
			}
		}},
		{"of lanes", 1, func(batch *store.Batch, n uint64) {
			for i := range uint64(together) {
				batch.Lanes = append(batch.Lanes,
					lanes.Snapshot{Lane: lanes.Lane{ID: id(n*together + i), Session: session(now)}, Boot: "boot"})
			}
		}},
		{"of ranges", together, func(batch *store.Batch, n uint64) {
			batch.Lanes = []lanes.Snapshot{{Lane: lanes.Lane{ID: id(n)}, Boot: "boot"}}
			batch.Events = []lanes.Logged{event(2*n+1, now), event(2*n+2, now)}
			batch.Ended = []lanes.Ended{{
				Cursor: n + 1, Session: *session(now), Lane: id(n), At: now.Wall,
				Reason: lanes.Expired,
			}}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			const long = 24 * time.Hour
			kept, err := sqlite.Open(filepath.Join(b.TempDir(), "range.db"),
				store.Retention{Events: long, History: long, Names: long, Cap: 1_000_000})
			require.NoError(b, err)
			defer func() { require.NoError(b, kept.Close()) }()
			batches := make([]store.Batch, c.ranges)
			for i := range batches {
				batches[i] = store.Batch{Range: uuid.New(), Now: now.Wall}
				batches[i].Epoch, err = kept.Claim(b.Context(), batches[i].Range, now.Wall)
				require.NoError(b, err)
			}
			b.ReportAllocs()
			used := cpuTime()
			for n := uint64(0); b.Loop(); n++ {
				var flushing sync.WaitGroup
				for _, batch := range batches {
					flushing.Go(func() {
						batch.N = n + 1
						c.fill(&batch, n)
						if err := kept.Flush(b.Context(), batch); err != nil {
							b.Error(err)
						}
					})
				}
				flushing.Wait()
			}
			b.ReportMetric(float64((cpuTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

func event(cursor uint64, now lanes.Instant) lanes.Logged {
	return lanes.Logged{Cursor: cursor, Event: lanes.Event{
		ID: uuid.New(), Kind: lanes.SessionModified, Session: uuid.New(), Lane: uuid.New(), At: now.Wall,
	}, Delivery: lanes.Delivery{Attempt: &lanes.Attempt{At: now.Wall, Error: lanes.Interrupted}}}
}

func session(now lanes.Instant) *lanes.Session {
	return &lanes.Session{
		ID: uuid.New(), Group: uuid.New(), Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running, Left: time.Hour,
		Since: now, Created: now, Began: &now, Facts: 2,
	}
}

// id returns the id of a lane, in no order.
func id(n uint64) (id uuid.UUID) {
	n = n * 7919 % laneCount
	id[0], id[1] = byte(n>>8), byte(n)
	return id
}

// cpuTime is the processor time of this process: it depends less on other processes than the elapsed time.
func cpuTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkStart claims and loads a range of 10,000 lanes with a session each, as a gateway does at its start.
func BenchmarkStart(b *testing.B) {
	const long = 24 * time.Hour
	now := lanes.Instant{Wall: time.Now().UTC(), Mono: time.Hour}
	kept, err := sqlite.Open(filepath.Join(b.TempDir(), "range.db"),
		store.Retention{Events: long, History: long, Names: long, Cap: 1_000_000})
	require.NoError(b, err)
	defer func() { require.NoError(b, kept.Close()) }()
	batch := store.Batch{Range: uuid.New(), N: 1, Now: now.Wall}
	batch.Epoch, err = kept.Claim(b.Context(), batch.Range, now.Wall)
	require.NoError(b, err)
	for n := range uint64(laneCount) {
		batch.Lanes = append(batch.Lanes,
			lanes.Snapshot{Lane: lanes.Lane{ID: id(n), Session: session(now)}, Boot: "boot"})
	}
	require.NoError(b, kept.Flush(b.Context(), batch))
	b.ReportAllocs()
	used := cpuTime()
	for b.Loop() {
		if _, err := kept.Claim(b.Context(), batch.Range, now.Wall); err != nil {
			b.Fatal(err)
		}
		loaded, err := kept.Load(b.Context(), store.InAnyEpoch(batch.Range))
		if err != nil || len(loaded.Lanes) != laneCount {
			b.Fatal(len(loaded.Lanes), err)
		}
	}
	b.ReportMetric(float64((cpuTime()-used).Microseconds())/float64(b.N), "cpu-µs/op")
}
