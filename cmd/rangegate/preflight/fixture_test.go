package preflight

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// No goroutine survives a check, except the Redis client's attempts to reach a stopped server, which end
// within a second.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// text returns the findings as lines, without their subjects.
func text(all []Finding) string {
	var lines strings.Builder
	for _, f := range all {
		fmt.Fprintf(&lines, "%s: %s\n", f.Result, f.Found)
	}
	return lines.String()
}

// requireOne returns the only finding with that result, and requires a remedy unless it is OK.
func requireOne(t *testing.T, all []Finding, result Result) Finding {
	t.Helper()
	var found []Finding
	for _, f := range all {
		require.Equal(t, f.Result == OK, f.Do == "", f.Found)
		if f.Result == result {
			found = append(found, f)
		}
	}
	require.Len(t, found, 1, text(all))
	return found[0]
}

// requireOK requires that all findings are OK.
func requireOK(t *testing.T, all []Finding) {
	t.Helper()
	require.Equal(t, len(all), Count(all, OK), text(all))
}
