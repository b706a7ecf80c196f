package observer

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// The page says each reason and state in words of its own, so that German is never English. api/screens tests that
// English has the same texts.
func TestThePageHasATextForEachReasonAndState(t *testing.T) {
	texts, err := os.ReadFile("web/texts.de.js")
	require.NoError(t, err)
	for _, code := range lanes.Urgency {
		one, several := `"why.`+string(code)+`": `, `"why.`+string(code)+`.other": `
		require.True(t, strings.Contains(string(texts), one) || strings.Contains(string(texts), several), code)
	}
	for code := range advisoryRules {
		require.Contains(t, string(texts), `"advisory.`+string(code)+`": `)
	}
	for _, state := range []string{
		lanes.StateRunning, lanes.StateStoreDown, lanes.StateStarting, lanes.StateReady, lanes.StateSaving,
		lanes.StateMoving,
		lanes.StateTogether, lanes.StateParked, lanes.StateSending, lanes.StateGone, elsewhere,
		lanes.ErrNotOwner.Code(),
		string(lanes.LinkUp), string(lanes.LinkDown), string(lanes.LinkFaulty),
	} {
		require.Contains(t, string(texts), `"state.`+state+`": `)
	}
}
