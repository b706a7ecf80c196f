package stories

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"

	"rangegate/test/support"
)

// bad are answers that a receiver should not give, and what the log says of them.
var bad = map[string]struct {
	outcome string
	answer  func(http.ResponseWriter, *http.Request)
}{
	"500": {"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
	"410": {"410", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }},
	"redirect": {"302", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/webhook",
			http.StatusFound)
	}},
	"hangs up":          {"interrupted", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	"is no HTTP":        {"interrupted", rawResponse("what do you want?\r\n\r\n")},
	"no status":         {"interrupted", rawResponse("HTTP/1.1 \r\n\r\n")},
	"impossible status": {"interrupted", rawResponse("HTTP/1.1 -1 No\r\n\r\n")},
	"wrong length":      {"200", rawResponse("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")},
	"not JSON": {"200", func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, `{"success":`)
	}},
	"no end": {"200", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write(make([]byte, 1024))
			_ = http.NewResponseController(w).Flush()
		}
	}},
	"no end of headers": {"interrupted", func(w http.ResponseWriter, _ *http.Request) {
		wire, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = wire.Close() }()
		_, _ = io.WriteString(wire, "HTTP/1.1 200 OK\r\n")
		for i := 0; err == nil; i++ {
			_, err = fmt.Fprintf(wire, "X-%d: %s\r\n", i, strings.Repeat("x", 1000))
		}
	}},
}

// rawResponse writes an answer as it goes over the wire, and hangs up.
func rawResponse(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if wire, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = io.WriteString(wire, text)
			_ = wire.Close()
		}
	}
}

// A receiver's answer could not be understood. The event stayed at the head of the queue for ever, and everything that
// came later waited behind it.
func TestABadAnswerOfTheReceiverStallsTheQueueForEver(t *testing.T) {
	names := make([]string, 0, len(bad))
	for name := range bad {
		names = append(names, name)
	}
	slices.Sort(names)
	f := newFixture(t, len(names)+1) // and a lane whose events are answered well
	f.receiver.Respond(func(a support.Arrival, w http.ResponseWriter, r *http.Request) {
		n := slices.IndexFunc(names, func(name string) bool {
			return support.LaneID(slices.Index(names, name)) == a.Lane
		})
		if n < 0 || a.Event == "sessionPaused" {
			support.Accept(a, w, r)
			return
		}
		bad[names[n]].answer(w, r)
	})
	_, pos := f.serveLinked()
	want := []string{"sessionCreated", "sessionStarted", "sessionPaused", "sessionModified", "sessionStopped"}
	var sessions []string
	for n := range len(names) + 1 {
		sessions = append(sessions, pos.Sell(n, 30))
		pos.command(sessions[n], "/pause")
		pos.command(sessions[n], "/modify?time=5")
		pos.command(sessions[n], "/stop")
	}
	log := pos.AttemptedEvents()
	for n, session := range sessions {
		f.receiver.WaitEvents(session, want...)
		var outcomes []string
		for _, event := range log {
			if event.Payload.Session == session {
				outcomes = append(outcomes, event.Outcome())
			}
		}
		if n == len(names) {
			require.Equal(t, []string{"200", "200", "200", "200", "200"}, outcomes)
		} else {
			outcome := bad[names[n]].outcome
			require.Equal(t, []string{outcome, outcome, "200", outcome, outcome}, outcomes, names[n])
		}
	}
}

// A receiver took an event and never answered. Here too everything that came later waited behind it.
func TestAReceiverThatSaysNothingStallsTheQueueForEver(t *testing.T) {
	f := newFixture(t, 1)
	f.receiver.Respond(func(a support.Arrival, w http.ResponseWriter, r *http.Request) {
		if a.Event != "sessionPaused" {
			support.Hang(a, w, r)
		}
		support.Accept(a, w, r)
	})
	gateway, pos := f.serveLinked()
	f.waitForReceiver(gateway, shortTimeout)
	session := pos.Sell(0, 30)
	pos.AttemptedEvents()
	f.waitForReceiver(gateway, webhookTimeout)
	pos.command(session, "/pause")
	pos.AttemptedEvents()
	f.waitForReceiver(gateway, shortTimeout)
	pos.command(session, "/modify?time=5")
	pos.command(session, "/stop")
	var outcomes []string
	for _, event := range pos.AttemptedEvents() {
		outcomes = append(outcomes, event.Outcome())
	}
	require.Equal(t, []string{"timed out", "timed out", "200", "timed out", "timed out"}, outcomes)
	f.receiver.WaitEvents(session, "sessionCreated", "sessionStarted", "sessionPaused", "sessionModified",
		"sessionStopped")
}

