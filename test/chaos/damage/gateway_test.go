// Package damage takes from the real gateway what it keeps its ranges in: the file is cut, its bits are flipped, the
// disk is full, somebody else has it. The gateway says so and ends, or goes on as far as it can; what it cannot use, it
// leaves as it is.
//
//	start_test.go   starts that fail       full_test.go   a disk that fills up under a running gateway
//	carry_test.go   from one store to the other and back
package damage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

func TestMain(m *testing.M) { process.Run(m) }

const (
	rangeID = "11111111-1111-4111-8111-111111111111"
	token   = "22222222-2222-4222-8222-222222222222"
	group   = "33333333-3333-4333-8333-000000000001"
	pos     = "/api/v2/pos"
)

func laneID(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

// configured writes a configuration of six lanes with that store, and gives its path.
func configured(t *testing.T, store string) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, `
environment: playground
http: {address: 127.0.0.1:0, limits: {requests: 0}}
operations: {address: 127.0.0.1:0}
store: {%s}
ranges:
  - id: %s
    name: Range
    token: %s
    groups: [{id: %s, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
`, store, rangeID, token, group)
	for n := range 6 {
		fmt.Fprintf(&text, "      - {id: %s, name: Lane %d, bay: 55555555-5555-4555-8555-000000000001}\n", laneID(n), n)
	}
	path := filepath.Join(t.TempDir(), "rangegate.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

func sqliteAt(path string) string { return fmt.Sprintf("sqlite: %q", path) }

// gateway is one life of the binary, which may end by itself.
type gateway struct {
	process.Client
	t          *testing.T
	cmd        *exec.Cmd
	operations string
	exited     chan struct{}

	mu  sync.Mutex
	log strings.Builder
}

func serving(config string) *exec.Cmd { return process.Command("serve", "--config", config) }

// launch starts the command, and waits until the gateway is ready or has ended.
func launch(t *testing.T, cmd *exec.Cmd) (g *gateway, ready bool) {
	t.Helper()
	g = &gateway{t: t, cmd: cmd, exited: make(chan struct{}), Client: process.Client{Range: rangeID, Token: token}}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(g.kill)
	go func() {
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			g.mu.Lock()
			fmt.Fprintln(&g.log, lines.Text())
			var line struct{ Message, API, Operations string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "listening" {
				g.API, g.operations = line.API, line.Operations
			}
			g.mu.Unlock()
		}
		_ = cmd.Wait()
		close(g.exited)
	}()
	require.Eventually(t, func() bool {
		ready = g.ready()
		return ready || g.gone()
	}, 30*time.Second, 5*time.Millisecond, "it neither serves nor ends")
	return g, ready
}

// serve starts a gateway that has to get ready.
func serve(t *testing.T, config string) *gateway {
	t.Helper()
	g, ready := launch(t, serving(config))
	require.True(t, ready, g.said())
	return g
}

func (g *gateway) said() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.log.String()
}

func (g *gateway) ready() bool {
	g.mu.Lock()
	at := g.operations
	g.mu.Unlock()
	if at == "" {
		return false
	}
	response, err := http.Get(at + "/readyz")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func (g *gateway) gone() bool {
	select {
	case <-g.exited:
		return true
	default:
		return false
	}
}

// kill ends the gateway as kill -9 does.
func (g *gateway) kill() {
	_ = g.cmd.Process.Kill()
	<-g.exited
}

// stop asks it to end.
func (g *gateway) stop() {
	require.NoError(g.t, g.cmd.Process.Signal(syscall.SIGTERM))
	<-g.exited
	require.Zero(g.t, g.cmd.ProcessState.ExitCode(), g.said())
}

// ask makes a request that is answered, whatever the answer.
func (g *gateway) ask(method, path, body string, headers ...string) process.Answer {
	g.t.Helper()
	answer, err := g.Do(method, pos+path, body, headers...)
	require.NoError(g.t, err)
	return answer
}

// sell makes a session of 30 minutes on the lane, and gives its id when that succeeds.
func (g *gateway) sell(lane int) (process.Answer, string) {
	g.t.Helper()
	answer := g.ask("POST", "/sessions", fmt.Sprintf(
		`{"customer_name":"Jo Smith","duration":30,"auto_start":true,"lane_id":%q,"group_id":%q}`, laneID(lane), group))
	var sold struct {
		ID string `json:"session_id"`
	}
	if answer.Status == http.StatusCreated {
		require.NoError(g.t, json.Unmarshal([]byte(answer.Body), &sold))
	}
	return answer, sold.ID
}

func (g *gateway) sold(lane int) string {
	g.t.Helper()
	answer, id := g.sell(lane)
	require.Equal(g.t, http.StatusCreated, answer.Status, answer.Body)
	return id
}

// session is one as it is shown.
type session struct {
	ID   string  `json:"session_id"`
	Lane string  `json:"lane_id"`
	Left float64 `json:"minutes_remaining"`
}

func (g *gateway) sessions() map[string]session {
	g.t.Helper()
	answer := g.ask("GET", "/sessions", "")
	require.Equal(g.t, http.StatusOK, answer.Status, answer.Body)
	var list []session
	require.NoError(g.t, json.Unmarshal([]byte(answer.Body), &list))
	all := map[string]session{}
	for _, s := range list {
		all[s.ID] = s
	}
	return all
}

// phases are those of the sessions on the lanes.
func (g *gateway) phases() map[string]string {
	g.t.Helper()
	answer := g.ask("GET", "/lanes/status", "")
	require.Equal(g.t, http.StatusOK, answer.Status, answer.Body)
	var list []struct {
		Session *string `json:"session_id"`
		Phase   string  `json:"phase"`
	}
	require.NoError(g.t, json.Unmarshal([]byte(answer.Body), &list))
	all := map[string]string{}
	for _, s := range list {
		if s.Session != nil {
			all[*s.Session] = s.Phase
		}
	}
	return all
}
