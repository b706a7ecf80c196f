package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

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

// DownAfter is how long a master is silent that a Sentinel takes for dead, unless SetDownAfter says something else.
// On a machine that stands still one that lives is silent for many seconds: a Sentinel that took it for dead would
// make a replica of it, and after a kill of that one, whose file is not rewritten yet, promote what it had long
// before.
const DownAfter = time.Minute

// SetDownAfter changes that for the master with that name. A test that has killed it need not wait for long.
func SetDownAfter(t testing.TB, sentinel *Server, name string, silent time.Duration) {
	t.Helper()
	command(t, sentinel, "SENTINEL", "SET", name, "down-after-milliseconds", silent.Milliseconds())
}

func command(t testing.TB, sentinel *Server, words ...any) {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: sentinel.Addr()})
	defer func() { _ = c.Close() }()
	if err := c.Do(t.Context(), words...).Err(); err != nil {
		t.Fatal(err)
	}
}

// StartSentinel starts a Sentinel that knows the master by that name. It promotes a replica when the master is dead.
// One that has stood still for two seconds does nothing for one second more, and not for thirty, in which it
// could stand still again.
func StartSentinel(t testing.TB, name string, master *Server) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), ready: "+monitor master", begin: begin}
	file := filepath.Join(s.dir, "sentinel.conf") // the Sentinel also writes to it
	text := fmt.Sprintf(`bind 127.0.0.1
dir %s
daemonize no
sentinel monitor %s 127.0.0.1 %d 1
sentinel down-after-milliseconds %s %d
sentinel failover-timeout %s 5000
`, s.dir, name, master.port, name, DownAfter.Milliseconds(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.command = func(port int) []string { return []string{file, "--sentinel", "--port", strconv.Itoa(port)} }
	s.start()
	command(t, s, "SENTINEL", "DEBUG", "TILT-PERIOD", "1000")
	return s
}
