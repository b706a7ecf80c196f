// Package redistest runs a real redis-server for tests: on a port of 127.0.0.1, its data in a temporary directory,
// every write synced to the append-only file before the reply.
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

// startTimeout limits the time until a server accepts connections.
const startTimeout = time.Minute

// Server is a redis-server that ends with its test. Its methods fail the test on an error, and are not safe
// for concurrent use.
type Server struct {
	t       testing.TB
	dir     string
	port    int
	command func(port int) []string // the arguments
	ready   string                  // the log line of a server that accepts connections
	begin   Begin
	wait    func() error  // for the end of the process, once begun
	process *exec.Cmd     // nil while the server is down
	ended   chan struct{} // closed when the server's output has ended
}

// Start starts a server with an empty database. The options of redis-server, such as "--maxmemory", "1mb",
// follow those of this package. Without redis-server the test is skipped, or fails when the environment has
// CI or RANGEGATE_NO_SKIP.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	return StartBy(t, begin, options...)
}

// Begin starts a process. wait, which is for the end of the process, replaces the method of the command.
type Begin func(server *exec.Cmd) (wait func() error, err error)

func begin(server *exec.Cmd) (wait func() error, err error) { return server.Wait, server.Start() }

// StartBy is Start with a process, at each start of the server, that begin starts.
func StartBy(t testing.TB, begin Begin, options ...string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), ready: "Ready to accept connections", begin: begin}
	s.command = func(port int) []string {
		return append([]string{
			"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", s.dir, "--daemonize", "no",
			"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--repl-diskless-sync-delay", "0",
		}, options...)
	}
	s.start()
	return s
}

// start starts the server on a free port.
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
	var inUse string
	for range 20 {
		// Below the kernel's ephemeral ports: no other process gets the port while the server is down.
		s.port = 20000 + rand.IntN(12000)
		if inUse = s.launch(); inUse == "" {
			return
		}
	}
	t.Fatalf("redis-server found no free port:\n%s", inUse)
}

// Addr is the server's host:port, the same after a Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is the server's address for a configuration.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Stop ends the server with SIGTERM, as a restart of the machine does. Its data remain for Restart.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	s.awaitEnd()
}

// Kill ends the server as kill -9 does. Its data on disk remain for Restart.
func (s *Server) Kill() {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	s.awaitEnd()
}

// Restart starts the server again with its address and its data. It kills a server that runs.
func (s *Server) Restart() {
	s.t.Helper()
	if s.process != nil {
		s.Kill()
	}
	if inUse := s.launch(); inUse != "" {
		s.t.Fatalf("redis-server did not start again, its port was in use:\n%s", inUse)
	}
}

// Hang suspends the server. Its connections stay open, and the kernel accepts new ones.
func (s *Server) Hang() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
}

// Wake continues a server that hangs. It then handles what it has received.
func (s *Server) Wake() {
	s.t.Helper()
	s.signal(syscall.SIGCONT)
}

// launch starts the process and waits until it accepts connections. When the port is in use it returns the
// server's output.
func (s *Server) launch() (inUse string) {
	s.t.Helper()
	process := exec.Command("redis-server", s.command(s.port)...)
	process.SysProcAttr = newProcessGroup()
	output, err := process.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	process.Stderr = process.Stdout
	if s.wait, err = s.begin(process); err != nil {
		s.t.Fatal(err)
	}
	s.process, s.ended = process, make(chan struct{})

	started := make(chan startResult, 1)
	go func() {
		defer close(s.ended)
		follow(output, s.ready, started)
	}()
	var result startResult
	select {
	case result = <-started:
	case <-time.After(startTimeout):
		s.kill()
		result = <-started
	}
	if result.accepts {
		return ""
	}
	s.awaitEnd()
	if !strings.Contains(result.output, "Address already in use") {
		s.t.Fatalf("redis-server did not start:\n%s", result.output)
	}
	return result.output
}

// startResult is the result of a start: the server accepts connections, or has ended with this output.
type startResult struct {
	accepts bool
	output  string
}

// follow reads the server's output while it runs, and sends the result of its start.
func follow(output io.Reader, ready string, started chan<- startResult) {
	var text strings.Builder
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ready) {
			started <- startResult{accepts: true}
			_, _ = io.Copy(io.Discard, output) // a server whose output is not read would block
			return
		}
		fmt.Fprintln(&text, lines.Text())
	}
	started <- startResult{output: text.String()}
}

// signal signals the server and its child that rewrites the file.
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

// awaitEnd waits until the server and its child have ended and have released the port and the data.
func (s *Server) awaitEnd() {
	<-s.ended
	_ = s.wait() // the error is the signal that the test has sent
	s.process = nil
}

func (s *Server) end() {
	if s.process != nil {
		s.kill()
		s.awaitEnd()
	}
}
