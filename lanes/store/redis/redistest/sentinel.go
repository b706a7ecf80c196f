package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// StartReplica starts a replica of a master.
func StartReplica(t testing.TB, master *Server, options ...string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return Start(t, append([]string{"--replicaof", host, port}, options...)...)
}

// StartSentinel starts a Sentinel that knows the master by that name. It promotes a replica when the master has
// been down for five seconds. On a busy machine one that lives is silent for one: a Sentinel that took it for
// dead would make a replica of it, and after a kill of that one, whose file is not rewritten yet, promote what
// it had long before. One that has stood still for two seconds does nothing for one second more, and not for
// thirty, in which it could stand still again.
func StartSentinel(t testing.TB, name string, master *Server) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), ready: "+monitor master", begin: begin}
	file := filepath.Join(s.dir, "sentinel.conf") // the Sentinel also writes to it
	text := fmt.Sprintf(`bind 127.0.0.1
dir %s
daemonize no
sentinel monitor %s 127.0.0.1 %d 1
sentinel down-after-milliseconds %s 5000
sentinel failover-timeout %s 5000
`, s.dir, name, master.port, name, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.command = func(port int) []string { return []string{file, "--sentinel", "--port", strconv.Itoa(port)} }
	s.start()
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
	defer func() { _ = c.Close() }()
	if err := c.Do(t.Context(), "SENTINEL", "DEBUG", "TILT-PERIOD", "1000").Err(); err != nil {
		t.Fatal(err)
	}
	return s
}
