package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rows are the cells of the table below a heading of SECURITY.md, without its head.
func rows(t *testing.T, heading string) (all [][]string) {
	t.Helper()
	_, behind, found := strings.Cut(page(t, "docs/SECURITY.md"), "\n"+heading+"\n")
	require.True(t, found, heading)
	_, table, found := strings.Cut(behind, "\n|---|")
	require.True(t, found, heading)
	for _, line := range strings.Split(table, "\n")[1:] {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		all = append(all, cells)
	}
	return all
}

// requireTests requires that every test that the text names is in the package named before it, and returns
// their number.
func requireTests(t *testing.T, text string) (count int) {
	t.Helper()
	where := ""
	for _, name := range named.FindAllStringSubmatch(text, -1) {
		if name[1] != "" {
			if info, err := os.Stat(filepath.Join("../../..", name[1])); err == nil && info.IsDir() {
				where = name[1]
			}
			continue
		}
		require.NotEmpty(t, where, text)
		require.True(t, strings.Contains(tests(t, where), "\nfunc "+name[2]+"("), "%s has no %s", where, name[2])
		count++
	}
	return count
}

// A threat names the tests that hold what stands against it, or says OPEN. An OPEN threat does not name a
// test of the file that it waits for: when the file is there, the row has to be filled in.
func TestEveryThreatNamesItsTest(t *testing.T) {
	threats := rows(t, "### Threats")
	require.Greater(t, len(threats), 30)
	picture := strings.Join(blocks(page(t, "docs/SECURITY.md"), "mermaid"), "\n")
	for _, threat := range threats {
		require.Len(t, threat, 4, threat)
		open := threat[3] == "OPEN"
		require.Equal(t, open, strings.HasPrefix(threat[2], "OPEN"), threat[1])
		if !open {
			require.Positive(t, requireTests(t, threat[3]), "%s names no test", threat[1])
		}
		if threat[0] != "all" {
			require.Regexp(t, `"[0-9, ]*\b`+threat[0]+`\b`, picture, "the picture has no boundary %s", threat[0])
		}
	}
}

// The sections of levels 1 and 2, of V1 to V17, are all there, each with its state and a reason.
func TestEverySectionOfTheStandardHasItsState(t *testing.T) {
	sections := map[int]int{
		1: 5, 2: 4, 3: 7, 4: 4, 5: 4, 6: 8, 7: 6, 8: 4, 9: 2, 11: 7, 12: 3, 13: 4,
		14: 3, 15: 4, 16: 5,
	}
	listed, named := map[string]bool{}, 0
	for _, row := range rows(t, "## OWASP ASVS 5.0, level 2") {
		require.Len(t, row, 3, row)
		require.Contains(t, []string{"met", "open", "not applicable"}, row[1], row[0])
		require.NotEmpty(t, row[2], row[0])
		require.False(t, row[1] == "met" && strings.Contains(row[2], "OPEN"), "%s is met and OPEN", row[0])
		section := regexp.MustCompile(`^V(\d+\.\d+)( to V\d+\.\d+)? \S`).FindStringSubmatch(row[0])
		require.NotNil(t, section, row[0])
		require.False(t, listed[section[1]], "%s is there twice", row[0])
		listed[section[1]] = true
		named += requireTests(t, row[2])
	}
	for chapter := range sections {
		for n := range sections[chapter] {
			name := fmt.Sprintf("%d.%d", chapter, n+1)
			require.True(t, listed[name], "V%s is missing", name)
		}
	}
	require.True(t, listed["10.1"] && listed["17.1"])
	require.Greater(t, named, 25)
}
