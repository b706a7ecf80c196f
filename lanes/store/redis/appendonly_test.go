package redis_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
)

// The server dies in the middle of a flush and leaves half of it in its file (see rewrite). The store makes
// it rewrite the file before the next write, so that no part of that flush comes into force at the next
// start.
func TestAServerThatDiedWhileItWroteRewritesItsFile(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	directory, err := admin.ConfigGet(t.Context(), "dir").Result()
	require.NoError(t, err)
	o, other := own(t, open(t, server.URL())), own(t, open(t, server.URL()))
	require.NoError(t, o.flush(t.Context()))
	before := dump(t, admin, o.keys("*"))
	require.NoError(t, o.flush(t.Context()))

	server.Kill()
	tear(t, directory["dir"])
	server.Restart()
	require.Equal(t, before, dump(t, admin, o.keys("*")), "the half flush is not in force")
	require.Eventually(t, func() bool { return other.flush(t.Context()) == nil }, patience, tick)
	server.Kill()
	server.Restart()
	require.Equal(t, before, dump(t, admin, o.keys("*")))
	other.saved()
}

// tear truncates the file of a stopped server behind the first command of its last transaction.
func tear(t *testing.T, directory string) {
	files, err := filepath.Glob(filepath.Join(directory, "appendonlydir", "*.incr.aof"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	file, err := os.ReadFile(files[0])
	require.NoError(t, err)
	end := bytes.LastIndex(file, []byte("\r\nMULTI\r\n"))
	for range 2 {
		end += 5 + bytes.Index(file[end+5:], []byte("\r\nHSET\r\n"))
	}
	require.NoError(t, os.WriteFile(files[0], file[:end], 0o600))
}

// A server rewrites its file once for each of its starts, however many connections the store makes.
func TestAServerIsPreparedOnceForEachStart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := client(t, server.URL())
	s := open(t, server.URL())
	owners := []*owner{own(t, s), own(t, s), own(t, s), own(t, s)}
	for range 3 {
		require.Equal(t, "1", info(t, admin, "persistence", "aof_rewrites"))
		for range 3 {
			require.NoError(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err())
			for _, o := range owners {
				require.NoError(t, o.flush(t.Context()))
				o.saved()
			}
		}
		require.Equal(t, "1", info(t, admin, "persistence", "aof_rewrites"))
		require.Empty(t, s.ServerChanged(), "it is the same server")

		server.Restart()
		require.Eventually(t, func() bool { return owners[0].flush(t.Context()) == nil }, patience, tick)
		<-s.ServerChanged()
	}
	require.Empty(t, s.Warnings(t.Context()))
	require.NoError(t, s.Close())
	_, open := <-s.ServerChanged()
	require.False(t, open)
}

// A server that cannot rewrite its file, or whose user may not ask for it, is used; Warnings says so.
func TestAServerThatCannotRewriteItsFileIsUsed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "users.acl")
	users := "user default on nopass ~* &* +@all\nuser gateway on >secret ~rangegate:* +@all -bgrewriteaof\n"
	require.NoError(t, os.WriteFile(file, []byte(users), 0o600))
	server := redistest.Start(t, "--aclfile", file)
	s := open(t, "redis://gateway:secret@"+server.Addr())
	o := own(t, s)
	warned := func() {
		t.Helper()
		require.NoError(t, o.flush(t.Context()))
		warnings := s.Warnings(t.Context())
		require.Len(t, warnings, 1)
		require.Contains(t, warnings[0], "could not be rewritten")
		require.Contains(t, warnings[0], "bgrewriteaof")
	}
	warned()
	server.Restart()
	require.Eventually(t, func() bool { return o.flush(t.Context()) == nil }, patience, tick)
	<-s.ServerChanged()
	warned()
}

// info is one field of the server's INFO.
func info(t *testing.T, from *goredis.Client, section, name string) string {
	t.Helper()
	sections, err := from.Info(t.Context(), section).Result()
	require.NoError(t, err)
	_, value, found := strings.Cut(sections, "\r\n"+name+":")
	require.True(t, found, name)
	value, _, _ = strings.Cut(value, "\r\n")
	return value
}
