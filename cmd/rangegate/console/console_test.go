package console

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe gets the lines of a log as JSON.
func TestALogThatIsNoTerminalIsJSON(t *testing.T) {
	var out strings.Builder
	log := Logger(&out)
	log.Warn().Str("lane_id", "7").Msg("link down")
	var line map[string]string
	require.NoError(t, json.Unmarshal([]byte(out.String()), &line), out.String())
	require.Equal(t, "link down", line["message"])
	require.Equal(t, "warn", line["level"])
	require.NotEmpty(t, line["time"])
}

// The lines of several processes say of which they are, whole, however they come; a panic is passed on as it is.
func TestTheLinesOfProcessesHaveTheirNames(t *testing.T) {
	var out strings.Builder
	shared := Share(&out)
	one, two := &Process{Name: "node-1", Out: shared}, &Process{Name: "node-2", Out: shared}
	for _, piece := range []struct {
		process *Process
		text    string
	}{
		{one, `{"level":"warn",`},
		{two, "{\"message\":\"second\"}\npanic: a defect\n{\n{}\n"},
		{one, "\"message\":\"first\"}\nwithout an end"},
	} {
		n, err := piece.process.Write([]byte(piece.text))
		require.NoError(t, err)
		require.Equal(t, len(piece.text), n)
	}
	require.Equal(t, "{\"node\":\"node-2\",\"message\":\"second\"}\nnode-2: panic: a defect\nnode-2: {\nnode-2: {}\n"+
		"{\"node\":\"node-1\",\"level\":\"warn\",\"message\":\"first\"}\n", out.String())
}
