package archive

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line without an end is refused before it fills the memory.
func TestALineWithoutAnEnd(t *testing.T) {
	const most = 10_000
	read := func(text string) ([]byte, error) { return readLine(bufio.NewReader(strings.NewReader(text)), most) }
	text, err := read(strings.Repeat("a", most-1) + "\nand more")
	require.NoError(t, err)
	require.Len(t, text, most)
	for _, length := range []int{most, 10 * most} {
		_, err = read(strings.Repeat("a", length) + "\n")
		require.ErrorContains(t, err, "longer than 10000 bytes")
	}
	_, err = read("no newline")
	require.ErrorIs(t, err, errCut)
}
