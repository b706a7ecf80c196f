package support

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Secret is what the gateway signs with, unless a test says something else.
const Secret = "whsec_cmFuZ2VnYXRlIHBsYXlncm91bmQ6IG5vIHNlY3JldCBhdCBhbGw="

// Receiver is the integrator: a webhook that keeps every request as it comes in, and whatever a test adds with Handle.
type Receiver struct {
	URL string // of the server; its webhook is at /webhook
	*http.ServeMux

	t        testing.TB
	server   *httptest.Server
	verifier *standardwebhooks.Webhook // nil: signatures are not verified

	mu      sync.Mutex
	arrived []Arrival
	open    map[string]int // unanswered requests, by queue
	respond Responder
}

// Arrival is one request that the webhook got.
type Arrival struct {
	ID       string `json:"-"` // its header webhook-id
	Event    string
	Session  string `json:"session_id"`
	Lane     string `json:"lane_id"`
	Items    []Item
	Header   http.Header `json:"-"`
	Body     string      `json:"-"`
	Overlaps bool        `json:"-"` // an earlier request that it waits for was not answered yet
	Status   int         `json:"-"` // of the answer, 0: none was given
}

// queue is where it waits for the request before it: purchases of a lane wait for each other, and for nothing else.
func (a *Arrival) queue() string {
	if a.Event == "purchaseRequest" {
		return "purchases of " + a.Lane
	}
	return a.Lane
}

// Item is something that a purchase asks for.
type Item struct {
	ID  string
	Qty int
}

// Responder answers a request.
type Responder func(Arrival, http.ResponseWriter, *http.Request)

// NewReceiver opens a webhook until the test ends. It accepts every event that is signed with Secret, and
// fails the test for any other.
func NewReceiver(t testing.TB) *Receiver {
	r := newReceiver(t)
	verifier, err := standardwebhooks.NewWebhook(Secret)
	require.NoError(t, err)
	r.verifier = verifier
	return r
}

// NewUnverifiedReceiver opens a webhook that accepts every event, however it is signed.
func NewUnverifiedReceiver(t testing.TB) *Receiver { return newReceiver(t) }

func newReceiver(t testing.TB) *Receiver {
	r := &Receiver{t: t, ServeMux: http.NewServeMux(), open: map[string]int{}, respond: Accept}
	r.HandleFunc("POST /webhook", r.receive)
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	t.Cleanup(r.server.CloseClientConnections)
	r.URL = r.server.URL
	return r
}

// Close ends the server before the test does.
func (r *Receiver) Close() { r.server.Close() }

// Setting is the range's setting for this webhook, with further keys.
func (r *Receiver) Setting(more ...string) string { return "webhook: " + r.Section(more...) }

// Section is this webhook as one of several of the range, with further keys.
func (r *Receiver) Section(more ...string) string {
	return fmt.Sprintf("{%s}", strings.Join(append([]string{
		fmt.Sprintf("url: %q", r.URL+"/webhook"), "secrets: [" + Secret + "]",
	}, more...), ", "))
}

// ProductsSetting is the range's setting for products that this receiver offers.
func (r *Receiver) ProductsSetting() string { return fmt.Sprintf("products: {url: %q}", r.URL) }

// Respond has the webhook answer like this from now on.
func (r *Receiver) Respond(respond Responder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.respond = respond
}

// Accept takes the event or the purchase.
func Accept(_ Arrival, w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"success":true,"trace_id":"t"}`)
}

// Reply answers every request with that status and body.
func Reply(status int, body string) Responder {
	return func(_ Arrival, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Hang does not answer before the gateway hangs up.
func Hang(_ Arrival, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Unreliable answers within 20 ms; of 1,000 requests it leaves 4 without an answer, breaks off the connections of 4 and
// refuses 60. The seed decides which.
func Unreliable(seed uint64) Responder {
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 2))
	return func(a Arrival, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		draw, delay := chance.IntN(1000), time.Duration(chance.Int64N(int64(20*time.Millisecond)))
		mu.Unlock()
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
		switch {
		case draw < 4:
			Hang(a, w, r)
		case draw < 8:
			panic(http.ErrAbortHandler)
		case draw < 68:
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}
}

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the gateway was killed in the middle of it
	}
	var a Arrival
	if !assert.NoError(r.t, json.Unmarshal(body, &a), string(body)) {
		return
	}
	if r.verifier != nil && !assert.NoError(r.t, r.verifier.Verify(body, request.Header)) {
		return
	}
	a.ID, a.Header, a.Body = request.Header.Get("webhook-id"), request.Header, string(body)
	n, respond := r.keep(&a)
	defer r.answered(a.queue())
	respond(a, &recorder{w, r, n}, request)
}

// keep writes the request down, and returns its number and how to answer it.
func (r *Receiver) keep(a *Arrival) (n int, respond Responder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.Overlaps = r.open[a.queue()] > 0
	r.open[a.queue()]++
	r.arrived = append(r.arrived, *a)
	return len(r.arrived) - 1, r.respond
}

func (r *Receiver) answered(queue string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[queue]--
}

// recorder writes down which status a request is answered with, before the gateway can see it.
type recorder struct {
	http.ResponseWriter
	receiver *Receiver
	n        int
}

// Unwrap lets http.ResponseController flush and hijack.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader records the status.
func (r *recorder) WriteHeader(status int) {
	r.record(status)
	r.ResponseWriter.WriteHeader(status)
}

// Write records a status that was not written.
func (r *recorder) Write(body []byte) (int, error) {
	r.record(http.StatusOK)
	return r.ResponseWriter.Write(body)
}

func (r *recorder) record(status int) {
	r.receiver.mu.Lock()
	defer r.receiver.mu.Unlock()
	if a := &r.receiver.arrived[r.n]; a.Status == 0 {
		a.Status = status
	}
}

// Arrived returns every request so far, in the order in which they came.
func (r *Receiver) Arrived() []Arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.arrived)
}

// Events returns what has arrived about the session, by name.
func (r *Receiver) Events(session string) (names []string) {
	for _, a := range r.Arrived() {
		if a.Session == session {
			names = append(names, a.Event)
		}
	}
	return names
}

// WaitEvents waits until that many events of the session have arrived. They have to be these, in this order.
func (r *Receiver) WaitEvents(session string, names ...string) {
	r.t.Helper()
	Eventually(r.t, fmt.Sprintf("events %v", names), func() bool { return len(r.Events(session)) >= len(names) },
		func() any { return r.Events(session) })
	require.Equal(r.t, names, r.Events(session))
}
