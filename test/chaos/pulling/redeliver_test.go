package pulling

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

// attempts are the deliveries of an event as the log shows them.
func attempts(t testing.TB, pos support.POS, cursor string) (outcomes []string) {
	var page struct {
		Events []struct {
			Cursor   string
			Attempts []struct{ Outcome string }
		}
	}
	pos.Read("/events?limit=1000", &page)
	for _, event := range page.Events {
		if event.Cursor == cursor {
			for _, attempt := range event.Attempts {
				outcomes = append(outcomes, attempt.Outcome)
			}
		}
	}
	return outcomes
}

// A receiver that was down gets everything again, although the gateway is killed while it sends: in the order
// of the log per lane. Only what was under way at a kill comes twice.
func TestARedeliveryThatIsKilledGoesOn(t *testing.T) {
	for _, s := range []struct {
		name  string
		store func(t *testing.T) string
	}{
		{"SQLite", func(t *testing.T) string { return support.NewSQLite(t) }},
		{"Redis", func(t *testing.T) string { return support.Redis(redistest.Start(t).URL()) }},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			const laneCount, kills, batch = 40, 4, 25
			receiver := support.NewReceiver(t)
			config := support.NewConfig(t, support.Lanes(1, laneCount), receiver.Setting("timeout: 1h"))
			config.HTTP, config.Store = support.NoLimit, s.store(t)
			gateway := config.Serve(t)
			pos := gateway.POS()
			for lane := range laneCount {
				session := pos.Sell(lane+1, 30)
				for _, command := range []string{"/pause", "/resume", "/pause", "/resume", "/stop"} {
					pos.Command(session, command)
				}
			}
			log := pos.AttemptedEvents()
			require.Len(t, log, 7*laneCount)
			before := len(receiver.Arrived())
			answer := pos.Expect(202, "POST", "/events/redeliver", `{"after":"0","until":"1000000"}`)
			require.JSONEq(t, fmt.Sprintf(`{"events":%d,"next":null}`, len(log)), answer.Body)
			for range kills {
				time.Sleep(rand.N(200 * time.Millisecond)) // anywhere in a save, or an attempt
				gateway.Kill()
				gateway = config.Serve(t)
			}
			pos = gateway.POS()
			type sentEvent struct {
				Cursor   string
				Attempts []struct{ Outcome string }
			}
			support.EventuallyNone(t, "everything was sent again", func() []sentEvent {
				var page struct{ Events []sentEvent }
				pos.Read("/events?limit=1000", &page)
				require.Len(t, page.Events, len(log))
				return slices.DeleteFunc(page.Events, func(e sentEvent) bool {
					return len(e.Attempts) == 2 && e.Attempts[1].Outcome == "delivered"
				})
			})

			var order []string // by webhook-id
			for _, request := range receiver.Arrived()[before:] {
				order = append(order, strings.TrimPrefix(request.Header.Get("webhook-id"), "msg_"))
			}
			require.LessOrEqual(t, len(order), len(log)+kills*batch, "a kill repeats no more than was under way")
			position := map[string]int{} // of the first arrival
			for i, id := range order {
				if _, found := position[id]; !found {
					position[id] = i
				}
			}
			require.Len(t, position, len(log))
			for lane := range laneCount {
				var positions []int
				for _, event := range log {
					if event.Payload.Lane == support.LaneID(lane+1) {
						positions = append(positions, position[event.ID])
					}
				}
				require.True(t, slices.IsSorted(positions), "lane %d: %v", lane+1, positions)
			}
			t.Logf("%d events, %d came twice", len(log), len(order)-len(log))
		})
	}
}

// What cannot be sent again is refused by name, and a repeat with the same key has no second effect.
func TestWhatIsRefusedAndRepeated(t *testing.T) {
	receiver := support.NewReceiver(t)
	gateway := support.NewConfig(t, support.Lanes(1, 1), receiver.Setting("timeout: 1h"), "purchasing: true").Serve(t)
	pos := gateway.POS()
	pos.Sell(1, 30)
	pos.Expect(201, "POST", "/simulate/purchaseRequest", `{"product_id":"a","qty":1}`)
	log := pos.AttemptedEvents()
	require.Len(t, log, 3)
	require.Equal(t, "not_redeliverable", pos.Expect(409, "POST", "/events/3/redeliver", "").Code())
	require.Equal(t, "event_not_found", pos.Expect(404, "POST", "/events/4/redeliver", "").Code())
	require.Equal(t, "invalid_request", pos.Expect(400, "POST", "/events/x/redeliver", "").Code())
	for _, body := range []string{
		`{}`, `{"after":0,"until":1}`,
		`{"after":"0","until":"1","kinds":["purchaseRequest"]}`, `{"after":"0","until":"1","kinds":[]}`,
	} {
		require.Equal(t, "invalid_request", pos.Expect(400, "POST", "/events/redeliver", body).Code(), body)
	}
	for range 3 {
		pos.Expect(204, "POST", "/events/1/redeliver", "", "Idempotency-Key", "once")
	}
	support.Eventually(t, "it is sent again",
		func() bool { return slices.Equal(attempts(t, pos, log[0].Cursor), []string{"delivered", "delivered"}) })
	// 1 is its number, as clients have it from before cursors named their log
	pos.Expect(204, "POST", "/events/"+log[0].Cursor+"/redeliver", "")
	support.Eventually(t, "and once more", func() bool { return len(attempts(t, pos, log[0].Cursor)) == 3 })
	require.NotContains(t, pos.Expect(200, "GET", "/events?after=1&limit=1", "").Body, "attempts",
		"of the others nothing has changed")
	require.Len(t, receiver.Arrived(), 5)
}
