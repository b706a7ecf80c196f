package docs

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/config"
	"rangegate/test/support"
)

// The command lines for operators, on a playground with a ceasefire.
func TestTheLinesForOperators(t *testing.T) {
	for _, program := range []string{"bash", "curl", "jq"} {
		support.Program(t, program)
	}
	playground := support.Playground(t).Ready()
	playground.HoldRange(true)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rangegate.log"),
		[]byte("Started rangegate.\n"+playground.Log()), 0o600))
	script := strings.Join(blocks(page(t, "docs/operators.md"), "sh"), "\n")
	for written, here := range map[string]string{
		"http://127.0.0.1:8080": playground.API, "http://127.0.0.1:9090": playground.Operations,
		`journalctl -u rangegate -o cat "$@"`: "cat rangegate.log", "curl -s ": "curl -sS --fail-with-body ",
	} {
		require.Contains(t, script, written)
		script = strings.ReplaceAll(script, written, here)
	}
	lines := exec.Command("bash", "-c", "set -euo pipefail\n"+script)
	lines.Dir = dir
	out, err := lines.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, text := range []string{"ready", `"scope":"range"`, `"hold":true`} {
		require.Contains(t, string(out), text)
	}
}

// Every key of the configuration has a row in the table, and every row is a key.
func TestEveryKeyOfTheConfigurationIsExplained(t *testing.T) {
	var explained []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_.\\[\\]]+)` \\| .+ \\|.*\\|$").
		FindAllStringSubmatch(section(t, "Configure"), -1) {
		explained = append(explained, row[1])
	}
	require.Equal(t, slices.Sorted(slices.Values(keysOf(reflect.TypeFor[config.Config](), ""))),
		slices.Sorted(slices.Values(explained)))
}

// keysOf are the paths of all single values below a section, as the yaml tags name them, and beside each
// secret its file.
func keysOf(t reflect.Type, path string) (keys []string) {
	secret := reflect.TypeFor[config.Secret]()
	switch {
	case t == secret && !strings.HasSuffix(path, "[]"):
		return []string{path, path + "_file"}
	case t.Kind() == reflect.Slice && t.Elem() == secret:
		return []string{path + "[]", path + "_file"}
	case t == reflect.TypeFor[[]config.RangeToken](): // each a text, or a section
		return append(keysOf(t.Elem(), path+"[]"), path+"[]", path+"_file")
	case t.Kind() == reflect.Pointer:
		return keysOf(t.Elem(), path)
	case t.Kind() == reflect.Slice:
		return keysOf(t.Elem(), path+"[]")
	case t.Kind() != reflect.Struct:
		return []string{path}
	}
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		keys = append(keys, keysOf(t.Field(i).Type, strings.TrimPrefix(path+"."+key, "."))...)
	}
	return keys
}

// section is what stands below that heading, to the next one of its rank.
func section(t testing.TB, heading string) string {
	_, behind, found := strings.Cut(page(t, "docs/operators.md"), "\n## "+heading+"\n")
	require.True(t, found, heading)
	body, _, _ := strings.Cut(behind, "\n## ")
	return body
}

// Whatever the page sends its reader to is there.
func TestTheLinksForOperatorsLeadSomewhere(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`).FindAllStringSubmatch(page(t, "docs/operators.md"), -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		to := page(t, "docs/"+cmp.Or(link[1], "operators.md"))
		if link[2] != "" {
			require.Contains(t, anchors(to), link[2], link[0])
		}
	}
}

// anchors are the addresses of the headings, as what renders Markdown makes them.
func anchors(text string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#{1,6} (.+)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, "#"+strings.ReplaceAll(name, " ", "-"))
	}
	return all
}
