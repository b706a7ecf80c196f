package integrator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

var demo = Gateway{
	URL: "http://gateway/api/v2/pos", Range: "11111111-1111-4111-8111-111111111111",
	Token: "22222222-2222-4222-8222-222222222222",
}

// gateway answers requests in the test's own process.
type gateway func(*http.Request) (*http.Response, error)

func (g gateway) RoundTrip(r *http.Request) (*http.Response, error) { return g(r) }

func reply(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// pageOf is a page of the event log with those cursors.
func pageOf(from, to int) string {
	var events []string
	for n := from; n <= to; n++ {
		events = append(events, fmt.Sprintf(`{"cursor":"%d","id":"id-%d","occurred_at":"2026-05-01T12:00:00.000Z",`+
			`"payload":{"event":"help","session_id":"s","lane_id":"l"},"simulated":false,"attempt":null}`, n, n))
	}
	return fmt.Sprintf(`{"events":[%s],"next":"%d"}`, strings.Join(events, ","), to)
}

// following returns an integrator, in a synctest bubble, that follows a gateway.
func following(t *testing.T, log io.Writer, answers gateway) *Integrator {
	in, err := New(Settings{Now: func() time.Time { return noon }, Log: zerolog.New(log)})
	require.NoError(t, err)
	in.pulled.client.Transport = answers
	in.Follow(demo)
	return in
}

func (in *Integrator) shownLog() (cursors []string, state pulling) {
	list, _, state, _ := in.pulled.since(0)
	for _, event := range list {
		cursors = append(cursors, event.Cursor)
	}
	return cursors, state
}

func TestTheEventsOfAGatewayArePulledFromOneCursorToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		in := following(t, io.Discard, func(r *http.Request) (*http.Response, error) {
			require.Equal(t, demo.Range, r.Header.Get("range-id"))
			require.Equal(t, demo.Token, r.Header.Get("token"))
			asked = append(asked, r.Method+" "+r.URL.String())
			switch len(asked) {
			case 1:
				return reply(200, pageOf(1, 2))
			case 2:
				time.Sleep(50 * time.Second) // a long poll that nothing comes of
				return reply(200, `{"events":[],"next":"2"}`)
			case 3:
				return reply(200, pageOf(3, 3))
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		const poll = "GET http://gateway/api/v2/pos/events?after=%d&limit=1000&wait=50"
		require.Equal(t, []string{
			fmt.Sprintf(poll, 0), fmt.Sprintf(poll, 2), fmt.Sprintf(poll, 2),
			fmt.Sprintf(poll, 3),
		}, asked)
		list, _, state, _ := in.pulled.since(0)
		require.Equal(t, pulling{Follows: true}, state)
		require.Len(t, list, 3)
		require.Equal(t, Pulled{Cursor: "3", At: noon, Event: "help", Session: "s", Lane: "l", WebhookID: "msg_id-3"},
			list[2])
		in.Close() // ends the poll, or the bubble would not end
	})
}

func TestAGatewayThatCannotBeReachedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, log := time.Now(), &bytes.Buffer{}
		var tried []time.Duration
		in := following(t, log, func(r *http.Request) (*http.Response, error) {
			tried = append(tried, time.Since(began))
			if len(tried) <= 7 {
				return nil, errors.New("connection refused")
			}
			if r.URL.Query().Get("wait") == "0" {
				return reply(200, `{"events":[],"next":"0"}`)
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		time.Sleep(20 * time.Second)
		_, state := in.shownLog()
		require.Contains(t, state.Problem, "connection refused")
		time.Sleep(80 * time.Second)
		synctest.Wait()
		var pauses []float64
		for n, at := range tried[1:8] {
			pauses = append(pauses, (at - tried[n]).Seconds())
		}
		require.Equal(t, []float64{1, 2, 4, 8, 16, 30, 30}, pauses)
		_, state = in.shownLog()
		require.Empty(t, state.Problem, "it is known at once that the gateway is back, without waiting for an event")
		require.Equal(t, 1, strings.Count(log.String(), "cannot read the events"), "one line for one problem: %s", log)
		in.Close()
	})
}

func TestALogThatHasBegunAnewIsReadFromItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var after []string
		in := following(t, io.Discard, func(r *http.Request) (*http.Response, error) {
			after = append(after, r.URL.Query().Get("after"))
			switch len(after) {
			case 1:
				return reply(200, pageOf(1, 9))
			case 2:
				return reply(400,
					`{"error":"the request is not valid","code":"invalid_request","fields":{"after":"is higher than all"},"trace_id":"t"}`)
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"0", "9", "0"}, after)
		in.Close()
	})
}

