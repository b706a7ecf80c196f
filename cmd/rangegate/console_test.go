package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/console"
)

// servers are the commands that log, each on free ports of its own.
func servers(t *testing.T) map[string][]string {
	t.Helper()
	t.Setenv("RANGEGATE_OPERATIONS_ADDRESS", "127.0.0.1:0")
	t.Setenv("RANGEGATE_HTTP_ADDRESS", "127.0.0.1:0")
	dir := t.TempDir()
	file := filepath.Join(dir, "rangegate.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`environment: playground
store: {sqlite: `+dir+`/served.db}
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: Demo range
    token: 22222222-2222-4222-8222-222222222222
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes: [{id: 44444444-4444-4444-8444-000000000001, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001}]
`), 0o600))
	return map[string][]string{
		"serve":      {"serve", "--config", file},
		"playground": {"playground", "--lanes", "1", "--data", dir, "--integrator", "127.0.0.1:0"},
	}
}

// shows waits until the terminal has shown what matches, and returns everything that it has shown.
func (p *terminalOf) shows(pattern string) string {
	p.t.Helper()
	require.NoError(p.t, p.master.SetReadDeadline(time.Now().Add(longTimeout)))
	for buffer := make([]byte, 4096); !regexp.MustCompile(pattern).MatchString(p.shown.String()); {
		n, err := p.master.Read(buffer)
		require.NoError(p.t, err, "%q", p.shown.String())
		p.shown.Write(buffer[:n])
	}
	return p.shown.String()
}

// On a terminal the log is for people: the time of day, the level, the message and then the fields.
func TestTheLogOnATerminalIsForPeople(t *testing.T) {
	for name, args := range servers(t) {
		for _, c := range []struct{ name, variable, value string }{
			{"in colours", "", ""}, {"NO_COLOR", "NO_COLOR", "1"}, {"a terminal without colours", "TERM", "dumb"},
		} {
			t.Run(name+", "+c.name, func(t *testing.T) {
				t.Setenv("NO_COLOR", "")
				t.Setenv("TERM", "xterm")
				colour := `(?:\x1b\[\d+m)`
				if c.variable != "" {
					t.Setenv(c.variable, c.value)
					colour = "(?:)"
				}
				term := openTerminal(t, 100, 24)
				term.run(args...)
				shown := term.shows(`\d\d:\d\d:\d\d` + colour + ` ` + colour + `INF` + colour + ` ` + colour + `link up` + colour +
					` ` + colour + `lane=` + colour + `"Lane 1" ` + colour + `lane_id=` + colour + `44444444-4444-4444-8444-000000000001 `)
				require.NotContains(t, shown, `"message"`)
				require.Equal(t, c.variable == "", strings.Contains(shown, "\x1b"), "%q", shown)
				term.press("\x03")
				shown = term.shows(`stopping`)
				require.NotContains(t, shown, `"message"`)
				go func() { _, _ = io.Copy(io.Discard, term.master) }() // so that it never waits for its terminal
				require.NoError(t, term.command.Wait())
			})
		}
	}
}

// In a pipe every line of the log is JSON, whatever the variables are.
func TestTheLogInAPipeIsJSON(t *testing.T) {
	for name, args := range servers(t) {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath("rangegate")
			require.NoError(t, err)
			command := exec.CommandContext(t.Context(), path, args...)
			command.Env = withoutSettings()
			pipe, err := command.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, command.Start())
			var messages []string
			for lines := bufio.NewScanner(pipe); lines.Scan(); {
				var line struct{ Level, Time, Message string }
				require.NoError(t, json.Unmarshal(lines.Bytes(), &line), lines.Text())
				require.NotEmpty(t, line.Level)
				_, err := time.Parse(time.RFC3339Nano, line.Time)
				require.NoError(t, err)
				if messages = append(messages, line.Message); line.Message == "link up" {
					require.NoError(t, command.Process.Signal(syscall.SIGTERM))
				}
			}
			require.NoError(t, command.Wait())
			require.Contains(t, messages, "link up")
			require.Contains(t, messages, "stopping")
		})
	}
}

// What the nodes of rangecluster log on a terminal is for people, too, each line with the name of its node.
func TestTheLogsOfNodesOnATerminalAreForPeople(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	term := openTerminal(t, 100, 24)
	node := &console.Process{Name: "node-1", Out: console.Share(term.device)}
	_, err := io.WriteString(node, `{"time":"2026-11-29T12:16:31Z","level":"warn","lane_id":"7","message":"link down"}`+"\npanic: a defect\n")
	require.NoError(t, err)
	require.Regexp(t, `^\d\d:\d\d:31 WRN link down lane_id=7 node=node-1\r\nnode-1: panic: a defect\r\n$`,
		term.shows(`a defect\r\n`))
}
