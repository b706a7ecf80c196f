package storm

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

const (
	changed = 20 // lanes, each with one session that clients change
	sold    = 5  // lanes on which one session after the other is sold
	shared  = 1  // the lane whose session many clients change at once: more than may wait for a lane

	clientsALane  = 4
	clientsAtOnce = 100
	changes       = 7 // of each client, and sales of each lane that is sold

	modified = ((changed-1)*clientsALane + clientsAtOnce) * changes
	sales    = sold * changes
	requests = modified + 3*sales // each is sold, changed and stopped
	events   = 2*changed + modified + 4*sales
)

// Many clients ask at once and hang up, the controllers lose all their links three times, and the webhook hangs until
// half of it is done. Afterwards each request that was answered is done once, each session is right, each event has
// come once and in order, every controller is linked and shows its lane, nothing waits, and the next request is
// answered at the first attempt.
func TestAfterAStormEverythingIsAsIfItHadComeCalmly(t *testing.T) {
	receiver, webhook := support.NewReceiver(t), newHangingWebhook()
	receiver.Respond(webhook.respond)
	t.Cleanup(webhook.open)
	config := support.NewConfig(t, support.IncomingLanes(1, changed+sold), receiver.Setting("timeout: 1h"))
	config.Sections = []string{support.ListenForControllers}
	g := config.Serve(t)
	controllers, pos := support.NewDialling(t, g.Dialled, 1, changed+sold), g.POS()
	pos.WaitLinked()
	sessions := make([]string, changed+1)
	for lane := 1; lane <= changed; lane++ {
		sessions[lane] = pos.Sell(lane, 60)
	}

	var done work
	cuts := make(chan struct{})
	go func() { // each at a quarter of the work more
		defer close(cuts)
		for quarter := range int64(3) {
			for done.requests.Load() < (quarter+1)*requests/4 && t.Context().Err() == nil {
				support.Wait(t.Context(), time.Millisecond)
			}
			for lane := 1; lane <= changed+sold; lane++ {
				controllers.Controller(lane).Drop()
			}
			if quarter == 1 {
				webhook.open()
			}
		}
	}()
	var minutes [changed + 1]atomic.Int64
	var ofLane [sold][]string
	atOnce(t, (changed-1)*clientsALane+clientsAtOnce+sold, func(n int) error {
		one := client{POS: pos, hangUps: n % 3, done: &done}
		if n < sold {
			var err error
			ofLane[n], err = one.sellAndStop(changed + 1 + n)
			return err
		}
		lane := shared
		if n -= sold; n >= clientsAtOnce {
			lane = 2 + (n-clientsAtOnce)%(changed-1)
		}
		for change := range changes {
			more := int64(1 - 2*(change%2)) // a minute more, and then one less
			answer, err := one.ask("POST", fmt.Sprintf("/sessions/%s/modify?time=%d", sessions[lane], more), "")
			if err != nil || answer.Status != http.StatusNoContent {
				return errors.Join(err, fmt.Errorf("a change: %d %s", answer.Status, answer.Body))
			}
			minutes[lane].Add(more)
		}
		return nil
	})
	<-cuts
	t.Log(&done)
	require.EqualValues(t, requests, done.requests.Load())

	pos.WaitLinked()
	for lane := 1; lane <= changed; lane++ {
		require.EqualValues(t, 60+minutes[lane].Load(), pos.Session(sessions[lane]).Minutes, "lane %d", lane)
		controllers.WaitOpen(lane, sessions[lane])
	}
	var ended []string
	for _, session := range pos.History() {
		ended = append(ended, session.ID)
		require.Equal(t, 31, session.Minutes)
	}
	require.ElementsMatch(t, slices.Concat(ofLane[:]...), ended)
	for lane := changed + 1; lane <= changed+sold; lane++ {
		controllers.WaitLocked(lane)
	}
	waitQuiet(t, g)
	require.EqualValues(t, changed+requests, g.Metrics().Sum("rangegate_idempotency_keys"), "one for each request")
	requireEachEventOnce(t, pos, receiver, events)

	before := g.Metrics()
	for lane := 1; lane <= changed; lane++ {
		pos.Command(sessions[lane], "/modify?time=1")
	}
	waitQuiet(t, g)
	after := g.Metrics()
	const posts, linked = "rangegate_http_requests_total", "rangegate_links_incoming_total"
	asked := after.Sum(posts, `method="POST"`) - before.Sum(posts, `method="POST"`)
	require.EqualValues(t, changed, asked, "nobody else asks")
	require.Zero(t, after.Sum(linked)-before.Sum(linked), "nobody dials")
	requireEachEventOnce(t, pos, receiver, events+changed)
}

