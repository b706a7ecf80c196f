package integrator

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var traceID = regexp.MustCompile(`"trace_id":"[0-9a-f]{32}"`)

// maskTrace returns an answer with its trace id replaced.
func maskTrace(status int, body string) (int, string) {
	return status, strings.TrimSpace(traceID.ReplaceAllString(body, `"trace_id":"…"`))
}

func TestEveryAnswerFollowsTheSpecification(t *testing.T) {
	refused := `{"error":"refused by whoever sits at the demo integrator","user_message":"Sold out.","trace_id":"…"}`
	failed := `{"error":"the demo integrator was told to fail","user_message":"Something went wrong at the counter.","trace_id":"…"}`
	for _, c := range []struct {
		choice, event string
		status        int
		body          string
	}{
		{`{"answer":"accept"}`, purchase, 200, `{"success":true,"trace_id":"…"}`},
		{`{"answer":"accept"}`, started, 204, ""},
		{`{"answer":"accept"}`, `{"event":"somethingNew"}`, 204, ""},
		{`{"answer":"refuse","user_message":"Sold out."}`, purchase, 409, refused},
		{`{"answer":"refuse","user_message":"Sold out."}`, started, 409, refused},
		{`{"answer":"refuse"}`, purchase, 409, strings.Replace(refused, "Sold out.", "", 1)},
		{`{"answer":"error"}`, purchase, 500, failed},
		{`{"answer":"error"}`, started, 500, failed},
	} {
		r := newFixture(t)
		status, _ := r.choose(c.choice)
		require.Equal(t, http.StatusOK, status)
		status, body := maskTrace(r.event(c.event))
		require.Equal(t, c.status, status, c.choice)
		require.Equal(t, c.body, body)
		require.Equal(t, c.status, r.arrived()[0].Status)
	}
}

func TestTheTraceIDOfTheGatewayIsUsed(t *testing.T) {
	r := newFixture(t)
	request := r.signed(purchase, time.Now())
	request.Header.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	_, body := r.send(request)
	require.JSONEq(t, `{"success":true,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`, body)
}

func TestOnceAppliesToOneEvent(t *testing.T) {
	r := newFixture(t, secret)
	send := func(body string) int {
		status, _ := r.send(r.signed(body, time.Now(), secret))
		return status
	}
	r.choose(`{"answer":"refuse","once":true}`)
	status, _ := r.event(purchase)
	require.Equal(t, http.StatusUnauthorized, status, "a rejected event uses up no answer")
	require.Equal(t, http.StatusConflict, send(purchase))
	require.Equal(t, http.StatusOK, send(purchase))

	r.choose(`{"answer":"error","once":false}`)
	require.Equal(t, http.StatusInternalServerError, send(purchase))
	require.Equal(t, http.StatusInternalServerError, send(started))
	r.choose(`{"answer":"accept","once":true}`)
	require.Equal(t, http.StatusOK, send(purchase))
	require.Equal(t, http.StatusNoContent, send(started))
}

func TestOnceAppliesToOneOfManyParallelEvents(t *testing.T) {
	r := newFixture(t)
	r.choose(`{"answer":"refuse","once":true}`)
	var all sync.WaitGroup
	var refused atomic.Int32
	for range 20 {
		request := r.signed(purchase, time.Now())
		all.Go(func() {
			if response, err := r.server.Client().Do(request); err == nil {
				_ = response.Body.Close()
				if response.StatusCode == http.StatusConflict {
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int32(1), refused.Load())
	require.Len(t, r.arrived(), 20)
}

// newHangingFixture returns a fixture that hangs on the next event, and a channel that is closed when the request ends.
func newHangingFixture(t *testing.T) (*fixture, <-chan struct{}) {
	r, ended := newFixture(t), make(chan struct{})
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/webhook" {
			defer close(ended)
		}
		r.in.ServeHTTP(w, request)
	}))
	t.Cleanup(r.server.Close)
	r.choose(`{"answer":"hang","once":true}`)
	return r, ended
}

// sendHanging sends a request that gets no answer, and returns its error.
func (r *fixture) sendHanging(request *http.Request) error {
	response, err := r.server.Client().Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

// waitForFirst waits for the first arrival.
func (i *inbox) waitForFirst() {
	if list, _, changed := i.since(0); len(list) == 0 {
		<-changed
	}
}

func TestAHangingRequestEndsWithItsClient(t *testing.T) {
	r, ended := newHangingFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		r.in.inbox.waitForFirst()
		cancel()
	}()
	err := r.sendHanging(r.signed(purchase, time.Now()).WithContext(ctx))
	require.ErrorIs(t, err, context.Canceled)
	<-ended
	arrival := r.arrived()[0]
	require.Equal(t, Hang, arrival.Answer)
	require.Zero(t, arrival.Status)
}

func TestAHangingRequestEndsWithTheIntegrator(t *testing.T) {
	r, ended := newHangingFixture(t)
	go func() {
		r.in.inbox.waitForFirst()
		r.in.Close()
		r.in.Close()
	}()
	err := r.sendHanging(r.signed(purchase, time.Now()))
	require.Error(t, err, "closed without an answer")
	<-ended
}

func TestAnInvalidChoiceIsRefused(t *testing.T) {
	r := newFixture(t)
	r.choose(`{"answer":"refuse","user_message":"Sold out."}`)
	for _, body := range []string{
		"", "[]", `{"answer":"rejected"}`, `{"answer":""}`,
		`{"answer":"refuse","user_message":"` + strings.Repeat("x", 501) + `"}`,
		`{"answer":"hang","user_message":"` + strings.Repeat("x", 9000) + `"}`,
	} {
		status, _ := r.choose(body)
		require.Equal(t, http.StatusBadRequest, status, "%.60s", body)
	}
	status, body := r.choose(`{"answer":"refuse","user_message":"` + strings.Repeat("ü", 500) + `","once":true}`)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"answer":"refuse","user_message":"`+strings.Repeat("ü", 500)+`","once":true}`, body)
}

func TestPagesOfOtherOriginsCannotChoose(t *testing.T) {
	r := newFixture(t)
	post := func(name, value string) int {
		request := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8090/answer",
			strings.NewReader(`{"answer":"error"}`))
		request.Header.Set(name, value)
		w := httptest.NewRecorder()
		r.in.ServeHTTP(w, request)
		return w.Code
	}
	require.Equal(t, http.StatusForbidden, post("Sec-Fetch-Site", "cross-site"))
	require.Equal(t, http.StatusForbidden, post("Sec-Fetch-Site", "same-site"))
	require.Equal(t, http.StatusForbidden, post("Origin", "http://example.com"))
	require.Equal(t, acceptAll, r.in.inbox.next)
	require.Equal(t, http.StatusOK, post("Sec-Fetch-Site", "same-origin"))
	require.Equal(t, http.StatusOK, post("Origin", "http://127.0.0.1:8090"))
}
