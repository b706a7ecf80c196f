package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rangegate/api/endpoint"
	"rangegate/api/screens"
)

// Traffic counts requests and their answers.
type Traffic struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	limited  *prometheus.CounterVec
	streams  *prometheus.GaugeVec
}

// NewTraffic registers what it counts.
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
				"none is seen here first.",
		}, []string{"screen"}),
	}
	registry.MustRegister(t.requests, t.seconds, t.limited, t.streams)
	return t
}

// counted counts every request. How long a stream was open says nothing of how fast the gateway answers.
func (t *Traffic) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		about, seen := requestOf(r.Context()), endpoint.Recorder(w, r)
		next.ServeHTTP(seen, r)
		route := labelOf(about.routeOf(r))
		t.requests.WithLabelValues(route, methodOf(r), strconv.Itoa(seen.Status())).Inc()
		if seen.Header().Get("Content-Type") != screens.Stream {
			t.seconds.WithLabelValues(route).Observe(time.Since(about.began).Seconds())
		}
	})
}

// other is the label of whatever somebody makes up, so that there are as many as we know of.
const other = "other"

// labelOf is the pattern of a path as a label. A request that was refused before it was routed to the end has none either.
func labelOf(pattern string) string {
	if pattern == "" || strings.HasSuffix(pattern, "*") {
		return other
	}
	return pattern
}

func methodOf(r *http.Request) string {
	known := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
	if slices.Contains(known, r.Method) {
		return r.Method
	}
	return other
}
