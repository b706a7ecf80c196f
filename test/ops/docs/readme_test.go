package docs

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// The command lines of the README, on a playground, but for the one that kills it.
func TestTheLinesOfTheReadme(t *testing.T) {
	support.Program(t, "bash")
	support.Program(t, "curl")
	playground := support.Playground(t).Ready()
	script := strings.Join(blocks(page(t, "README.md"), "sh"), "\n")
	for written, here := range map[string]string{
		"http://127.0.0.1:8080": playground.API, "http://127.0.0.1:9090": playground.Operations,
		"pkill -9 -x rangegate": "", "curl -s ": "curl -sS --fail-with-body ",
	} {
		require.Contains(t, script, written)
		script = strings.ReplaceAll(script, written, here)
	}
	out, err := exec.Command("bash", "-c", "set -eu\n"+script).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, text := range []string{
		`"readable_name":"Lane 1"`,                                  // what there is to sell
		`"duration":30`, `"duration":45`, `"event":"sessionPaused"`, // a session
		`"not_reached":[],"saved":true`, `"who":"operator"`, // a ceasefire
	} {
		require.Contains(t, string(out), text)
	}
}
