package damage

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

// command runs the binary to its end.
func command(t *testing.T, wanted int, args ...string) (out, log string) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := support.Command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	require.Equal(t, wanted, cmd.ProcessState.ExitCode(), stderr.String())
	return stdout.String(), stderr.String()
}

// A range moves from a file to a server and back to another file, with what runs on it. Its customers lose nothing of
// their time, and its integrator no event.
func TestARangeMovesWithWhatRunsOnIt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	stores := []string{
		configured(t, support.SQLite(filepath.Join(folder, "a.db"))),
		configured(t, fmt.Sprintf("redis: %q", redistest.Start(t).URL())),
		configured(t, support.SQLite(filepath.Join(folder, "b.db"))),
	}
	g := serve(t, stores[0])
	stopped, paused, running := g.Sell(0, 30), g.Sell(1, 30), g.Sell(2, 30)
	g.Command(stopped, "/stop")
	g.Command(paused, "/pause")
	sale := strings.Replace(support.Order(3, 5), "Jo Smith", "Ann & <Lee>", 1)
	first := g.Send("POST", "/sessions", sale, "Idempotency-Key", "receipt-1")
	require.Equal(t, http.StatusCreated, first.Status, first.Body)
	phases := g.Phases()
	left := g.Sessions()
	events := support.WithoutCursors(g.Send("GET", logPaths[1], "").Body)
	history := support.WithoutCursors(g.Send("GET", logPaths[0], "").Body)

	_, log := command(t, 1, "store", "check", "--config", stores[0])
	require.Contains(t, log, "locked by another process: is another rangegate running?")
	_, log = command(t, 1, "store", "export", "--config", stores[0])
	require.Contains(t, log, "locked by another process")
	g.terminate(t)

	for i, next := range stores[1:] {
		exported := filepath.Join(folder, fmt.Sprint("export-", i, ".jsonl"))
		out, _ := command(t, 0, "store", "check", "--config", stores[i])
		require.Contains(t, out, `"Range"`)
		require.Contains(t, out, "lanes: 4, active sessions: 3,")
		require.Contains(t, out, "ended sessions: 1, acts of staff: 0, idempotency keys: 6\n")
		command(t, 0, "store", "export", "--config", stores[i], "--out", exported)
		info, err := os.Stat(exported)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), "there are names in it")
		out, _ = command(t, 0, "store", "import", "--config", next, exported)
		require.Contains(t, out, "imported range "+support.RangeID)
		_, log = command(t, 1, "store", "import", "--config", next, exported)
		require.Contains(t, log, "has the range already, and nothing was written")

		g = serve(t, next)
		require.Equal(t, phases, g.Phases())
		now := g.Sessions()
		require.Equal(t, left[paused].Left, now[paused].Left)
		require.Less(t, now[running].Left.Duration, left[running].Left.Duration, "it ran on meanwhile")
		require.Equal(t, events, support.WithoutCursors(g.Send("GET", logPaths[1], "").Body))
		require.Equal(t, history, support.WithoutCursors(g.Send("GET", logPaths[0], "").Body))
		again := g.Send("POST", "/sessions", sale, "Idempotency-Key", "receipt-1")
		require.Equal(t, first.Body, again.Body)
		require.Equal(t, "true", again.Header.Get("idempotency-replayed"))
		g.terminate(t)
	}
}

// What is damaged is told record by record, and neither checked away nor carried over.
func TestADamagedRecordIsToldAndNotCarriedOver(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	// Of all events of that kind.
	damaged := []byte(strings.ReplaceAll(string(s.whole), `"sessionStarted"`, `"sessionSmarted"`))
	path := newPath(t)
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	config, exported := configured(t, support.SQLite(path)), filepath.Join(t.TempDir(), "export.jsonl")
	out, log := command(t, 1, "store", "check", "--config", config)
	require.Contains(t, out, "active sessions: 2")
	require.Equal(t, 22, strings.Count(out, "it is not what was written"), out)
	require.Contains(t, log, "cannot be read, or do not go together: 22")
	_, log = command(t, 1, "store", "export", "--config", config, "--out", exported)
	require.Contains(t, log, "range "+support.RangeID+": event ")
	require.NoFileExists(t, exported)
	unchanged(t, path, damaged)
}

// A backup is taken while the gateway serves. The disk is lost, and the gateway serves from the backup what
// was there then.
func TestABackupIsServedFrom(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, copied := filepath.Join(folder, "rangegate.db"), filepath.Join(folder, "backup.db")
	config := configured(t, support.SQLite(path))
	g := serve(t, config)
	paused, running := g.Sell(0, 30), g.Sell(1, 30)
	g.Command(paused, "/pause")
	left := g.Sessions()

	out, _ := command(t, 0, "store", "backup", "--config", config, copied)
	require.Contains(t, out, "lanes: 2, active sessions: 2,")
	_, log := command(t, 1, "store", "backup", "--config", config, copied)
	require.Contains(t, log, "file already exists")
	_, log = command(t, 1, "store", "backup", "--config", configured(t, support.Redis("redis://127.0.0.1:1/0")),
		copied+"2")
	require.Contains(t, log, "the store is a Redis server")
	g.Sell(2, 30) // after the backup
	require.Len(t, g.Sessions(), 3)
	g.Kill()

	require.NoError(t, os.Rename(copied, path))
	refused, ready := support.Launch(t, support.ServeCommand(config))
	require.False(t, ready)
	require.Contains(t, refused.Log(), "remove that WAL")
	require.NoError(t, errors.Join(os.Remove(path+"-wal"), os.RemoveAll(path+"-shm")))
	command(t, 0, "store", "check", "--config", config)
	g = serve(t, config)
	require.Equal(t, map[string]string{paused: "paused", running: "running"}, g.Phases())
	require.Equal(t, left[paused].Left, g.Sessions()[paused].Left)
	require.Less(t, g.Sessions()[running].Left.Duration, left[running].Left.Duration)
}
