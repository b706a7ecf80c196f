package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/screens"
)

// Traffic has the metrics of requests and streams.
type Traffic struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	limited  *prometheus.CounterVec
	streams  *prometheus.GaugeVec
	readers  *prometheus.GaugeVec
	sample   *request.Sample // of the access log

	overloaded atomic.Uint64
}

// NewTraffic registers the metrics. It panics if the registry has them already.
func NewTraffic(registry prometheus.Registerer) *Traffic {
	t := &Traffic{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "http_requests_total",
			Help: "Requests by route, method and status of the response. Investigate 5xx; a stream is " +
				"counted when it ends.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "rangegate", Name: "http_request_seconds",
			Help: "Duration of requests by route, without streams and without the wait for events. Normal is " +
				"below 0.1 s; at most 5 s, unless the request waits for an integrator.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "requests_limited_total",
			Help: "Refused requests by limit: requests of a range or failed authentications of an address, of the " +
				"operations address too (429), requests carried out at a time (process, 503), pages and tables " +
				"of records (pages, 503), or requests of a range that wait for events (waiting, 503). Normal is 0.",
		}, []string{"limit"}),
		streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "screen_streams",
			Help: "Open screens by kind: control, lane, board or shooter (their own telephones). Fewer lane screens " +
				"or wall boards than expected mean that one is off or not connected.",
		}, []string{"screen"}),
	}
	t.readers = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "rangegate", Name: "event_readers",
		Help: "Requests that wait for events, by kind: poll or stream. At most http.limits.waiting a range.",
	}, []string{"kind"})
	dropped := prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "rangegate", Name: "access_log_dropped_total",
		Help: "Requests without valid credentials that have no line in the access log: it has 10 of them a second, " +
			"and 100 at once. Normal is 0.",
	})
	t.sample = request.NewSample(dropped)
	registry.MustRegister(t.requests, t.seconds, t.limited, t.streams, t.readers, dropped)
	return t
}

// ofProcess returns the function that counts a request that is refused as too many are carried out.
func (t *Traffic) ofProcess() func() {
	counted := t.limited.WithLabelValues("process")
	return func() {
		counted.Inc()
		t.overloaded.Add(1)
	}
}

// ofRange returns the function that counts a request that is refused as its range sends too many.
func (t *Traffic) ofRange(l *Limiters) func(rangeID uuid.UUID) {
	counted := t.limited.WithLabelValues("range")
	return func(rangeID uuid.UUID) {
		counted.Inc()
		l.refuse(rangeID)
	}
}

// Overloaded returns how many requests were refused as too many were carried out.
func (t *Traffic) Overloaded() uint64 { return t.overloaded.Load() }

// count counts every request that this node answers and observes its duration. The duration of a stream is no
// measure of the gateway's speed.
func (t *Traffic) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, recorder := request.Of(r.Context()), endpoint.Recorder(w, r)
		next.ServeHTTP(recorder, r)
		if i.Node != "" { // which counts it
			return
		}
		route := labelOf(i.Route(r))
		t.requests.WithLabelValues(route, methodOf(r), strconv.Itoa(recorder.Status())).Inc()
		if recorder.Header().Get("Content-Type") != screens.StreamType {
			i.Observe(t.seconds.WithLabelValues(route), (time.Since(i.Began) - i.Waited).Seconds())
		}
	})
}

// other is the label of unknown routes and methods: it bounds the label's cardinality.
const other = "other"

// labelOf returns the label of a route. A request that was refused before it was fully routed has the label other.
func labelOf(pattern string) string {
	if pattern == "" || strings.HasSuffix(pattern, "*") {
		return other
	}
	return pattern
}

func methodOf(r *http.Request) string {
	methods := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions,
	}
	if slices.Contains(methods, r.Method) {
		return r.Method
	}
	return other
}
