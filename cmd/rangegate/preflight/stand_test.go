package preflight

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Nothing goes on once a check is through, but for the Redis client's own tries to reach a server that is gone: they notice
// within a second that it was closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// told is the findings, a line each, without what they are of.
func told(all []Finding) string {
	var lines strings.Builder
	for _, f := range all {
		fmt.Fprintf(&lines, "%s: %s\n", f.Result, f.Found)
	}
	return lines.String()
}

// one is the only finding that came out so. There is something to do about it, unless it is ok.
func one(t *testing.T, all []Finding, result Result) Finding {
	t.Helper()
	var found []Finding
	for _, f := range all {
		require.Equal(t, f.Result == OK, f.Do == "", f.Found)
		if f.Result == result {
			found = append(found, f)
		}
	}
	require.Len(t, found, 1, told(all))
	return found[0]
}

// fine are findings that need nothing done.
func fine(t *testing.T, all []Finding) {
	t.Helper()
	require.Equal(t, len(all), Count(all, OK), told(all))
}
