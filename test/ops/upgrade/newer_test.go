package upgrade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

// A gateway that is one format ahead has served. This one says that it cannot, and what to do; it changes nothing, and
// the newer one goes on where it was.
func TestThereIsNoWayBack(t *testing.T) {
	t.Parallel()
	ahead := buildNewer(t)
	file := filepath.Join(t.TempDir(), "rangegate.db")
	server := redistest.Start(t)
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	for _, kept := range []struct {
		store, where string
		everything   func() []byte
	}{
		{support.SQLite(file), file, func() []byte {
			all, err := os.ReadFile(file)
			require.NoError(t, err)
			return all
		}},
		{support.Redis(server.URL()), "redis server " + server.URL(), func() (all []byte) {
			keys, err := client.Keys(t.Context(), "*").Result()
			require.NoError(t, err)
			require.NotEmpty(t, keys)
			slices.Sort(keys)
			for _, key := range keys {
				value, err := client.Dump(t.Context(), key).Result()
				require.NoError(t, err)
				all = append(all, value...)
			}
			return all
		}},
	} {
		config := configured(t, kept.store)
		serve := func() *support.Gateway {
			cmd := support.ServeCommand(config)
			cmd.Path = ahead
			return support.Start(t, cmd).Ready()
		}
		gateway := serve()
		sold := newPOSClient(t, gateway).sell(lane1)
		require.Zero(t, gateway.Terminate())

		before := kept.everything()
		for range 2 {
			code, output := failedStart(t, config)
			require.Equal(t, 1, code, output)
			require.Contains(t, output, kept.where)
			require.Contains(t, output,
				fmt.Sprintf("written by a newer version: its format is %d, this gateway reads up to %d",
					store.Version+1, store.Version))
			require.Contains(t, output, "install that one, or serve from a backup or an export that is older than it")
			require.True(t, bytes.Equal(before, kept.everything()), "the older gateway has changed %s", kept.where)
		}
		require.Equal(t, []soldSession{sold}, newPOSClient(t, serve()).active())
	}
}

// failedStart starts the gateway, which has to end by itself, and returns its exit code and its output.
func failedStart(t *testing.T, config string) (code int, output string) {
	t.Helper()
	var all bytes.Buffer
	cmd := support.ServeCommand(config)
	cmd.Stdout, cmd.Stderr = &all, &all
	require.NoError(t, cmd.Start())
	serves := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer serves.Stop()
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), all.String()
}

// buildNewer builds a gateway whose format is the one after this one's, and returns its path.
func buildNewer(t *testing.T) string {
	t.Helper()
	source, err := filepath.Abs("../../../lanes/store/record.go")
	require.NoError(t, err)
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	constant := []byte("\nconst Version = ")
	raised := bytes.Replace(text, fmt.Appendf(constant, "%d\n", store.Version),
		fmt.Appendf(constant, "%d\n", store.Version+1), 1)
	require.NotEqual(t, text, raised)

	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: path("record.go")}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path("record.go"), raised, 0o600))
	require.NoError(t, os.WriteFile(path("overlay.json"), overlay, 0o600))
	output, err := support.Build(path("rangegate"), "rangegate/cmd/rangegate", "-overlay", path("overlay.json"))
	require.NoError(t, err, string(output))
	return path("rangegate")
}
