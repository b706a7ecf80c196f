package simulation

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/linear"
	"rangegate/test/support"
)

// A webhook answers 410 for an hour, and is called again after a reload. What happens from then on arrives by itself,
// and so does what had failed before, where its retry is due only now. What was not sent or given up meanwhile arrives
// when it is asked for. In the end everything has arrived.
func TestEverythingThatIsOwedArrivesAfterAnHourOf410(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwed(t)
		defer o.end()
		o.integrator.refuse(http.StatusServiceUnavailable)
		lateRetry := o.sell(0)
		time.Sleep(40 * time.Minute) // tried at once, after 5 s, 5 and 30 minutes; next in two hours
		earlyRetry := o.sell(1)
		time.Sleep(6 * time.Minute) // likewise: the next time is in half an hour
		o.requireOutcomes(map[string]string{lateRetry: "503", earlyRetry: "503"})

		o.integrator.refuse(http.StatusGone)
		refused := o.sell(2) // of which the first event is answered 410
		time.Sleep(time.Minute)
		sent := len(o.integrator.received())
		var missed []string
		for range 58 {
			time.Sleep(time.Minute)
			session := o.sell(3)
			o.command(linear.Call{Kind: "modify", Session: session, Minutes: 1})
			o.command(linear.Call{Kind: "stop", Session: session})
			missed = append(missed, session)
		}
		o.integrator.refuse(0)
		time.Sleep(time.Minute)
		require.Len(t, o.integrator.received(), sent, "it is not called before the reload")
		o.requireOutcomes(map[string]string{
			lateRetry: "503", earlyRetry: "503", missed[0]: "not sent", missed[57]: "not sent",
		})

		o.reload()
		now := o.sell(4)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"sessionCreated", "sessionStarted"}, o.takenOf(now))
		require.Empty(t, o.takenOf(lateRetry), "its time has not come")
		time.Sleep(90 * time.Minute)
		require.ElementsMatch(t, []string{"sessionCreated", "sessionStarted"}, o.takenOf(lateRetry),
			"nobody has asked for it")
		for _, session := range append([]string{earlyRetry, refused}, missed...) {
			require.Empty(t, o.takenOf(session))
		}

		o.redeliverAll()
		time.Sleep(time.Minute)
		for _, session := range []string{earlyRetry, refused} {
			require.Equal(t, []string{"sessionCreated", "sessionStarted"}, o.takenOf(session))
		}
		whole := []string{"sessionCreated", "sessionStarted", "sessionModified", "sessionStopped"}
		for _, session := range missed {
			require.Equal(t, whole, o.takenOf(session))
		}
		log, err := o.events(o.ranges[0])
		require.NoError(t, err)
		require.NotEmpty(t, log)
		for _, event := range log {
			require.Equal(t, "delivered", event.Attempt.Word, "%+v", event)
		}
	})
}

// owed is a world without faults, of one gateway whose webhook has retries, and a POS at its first range.
type owed struct {
	*world
	pos *client
}

func newOwed(t *testing.T) *owed {
	w := newWorld(t, plan{seed: 1, nodes: 1, retry: 24 * time.Hour})
	w.start(w.machines[0])
	w.eventually("every range is served", w.unserved)
	return &owed{w, &client{world: w, number: 1}}
}

// command asks for a change at the POS, once.
func (o *owed) command(asked linear.Call) support.Answer {
	o.t.Helper()
	r := o.ranges[0]
	path, body := asked.Request(func(n int) string { return r.lanes[n].String() }, r.group)
	got, err := o.pos.ask(r, http.MethodPost, path, body)
	require.NoError(o.t, err)
	require.Equal(o.t, 2, got.Status/100, "%+v: %s", asked, got.Body)
	return got.Answer
}

func (o *owed) sell(lane int) (session string) {
	o.t.Helper()
	return o.command(linear.Call{Kind: "create", Lane: lane, Minutes: 470}).SessionID(o.t)
}

// takenOf are the events of a session that the integrator has taken, each once, in the order in which they came.
func (o *owed) takenOf(session string) (names []string) {
	o.t.Helper()
	log, err := o.events(o.ranges[0])
	require.NoError(o.t, err)
	of, known := map[string]bool{}, map[string]bool{}
	for _, event := range log {
		of["msg_"+event.ID] = event.Payload.Session == session
	}
	for _, a := range o.integrator.received() {
		if of[a.ID] && a.taken && !known[a.ID] {
			known[a.ID] = true
			names = append(names, a.Event)
		}
	}
	return names
}

// requireOutcomes requires that every event of the sessions came to that.
func (o *owed) requireOutcomes(want map[string]string) {
	o.t.Helper()
	log, err := o.events(o.ranges[0])
	require.NoError(o.t, err)
	seen := 0
	for _, event := range log {
		if outcome, found := want[event.Payload.Session]; found {
			require.Equal(o.t, outcome, event.Outcome(), "%+v", event)
			seen++
		}
	}
	require.GreaterOrEqual(o.t, seen, 2*len(want))
}

// reload has the gateway read its configuration again, which is the same.
func (o *owed) reload() {
	o.t.Helper()
	at := support.Client{API: "http://" + o.machines[0].host + ":9090", HTTP: o.http}
	answer, err := at.Do(http.MethodPost, "/reload", "", "Authorization", "Bearer operator")
	require.NoError(o.t, err)
	require.Equal(o.t, http.StatusOK, answer.Status, answer.Body)
}

// redeliverAll asks for everything in the log, as the guide of the operators says.
func (o *owed) redeliverAll() {
	o.t.Helper()
	log, err := o.events(o.ranges[0])
	require.NoError(o.t, err)
	until := log[len(log)-1].Cursor
	for after := "0"; after != ""; {
		part := fmt.Sprintf(`{"after":%q,"until":%q}`, after, until)
		got, err := o.pos.ask(o.ranges[0], http.MethodPost, "/events/redeliver", part)
		require.NoError(o.t, err)
		require.Equal(o.t, http.StatusAccepted, got.Status, got.Body)
		var page struct{ Next string } // null at the end
		got.Decode(o.t, &page)
		after = page.Next
	}
}

// end stops the gateway, and fails the test for what the world has found.
func (o *owed) end() {
	o.machines[0].stop()
	o.running.Wait()
	o.http.CloseIdleConnections()
	time.Sleep(5 * time.Minute) // what is idle closes
	require.False(o.t, o.failed, "%v", o.trail)
}
