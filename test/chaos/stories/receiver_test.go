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
)

// bad are answers that a receiver should not give, and what the log says of them.
var bad = map[string]struct {
	says   string
	answer func(http.ResponseWriter, *http.Request)
}{
	"500":      {"500", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
	"410":      {"410", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) }},
	"redirect": {"302", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/webhook", http.StatusFound) }},
	"hangs up": {"interrupted", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	"says nothing": {"timed out", func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}},
	"is no HTTP":        {"interrupted", raw("what do you want?\r\n\r\n")},
	"no status":         {"interrupted", raw("HTTP/1.1 \r\n\r\n")},
	"impossible status": {"interrupted", raw("HTTP/1.1 -1 No\r\n\r\n")},
	"wrong length":      {"200", raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")},
	"not JSON":          {"200", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"success":`) }},
	"no end": {"200", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write(make([]byte, 1024))
			w.(http.Flusher).Flush()
		}
	}},
	"no end of headers": {"interrupted", func(w http.ResponseWriter, _ *http.Request) {
		wire, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer wire.Close()
		_, _ = io.WriteString(wire, "HTTP/1.1 200 OK\r\n")
		for i := 0; err == nil; i++ {
			_, err = fmt.Fprintf(wire, "X-%d: %s\r\n", i, strings.Repeat("x", 1000))
		}
	}},
}

// raw is an answer as it goes over the wire, after which the receiver hangs up.
func raw(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if wire, _, err := w.(http.Hijacker).Hijack(); err == nil {
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
	s := build(t, len(names)+1) // and a lane whose events are answered well
	s.receiver.answers(func(a arrival, w http.ResponseWriter, r *http.Request) {
		n := slices.IndexFunc(names, func(name string) bool { return laneID(slices.Index(names, name)) == a.Lane })
		if n < 0 || a.Event == "sessionPaused" {
			accept(a, w, r)
			return
		}
		bad[names[n]].answer(w, r)
	})
	_, pos := s.serveLinked()
	want := []string{"sessionCreated", "sessionStarted", "sessionPaused", "sessionModified", "sessionStopped"}
	var sessions []string
	for n := range len(names) + 1 {
		sessions = append(sessions, pos.sell(n, 30))
		pos.does(sessions[n], "/pause")
		pos.does(sessions[n], "/modify?time=5")
		pos.does(sessions[n], "/stop")
	}
	log := pos.events()
	for n, session := range sessions {
		s.receiver.gets(session, want...)
		var said []string
		for _, event := range log {
			if event.Payload.Session == session {
				said = append(said, event.says())
			}
		}
		if n == len(names) {
			require.Equal(t, []string{"200", "200", "200", "200", "200"}, said)
		} else {
			says := bad[names[n]].says
			require.Equal(t, []string{says, says, "200", says, says}, said, names[n])
		}
	}
}

// The news that a session had changed overtook the news that there was one, and the receiver did not know what to make
// of it.
func TestUpdatedArrivesBeforeCreated(t *testing.T) {
	const many, changes = 20, 6
	s := build(t, many)
	s.receiver.answers(func(a arrival, w http.ResponseWriter, r *http.Request) {
		slow := time.Duration(a.ID[len(a.ID)-1]%8) * 5 * time.Millisecond
		if a.Event == "sessionCreated" {
			slow = 50 * time.Millisecond // what comes later is ready long before this is answered
		}
		time.Sleep(slow)
		accept(a, w, r)
	})
	_, pos := s.serveLinked()
	sessions := make([]string, many)
	inOneMoment(many, func(n int) {
		var v view
		answer, err := pos.Do("POST", v2+"/sessions", sale(n, 30, `,"auto_start":false`))
		if err != nil || json.Unmarshal([]byte(answer.Body), &v) != nil {
			return
		}
		sessions[n] = v.ID
		inOneMoment(changes, func(int) { _, _ = pos.Do("POST", v2+"/sessions/"+v.ID+"/modify?time=1", "") })
		_, _ = pos.Do("POST", v2+"/sessions/"+v.ID+"/stop", "")
	})
	order := map[string][]string{}
	for _, event := range pos.events() {
		order[event.Payload.Lane] = append(order[event.Payload.Lane], "msg_"+event.ID)
	}
	arrived := map[string][]string{}
	for _, a := range s.receiver.all() {
		arrived[a.Lane] = append(arrived[a.Lane], a.ID)
		require.False(t, a.overlaps, "it came before the one before it was answered: %+v", a)
	}
	require.Equal(t, order, arrived)
	for n := range many {
		kinds := s.receiver.kinds(sessions[n])
		require.Equal(t, slices.Concat([]string{"sessionCreated"}, slices.Repeat([]string{"sessionModified"}, changes),
			[]string{"sessionStopped"}), kinds)
	}
}

// Time was bought once and asked for twice at the same moment, by a till that repeated itself or a lane whose report
// came over two connections. It was credited twice.
func TestConcurrentDuplicatesCreditTwice(t *testing.T) {
	s := build(t, 2)
	gateway, pos := s.serveLinked()
	session := pos.sell(0, 30)
	want := []string{"sessionCreated", "sessionStarted"}
	for receipt := range 10 {
		var fresh atomic.Int64
		inOneMoment(20, func(int) {
			answer, err := pos.Do("POST", v2+"/sessions/"+session+"/modify?time=15", "", "Idempotency-Key", fmt.Sprint(receipt))
			if err != nil || answer.Status != 204 {
				t.Errorf("a repeat: %v %d %s", err, answer.Status, answer.Body)
			} else if answer.Header.Get("idempotency-replayed") == "" {
				fresh.Add(1)
			}
		})
		require.EqualValues(t, 1, fresh.Load())
		require.Equal(t, 45+15*receipt, pos.shows(session).Minutes)
		want = append(want, "sessionModified")
	}
	s.receiver.gets(session, want...)

	buyer := pos.sell(1, 30, `,"enable_purchasing":true`)
	s.opens(1, buyer)
	s.receiver.gets(buyer, "sessionCreated", "sessionStarted") // a purchase waits for no other event
	lane, purchase, time := s.controller(1), uuid.New(), lanes.Item{ID: lanes.TimeItem, Qty: 15}
	lane.LoseAcks(true)
	lane.Duplicate(true)
	for range 3 {
		require.NoError(t, lane.Buy(purchase, time)) // the customer presses again and again
	}
	credited := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			shown := lane.Shown()
			return shown.Purchase != nil && shown.Purchase.Phase == lanes.Accepted
		}, patience, often)
		require.Equal(t, 45, pos.shows(buyer).Minutes)
	}
	credited()
	for range 3 {
		lane.Drop() // and everything is told anew
		pos.linked()
		credited()
	}
	pos.events()
	gateway.Kill()
	_, pos = s.serveLinked()
	credited()
	lane.LoseAcks(false)
	lane.PowerCut(true) // another log, which the gateway cannot know
	s.opens(1, buyer)
	require.NoError(t, lane.Buy(purchase, time))
	s.heard(1)
	credited()
	s.receiver.gets(buyer, "sessionCreated", "sessionStarted", "purchaseRequest", "sessionModified")
	require.Equal(t, 30+10*15, pos.shows(session).Minutes)
}

// A receiver accepted a purchase a moment after the gateway had stopped waiting. The customer was told that it had
// failed and had paid; or the late answer was taken for that of the next event.
func TestAReceiverAnsweringJustAfterTheTimeOut(t *testing.T) {
	s := build(t, 2)
	var answered atomic.Int64
	s.receiver.answers(func(a arrival, w http.ResponseWriter, r *http.Request) {
		switch {
		case a.Event == "purchaseRequest" && a.Lane == laneID(0):
			time.Sleep(answersWithin + time.Millisecond)
		case a.Event == "purchaseRequest", a.Event == "sessionPaused":
			<-r.Context().Done() // the gateway has just hung up
		}
		accept(a, w, r)
		answered.Add(1)
	})
	gateway, pos := s.serveLinked()
	var buyers []string
	for n := range 2 {
		buyers = append(buyers, pos.sell(n, 30, `,"enable_purchasing":true`))
		s.opens(n, buyers[n])
		s.receiver.gets(buyers[n], "sessionCreated", "sessionStarted") // a purchase waits for no other event
		require.NoError(t, s.controller(n).Buy(uuid.New(), lanes.Item{ID: lanes.TimeItem, Qty: 15}))
	}
	for n := range 2 {
		require.Eventually(t, func() bool {
			shown := s.controller(n).Shown()
			return shown.Purchase != nil && shown.Purchase.Phase == lanes.Unresolved
		}, patience, often, "the customer is sent to staff")
	}
	for _, event := range pos.events() {
		if event.Payload.Event == "purchaseRequest" {
			require.Equal(t, "timed out", event.says())
		}
	}
	require.Eventually(t, func() bool { return answered.Load() == 6 }, patience, often, "the receiver has said yes by now")
	for _, buyer := range buyers {
		require.Equal(t, 30, pos.shows(buyer).Minutes, "nobody knows, so nothing is added")
		s.receiver.gets(buyer, "sessionCreated", "sessionStarted", "purchaseRequest")
		pos.does(buyer, "/pause")
		pos.does(buyer, "/resume")
		s.receiver.gets(buyer, "sessionCreated", "sessionStarted", "purchaseRequest", "sessionPaused", "sessionResumed")
	}
	var said []string
	for _, event := range pos.events() {
		if event.Payload.Session == buyers[0] {
			said = append(said, event.says())
		}
	}
	require.Equal(t, []string{"200", "200", "timed out", "timed out", "200"}, said, "each has its own answer")

	gateway.Kill()
	_, pos = s.serveLinked()
	var open []struct {
		ID      string `json:"purchase_id"`
		Session string `json:"session_id"`
		Minutes int
	}
	require.NoError(t, json.Unmarshal([]byte(pos.operate("GET", "/ranges/"+rangeID+"/purchases", "", 200)), &open))
	require.Len(t, open, 2, "they wait for staff")
	for _, one := range open {
		require.Equal(t, 15, one.Minutes)
		settle := "/ranges/" + rangeID + "/purchases/" + one.ID + "/credit"
		pos.operate("POST", settle, "", 204)
		pos.operate("POST", settle, "", 404)
		require.Equal(t, 45, pos.shows(one.Session).Minutes, "what was paid for is added once")
	}
	for _, buyer := range buyers {
		s.receiver.gets(buyer, "sessionCreated", "sessionStarted", "purchaseRequest", "sessionPaused", "sessionResumed", "sessionModified")
	}
}
