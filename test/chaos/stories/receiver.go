package stories

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answersWithin is how long the gateway waits for the receiver.
const answersWithin = 300 * time.Millisecond

// receiver is the integrator's webhook. It takes nothing that is not signed, and writes down what comes in.
type receiver struct {
	t        testing.TB
	verifier *standardwebhooks.Webhook

	mu      sync.Mutex
	arrived []arrival
	open    map[string]int // lane → its requests that are not answered
	answer  func(arrival, http.ResponseWriter, *http.Request)
}

// arrival is one request of the gateway.
type arrival struct {
	ID, Event string
	Session   string `json:"session_id"`
	Lane      string `json:"lane_id"`
	overlaps  bool   // another one of its lane was not answered yet
}

func newReceiver(t testing.TB) *receiver {
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	return &receiver{t: t, verifier: verifier, open: map[string]int{}, answer: accept}
}

// accept is what a receiver answers on a good day, to a purchase too.
func accept(_ arrival, w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"success":true,"trace_id":"t"}`)
}

// answers has the receiver answer so from now on.
func (r *receiver) answers(answer func(arrival, http.ResponseWriter, *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the gateway was killed in the middle of it
	}
	var a arrival
	if !assert.NoError(r.t, json.Unmarshal(body, &a)) || !assert.NoError(r.t, r.verifier.Verify(body, request.Header)) {
		return
	}
	a.ID = request.Header.Get("webhook-id")
	r.mu.Lock()
	a.overlaps = r.open[a.Lane] > 0
	r.open[a.Lane]++
	r.arrived = append(r.arrived, a)
	answer := r.answer
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.open[a.Lane]--
		r.mu.Unlock()
	}()
	answer(a, w, request)
}

func (r *receiver) all() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.arrived)
}

// kinds is what has arrived about the session, in its order.
func (r *receiver) kinds(session string) (kinds []string) {
	for _, a := range r.all() {
		if a.Session == session {
			kinds = append(kinds, a.Event)
		}
	}
	return kinds
}

// gets waits until so much has arrived about the session. Whatever else comes by then or later is one too many.
func (r *receiver) gets(session string, kinds ...string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return len(r.kinds(session)) >= len(kinds) }, patience, often, "%v", kinds)
	require.Equal(r.t, kinds, r.kinds(session))
}
