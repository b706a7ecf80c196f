package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// A POS moves minutes from one customer to the other and has them change lanes, each in one atomic batch, and the
// gateway is killed while it does. Each batch is done once, as a whole: no minute is lost or made, and nobody stands on
// two lanes.
func TestABatchIsDoneOnceAndAsAWholeWhileTheGatewayIsKilled(t *testing.T) {
	onEachStore(t, func(t *testing.T, f *fixture) {
		gateway, pos := f.serveLinked()
		first, second := pos.Sell(0, 240), pos.Sell(1, 240)
		on := [2]int{0, 1} // the lanes of the two
		const kills, perLife = 5, 8
		for batch := range kills * perLife {
			body := fmt.Sprintf(
				`{"atomic":true,"operations":[{"op":"modify","session_id":%q,"time":1},{"op":"modify","session_id":%q,"time":-1},`+
					`{"op":"move","session_id":%q,"lane_id":%q},{"op":"move","session_id":%q,"lane_id":%q}]}`,
				first, second, first, support.LaneID(on[1]), second, support.LaneID(on[0]))
			key := fmt.Sprint("batch-", batch)
			send := func() (support.Answer, error) {
				return pos.Do("POST", "/sessions/batch", body, "Idempotency-Key", key)
			}
			if batch%perLife == perLife-1 {
				killed := make(chan struct{})
				go func() {
					defer close(killed)
					time.Sleep(time.Duration(batch) * 100 * time.Microsecond) // at another point of its way each time
					gateway.Kill()
				}()
				_, _ = send() // its answer may have been lost
				<-killed
				gateway, pos = f.serveLinked()
			}
			answer, err := support.Repeat(send, support.Answer.IsForNow)
			require.NoError(t, err)
			require.Equal(t, 200, answer.Status, answer.Body)
			on[0], on[1] = on[1], on[0]

			sessions := pos.Sessions()
			require.Len(t, sessions, 2)
			require.Equal(t, 240+batch+1, sessions[first].Minutes)
			require.Equal(t, 240-batch-1, sessions[second].Minutes)
			require.Equal(t, support.LaneID(on[0]), sessions[first].Lane)
			require.Equal(t, support.LaneID(on[1]), sessions[second].Lane)
		}
	})
}