// sellAndStop sells sessions on the lane one after the other, changes each and stops it, and returns them.
func (c client) sellAndStop(lane int) (sessions []string, err error) {
	for range changes {
		answer, err := c.ask("POST", "/sessions", support.Order(lane, 30))
		if err != nil || answer.Status != http.StatusCreated {
			return nil, errors.Join(err, fmt.Errorf("a sale: %d %s", answer.Status, answer.Body))
		}
		_, rest, _ := strings.Cut(answer.Body, `"session_id":"`)
		session, _, _ := strings.Cut(rest, `"`)
		for _, command := range []string{"/modify?time=1", "/stop"} {
			answer, err := c.ask("POST", "/sessions/"+session+command, "")
			if err != nil || answer.Status != http.StatusNoContent {
				return nil, errors.Join(err, fmt.Errorf("%s: %d %s", command, answer.Status, answer.Body))
			}
		}
		sessions = append(sessions, session)
	}
	return sessions, nil
}

// waitQuiet waits until nothing waits: no message, no change, no event.
func waitQuiet(t *testing.T, g *support.Gateway) {
	t.Helper()
	support.Eventually(t, "nothing waits", func() bool {
		m := g.Metrics()
		return m.Sum("rangegate_actor_mailbox_messages")+m.Sum("rangegate_store_writes_unsaved")+
			m.Sum("rangegate_events_waiting")+m.Sum("rangegate_events_awaiting_retry") == 0
	}, func() any { return g.Metrics().Text })
}

// requireEachEventOnce requires that the log has so many events, and that each has come once, in the order of the log
// per lane.
func requireEachEventOnce(t *testing.T, pos support.POS, receiver *support.Receiver, many int) {
	t.Helper()
	log, order, arrived := pos.AttemptedEvents(), map[string][]string{}, map[string][]string{}
	require.Len(t, log, many)
	for _, event := range log {
		require.Equal(t, "delivered", event.Attempt.Word)
		order[event.Payload.Lane] = append(order[event.Payload.Lane], "msg_"+event.ID)
	}
	for _, a := range receiver.Arrived() {
		arrived[a.Lane] = append(arrived[a.Lane], a.ID)
	}
	require.Equal(t, order, arrived)
}

// A webhook answers 410 in the middle of such a storm, and is called again after a reload. What was not sent arrives
// when it is asked for: every event, per lane in the order of the log.
func TestAWebhookThatWasGoneInAStorm(t *testing.T) {
	receiver := support.NewReceiver(t)
	config := support.NewConfig(t, support.Lanes(1, sold), receiver.Setting("timeout: 1h", "retry: {for: 1h}"))
	g := config.Serve(t).Ready()
	pos := g.POS()
	var done work
	sell := func() {
		atOnce(t, sold, func(n int) error {
			_, err := (client{POS: pos, hangUps: n % 3, done: &done}).sellAndStop(1 + n)
			return err
		})
	}
	sell()
	receiver.Respond(support.Reply(http.StatusGone, ""))
	sell()
	isGone := func() bool { return g.Metrics().Sum("rangegate_webhook_gone") == 1 }
	support.Eventually(t, "the webhook is gone", isGone)
	waitQuiet(t, g)
	arrived := len(receiver.Arrived())
	sell()
	waitQuiet(t, g)
	require.Len(t, receiver.Arrived(), arrived, "nothing is sent")

	receiver.Respond(support.Accept)
	g.Signal(syscall.SIGHUP)
	support.Eventually(t, "the webhook is called again", func() bool { return !isGone() })
	sell()
	waitQuiet(t, g)
	before := len(receiver.Arrived())
	log := pos.Events("0")
	asked := fmt.Sprintf(`{"after":"0","until":%q}`, log[len(log)-1].Cursor)
	require.Contains(t, pos.Insist(http.StatusAccepted, "POST", "/events/redeliver", asked).Body, `"next":null`)
	again := func() bool { return len(receiver.Arrived())-before == len(log) }
	support.Eventually(t, "everything has come again", again)
	newest := map[string]int{}
	for _, a := range receiver.Arrived()[before:] {
		sequence, err := strconv.Atoi(a.Header.Get("event-sequence"))
		require.NoError(t, err)
		require.Greater(t, sequence, newest[a.Lane])
		newest[a.Lane] = sequence
	}
	for _, event := range pos.AttemptedEvents() {
		require.Equal(t, "delivered", event.Attempt.Word)
	}
}
