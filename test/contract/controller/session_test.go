package controller

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// A session with an open end goes on when its minutes are used up, also while the link is down, and proves it.
func TestASessionWithAnOpenEnd(t *testing.T) {
	lane := start(t)
	conversation := record(t, fmt.Sprintf("ws://127.0.0.1:%d/lane", lane.port))
	gateway := support.NewConfig(t, []string{support.Lane(1, support.Link(conversation.Address, key))}).Serve(t)
	pos := gateway.POS()
	support.Eventually(t, "the controller has said that it can", func() bool {
		return strings.Contains(pos.Expect(200, "GET", "/lanes/status", "").Body, `"open_end":true`)
	})
	session := pos.Sell(1, 30, `,"open_end":{"up_to":120}`)
	lane.waitShown("it is open", func(s shown) bool { return s.Open && s.Beyond == 90*60_000 })
	pos.Expect(204, "POST", "/simulate/advance", fmt.Sprintf(`{"session_id":%q,"minutes":40}`, session))
	lane.waitShown("it goes on", func(s shown) bool {
		return s.Open && *s.Remaining == 0 && s.Beyond > 79*60_000 && s.Beyond <= 80*60_000
	})
	lane.do("unplug")
	support.Eventually(t, "the link is down", func() bool {
		return !strings.Contains(pos.Expect(200, "GET", "/lanes/status", "").Body, `"open_end":true`)
	})
	support.Eventually(t, "its hello proves that it was open", func() bool {
		return strings.Contains(pos.Expect(200, "GET", "/lanes/status", "").Body, `"open_end":true`)
	})
	lane.waitShown("it still goes on", func(s shown) bool { return s.Open && *s.Remaining == 0 })
	pos.Command(session, "/stop")
	lane.waitShown("a stopped lane has stopped", func(s shown) bool { return !s.Open && s.Session == nil })
	receipt := pos.Expect(200, "GET", "/history/"+session, "").Body
	require.Contains(t, receipt, `"minutes_used":30,`)
	require.Regexp(t, `"minutes_beyond":10\.?`, receipt)
	require.Empty(t, broken(t, gateway, conversation.said()))
}

// A whole session, with everything that a controller does and is told. All that is said keeps the schema that
// the gateway serves.
func TestAWholeSession(t *testing.T) {
	lane := start(t)
	conversation := record(t, fmt.Sprintf("ws://127.0.0.1:%d/lane", lane.port))
	gateway := support.NewConfig(t,
		[]string{support.Lane(1, support.Link(conversation.Address, key))},
		"purchasing: true", "link_grace: 100ms", support.NewReceiver(t).Setting()).Serve(t)
	pos := gateway.POS()
	waitStatus := func(text string) {
		t.Helper()
		support.Eventually(t, text, func() bool {
			return strings.Contains(pos.Expect(200, "GET", "/lanes/status", "").Body, text)
		})
	}
	waitStatus(`"link":"up"`)

	session := pos.Sell(1, 30, `,"auto_start":false,"enable_purchasing":true`)
	lane.waitShown("it waits, locked", func(s shown) bool { return s.Phase != nil && *s.Phase == "waiting" && !s.Open })
	lane.waitShown("for its customer", func(s shown) bool {
		return *s.Customer == "Jo Smith" && *s.Remaining == 30*60_000
	})

	lane.do("enter")
	lane.waitShown("it is open once the customer has entered", func(s shown) bool { return s.Open && s.Kept == 0 })

	confirmed := support.Reach{
		Confirmed: []string{support.LaneID(1)}, Sent: []string{},
		NotReached: []string{}, Saved: true,
	}
	hold := func(on bool) { // again while the machine is so slow that the answer does not wait for all of it
		t.Helper()
		var reach support.Reach
		support.Eventually(t, "it is saved and confirmed", func() bool {
			reach = gateway.HoldRange(on)
			return reflect.DeepEqual(confirmed, reach)
		}, func() any { return reach })
	}
	hold(true)
	lane.waitShown("a ceasefire locks it", func(s shown) bool { return s.Hold && !s.Open })
	hold(false)
	lane.waitShown("its end opens it", func(s shown) bool { return s.Open })

	lane.do("buy")
	lane.waitShown("the purchase is accepted", func(s shown) bool {
		return s.Purchase != nil && s.Purchase.Phase == "accepted"
	})
	require.Contains(t, pos.Expect(200, "GET", "/sessions/"+session, "").Body, `"duration":45`)

	lane.do("help")
	lane.do("hit")
	lane.do("unplug")
	var log string
	support.Eventually(t, "what happens arrives, whichever connection it goes over", func() bool {
		log = pos.Expect(200, "GET", "/events", "").Body
		return strings.Contains(log, `"event":"carrierHit"`)
	})
	lane.waitShown("and is acknowledged", func(s shown) bool { return s.Kept == 0 })
	for kind, times := range map[string]int{
		"help": 1, "carrierHit": 1, "purchaseRequest": 1, "sessionStarted": 1,
		"sessionPaused": 1,
	} {
		require.Equal(t, times, strings.Count(log, `"event":"`+kind+`"`), kind)
	}

	lane.do("fault")
	waitStatus(`"not_usable_because":"its hardware reports: the carrier is stuck"`)
	lane.do("mend")
	waitStatus(`"not_usable_because":null`)

	pos.Command(session, "/stop")
	lane.waitShown("a stopped lane has stopped", func(s shown) bool { return !s.Open && s.Session == nil })

	said := conversation.said()
	require.Empty(t, broken(t, gateway, said))
	counted := kinds(t, said)
	for _, kind := range []string{
		"gateway hello", "gateway state", "gateway ack", "controller hello", "controller applied",
		"controller report entered",
		"controller report help", "controller report carrier_hit", "controller report purchase",
		"controller report fault",
		"controller report fault_cleared",
	} {
		require.Positive(t, counted[kind], "%s: %v", kind, counted)
	}
}
