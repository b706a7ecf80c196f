package upgrade

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// What the gateway of each version has left is served: the first released one among them.
func TestServingWhatEachVersionHasLeft(t *testing.T) {
	t.Parallel()
	for version := 1; version <= store.Version; version++ {
		for name, left := range map[string]func(*testing.T, int) string{"sqlite": importedFile, "redis": filledServer} {
			t.Run(fmt.Sprintf("%s %d", name, version), func(t *testing.T) {
				t.Parallel()
				config := configured(t, left(t, version))
				gateway := support.Start(t, support.ServeCommand(config)).Ready()
				pos := newPOSClient(t, gateway)

				// Two sessions were on the lanes on 1 June 2025. The time of one ran on, and ended long ago;
				// a hold keeps the other's.
				paused := soldSession{"a5000000-0000-0000-0000-000000000004", lane2, 60}
				require.Equal(t, []soldSession{paused}, pos.active())
				var phases []string
				for _, lane := range pos.LaneStatuses() {
					phases = append(phases, lane.Phase)
				}
				require.Equal(t, []string{"free", "paused", "free"}, phases)
				history := pos.History()
				require.Len(t, history, 3)
				oldest := history[2]
				require.Equal(t, soldSession{"a5000000-0000-0000-0000-000000000002", lane1, 60},
					soldSession{oldest.ID, oldest.Lane, oldest.Minutes})
				require.Equal(t, "Jo & <Ann> Smith", oldest.Customer)
				require.Equal(t, "2025-06-01T10:01:00.123Z", oldest.Ended.Format("2006-01-02T15:04:05.000Z07:00"))
				require.Equal(t, "expired", oldest.Reason)

				// It goes on with it, and so does the next start.
				sold := pos.sell(lane3)
				gateway.Kill()
				gateway = support.Start(t, support.ServeCommand(config)).Ready()
				require.ElementsMatch(t, []soldSession{paused, sold}, newPOSClient(t, gateway).active())
			})
		}
	}
}

// importedFile is a new SQLite file into which the export of a version was imported.
func importedFile(t *testing.T, version int) (stored string) {
	t.Helper()
	stored = support.NewSQLite(t)
	exported := fmt.Sprintf("../../../lanes/store/archive/testdata/version-%d.jsonl", version)
	output, err := support.Command("store", "import", "--config", configured(t, stored), exported).CombinedOutput()
	require.NoError(t, err, string(output))
	return stored
}

// A bolt file, which the releases before SQLite wrote, is named with the way out of it, and stays as it is. So is the
// setting that named it.
func TestABoltFileIsRefusedWithTheWayOut(t *testing.T) {
	t.Parallel()
	packed, err := os.Open("testdata/bolt.db.gz")
	require.NoError(t, err)
	defer func() { _ = packed.Close() }()
	unpacking, err := gzip.NewReader(packed)
	require.NoError(t, err)
	file, err := io.ReadAll(unpacking)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "rangegate.db")
	require.NoError(t, os.WriteFile(path, file, 0o600))

	code, output := failedStart(t, configured(t, support.SQLite(path)))
	require.Equal(t, 1, code, output)
	for _, words := range []string{path, "bolt", "rangegate store export", "rangegate store import"} {
		require.Contains(t, output, words)
	}
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, file, now)

	code, output = failedStart(t, configured(t, fmt.Sprintf("bolt: %q", path)))
	require.Equal(t, 2, code, output)
	for _, words := range []string{"store.bolt", "store.sqlite", "rangegate store export", "rangegate store import"} {
		require.Contains(t, output, words)
	}
}

// filledServer is a new Redis server with the keys that a version has left.
func filledServer(t *testing.T, version int) (stored string) {
	t.Helper()
	left, err := os.ReadFile(fmt.Sprintf("../../../lanes/store/redis/testdata/version-%d.json", version))
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(left, &keys))
	server := redistest.Start(t)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	for key, value := range keys {
		switch value := value.(type) {
		case map[string]any: // a hash
			require.NoError(t, client.HSet(t.Context(), key, value).Err())
		case []any: // a sorted set, in the order of its texts
			for _, member := range value {
				require.NoError(t, client.ZAdd(t.Context(), key, goredis.Z{Member: member}).Err())
			}
		}
	}
	return support.Redis(server.URL())
}
