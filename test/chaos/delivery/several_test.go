package delivery

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// Three webhooks of a range: the POS is slow and refuses some, the bookkeeping is down and has what it missed
// sent again, and one hangs for ever. The gateway is killed meanwhile, twice. The first two have everything
// as if each were alone, and each event is in the log once.
func TestSeveralWebhooksAreServedAsIfEachWereAlone(t *testing.T) {
	const each, kills = 400, 2
	pos, books, hanging := support.NewReceiver(t), support.NewReceiver(t), support.NewReceiver(t)
	pos.Respond(support.Unreliable(1))
	hanging.Respond(support.Hang)
	atOnce := fmt.Sprintf("concurrency: %d", slots)
	config := support.NewConfig(t, support.Lanes(0, laneCount-1), fmt.Sprintf("webhooks: [%s, %s, %s]",
		pos.Section("name: pos", "purchases: true", "timeout: 500ms", atOnce),
		books.Section("name: books", "timeout: 1h", "retry: {for: 24h}", atOnce),
		hanging.Section("name: hanging", "timeout: 1h", "kinds: [sessionCreated]")))
	config.HTTP = support.NoLimit

	var made atomic.Int64
	for life := range kills + 1 {
		gateway := config.Serve(t)
		killed := int64((life + 2) * each)
		wait := startClients(gateway.POS(), &made, killed+beyondKill)
		if life == 0 {
			waitMade(t, &made, each)
			books.Respond(refuseForASecond)
		}
		waitMade(t, &made, killed)
		gateway.Kill()
		wait()
	}
	books.Respond(support.Reply(http.StatusNoContent, ""))
	gateway := config.Serve(t)
	client := gateway.POS()
	var log, toBooks []support.Event
	support.EventuallyNone(t, "the POS has everything", func() []support.Event {
		log = client.Events("0")
		return slices.DeleteFunc(slices.Clone(log), func(e support.Event) bool {
			return e.Attempt != nil && !e.UnderWay()
		})
	})
	support.EventuallyNone(t, "the bookkeeping has everything", func() []support.Event {
		toBooks = client.Deliveries("books")
		return slices.DeleteFunc(slices.Clone(toBooks), isDelivered)
	})
	found := judge(t, log, pos.Arrived())
	require.LessOrEqual(t, found.lost, kills*slots, "a kill interrupts no more than were under way")
	judgeRetried(t, toBooks, books.Arrived(), (kills+1)*slots)
	require.GreaterOrEqual(t, len(log), (kills+2)*each)

	ids := func(log []support.Event) (ids []string) {
		for _, event := range log {
			ids = append(ids, event.ID)
		}
		return ids
	}
	require.Equal(t, ids(log), ids(toBooks), "in the same order, each once")
	require.Equal(t, ids(log), ids(client.Deliveries("pos")))
	require.Contains(t, client.Expect(400, "GET", "/events?webhook=nobody", "").Body,
		`"webhook":"names no webhook of this range"`)
	client.Expect(200, "GET", "/events?webhook=books&wait=60", "")
	client.Expect(409, "POST", "/events/redeliver", `{"after": "0", "until": "9", "webhook": "nobody"}`)
	arrived := len(books.Arrived())
	client.Expect(202, "POST", "/events/redeliver", fmt.Sprintf(`{"after": "0", "until": %q, "webhook": "books"}`,
		toBooks[1].Cursor))
	support.Eventually(t, "the first two are sent again", func() bool { return len(books.Arrived()) == arrived+2 })
	require.Equal(t, []string{"msg_" + log[0].ID, "msg_" + log[1].ID},
		[]string{books.Arrived()[arrived].ID, books.Arrived()[arrived+1].ID})
	created := slices.DeleteFunc(slices.Clone(log), func(e support.Event) bool {
		return e.Payload.Event != "sessionCreated"
	})
	require.Equal(t, ids(created), ids(client.Deliveries("hanging")))
	require.Positive(t, gateway.Metrics().Sum("rangegate_events_waiting", `webhook="hanging"`))
	for _, arrival := range hanging.Arrived() {
		require.Equal(t, "sessionCreated", arrival.Event)
	}
	t.Logf("%d events, the POS: %+v", len(log), found)
}
