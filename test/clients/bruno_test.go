package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// The requests of the collection, one after the other: each is answered as it says.
func TestTheCollectionOfRequests(t *testing.T) {
	t.Parallel()
	node := support.Program(t, "node")
	cli, err := filepath.Abs("node_modules/@usebruno/cli/bin/bru.js")
	require.NoError(t, err)
	if _, err := os.Stat(cli); err != nil {
		support.Missing(t, "the npm packages of test/clients are not installed (make tools)")
	}
	script := commands(t, "Bruno")
	require.Contains(t, script, "npx @usebruno/cli ")
	script = strings.ReplaceAll(script, "npx @usebruno/cli", fmt.Sprintf("%q %q", node, cli))
	script = strings.TrimSuffix(script, "\n") + fmt.Sprintf(" --env-var api=%s --noproxy",
		support.Playground(t).Ready().API+support.V2)
	requests, err := filepath.Glob(filepath.Join(kits, "bruno", "[0-9]*.bru"))
	require.NoError(t, err)
	var said strings.Builder
	for line := range run(t, filepath.Join(kits, "bruno"), script) {
		fmt.Fprintln(&said, line)
	}
	require.Contains(t, said.String(), fmt.Sprintf("%d (%d Passed)", len(requests), len(requests)))
	require.Greater(t, len(requests), 10)
}