// The news that a session had changed overtook the news that there was one, and the receiver did not know what to make
// of it.
func TestUpdatedArrivesBeforeCreated(t *testing.T) {
	const many, changes = 20, 6
	f := newFixture(t, many)
	f.receiver.Respond(func(a support.Arrival, w http.ResponseWriter, r *http.Request) {
		slow := time.Duration(a.ID[len(a.ID)-1]%8) * 5 * time.Millisecond
		if a.Event == "sessionCreated" {
			slow = 50 * time.Millisecond // what comes later is ready long before this is answered
		}
		time.Sleep(slow)
		support.Accept(a, w, r)
	})
	_, pos := f.serveLinked()
	sessions := make([]string, many)
	simultaneously(many, func(n int) {
		var v support.Session
		answer, err := pos.Do("POST", "/sessions", support.Order(n, 30, `,"auto_start":false`))
		if err != nil || json.Unmarshal([]byte(answer.Body), &v) != nil {
			return
		}
		sessions[n] = v.ID
		simultaneously(changes, func(int) { _, _ = pos.Do("POST", "/sessions/"+v.ID+"/modify?time=1", "") })
		_, _ = pos.Do("POST", "/sessions/"+v.ID+"/stop", "")
	})
	order := map[string][]string{}
	for _, event := range pos.AttemptedEvents() {
		order[event.Payload.Lane] = append(order[event.Payload.Lane], "msg_"+event.ID)
	}
	arrived := map[string][]string{}
	for _, a := range f.receiver.Arrived() {
		arrived[a.Lane] = append(arrived[a.Lane], a.ID)
		require.False(t, a.Overlaps, "it came before the one before it was answered: %+v", a)
	}
	require.Equal(t, order, arrived)
	for n := range many {
		kinds := f.receiver.Events(sessions[n])
		require.Equal(t, slices.Concat([]string{"sessionCreated"}, slices.Repeat([]string{"sessionModified"}, changes),
			[]string{"sessionStopped"}), kinds)
	}
}

// Time was bought once and asked for twice at the same moment, by a POS that repeated itself or a lane whose report
// came over two connections. It was credited twice.
func TestConcurrentDuplicatesCreditTwice(t *testing.T) {
	f := newFixture(t, 2)
	gateway, pos := f.serveLinked()
	session := pos.Sell(0, 30)
	want := []string{"sessionCreated", "sessionStarted"}
	for receipt := range 10 {
		var fresh atomic.Int64
		simultaneously(20, func(int) {
			answer, err := pos.Do("POST", "/sessions/"+session+"/modify?time=15", "", "Idempotency-Key",
				fmt.Sprint(receipt))
			if err != nil || answer.Status != 204 {
				t.Errorf("a repeat: %v %d %s", err, answer.Status, answer.Body)
			} else if answer.Header.Get("idempotency-replayed") == "" {
				fresh.Add(1)
			}
		})
		require.EqualValues(t, 1, fresh.Load())
		require.Equal(t, 45+15*receipt, pos.Session(session).Minutes)
		want = append(want, "sessionModified")
	}
	f.receiver.WaitEvents(session, want...)

	buyer := pos.Sell(1, 30, `,"enable_purchasing":true`)
	f.WaitOpen(1, buyer)
	f.receiver.WaitEvents(buyer, "sessionCreated", "sessionStarted") // a purchase waits for no other event
	lane, purchase, time := f.Controller(1), uuid.New(), lanes.Item{ID: lanes.TimeItem, Qty: 15}
	lane.LoseAcks(true)
	lane.Duplicate(true)
	for range 3 {
		require.NoError(t, lane.Buy(purchase, time)) // the customer presses again and again
	}
	credited := func() {
		t.Helper()
		support.Eventually(t, "the customer is sent to staff", func() bool {
			shown := lane.Shown()
			return shown.Purchase != nil && shown.Purchase.Phase == lanes.Accepted
		})
		require.Equal(t, 45, pos.Session(buyer).Minutes)
	}
	credited()
	for range 3 {
		lane.Drop() // and everything is told anew
		pos.WaitLinked()
		credited()
	}
	pos.AttemptedEvents()
	gateway.Kill()
	_, pos = f.serveLinked()
	credited()
	lane.LoseAcks(false)
	lane.PowerCut(true) // another log, which the gateway cannot know
	f.WaitOpen(1, buyer)
	require.NoError(t, lane.Buy(purchase, time))
	f.WaitAcked(1)
	credited()
	f.receiver.WaitEvents(buyer, "sessionCreated", "sessionStarted", "purchaseRequest", "sessionModified")
	require.Equal(t, 30+10*15, pos.Session(session).Minutes)
}

