package crash

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

// A second gateway is started on the range and the store of one that has its hands full. The first one lets
// go: all that it acknowledged is there at the second, and whatever it is asked from then on it refuses and
// changes nothing by. Then the second is succeeded in its turn.
func TestASecondGatewayTakesTheRange(t *testing.T) {
	t.Parallel()
	x := newFixture(t, support.Redis(redistest.Start(t).URL()))
	x.contested = true
	connections := newNetwork(t, x.hardware.addresses())
	x.useGateway(x.connect(x.config(connections.addresses).Serve(t)))
	for range rounds(t, 2, 20) {
		first, firstNetwork := x.gateway, connections
		var second posClient
		x.load(func() {
			x.waitRequests(fewest, most)
			connections = newNetwork(t, x.hardware.addresses())
			second = x.connect(x.config(connections.addresses).Serve(t))
			first.ownership.end()
			x.waitRandom(soonest, latest) // the clients know of no other yet
		})
		support.Eventually(t, "the first says that the range is another's", func() bool {
			answer, err := first.Client.Do(http.MethodGet, "/sessions", "")
			return err == nil && answer.Code() == "not_owner"
		})
		late := first.ownership.answeredLate()
		require.LessOrEqual(t, late, clientCount, "what each client had just asked, at most")
		x.counters.add("answered by a gateway that was succeeded", late)
		x.useGateway(second)
		x.check()
		x.repeat()
		x.check()

		require.Eventually(t, func() bool { return firstNetwork.open.Load() == 0 }, converges, 10*time.Millisecond,
			"the first has hung up on the controllers")
		made, sessions := firstNetwork.made.Load(), x.commanded()
		x.load(func() {
			requestEverything(t.Context(), first, sessions)
			x.waitRandom(soonest, latest)
		})
		x.check()
		require.Equal(t, made, firstNetwork.made.Load(), "it calls none of them again")
		first.process.Kill()
		first.hangUp()
		x.check()
	}
	x.killAndFinish()
}

// commanded is the sessions that clients command.
func (x *fixture) commanded() (ids []string) {
	for _, c := range x.clients {
		if c.current != nil {
			ids = append(ids, c.current.id)
		}
	}
	return ids
}

// requestEverything makes every request to a gateway that has lost the range, as clients do that do not know.
// Its ownership checks that it refuses them all, and the next check that nothing has changed.
func requestEverything(ctx context.Context, gateway posClient, sessions []string) {
	var work sync.WaitGroup
	defer work.Wait()
	for _, id := range sessions {
		work.Go(func() {
			for _, ask := range []struct{ method, path, body string }{
				{http.MethodPost, "/sessions/" + id + "/stop", ""},
				{http.MethodPost, "/sessions/" + id + "/pause", ""},
				{http.MethodPost, "/sessions/" + id + "/modify?time=7", ""},
				{http.MethodPost, "/sessions/" + id + "/move?lane_id=" + support.LaneID(0), ""},
				{http.MethodPost, "/sessions", fmt.Sprintf(
					`{"customer_name":"Jo","lane_id":%q,"group_id":%q,"duration":30}`, support.LaneID(0), groupID(0))},
				{http.MethodGet, "/sessions", ""},
				{http.MethodGet, "/sessions/" + id, ""},
			} {
				if ctx.Err() == nil {
					_, _ = gateway.Do(ask.method, ask.path, ask.body)
				}
			}
		})
	}
}
