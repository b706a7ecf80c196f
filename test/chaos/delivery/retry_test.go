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

// The receiver is down, and says that it wants to be tried again after a second; the gateway is killed
// meanwhile, twice. Afterwards every event has arrived, in order per lane but for those that are marked as
// late, and more than once only where a kill came between.
func TestRetriesAreMadeWhateverHappens(t *testing.T) {
	const each, kills = 400, 2
	receiver := support.NewReceiver(t)
	config := support.NewConfig(t, support.Lanes(0, laneCount-1),
		receiver.Setting("timeout: 1h", "retry: {for: 24h}", fmt.Sprintf("concurrency: %d", slots)))
	config.HTTP = support.NoLimit

	var made atomic.Int64
	for life := range kills + 1 {
		gateway := config.Serve(t)
		enough := int64((life + 2) * each)
		wait := startClients(gateway.POS(), &made, enough)
		if life == 0 {
			waitMade(t, &made, each)
			receiver.Respond(refuseForASecond)
		}
		wait()
		waitTriedAgain(t, receiver)
		gateway.Kill()
	}
	receiver.Respond(support.Reply(http.StatusNoContent, ""))
	log := waitDelivered(t, config.Serve(t).POS())
	require.GreaterOrEqual(t, len(log), (kills+2)*each)
	judgeRetried(t, log, receiver.Arrived(), (kills+1)*slots)
}

// More events wait than the webhook's queue takes. The oldest are dropped from it and, as the operator asked
// for retries, sent later: the receiver has every event in the end, once, and in order but for those that are
// marked as late.
func TestWhatTheQueueDropsIsSentLaterWhereThereAreRetries(t *testing.T) {
	const queue, enough = 50, 600
	receiver := support.NewReceiver(t)
	receiver.Respond(refuseForASecond)
	config := support.NewConfig(t, support.Lanes(0, laneCount-1),
		receiver.Setting("timeout: 1h", "retry: {for: 24h}", fmt.Sprintf("queue: %d", queue)))
	config.HTTP = support.NoLimit
	gateway := config.Serve(t)
	var made atomic.Int64
	startClients(gateway.POS(), &made, enough)()
	support.Eventually(t, "the queue drops what it cannot take", func() bool {
		return gateway.Metrics().Sum("rangegate_events_total", `outcome="dropped"`) > 0
	})
	receiver.Respond(support.Reply(http.StatusNoContent, ""))
	log := waitDelivered(t, gateway.POS())
	require.GreaterOrEqual(t, len(log), enough)
	judgeRetried(t, log, receiver.Arrived(), 0)
}

// waitTriedAgain waits until the receiver has refused an event that it had refused before, since now.
func waitTriedAgain(t testing.TB, receiver *support.Receiver) {
	t.Helper()
	before := len(receiver.Arrived())
	support.Eventually(t, "an event is tried again, in vain", func() bool {
		refused := map[string]bool{}
		for i, arrival := range receiver.Arrived() {
			if arrival.Status != http.StatusServiceUnavailable {
				continue
			}
			if i >= before && refused[arrival.ID] {
				return true
			}
			refused[arrival.ID] = true
		}
		return false
	})
}

// waitDelivered waits until the receiver has taken every event, and returns the log.
func waitDelivered(t testing.TB, pos support.POS) (log []support.Event) {
	t.Helper()
	support.EventuallyNone(t, "everything is delivered", func() []support.Event {
		log = pos.Events("0")
		return slices.DeleteFunc(slices.Clone(log), isDelivered)
	})
	return log
}

func isDelivered(e support.Event) bool {
	return e.Attempt != nil && !e.UnderWay() && e.Attempt.Error == nil
}

func refuseForASecond(_ support.Arrival, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
}

// judgeRetried compares the log with what arrived. A kill may have cut off so many attempts in all that the
// receiver had taken.
func judgeRetried(t testing.TB, log []support.Event, arrived []support.Arrival, interrupted int) {
	place := map[string]int{} // webhook-id → place in the log
	for i, event := range log {
		place["msg_"+event.ID] = i
	}
	taken, refused, late := map[string]bool{}, 0, 0
	newest := map[string]int{} // lane → place in the log of the newest that was taken
	doubled := 0
	for _, a := range arrived {
		i, found := place[a.ID]
		require.True(t, found, "nothing arrives that is not in the log: %+v", a)
		require.Equal(t, log[i].Payload.Event, a.Event)
		require.Equal(t, log[i].Payload.Session, a.Session)
		marked := a.Header.Get("webhook-late") == "true"
		if marked {
			late++
		}
		switch {
		case a.Status == http.StatusServiceUnavailable:
			refused++
			continue
		case taken[a.ID]:
			doubled++
			continue
		}
		taken[a.ID] = true
		before, found := newest[a.Lane]
		require.True(t, marked || !found || before < i, "lane %s: %s arrived after a later event and is not marked",
			a.Lane, a.Event)
		newest[a.Lane] = max(before, i)
	}
	require.Len(t, taken, len(log), "every event was taken")
	require.LessOrEqual(t, doubled, interrupted)
	require.Positive(t, refused)
	t.Logf("%d events, %d refusals, %d sent late, %d taken twice", len(log), refused, late, doubled)
}