// A receiver accepted a purchase a moment after the gateway had stopped waiting. The customer was told that it had
// failed and had paid; or the late answer was taken for that of the next event.
func TestAReceiverAnsweringJustAfterTheTimeOut(t *testing.T) {
	f := newFixture(t, 2)
	var answered atomic.Int64
	isLeftToStaff := func(n int) bool {
		shown := f.Controller(n).Shown()
		return shown.Purchase != nil && shown.Purchase.Phase == lanes.Unresolved
	}
	f.receiver.Respond(func(a support.Arrival, w http.ResponseWriter, r *http.Request) {
		switch {
		case a.Event == "purchaseRequest" && a.Lane == support.LaneID(0):
			for !isLeftToStaff(0) && support.Wait(t.Context(), time.Millisecond) {
			}
		case a.Event == "purchaseRequest", a.Event == "sessionPaused":
			<-r.Context().Done() // the gateway has just hung up
		}
		support.Accept(a, w, r)
		answered.Add(1)
	})
	gateway, pos := f.serveLinked()
	var buyers []string
	for n := range 2 {
		buyers = append(buyers, pos.Sell(n, 30, `,"enable_purchasing":true`))
		f.WaitOpen(n, buyers[n])
		f.receiver.WaitEvents(buyers[n], "sessionCreated", "sessionStarted") // a purchase waits for no other event
	}
	pos.AttemptedEvents()
	f.waitForReceiver(gateway, shortTimeout)
	for n := range 2 {
		require.NoError(t, f.Controller(n).Buy(uuid.New(), lanes.Item{ID: lanes.TimeItem, Qty: 15}))
	}
	for n := range 2 {
		support.Eventually(t, "the purchase is left to staff", func() bool { return isLeftToStaff(n) })
	}
	for _, event := range pos.AttemptedEvents() {
		if event.Payload.Event == "purchaseRequest" {
			require.Equal(t, "timed out", event.Outcome())
		}
	}
	support.Eventually(t, "the receiver has said yes by now", func() bool { return answered.Load() == 6 })
	for _, buyer := range buyers {
		require.Equal(t, 30, pos.Session(buyer).Minutes, "nobody knows, so nothing is added")
		f.receiver.WaitEvents(buyer, "sessionCreated", "sessionStarted", "purchaseRequest")
		pos.command(buyer, "/pause")
	}
	pos.AttemptedEvents()
	f.waitForReceiver(gateway, webhookTimeout)
	for _, buyer := range buyers {
		pos.command(buyer, "/resume")
		f.receiver.WaitEvents(buyer, "sessionCreated", "sessionStarted", "purchaseRequest", "sessionPaused",
			"sessionResumed")
	}
	var outcomes []string
	for _, event := range pos.AttemptedEvents() {
		if event.Payload.Session == buyers[0] {
			outcomes = append(outcomes, event.Outcome())
		}
	}
	require.Equal(t, []string{"200", "200", "timed out", "timed out", "200"}, outcomes, "each has its own answer")

	gateway.Kill()
	gateway, pos = f.serveLinked()
	var open []struct {
		ID      string `json:"purchase_id"`
		Session string `json:"session_id"`
		Minutes int
	}
	gateway.Operate("GET", "/ranges/"+support.RangeID+"/purchases", "").Decode(t, &open)
	require.Len(t, open, 2, "they wait for staff")
	for _, one := range open {
		require.Equal(t, 15, one.Minutes)
		settle := "/ranges/" + support.RangeID + "/purchases/" + one.ID + "/credit"
		require.Equal(t, 204, gateway.Operate("POST", settle, "").Status)
		require.Equal(t, 404, gateway.Operate("POST", settle, "").Status)
		require.Equal(t, 45, pos.Session(one.Session).Minutes, "what was paid for is added once")
	}
	for _, buyer := range buyers {
		f.receiver.WaitEvents(buyer, "sessionCreated", "sessionStarted", "purchaseRequest", "sessionPaused",
			"sessionResumed", "sessionModified")
	}
}
