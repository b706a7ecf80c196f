// Package support is what the tests of the running binary share. A test usually begins like this:
//
//	controllers, receiver := support.NewControllers(t, 1, 2), support.NewReceiver(t)
//	gateway := support.NewConfig(t, controllers.Lanes(), receiver.Setting()).Serve(t)
//	session := gateway.POS().Sell(1, 30)
//	controllers.WaitOpen(1, session)
//	receiver.WaitEvents(session, "sessionCreated", "sessionStarted")
//
// Everything that it starts ends with the test.
//
//	gateway.go      the binary as a process: built once, started on free ports, killed at will
//	config.go       the configuration of a gateway: one range, its lanes, its store
//	client.go       HTTP requests to the API, as any client makes them
//	pos.go          a POS at a range: it sells, reads sessions, lanes, history and the event log
//	operations.go   an operator at the operations address: holds, metrics
//	receiver.go     the integrator's webhook: it verifies, keeps and answers events
//	controllers.go  lane controllers on real sockets, which outlive the gateway
//	require.go      programs that a test needs, and waiting
//
// The sub-package proxy is a network that a test can disturb. It stands apart because of the library behind it.
package support

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Run is the TestMain of a package that starts the binary. TEST_BINARY names one that is built already, as in
// make test; without it Run builds one and removes it after the tests.
func Run(m *testing.M) {
	binary = os.Getenv("TEST_BINARY")
	if binary != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "rangegate-test-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "rangegate")
	if out, err := Build(binary, "rangegate/cmd/rangegate"); err != nil {
		fmt.Fprintf(os.Stderr, "building rangegate: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var binary string

// Build builds a program of this module as deploy/package does, so that both share what the compiler has cached.
func Build(path, program string, flags ...string) (output []byte, err error) {
	build := exec.Command("go", slices.Concat([]string{"build", "-trimpath", "-o", path}, flags, []string{program})...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return build.CombinedOutput()
}

// Gateway is one process of the binary.
type Gateway struct {
	API        string // the address of the API, as a URL
	Operations string // the operations address, as a URL
	Dialled    string // the address that controllers dial, as a URL; empty without one
	Token      string // the operations token

	t      testing.TB
	config string // the path of the configuration, when Serve wrote it
	cmd    *exec.Cmd
	exited chan struct{}
	mu     sync.Mutex
	log    []string
}

// Command is the binary with those arguments, not started. It gets no setting from the environment of the tests: the
// binary refuses RANGEGATE_NO_SKIP, for example.
func Command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(setting string) bool {
		return strings.HasPrefix(setting, "RANGEGATE_")
	})
	return cmd
}

// ServeCommand is the command that serves a configuration file.
func ServeCommand(config string) *exec.Cmd { return Command("serve", "--config", config) }

// Limit returns the command under a limit of the shell's ulimit, such as "-n 400".
func Limit(cmd *exec.Cmd, limit string) *exec.Cmd {
	limited := exec.Command("sh", slices.Concat([]string{"-c", "ulimit " + limit + ` && exec "$0" "$@"`, cmd.Path},
		cmd.Args[1:])...)
	limited.Env = cmd.Env
	return limited
}

// Serve starts the binary with the configuration, which should listen on port 0, and waits until it listens. The test's
// end kills it.
func Serve(t testing.TB, configuration string) *Gateway {
	t.Helper()
	return serveBy(t, binary, configuration)
}

func serveBy(t testing.TB, binary, configuration string) *Gateway {
	t.Helper()
	path := WriteFile(t, "rangegate.yaml", configuration)
	serve := ServeCommand(path)
	serve.Path = binary
	g := Start(t, serve)
	g.config = path
	return g
}

// WriteFile writes a file into a new directory that only its owner can read, and returns its path.
func WriteFile(t testing.TB, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Playground starts the playground on free ports, with those variables of the environment, and waits until it listens.
func Playground(t testing.TB, environment ...string) *Gateway {
	t.Helper()
	cmd := Command("playground", "--address", "127.0.0.1:0", "--integrator", "127.0.0.1:0", "--data", t.TempDir())
	cmd.Env = append(append(cmd.Env, "RANGEGATE_OPERATIONS_ADDRESS=127.0.0.1:0"), environment...)
	return Start(t, cmd)
}

// Start starts a command that serves and waits until it listens. The test's end kills it. A store that does not
// answer in time ends a start, and another one is tried, as the supervisor of the process does.
func Start(t testing.TB, cmd *exec.Cmd) *Gateway {
	t.Helper()
	for end := time.Now().Add(Patience); ; {
		g, listening := begin(t, cmd)
		select {
		case <-listening:
			return g
		case <-g.exited:
			timedOut := strings.Contains(g.Log(), "i/o timeout") || strings.Contains(g.Log(), "deadline exceeded")
			if !timedOut || time.Now().After(end) {
				require.Fail(t, "the gateway ended before it listened", g.Log())
			}
			cmd = &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, SysProcAttr: cmd.SysProcAttr}
		case <-time.After(Patience):
			require.Fail(t, "the gateway does not listen", g.Log())
		}
	}
}

// patienceWithStart is for a gateway that reads the largest store there may be, on a machine at a tenth of its speed.
const patienceWithStart = 10 * time.Minute

// Launch starts a command that may fail, and waits until it is ready or has ended. The test's end kills it.
func Launch(t testing.TB, cmd *exec.Cmd) (g *Gateway, ready bool) {
	t.Helper()
	g, listening := begin(t, cmd)
	select {
	case <-listening:
		EventuallyWithin(t, patienceWithStart, "it is ready or has ended", func() bool {
			ready = g.IsReady()
			return ready || g.Ended()
		}, g.lastLog)
	case <-g.exited:
	}
	return g, ready
}

func begin(t testing.TB, cmd *exec.Cmd) (g *Gateway, listening <-chan struct{}) {
	t.Helper()
	g = &Gateway{t: t, cmd: cmd, exited: make(chan struct{}), Token: Operator}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	listens := make(chan struct{})
	go g.read(stderr, listens)
	t.Cleanup(g.Kill)
	return g, listens
}

// read keeps the log, and takes the addresses from it.
func (g *Gateway) read(stderr io.Reader, listening chan struct{}) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		g.mu.Lock()
		g.log = append(g.log, lines.Text())
		g.mu.Unlock()
		var line struct{ Message, API, Operations, Controllers string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "listening" {
			g.API, g.Operations, g.Dialled = line.API, line.Operations, line.Controllers
			close(listening)
		}
	}
	_ = g.cmd.Wait()
	close(g.exited)
}

// Configure writes the configuration's file anew. The process reads it when it is told to reload.
func (g *Gateway) Configure(configuration string) {
	g.t.Helper()
	require.NoError(g.t, os.WriteFile(g.config, []byte(configuration), 0o600))
}

// Signal sends the process a signal.
func (g *Gateway) Signal(signal os.Signal) {
	g.t.Helper()
	require.NoError(g.t, g.cmd.Process.Signal(signal))
}

// PID is the process's id.
func (g *Gateway) PID() int { return g.cmd.Process.Pid }

// Log returns everything that the process has logged.
func (g *Gateway) Log() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.log, "\n")
}

