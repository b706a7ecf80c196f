package damage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// sample is a file that a gateway has left, and what it has shown of it.
type sample struct {
	whole    []byte
	sessions map[string]string // phases, by id
	logs     map[string]string // what is read from the file itself, by path
}

var logPaths = []string{"/history?limit=1000", "/events?limit=1000"}

func newSample(t *testing.T) sample {
	t.Helper()
	path := newPath(t)
	g := serve(t, configured(t, support.SQLite(path)))
	for range 20 {
		id := g.Sell(0, 30)
		require.Equal(t, http.StatusNoContent,
			g.Send("POST", "/sessions/"+id+"/stop", "", "Idempotency-Key", id).Status)
	}
	running, paused := g.Sell(1, 30), g.Sell(2, 30)
	g.Command(paused, "/pause")
	s := sample{sessions: map[string]string{running: "running", paused: "paused"}, logs: map[string]string{}}
	require.Equal(t, s.sessions, g.Phases())
	for _, path := range logPaths {
		s.logs[path] = g.Send("GET", path, "").Body
	}
	g.terminate(t)
	var err error
	s.whole, err = os.ReadFile(path)
	require.NoError(t, err)
	return s
}

// try starts a gateway on a damaged copy. It ends with an error that names the file, which it leaves as it is, or it
// serves what was there; of the logs, which need not be whole for that, it shows all or an error.
func (s sample) try(t *testing.T, damaged []byte, what string) (started bool) {
	t.Helper()
	path := newPath(t)
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	g, ready := support.Launch(t, support.ServeCommand(configured(t, support.SQLite(path))))
	if ready {
		pos := g.POS()
		require.Equal(t, s.sessions, pos.Phases(), what)
		for _, path := range logPaths {
			if answer := pos.Send("GET", path, ""); answer.Status == http.StatusOK {
				require.Equal(t, s.logs[path], answer.Body, what)
			} else {
				require.Equal(t, http.StatusServiceUnavailable, answer.Status, "%s: %s", what, answer.Body)
			}
		}
		g.Kill()
		return true
	}
	require.Equal(t, 1, g.ExitCode(), "%s: %s", what, g.Log())
	require.Contains(t, g.Log(), path, what)
	require.NotContains(t, g.Log(), "goroutine ", what)
	unchanged(t, path, damaged)
	return false
}

func unchanged(t *testing.T, path string, before []byte) {
	t.Helper()
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after), "%s has changed", path)
}

func TestAFileThatWasCut(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	size := len(s.whole)
	random := rand.New(rand.NewPCG(2026, 1)) // the same every time, as far as the file is
	sizes := []int{0, 1, 64, 4095, 4096, 8191, 8192, size / 2, size - 4096, size - 1}
	for range 10 {
		sizes = append(sizes, random.IntN(size))
	}
	for _, cut := range sizes {
		started := s.try(t, s.whole[:cut], fmt.Sprintf("cut to %d of %d", cut, size))
		if cut <= size/4 { // behind that it may be room for growing
			require.False(t, started, "cut to %d of %d", cut, size)
		}
	}
	require.True(t, s.try(t, s.whole, "not cut"))
}

func TestAFileWithFlippedBits(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	random := rand.New(rand.NewPCG(2026, 2))
	refused := 0
	for i := range 40 {
		damaged := slices.Clone(s.whole)
		at := random.IntN(len(damaged))
		if i < 10 { // the headers, of 64 bytes each, and the first elements of pages
			at = random.IntN(len(damaged)/4096)*4096 + random.IntN(80)
		}
		damaged[at] ^= 1 << random.IntN(8)
		if !s.try(t, damaged, fmt.Sprintf("byte %d", at)) {
			refused++
		}
	}
	require.Positive(t, refused)
}

// A bit flips in what a killed gateway has left in its WAL. SQLite would go on without what is behind it.
func TestAWALWithAFlippedBit(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	config := configured(t, support.SQLite(path))
	g := serve(t, config)
	sold := map[string]string{g.Sell(0, 30): "running", g.Sell(1, 30): "running", g.Sell(2, 30): "running"}
	g.Kill()
	whole, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	for _, at := range []int{20, 40, 700, 9000} {
		damaged := slices.Clone(whole)
		damaged[at] ^= 4
		require.NoError(t, os.WriteFile(path+"-wal", damaged, 0o600))
		g, ready := support.Launch(t, support.ServeCommand(config))
		require.False(t, ready, "byte %d", at)
		require.Equal(t, 1, g.ExitCode())
		require.Contains(t, g.Log(), "the file is damaged")
		require.Contains(t, g.Log(), path+"-wal")
		unchanged(t, path+"-wal", damaged)
	}
	require.NoError(t, os.WriteFile(path+"-wal", whole, 0o600))
	require.Equal(t, sold, serve(t, config).Phases())
}

