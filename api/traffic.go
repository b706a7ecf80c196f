package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

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
}

// NewTraffic registers the metrics. It panics if the registry has them already.
func NewTraffic(registry prometheus.Registerer) *Traffic {
	t := &Traffic{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "http_requests_total",
			Help: "Requests by route, method and the status of their answer. Those with 5xx want a look; a stream of a screen is counted " +
				"when it ends.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "rangegate", Name: "http_request_seconds",
			Help: "How long requests took, by route; streams of screens, which last for hours, are not among them. Normal is less than " +
				"0.1 s; 5 s at most but where an integrator is asked.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "requests_limited_total",
			Help: "Requests refused, by what was too much: those of a range or failed authentications of an address (429), or those being " +
				"carried out at once (process, 503). Normal is none.",
		}, []string{"limit"}),
		streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "rangegate", Name: "screen_streams",
			Help: "Screens that are open and being told what happens, by kind: control or lane. A lane that should have a screen and has " +
				"none is recorder here first.",
		}, []string{"screen"}),
	}
	registry.MustRegister(t.requests, t.seconds, t.limited, t.streams)
	return t
}

// count counts every request and observes its duration. The duration of a stream is no measure of the gateway's speed.
func (t *Traffic) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, recorder := request.Of(r.Context()), endpoint.Recorder(w, r)
		next.ServeHTTP(recorder, r)
		route := labelOf(i.Route(r))
		t.requests.WithLabelValues(route, methodOf(r), strconv.Itoa(recorder.Status())).Inc()
		if recorder.Header().Get("Content-Type") != screens.StreamType {
			t.seconds.WithLabelValues(route).Observe(time.Since(i.Began).Seconds())
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
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
	if slices.Contains(methods, r.Method) {
		return r.Method
	}
	return other
}
