// Package redistest runs a real redis-server for tests: on a port of 127.0.0.1, its data in a temporary directory,
// every write fsync'd to the append-only file before it is answered.
package redistest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startLimit bounds how long a server may take until it accepts connections.
const startLimit = 30 * time.Second

// Server is a redis-server that belongs to one test and ends with it. Its methods fail the test when they cannot do
// what they say; they are not safe for concurrent use.
type Server struct {
	t       testing.TB
	dir     string
	port    int
	command func(port int) []string // its arguments
	ready   string                  // what it says once it accepts connections
	process *exec.Cmd               // nil while the server is down
	gone    chan struct{}           // nobody has the server's output open any more
}

// Start starts a server with an empty database. The options are those of redis-server's command line, behind the
// ones of this package: "--maxmemory", "1mb". Where redis-server is not installed the test is skipped, or fails when
// the environment has CI or RANGEGATE_NO_SKIP.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), ready: "Ready to accept connections"}
	s.command = func(port int) []string {
		return append([]string{
			"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", s.dir, "--daemonize", "no",
			"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--repl-diskless-sync-delay", "0",
		}, options...)
	}
	s.start()
	return s
}

// start finds a port for the server and starts it there.
func (s *Server) start() {
	t := s.t
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" || os.Getenv("RANGEGATE_NO_SKIP") != "" {
			t.Fatal("redis-server is not installed, and this run may not skip what needs it")
		}
		t.Skip("redis-server is not installed")
	}
	t.Cleanup(s.end)
	var taken string
	for range 20 {
		// Below the ports that kernels hand out by themselves, so that nobody is given this one while the server
		// is down for a while.
		s.port = 20000 + rand.IntN(12000)
		if taken = s.launch(); taken == "" {
			return
		}
	}
	t.Fatalf("redis-server found no free port:\n%s", taken)
}

// Addr is the server's host:port, the same after a Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is the server's address for a configuration.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Stop ends the server in order, as a restart of the machine would. Its data stays for Restart.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	s.wait()
}

// Kill ends the server as kill -9 does. What it has on disk stays for Restart.
func (s *Server) Kill() {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	s.wait()
}

// Restart starts the server again, on the same address and on the data that it left. A server that runs is killed.
func (s *Server) Restart() {
	s.t.Helper()
	if s.process != nil {
		s.Kill()
	}
	if taken := s.launch(); taken != "" {
		s.t.Fatalf("redis-server did not start again, its port was taken:\n%s", taken)
	}
}

// Hang stops the server from doing anything. Its connections stay open, and new ones are accepted by the kernel.
func (s *Server) Hang() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
}

// Wake lets a server go on that hangs. It does then what it was sent meanwhile.
func (s *Server) Wake() {
	s.t.Helper()
	s.signal(syscall.SIGCONT)
}

// launch starts the process and waits until it accepts connections. When the port is taken it answers what the server
// said of that.
func (s *Server) launch() (taken string) {
	s.t.Helper()
	process := exec.Command("redis-server", s.command(s.port)...)
	process.SysProcAttr = groupOfItsOwn()
	output, err := process.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	process.Stderr = process.Stdout
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.process, s.gone = process, make(chan struct{})

	started := make(chan outcome, 1)
	go func() {
		defer close(s.gone)
		follow(output, s.ready, started)
	}()
	var o outcome
	select {
	case o = <-started:
	case <-time.After(startLimit):
		s.kill()
		o = <-started
	}
	if o.accepts {
		return ""
	}
	s.wait()
	if !strings.Contains(o.said, "Address already in use") {
		s.t.Fatalf("redis-server did not start:\n%s", o.said)
	}
	return o.said
}

// outcome is how a start went: the server accepts connections, or what it said until it ended.
type outcome struct {
	accepts bool
	said    string
}

// follow reads what the server says, as long as it runs, and tells how its start went.
func follow(output io.Reader, ready string, started chan<- outcome) {
	var said strings.Builder
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ready) {
			started <- outcome{accepts: true}
			_, _ = io.Copy(io.Discard, output) // a server whose output nobody reads would block
			return
		}
		fmt.Fprintln(&said, lines.Text())
	}
	started <- outcome{said: said.String()}
}

// signal reaches the server and the child that it may have for rewriting its file.
func (s *Server) signal(signal syscall.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatal("the redis-server does not run")
	}
	if err := syscall.Kill(-s.process.Process.Pid, signal); err != nil {
		s.t.Fatalf("redis-server: %v", err)
	}
}

func (s *Server) kill() { _ = syscall.Kill(-s.process.Process.Pid, syscall.SIGKILL) }

// wait waits for the server and its child to be gone, and with them their hold on the port and on the data.
func (s *Server) wait() {
	<-s.gone
	_ = s.process.Wait() // how it ended is what the test asked for
	s.process = nil
}

func (s *Server) end() {
	if s.process != nil {
		s.kill()
		s.wait()
	}
}
