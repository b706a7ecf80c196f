package preflight

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rangegate/config"
	"rangegate/lanes/store"
	"rangegate/lanes/store/redis/redistest"
	"rangegate/lanes/store/sqlite"
	"rangegate/test/support"
)

func newFile(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "range.db")
	s, err := sqlite.Open(path, store.Retention{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return path
}

func files(t *testing.T, folder string) (names []string) {
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAValidFile(t *testing.T) {
	path := newFile(t)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	all := checkSQLite(t.Context(), path)
	requireOK(t, all)
	require.Contains(t, all[0].Found, fmt.Sprintf("0 ranges, readable by this release (version %d)", store.Version))
	require.Equal(t, OK, checkWritable(filepath.Dir(path)).Result)

	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Equal(t, []string{"range.db"}, files(t, filepath.Dir(path)), "nothing is left behind")
}

func TestAMissingFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "var", "lib", "range.db")
	requireOK(t, checkSQLite(t.Context(), path))
	for _, f := range checkFolder(path) {
		require.NotEqual(t, Fail, f.Result, f.Found)
		require.Contains(t, f.Found, folder)
	}
	require.Empty(t, files(t, folder), "only the gateway creates it")
}

func TestAFileOfARunningGateway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "range.db")
	running, err := sqlite.Open(path, store.Retention{})
	require.NoError(t, err)
	defer func() { _ = running.Close() }()
	all := checkSQLite(t.Context(), path)
	requireOK(t, all)
	require.Contains(t, all[0].Found, "is open in a gateway that runs")
}

func TestADamagedFile(t *testing.T) {
	path := newFile(t)
	require.NoError(t, os.Truncate(path, 5000))
	f := requireOne(t, checkSQLite(t.Context(), path), Fail)
	require.Contains(t, f.Found, "range.db: the file is damaged: it is cut short: 5000 bytes of")
	require.Contains(t, f.Do, "backup")

	f = requireOne(t, checkFolder(filepath.Join(path, "range.db")), Fail)
	require.Contains(t, f.Found, "is no folder")
}

// asAnotherUser calls do as a user without rights: root may do everything.
func asAnotherUser(t *testing.T, do func()) {
	if os.Geteuid() != 0 {
		do()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	require.NoError(t, unix.Setfsuid(nobody))
	defer func() { require.NoError(t, unix.Setfsuid(0)) }()
	do()
}

func TestAFolderOfAnotherUser(t *testing.T) {
	path := newFile(t)
	require.NoError(t, os.Chmod(path, 0o400))
	folder := filepath.Dir(path)
	require.NoError(t, os.Chmod(folder, 0o555))
	require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755)) // the other user gets as far as here
	t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
	var found Finding
	var file []Finding
	asAnotherUser(t, func() { found, file = checkWritable(folder), checkSQLite(t.Context(), path) })
	require.Equal(t, Fail, found.Result, found.Found)
	require.Contains(t, found.Found, "permission denied")
	require.Contains(t, found.Do, "chown")
	require.Contains(t, requireOne(t, file, Fail).Found, "permission denied")
}

func TestAFolderInMemory(t *testing.T) {
	var disk unix.Statfs_t
	if unix.Statfs("/dev/shm", &disk) != nil || disk.Type != unix.TMPFS_MAGIC {
		support.Missing(t, "/dev/shm is not in memory here")
	}
	f := checkDisk("/dev/shm")[1]
	require.Equal(t, Warn, f.Result)
	require.Contains(t, f.Found, "/dev/shm is in memory: a restart of the machine loses it")
}

func TestAValidRedis(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")
	all := checkRedis(t.Context(), server.URL())
	requireOK(t, all)
	require.Regexp(t, `redis server redis://\S+ answers in \S+, version \d+\.\d+`, all[0].Found)
}

func TestARedisWithoutPersistence(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "no", "--save", "")
	secret := config.Store{Redis: config.Secret(server.URL() + "?wait_replicas=2")}
	all := Settings{Config: config.Config{Store: secret}}.store(t.Context())
	require.Equal(t, 3, Count(all, Warn), text(all))
	require.Contains(t, text(all), "appendonly is not yes: what was acknowledged is lost when the server stops")
	require.Contains(t, text(all), "min-replicas-to-write is 0, less than wait_replicas, 2")
	require.Contains(t, text(all), "it has 0 of the 2 replicas that wait_replicas waits for")
}

func TestARedisThatCannotBeReached(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "sesame")
	refused := requireOne(t, checkRedis(t.Context(), server.URL()), Fail)
	require.Contains(t, refused.Found, "NOAUTH")
	server.Stop()
	gone := requireOne(t, checkRedis(t.Context(), "redis://:sesame@"+server.Addr()+"/0"), Fail)
	require.Contains(t, gone.Found, "connection refused")
	require.NotContains(t, gone.Found, "sesame")
}
