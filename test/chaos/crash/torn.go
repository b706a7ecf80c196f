package crash

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
)

// A write that is cut off leaves half a transaction at the end of the server's append-only file. Redis 7.0 (and Valkey
// before its pull request 4342) leaves MULTI and the commands before the cut in the file when it starts on it, and
// appends to them: the next EXEC, at the start after that, executes the half transaction as well. A power cut
// easily leaves such a file, kill -9 about once in two hundred kills.

// cutTransaction cuts the server's file off, in the command behind the first one of its last transaction. The
// server is down.
func cutTransaction(t *testing.T, directory string) {
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

// directory is where the server keeps its file.
func directory(t *testing.T, server *redistest.Server) string {
	client := goredis.NewClient(&goredis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	found, err := client.ConfigGet(t.Context(), "dir").Result()
	require.NoError(t, err)
	return found["dir"]
}
