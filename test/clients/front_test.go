package clients

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// fault is what becomes of one request.
type fault struct {
	forwarded  bool   // the gateway does what is asked
	status     int    // of the answer that the kit gets; 0: the connection breaks off
	retryAfter string // seconds
	body       string
	elsewhere  bool // the answer is a redirect to the stranger
}

const internal = `{"error":"a defect","code":"internal","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`

// faults are those of the requests with one key, one after the other; whatever comes after them passes. A
// story's keys begin with the name of its receipt, and end in what is asked; "events" is what is read without
// a key.
var faults = map[string][]fault{
	"": {{forwarded: true}, {
		status: http.StatusServiceUnavailable, retryAfter: "1",
		body: `{"error":"too much","code":"overloaded","trace_id":"t"}`,
	}},
	"-again": {
		{status: http.StatusInternalServerError, body: internal},
		{status: http.StatusInternalServerError, body: internal},
	},
	"-early":   nil,
	"-pause":   {{status: http.StatusTooManyRequests, retryAfter: "2"}},
	"-third":   {{status: http.StatusOK, body: "<html>Welcome! Please accept our terms.</html>"}},
	"-fourth":  {{status: http.StatusFound, elsewhere: true}},
	"-passing": {{status: http.StatusOK}},
	"-extend":  {{status: http.StatusRequestTimeout}, {status: http.StatusInternalServerError, body: internal}},
	"-resume": {{
		forwarded: true, status: http.StatusGatewayTimeout,
		body: `{"error":"nobody knows","code":"timeout","trace_id":"t"}`,
	}},
	"-stop": {
		{status: http.StatusBadGateway, body: "<html>nginx</html>"},
		{status: http.StatusServiceUnavailable, retryAfter: "0"},
	},
	"events": {{}, {
		status: http.StatusGone,
		body:   `{"error":"another log","code":"cursor_gone","trace_id":"t","oldest":"0"}`,
	}},
}

// front stands between a kit and the gateway.
type front struct {
	URL string

	t        testing.TB
	gateway  *httputil.ReverseProxy
	stranger *httptest.Server // another host, which sells whatever it is asked
	asked    atomic.Int64     // requests that the stranger got

	mu    sync.Mutex
	tries map[string][]try
}

// try is a request as it came in.
type try struct {
	at                time.Time
	key, target, body string
	slow              bool // its answer took so long that a kit may have given it up and sent it again
}

// slowAnswer is close to the 10 s after which a kit gives a request up.
const slowAnswer = 9 * time.Second

func newFront(t testing.TB, gateway string) *front {
	target, err := url.Parse(gateway)
	require.NoError(t, err)
	f := &front{t: t, gateway: httputil.NewSingleHostReverseProxy(target), tries: map[string][]try{}}
	f.stranger = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f.asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"session_id":"77777777-7777-4777-8777-777777777777"}`)
	}))
	t.Cleanup(f.stranger.Close)
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	f.URL = server.URL
	return f
}

var receipt = regexp.MustCompile(`^receipt-[^-]+(-[a-z]+)?$`)

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	what := ""
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		found := receipt.FindStringSubmatch(key)
		if !assert.NotNil(f.t, found, key) {
			return
		}
		what = found[1]
	} else if r.URL.Path == "/api/v2/pos/events" {
		what = "events"
	} else {
		f.gateway.ServeHTTP(w, r)
		return
	}
	f.mu.Lock()
	begun := time.Now()
	f.tries[what] = append(f.tries[what], try{begun, r.Header.Get("Idempotency-Key"), r.Method + " " +
		r.RequestURI, string(body), false})
	n := len(f.tries[what])
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tries[what][n-1].slow = time.Since(begun) > slowAnswer
	}()
	switch {
	case n <= len(faults[what]):
		f.fail(w, r, body, faults[what][n-1])
	case what == "events": // may be a stream
		f.gateway.ServeHTTP(w, r)
	default:
		answer := f.forward(r, body)
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}
}

// forward asks the gateway, again and again while its store is away on a busy machine: how often a kit asks is
// counted.
func (f *front) forward(r *http.Request, body []byte) (answer *httptest.ResponseRecorder) {
	for end := time.Now().Add(support.Patience); ; time.Sleep(100 * time.Millisecond) {
		answer = httptest.NewRecorder()
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.gateway.ServeHTTP(answer, r)
		if !(support.Answer{Body: answer.Body.String()}).IsStoreAway() || time.Now().After(end) {
			return answer
		}
	}
}

func (f *front) fail(w http.ResponseWriter, r *http.Request, body []byte, fault fault) {
	if fault.forwarded {
		answer := f.forward(r, body)
		assert.Less(f.t, answer.Code, 300, "the gateway does it: %s", answer.Body)
	}
	if fault.status == 0 {
		panic(http.ErrAbortHandler)
	}
	if fault.retryAfter != "" {
		w.Header().Set("Retry-After", fault.retryAfter)
	}
	if fault.elsewhere {
		w.Header().Set("Location", f.stranger.URL+r.URL.Path)
	}
	w.WriteHeader(fault.status)
	_, _ = io.WriteString(w, fault.body)
}

// requireRepeats requires that each request was sent again as often as it had to be, each time the same.
func (f *front) requireRepeats() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for what, faults := range faults {
		tries := f.tries[what]
		many := len(faults) + 1
		switch what {
		case "-again": // a second 500 is the last
			many = 2
		case "-third", "-fourth", "-passing":
			many = 1
		}
		// A library may send a request at once again whose connection broke off.
		if what == "" || what == "events" || slices.ContainsFunc(tries, func(t try) bool { return t.slow }) {
			require.GreaterOrEqual(f.t, len(tries), many, what)
		} else {
			require.Len(f.t, tries, many, what)
		}
		for _, again := range tries[1:] {
			if what != "events" {
				require.Equal(f.t, [3]string{tries[0].key, tries[0].target, tries[0].body},
					[3]string{again.key, again.target, again.body}, what)
			}
		}
	}
	require.Zero(f.t, f.asked.Load(), "the token is for no other host")
	stops := f.tries["-stop"]
	require.GreaterOrEqual(f.t, stops[2].at.Sub(stops[1].at), time.Second, "Retry-After: 0 is not at once")
	// Retry-After is longer here than the first backoff, which is a second.
	require.Greater(f.t, f.tries["-pause"][1].at.Sub(f.tries["-pause"][0].at), 1900*time.Millisecond)
}
