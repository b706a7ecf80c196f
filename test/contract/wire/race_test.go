package wire

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// Of 50 who want the lane at the same time one gets it, and that one's session is the one that is listed.
func TestOneOfFiftyGetsTheLane(t *testing.T) {
	_, pos := serve(t)
	answers := make([]support.Answer, 50)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i], _ = pos.Do("POST", v2+"/sessions", order(1, 30, "")) })
	}
	wg.Wait()

	var won []string
	for _, answer := range answers {
		if answer.Status == 201 {
			won = append(won, answer.Body[len(`{"session_id":"`):len(`{"session_id":"`)+36])
			continue
		}
		require.Equal(t, 409, answer.Status, answer.Body)
		require.Contains(t, answer.Body, `"code":"lane_occupied"`)
	}
	require.Len(t, won, 1)
	listed := pos.ask("GET", v2+"/sessions", "").Body
	require.Equal(t, 1, strings.Count(listed, `"session_id"`))
	require.Contains(t, listed, won[0])
}