// A gateway that is started again and again on what it cannot read does not wear it down.
func TestStartingAgainAndAgainOnADamagedFile(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	path := newPath(t)
	damaged := slices.Clone(s.whole)
	at := bytes.LastIndex(damaged, []byte(`"phase":"running"`)) // in a lane's record, or in a page that is free by now
	for next := at; next >= 0; next = bytes.LastIndex(damaged[:next], []byte(`"phase":"running"`)) {
		damaged[next+10] ^= 1
	}
	config := configured(t, support.SQLite(path))
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	for range 5 {
		g, ready := support.Launch(t, support.ServeCommand(config))
		require.False(t, ready)
		require.Equal(t, 1, g.ExitCode())
		require.Contains(t, g.Log(), path)
		require.Contains(t, g.Log(), "damaged")
		unchanged(t, path, damaged)
	}
	require.NoError(t, os.WriteFile(path, s.whole, 0o600)) // from a backup
	require.Equal(t, s.sessions, serve(t, config).Phases())
}

func TestAFileThatAnotherGatewayHas(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	config := configured(t, support.SQLite(path))
	first := serve(t, config)
	id := first.Sell(0, 30)
	second, ready := support.Launch(t, support.ServeCommand(config))
	require.False(t, ready)
	require.Equal(t, 1, second.ExitCode())
	require.Contains(t, second.Log(), path)
	require.Contains(t, second.Log(), "locked by another process")
	assert.Equal(t, "running", first.Phases()[id])
	first.Sell(1, 30)
}

// A folder or a file that the gateway may not write to.
func TestAPlaceThatCannotBeWrittenTo(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "rangegate.db")
	config := configured(t, support.SQLite(path))
	open := func(mode os.FileMode, paths ...string) {
		for _, path := range paths {
			require.NoError(t, os.Chmod(path, mode))
		}
	}
	binary := filepath.Join(t.TempDir(), "rangegate") // where another user can reach it
	text, err := os.ReadFile(support.ServeCommand(config).Path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, text, 0o755))
	start := func() *support.Gateway {
		cmd := support.ServeCommand(config)
		if os.Geteuid() == 0 { // no mode of a file stops root
			open(0o755, filepath.Dir(binary), filepath.Dir(config), filepath.Dir(filepath.Dir(config)))
			open(0o644, config)
			cmd.Path = binary
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		g, ready := support.Launch(t, cmd)
		require.False(t, ready)
		require.Equal(t, 1, g.ExitCode(), g.Log())
		require.Contains(t, g.Log(), path)
		require.Contains(t, g.Log(), "permission denied")
		return g
	}
	open(0o555, folder)
	start()
	require.NoFileExists(t, path)

	open(0o755, folder)
	require.NoError(t, os.WriteFile(path, s.whole, 0o444))
	start()
	unchanged(t, path, s.whole)
}

// A disk without room, at the start.
func TestADiskThatIsFullAtTheStart(t *testing.T) {
	t.Parallel()
	s := newSample(t)
	path := filepath.Join(t.TempDir(), "data", "rangegate.db")
	config := configured(t, support.SQLite(path))
	start := func() *support.Gateway {
		g, ready := support.Launch(t, support.Limit(support.ServeCommand(config), "-f 0"))
		require.False(t, ready)
		require.Equal(t, 1, g.ExitCode(), g.Log())
		require.Contains(t, g.Log(), path)
		require.Contains(t, g.Log(), "file too large") // which is how this disk is full
		return g
	}
	start()
	start()
	require.NoFileExists(t, path)
	serve(t, config).Kill()                    // and what they have left is in nobody's way
	require.NoError(t, os.Remove(path+"-wal")) // as one does who puts a file back

	require.NoError(t, os.WriteFile(path, s.whole, 0o600))
	for range 3 {
		start()
		unchanged(t, path, s.whole)
	}
	require.Equal(t, s.sessions, serve(t, config).Phases())
}
