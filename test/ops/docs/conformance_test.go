package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var named = regexp.MustCompile("`([a-z0-9/]+)`|`(Test[A-Za-z0-9]+)`")

// Every test that the table of conformance names is where it says.
func TestTheTableOfConformanceNamesTestsThatExist(t *testing.T) {
	found := 0
	for _, line := range strings.Split(page(t, "docs/conformance.md"), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.HasPrefix(cells[2], "---") || strings.TrimSpace(cells[2]) == "held by" {
			continue
		}
		held := cells[len(cells)-2]
		require.NotEmpty(t, strings.TrimSpace(held), line)
		found += requireTests(t, held)
	}
	require.Greater(t, found, 50)
}

func tests(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join("../../..", dir, "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

// Keep a Changelog: versions newest first, each with its date, and in them only the six kinds of changes.
func TestTheChangelogKeepsItsForm(t *testing.T) {
	text := page(t, "docs/CHANGELOG.md")
	require.Regexp(t, `(?m)^## \[2\.0\.0\] - 2024-02-03$`, text)
	for _, heading := range regexp.MustCompile(`(?m)^(#{2,3}) (.*)$`).FindAllStringSubmatch(text, -1) {
		if heading[1] == "##" {
			require.Regexp(t, `^(\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d|1\.0\.0)$`, heading[2])
			continue
		}
		require.Contains(t, []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}, heading[2])
	}
}
