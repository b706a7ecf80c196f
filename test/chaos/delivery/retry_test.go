package delivery

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// The receiver is down, and says that it wants to be tried again after a second; the gateway is killed meanwhile, twice. Afterwards every event
// has arrived, in order per lane but for those that are marked as late, and more than once only where a kill came between.
func TestRetriesAreMadeWhateverHappens(t *testing.T) {
	const each, kills = 400, 2
	receiver := support.NewReceiver(t)
	config := support.NewConfig(t, support.Lanes(0, laneCount-1), receiver.Setting("retry: {for: 24h}", fmt.Sprintf("concurrency: %d", slots)))
	config.HTTP = support.NoLimit

	var made atomic.Int64
	for life := range kills + 1 {
		gateway := config.Serve(t)
		wait := startClients(gateway.POS(), &made)
		until := func(events int64) {
			support.Eventually(t, fmt.Sprintf("%d events", events), func() bool { return made.Load() >= events })
		}
		if life == 0 {
			until(each)
			receiver.Respond(refuseForASecond)
		}
		until(int64((life + 2) * each))
		time.Sleep(2 * time.Second) // some are tried again, in vain
		gateway.Kill()
		wait()
	}
	receiver.Respond(support.Reply(http.StatusNoContent, ""))
	pos := config.Serve(t).POS()
	var log []support.Event
	support.Eventually(t, "everything is delivered", func() bool {
		log = pos.Events("0")
		for _, event := range log {
			if event.Attempt == nil || event.UnderWay() || event.Attempt.Error != nil {
				return false
			}
		}
		return true
	})
	require.GreaterOrEqual(t, len(log), (kills+2)*each)
	judgeRetried(t, log, receiver.Arrived(), (kills+1)*slots)
}

func refuseForASecond(_ support.Arrival, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
}

// judgeRetried compares the log with what arrived. A kill may have cut off so many attempts in all that the receiver had taken.
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
		require.True(t, marked || !found || before < i, "lane %s: %s arrived after a later event and is not marked", a.Lane, a.Event)
		newest[a.Lane] = max(before, i)
	}
	require.Len(t, taken, len(log), "every event was taken")
	require.LessOrEqual(t, doubled, interrupted)
	require.Positive(t, refused)
	t.Logf("%d events, %d refusals, %d sent late, %d taken twice", len(log), refused, late, doubled)
}
