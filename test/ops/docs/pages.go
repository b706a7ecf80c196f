// Package docs holds the documentation to the program: what the pages tell a reader to run is run, what they list is
// compared with what there is.
package docs

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
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