func TestTheLogKeepsTheLastFiveHundred(t *testing.T) {
	l := newEventLog()
	var page logPage
	require.NoError(t, json.Unmarshal([]byte(pageOf(1, 510)), &page))
	l.add(page)
	for since, want := range map[int][2]string{
		0: {"11", "510"}, 10: {"11", "510"}, 500: {"501", "510"},
		509: {"510", "510"},
	} {
		list, count, _, _ := l.since(since)
		require.Equal(t, 510, count)
		require.Equal(t, want, [2]string{list[0].Cursor, list[len(list)-1].Cursor})
	}
	list, _, _, _ := l.since(510)
	require.Empty(t, list)
}

func (r *fixture) sendAgain(body string) (int, string) {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.server.URL+"/redeliver",
		strings.NewReader(body))
	require.NoError(r.t, err)
	return r.send(request)
}

// followed is a fixture that follows a gateway whose log is empty, and that answers everything else like this.
func followed(t *testing.T, answer http.HandlerFunc) *fixture {
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return
		}
		answer(w, r)
	}))
	t.Cleanup(served.Close)
	r := newFixture(t)
	r.in.Follow(Gateway{URL: served.URL, Range: demo.Range, Token: demo.Token})
	return r
}

func TestAnEventIsSentAgainByTheGateway(t *testing.T) {
	keys := map[string]bool{}
	r := followed(t, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/events/17/redeliver", r.URL.Path)
		require.Equal(t, demo.Token, r.Header.Get("token"))
		keys[r.Header.Get("Idempotency-Key")] = true
		w.WriteHeader(http.StatusNoContent)
	})
	for range 2 {
		status, _ := r.sendAgain(`{"cursor":"17"}`)
		require.Equal(t, http.StatusNoContent, status)
	}
	require.Len(t, keys, 2, "twice asked, twice sent")
	require.NotContains(t, keys, "")
}

func TestWhyAnEventIsNotSentAgain(t *testing.T) {
	refuses := followed(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w,
			`{"error":"a purchaseRequest is never sent again","code":"not_redeliverable","trace_id":"t"}`)
	})
	status, body := refuses.sendAgain(`{"cursor":"17"}`)
	require.Equal(t, http.StatusConflict, status)
	require.JSONEq(t, `{"error":"a purchaseRequest is never sent again"}`, body)
	for _, malformed := range []string{"", "{", "{}", `{"cursor":17}`, "[]"} {
		status, _ := refuses.sendAgain(malformed)
		require.Equal(t, http.StatusBadRequest, status, malformed)
	}

	breaksOff := followed(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	status, body = breaksOff.sendAgain(`{"cursor":"17"}`)
	require.Equal(t, http.StatusBadGateway, status)
	require.JSONEq(t, `{"error":"the gateway cannot be reached"}`, body)

	status, _ = newFixture(t).sendAgain(`{"cursor":"17"}`)
	require.Equal(t, http.StatusConflict, status, "there is no gateway")
}

func TestARepeatIsKnownByItsWebhookID(t *testing.T) {
	r := newFixture(t, secret)
	send := func(secret string) {
		r.send(r.signed(started, time.Now(), secret))
	}
	send(another) // not the gateway: rejected
	r.choose(`{"answer":"refuse","once":true}`)
	send(secret) // refused
	send(secret) // accepted
	send(secret)
	var again []string
	for _, a := range r.arrived() {
		again = append(again, fmt.Sprintf("%d %s %d %t", a.Number, a.Answer, a.AgainOf, a.Known))
	}
	require.Equal(t, []string{"1 rejected 0 false", "2 refuse 0 false", "3 accept 2 false", "4 accept 3 true"}, again)
}

func TestTheStreamSendsWhatIsPulled(t *testing.T) {
	r := newFixture(t)
	stream := r.openStream()
	var all snapshot
	_, _ = stream.next(&all)
	require.NotNil(t, all.Pulled)
	require.False(t, all.Pulling.Follows)

	var page logPage
	require.NoError(t, json.Unmarshal([]byte(pageOf(1, 2)), &page))
	r.in.pulled.add(page)
	for _, cursor := range []string{"1", "2"} {
		var pulled Pulled
		event, _ := stream.next(&pulled)
		require.Equal(t, "pulled", event)
		require.Equal(t, cursor, pulled.Cursor)
	}
	r.in.pulled.setProblem("no route to host")
	var state pulling
	event, _ := stream.next(&state)
	require.Equal(t, "pulling", event)
	require.Equal(t, "no route to host", state.Problem)
}