// WaitLogged waits until the log has the text. A line comes through a pipe, so that it may be read after an answer that
// the process gave later.
func (g *Gateway) WaitLogged(text string) {
	g.t.Helper()
	Eventually(g.t, "logged: "+text, func() bool { return strings.Contains(g.Log(), text) },
		func() any { return g.LogEnd() })
}

// LogEnd is the end of the log: under load the whole log is too much to read.
func (g *Gateway) LogEnd() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.log[max(0, len(g.log)-50):], "\n")
}

func (g *Gateway) lastLog() any { return g.LogEnd() }

// Ended tells whether the process has ended.
func (g *Gateway) Ended() bool {
	select {
	case <-g.exited:
		return true
	default:
		return false
	}
}

// ExitCode is the exit code of a process that has ended.
func (g *Gateway) ExitCode() int { return g.cmd.ProcessState.ExitCode() }

// Kill ends the process with SIGKILL, if it has not ended, and waits for its end.
func (g *Gateway) Kill() {
	_ = g.cmd.Process.Kill()
	<-g.exited
}

// Terminate asks the process to end, waits for its end and returns its exit code.
func (g *Gateway) Terminate() int {
	g.Signal(syscall.SIGTERM)
	select {
	case <-g.exited:
	case <-time.After(Patience):
		require.Fail(g.t, "the gateway does not end", g.LogEnd())
	}
	return g.ExitCode()
}

// IsReady tells whether /readyz answers 200.
func (g *Gateway) IsReady() bool {
	response, err := http.Get(g.Operations + "/readyz")
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}

// Stillness asks the gateway again and again until it or ctx ends. The function that it returns tells the longest time
// so far without an answer: as long may the gateway, or the machine, have stood still.
func (g *Gateway) Stillness(ctx context.Context) (longest func() time.Duration) {
	var mu sync.Mutex
	most, last := time.Duration(0), time.Now() // zero: it is not asked any more
	soFar := func() time.Duration {
		if last.IsZero() {
			return most
		}
		return max(most, time.Since(last))
	}
	answered := func(at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		most, last = soFar(), at
	}
	go func() {
		defer answered(time.Time{})
		for Wait(ctx, 50*time.Millisecond) && !g.Ended() {
			g.IsReady()
			answered(time.Now())
		}
	}()
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return soFar()
	}
}

// Standstill is a stillness from which on links may end, and rightly: each side takes the other for dead.
const Standstill = 5 * time.Second

// Ready waits until the gateway is ready.
func (g *Gateway) Ready() *Gateway {
	g.t.Helper()
	Eventually(g.t, "the gateway is ready", g.IsReady, g.lastLog)
	return g
}
