package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// What the page for operators says of health and of logs is run on a playground, and its one filter gives the
// whole evening of a lane and nothing of another's.
func TestALanesEveningByOneFilter(t *testing.T) {
	support.Program(t, "bash")
	support.Program(t, "curl")
	support.Program(t, "jq")
	playground := support.Playground(t).Ready()
	var filter string
	var lines []string
	for _, block := range blocks(page(t, "docs/operators.md"), "sh") {
		switch {
		case strings.Contains(block, "\njq "):
			filter = block
		case strings.Contains(block, "/actors") || strings.Contains(block, "/log-level"):
			lines = append(lines, block)
		}
	}
	require.NotEmpty(t, filter)
	require.Len(t, lines, 4)
	run := func(script, dir string) string {
		t.Helper()
		script = strings.ReplaceAll(script, "http://127.0.0.1:9090", playground.Operations)
		cmd := exec.Command("bash", "-c", "set -eu\n"+
			strings.ReplaceAll(script, "curl -s ", "curl -sS --fail-with-body "))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}

	lane, another := support.LaneID(1), support.LaneID(2)
	playground.POS().Sell(1, 30)
	playground.POS().Sell(2, 30)
	playground.HoldRange(true)
	playground.HoldRange(false)
	output := run(strings.Join(lines, "\n"), t.TempDir())
	for _, want := range []string{`"kind":"lane"`, `"live":12`, `"command":"release"`, `{"level":"debug"}`, `"debug":{"range_id":`} {
		require.Contains(t, output, want)
	}
	support.Eventually(t, "the session is resumed", func() bool {
		return slices.Contains(evening(t, playground.Log(), lane), "event sessionResumed")
	})

	dir := t.TempDir()
	log := "not JSON\n" + playground.Log() + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rangegate.log"), []byte(log), 0o600))
	chosen := evening(t, run(filter, dir), "")
	require.Subset(t, chosen, []string{
		"link up", "request POST", "command create", "event sessionCreated", "hold set", "command hold",
		"event sessionPaused",
		"request PUT", "hold lifted", "command release", "event sessionResumed",
	})
	require.Subset(t, chosen, evening(t, log, lane), "all of the lane's own lines")
	require.NotContains(t, run(filter, dir), another)
	require.NotContains(t, log, "Jo Smith")
	require.Equal(t, 1, count(chosen, "request POST"), "the other lane's sale is none of it")
}

// evening is the lines of a log in short: message and what it was about. With a lane it is that one's alone.
func evening(t *testing.T, log, lane string) (short []string) {
	t.Helper()
	for _, text := range strings.Split(log, "\n") {
		var line struct {
			Message, Command, Event, Method string
			Lane                            string `json:"lane_id"`
		}
		if json.Unmarshal([]byte(text), &line) == nil && line.Message != "" && (lane == "" || line.Lane == lane) {
			short = append(short, strings.TrimSpace(line.Message+" "+line.Command+line.Event+line.Method))
		}
	}
	return short
}

func count(all []string, one string) (n int) {
	for _, each := range all {
		if each == one {
			n++
		}
	}
	return n
}
