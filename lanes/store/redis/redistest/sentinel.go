package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// StartReplica starts a server that copies the other one, until it is told otherwise.
func StartReplica(t testing.TB, of *Server, options ...string) *Server {
	t.Helper()
	host, port, err := net.SplitHostPort(of.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return Start(t, append([]string{"--replicaof", host, port}, options...)...)
}

// StartSentinel starts a Sentinel that knows the master under that name, and by itself promotes a replica when the
// master has been gone for half a second. It has to find the replicas with the master.
func StartSentinel(t testing.TB, name string, master *Server) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), ready: "+monitor master"}
	file := filepath.Join(s.dir, "sentinel.conf") // it keeps there what it finds out
	text := fmt.Sprintf(`bind 127.0.0.1
dir %s
daemonize no
sentinel monitor %s 127.0.0.1 %d 1
sentinel down-after-milliseconds %s 500
sentinel failover-timeout %s 5000
`, s.dir, name, master.port, name, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.command = func(port int) []string { return []string{file, "--sentinel", "--port", strconv.Itoa(port)} }
	s.start()
	return s
}
