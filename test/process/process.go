// Package process runs the real binary for tests: built once a test run, started on free ports, killed at will.
package process

import (
	"bufio"
	"bytes"
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

// Run is a TestMain: it builds the binary before the tests and removes it after them.
func Run(m *testing.M) {
	dir, err := os.MkdirTemp("", "rangegate-test-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "rangegate")
	build := exec.Command("go", "build", "-o", binary, "rangegate/cmd/rangegate")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building rangegate: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var binary string

// Process is one life of the binary.
type Process struct {
	API        string // the address of the API, as a URL
	Operations string

	t      testing.TB
	config string // the file, of one that serves
	cmd    *exec.Cmd
	exited chan struct{}
	mu     sync.Mutex
	log    []string
}

// Command is the binary with those arguments, not started. Of this process's environment it gets nothing that it would
// take for its own settings: RANGEGATE_NO_SKIP, which is meant for the tests, it refuses.
func Command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(setting string) bool { return strings.HasPrefix(setting, "RANGEGATE_") })
	return cmd
}

// Serve starts the binary with the configuration, which should listen on port 0, and waits until it listens. It is
// killed when the test ends.
func Serve(t testing.TB, configuration string, args ...string) *Process {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rangegate.yaml")
	p := &Process{t: t, config: path}
	p.Configure(configuration)
	return p.start(Command(append([]string{"serve", "--config", path}, args...)...))
}

// Configure writes the configuration's file anew. The process does not look at it before it is told to.
func (p *Process) Configure(configuration string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(p.config, []byte(configuration), 0o600))
}

// Signal sends the process a signal.
func (p *Process) Signal(signal os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(signal))
}

// Playground starts the playground on free ports.
func Playground(t testing.TB, args ...string) *Process {
	t.Helper()
	cmd := Command(append([]string{"playground", "--address", "127.0.0.1:0", "--integrator", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(cmd.Env, "RANGEGATE_OPERATIONS_ADDRESS=127.0.0.1:0")
	return Start(t, cmd)
}

// Start starts a command that serves, and waits until it listens. It is killed when the test ends.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	return (&Process{t: t}).start(cmd)
}

func (p *Process) start(cmd *exec.Cmd) *Process {
	t := p.t
	t.Helper()
	p.cmd, p.exited = cmd, make(chan struct{})
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	listening := make(chan struct{})
	go p.read(stderr, listening)
	t.Cleanup(p.Kill)
	select {
	case <-listening:
	case <-p.exited:
		require.Fail(t, "the gateway ended before it listened", p.Log())
	case <-time.After(30 * time.Second):
		require.Fail(t, "the gateway does not listen", p.Log())
	}
	return p
}

// read keeps the log, and takes the addresses from it.
func (p *Process) read(stderr io.Reader, listening chan struct{}) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.log = append(p.log, lines.Text())
		p.mu.Unlock()
		var line struct{ Message, API, Operations string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "listening" {
			p.API, p.Operations = line.API, line.Operations
			close(listening)
		}
	}
	_ = p.cmd.Wait()
	close(p.exited)
}

// Log is everything that the process has logged.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// Logged waits until the log has the text. A line comes through a pipe, so that what the process has said before it
// answered may be read after its answer.
func (p *Process) Logged(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.Log(), text) }, 10*time.Second, 5*time.Millisecond, text)
}

// tail is the end of the log: under load all of it is too much to read.
func (p *Process) tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log[max(0, len(p.log)-50):], "\n")
}

// Gone tells whether the process has ended.
func (p *Process) Gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Kill ends the process with SIGKILL, if it has not ended, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Terminate asks the process to end, and gives its exit code once it has.
func (p *Process) Terminate() int {
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.exited:
	case <-time.After(15 * time.Second):
		require.Fail(p.t, "the gateway does not end", p.tail())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Ready waits until /readyz says so.
func (p *Process) Ready() *Process {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		response, err := http.Get(p.Operations + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, 30*time.Second, 10*time.Millisecond, "not ready")
	return p
}

// Client speaks to the API for one range.
type Client struct {
	API, Range, Token string
	HTTP              *http.Client
}

// Answer is what the API answered.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Do makes a request below /api/v2/pos. Headers come in pairs; an empty value takes a header away.
func (c Client) Do(method, path, body string, headers ...string) (Answer, error) {
	request, err := http.NewRequest(method, c.API+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("range-id", c.Range)
	request.Header.Set("token", c.Token)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			request.Header.Del(headers[i])
		}
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, string(read)}, err
}
