// Package docs holds the documentation to the program: what the pages tell a reader to run is run, what they list is
// compared with what there is.
package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// page is a page of the documentation, from the root of the tree.
func page(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../../" + path)
	require.NoError(t, err)
	return string(text)
}

var fenced = regexp.MustCompile("(?s)\n```(\\w+)\n(.*?)\n```\n")

// blocks are the page's code blocks in that language, in order.
func blocks(text, language string) []string {
	var found []string
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		if block[1] == language {
			found = append(found, block[2])
		}
	}
	return found
}

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

// A table cell that is longer is a paragraph, which nobody reads in a table; the README leads on, and the
// rest is in docs/.
func TestThePagesAreShortWhereTheyHaveToBe(t *testing.T) {
	require.LessOrEqual(t, strings.Count(page(t, "README.md"), "\n"), 150)
	pages, err := filepath.Glob("../../../docs/*.md")
	require.NoError(t, err)
	pages = append(pages, "../../../docs/clients/README.md")
	for _, path := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for i, line := range strings.Split(fenced.ReplaceAllString(string(text), "\n"), "\n") {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			for _, cell := range strings.Split(strings.ReplaceAll(line, `\|`, "/"), "|") {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSpace(cell)), 200, "%s, line %d: %s",
					path, i+1, cell)
			}
		}
	}
}
