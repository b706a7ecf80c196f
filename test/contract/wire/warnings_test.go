package wire

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// A sale says when its session is warned, in any order, and each warning says what is left then.
func TestASaleSaysWhenItsSessionIsWarned(t *testing.T) {
	gateway, pos := serveConfig(t, newConfig(support.NewSQLite(t)))
	session := pos.sell(1, 30, `,"warn_at_minutes":[2,10.0,2]`)
	never := pos.sell(2, 30, `,"warn_at_minutes":[]`)
	for _, minutes := range []int{19, 8, 2} { // 11 left, then 3, then 1
		for _, s := range []string{session, never} {
			advanced := pos.ask("POST", v2+"/simulate/advance",
				fmt.Sprintf(`{"session_id":%q,"minutes":%d}`, s, minutes))
			require.Equal(t, 204, advanced.Status, advanced.Body)
		}
	}
	log := pos.ask("GET", v2+"/events", "").Body
	warnings := regexp.MustCompile(
		`"event":"sessionEnding","session_id":"([^"]*)","lane_id":"[^"]*","minutes_remaining":(\d+),"ends_at":"[^"]*Z"`).
		FindAllStringSubmatch(log, -1)
	require.Len(t, warnings, 2, log)
	for i, left := range []string{"10", "2"} {
		require.Equal(t, []string{session, left}, warnings[i][1:])
	}
	for _, wrong := range []string{`[0]`, `[481]`, `[1.5]`, `["2"]`, `[1,2,3,4,5,6]`, `2`, `"2"`, `[null]`} {
		answer := pos.ask("POST", v2+"/sessions", order(3, 30, `,"warn_at_minutes":`+wrong))
		require.Equal(t, 400, answer.Status, wrong)
		require.Contains(t, answer.Body, `"warn_at_minutes":"must be a list of at most 5 integers from 1 to 480"`,
			wrong)
	}
	require.Zero(t, gateway.Terminate())
}
