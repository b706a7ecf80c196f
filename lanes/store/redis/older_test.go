package redis_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/storetest"
)

// older returns the keys that an older version wrote, in the form of dump.
func older(t *testing.T, name string) map[string]any {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	var keys map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(file, &keys))
	values := map[string]any{}
	for key, value := range keys {
		var hash map[string]string
		var order []string
		if json.Unmarshal(value, &hash) == nil {
			values[key] = hash
			continue
		}
		require.NoError(t, json.Unmarshal(value, &order), key)
		values[key] = order
	}
	return values
}

// The keys of each older version are read and written.
func TestKeysOfEachVersion(t *testing.T) {
	t.Parallel()
	for version := 1; version <= store.Version; version++ {
		t.Run(strconv.Itoa(version), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			b := bench{address: server.Addr(), admin: client(t, server.URL())}
			restore(t, b.admin, older(t, fmt.Sprintf("version-%d", version)))
			storetest.OfVersion(t, b, version)
		})
	}
}

// A claim writes the layout of this version, which an older gateway reads first.
func TestAClaimRaisesTheLayout(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	restore(t, admin, older(t, "version-1"))
	s, o := open(t, server.URL()), &owner{rangeID: storetest.Written(1).Range}
	_, err := s.Load(t.Context(), store.InAnyEpoch(o.rangeID))
	require.NoError(t, err)
	require.Equal(t, "1", admin.HGet(t.Context(), o.keys("meta"), "layout").Val(), "they are only read")
	_, err = s.Claim(t.Context(), o.rangeID, opening)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(store.Version), admin.HGet(t.Context(), o.keys("meta"), "layout").Val())
}

// An older gateway that is started by mistake claims nothing, and one whose range a newer one has claimed is fenced.
func TestKeysOfANewerVersionAreLeftAsTheyAre(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	o := own(t, open(t, server.URL()))
	require.NoError(t, o.flush(t.Context()))
	require.NoError(t, admin.HSet(t.Context(), o.keys("meta"), "layout", store.Version+1).Err())
	before := dump(t, admin, "*")
	for _, do := range []func(*owner) error{claim, load, flush, forget, claim} {
		err := do(o)
		var corrupt *store.CorruptError
		require.ErrorAs(t, err, &corrupt)
		require.ErrorIs(t, err, store.ErrNewer)
		require.ErrorContains(t, err, fmt.Sprintf("its format is %d, this gateway reads up to %d", store.Version+1,
			store.Version))
		require.Equal(t, before, dump(t, admin, "*"))
	}

	require.NoError(t, admin.HIncrBy(t.Context(), o.keys("meta"), "epoch", 1).Err())
	before = dump(t, admin, "*")
	require.ErrorIs(t, flush(o), store.ErrFenced)
	require.Equal(t, before, dump(t, admin, "*"))
}

// These keys have no record of holds: a lane, two events, two ended sessions, an idempotency key.
func TestKeysFromBeforeHolds(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	restore(t, client(t, server.URL()), older(t, "before-holds"))
	s := open(t, server.URL())
	rangeID := uuid.UUID{1}
	loaded := func() store.Recovered {
		t.Helper()
		r, err := s.Load(t.Context(), store.InAnyEpoch(rangeID))
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
	history, err := s.History(t.Context(), store.InAnyEpoch(rangeID), 0, 10)
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
