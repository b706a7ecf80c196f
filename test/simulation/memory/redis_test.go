package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/actors/nodes"
	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis"
	"rangegate/lanes/store/redis/redistest"
)

// What several gateways do to a range has the same outcomes on Redis: claims, releases, and flushes of owners that
// know, or do not know yet, that they were fenced.
func TestNodesFareAsOnRedis(t *testing.T) {
	retention := store.Retention{Events: time.Hour, History: time.Hour, Names: time.Hour, Cap: 1000}
	server := redistest.Start(t)
	shared, err := redis.Open(t.Context(), server.URL(), retention)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	sharedNodes := shared.Nodes()
	t.Cleanup(func() { require.NoError(t, sharedNodes.Close()) })
	own := NewServer().Open(retention)
	stores := []struct {
		store.Store
		nodes nodes.Store
	}{{shared, sharedNodes}, {own, own.Nodes()}}

	machines := []store.Node{
		{},
		{Run: uuid.New(), Name: "a", Address: "a:1"},
		{Run: uuid.New(), Name: "b", Address: "b:1"},
	}
	opening := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		ctx, id := t.Context(), uuid.New()
		records := []store.Ownership{{Range: id}} // all that were ever answered
		n := map[uint64]uint64{}                  // the last flush of each epoch
		lane := lanes.Snapshot{Lane: lanes.Lane{ID: uuid.New()}, Boot: "b"}
		rt.Repeat(map[string]func(*rapid.T){
			"claim": func(rt *rapid.T) {
				expected := rapid.SampledFrom(records).Draw(rt, "expected")
				by := rapid.SampledFrom(machines[1:]).Draw(rt, "by")
				now := opening.Add(time.Duration(rapid.IntRange(-2, 2).Draw(rt, "now")) * time.Millisecond)
				var outcomes []store.Claimed
				for _, s := range stores {
					outcomes = append(outcomes, s.nodes.Claim(ctx, store.Claimant{Node: by, Now: now},
						[]store.Ownership{expected})...)
				}
				require.Equal(rt, outcomes[0], outcomes[1])
				records = append(records, outcomes[0].Ownership)
			},
			"set owner": func(rt *rapid.T) {
				from := rapid.SampledFrom(records).Draw(rt, "from")
				to := rapid.SampledFrom(machines).Draw(rt, "to")
				first, changed, err := stores[0].nodes.SetOwner(ctx, from, to)
				require.NoError(rt, err)
				second, alsoChanged, err := stores[1].nodes.SetOwner(ctx, from, to)
				require.NoError(rt, err)
				require.Equal(rt, first, second)
				require.Equal(rt, changed, alsoChanged)
				records = append(records, first)
			},
			"flush": func(rt *rapid.T) {
				epoch := rapid.SampledFrom(records).Draw(rt, "epoch").Epoch
				batch := store.Batch{
					Range: id, Epoch: epoch, N: n[epoch] + uint64(rapid.IntRange(0, 2).Draw(rt, "ahead")), Now: opening,
					Refill: rapid.IntRange(0, 9).Draw(rt, "refill") == 0, Lanes: []lanes.Snapshot{lane},
					Release: rapid.IntRange(0, 4).Draw(rt, "release") == 0,
				}
				var answers []string
				for _, s := range stores {
					answers = append(answers, kind(s.Flush(ctx, batch)))
				}
				require.Equal(rt, answers[0], answers[1])
				if answers[0] == "" {
					n[epoch] = max(n[epoch], batch.N)
				}
			},
			"": func(rt *rapid.T) {
				var owners [][]store.Ownership
				var confirmed []string
				for _, s := range stores {
					owner, err := s.nodes.Owners(ctx, []uuid.UUID{id})
					require.NoError(rt, err)
					owners = append(owners, owner)
					confirmed = append(confirmed,
						kind(s.Confirm(ctx, store.RangeEpoch{Range: id, Epoch: records[len(records)-1].Epoch})))
				}
				require.Equal(rt, owners[0], owners[1])
				require.Equal(rt, confirmed[0], confirmed[1])
			},
		})
	})
}

// kind is what an error means, whatever its text.
func kind(err error) string {
	for _, meaning := range []error{store.ErrFenced, store.ErrRolledBack, store.ErrRefused} {
		if errors.Is(err, meaning) {
			return meaning.Error()
		}
	}
	if err != nil {
		return "another error: " + err.Error()
	}
	return ""
}
