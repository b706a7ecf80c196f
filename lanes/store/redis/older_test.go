package redis_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
)

// older is what an older version has left on a server, as dump gives it.
func older(t *testing.T, name string) map[string]any {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	var keys map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(file, &keys))
	all := map[string]any{}
	for key, value := range keys {
		var hash map[string]string
		var order []string
		if json.Unmarshal(value, &hash) == nil {
			all[key] = hash
			continue
		}
		require.NoError(t, json.Unmarshal(value, &order), key)
		all[key] = order
	}
	return all
}

// The keys were written when there was no record of holds: a lane, two events, two ended sessions, an answer.
func TestKeysFromBeforeHolds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	restore(t, client(t, server.URL()), older(t, "before-holds"))
	s := open(t, server.URL())
	rangeID := uuid.UUID{1}
	loaded := func() store.Recovered {
		t.Helper()
		r, err := s.Load(t.Context(), rangeID)
		require.NoError(t, err)
		return r
	}
	before := loaded()
	require.Zero(t, before.Holds)
	require.Len(t, before.Lanes, 1)
	require.Len(t, before.Keys, 1)
	require.Len(t, before.Pending, 1)
	require.Equal(t, uint64(2), before.LastEvent)
	require.Equal(t, uint64(2), before.LastEnded)
	history, err := s.History(t.Context(), rangeID, 0, 10)
	require.NoError(t, err)
	require.Len(t, history, 2)

	epoch, err := s.Claim(t.Context(), rangeID, opening)
	require.NoError(t, err)
	batch := store.Batch{Range: rangeID, Epoch: epoch, N: 1, Now: opening}
	require.NoError(t, s.Flush(t.Context(), batch))
	require.Equal(t, before, loaded())
	batch.N = 2
	batch.Holds = new(lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "Jo Smith", opening))
	require.NoError(t, s.Flush(t.Context(), batch))
	before.Holds = *batch.Holds
	require.Equal(t, before, loaded())
}
