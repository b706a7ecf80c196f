package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// A POS reserves a lane and takes the money, and the gateway is killed meanwhile, each time at another point. Whoever
// was told that the lane is theirs gets it, with the same end; nobody else does; a repeat has the same token.
func TestAReservationIsKeptWhileTheGatewayIsKilled(t *testing.T) {
	onEachStore(t, func(t *testing.T, f *fixture) {
		gateway, pos := f.serveLinked()
		for kill := range 5 {
			key := fmt.Sprint("checkout-", kill)
			reserve := func() (support.Answer, error) {
				return pos.Do("POST", "/reservations", `{"lane_ids":["`+support.LaneID(0)+`"],"seconds":600}`,
					"Idempotency-Key", key)
			}
			killed := make(chan struct{})
			go func() {
				defer close(killed)
				time.Sleep(time.Duration(kill) * time.Millisecond)
				gateway.Kill()
			}()
			first, lost := reserve()
			<-killed
			gateway, pos = f.serveLinked()

			answer, err := support.Repeat(reserve, support.Answer.IsForNow)
			require.NoError(t, err)
			require.Equal(t, 201, answer.Status, answer.Body)
			if lost == nil && first.Status == 201 {
				require.JSONEq(t, first.Body, answer.Body, "a repeat")
			}
			var reservation struct {
				Token string    `json:"token"`
				Until time.Time `json:"until"`
			}
			answer.Decode(t, &reservation)

			other, err := pos.DoInsisting("POST", "/sessions", support.Order(0, 30))
			require.NoError(t, err)
			require.Equal(t, "lane_reserved", other.Code(), other.Body)
			var refused struct {
				Until time.Time `json:"reserved_until"`
			}
			other.Decode(t, &refused)
			require.WithinDuration(t, reservation.Until, refused.Until, time.Second,
				"by the wall clock of then, which is not the monotonic one")
			session := pos.Sell(0, 30, `,"reservation":"`+reservation.Token+`"`)
			pos.Command(session, "/stop")
		}
	})
}
