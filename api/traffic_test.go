package api

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Requests are counted by the pattern of their path. Whatever somebody makes up falls under one label.
func TestRequestsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := settings(&stand{})
	s.Traffic = NewTraffic(registry)
	h := New(s)
	known(h, "GET", prefix2+"/sessions/"+uuid.NewString(), "")
	known(h, "GET", prefix2+"/sessions/"+uuid.NewString(), "")
	known(h, "GET", prefix1+"/bays", "")
	known(h, "POST", prefix2+"/sessions", "{}")
	known(h, "GET", prefix2+"/nowhere/"+uuid.NewString(), "")
	known(h, "GET", "/"+uuid.NewString(), "")
	known(h, "BREW", "/coffee", "")
	ask(h, "GET", prefix2+"/sessions")
	ask(h, "GET", "/api/v2/swagger/")
	require.Equal(t, []string{
		`rangegate_http_requests_total{method="GET",route="/api/v1/pos/bays",status="200"} 1`,
		`rangegate_http_requests_total{method="GET",route="/api/v2/pos/sessions/{id}",status="200"} 2`,
		`rangegate_http_requests_total{method="GET",route="/api/v2/swagger",status="200"} 1`,
		`rangegate_http_requests_total{method="GET",route="other",status="401"} 1`,
		`rangegate_http_requests_total{method="GET",route="other",status="404"} 2`,
		`rangegate_http_requests_total{method="POST",route="/api/v2/pos/sessions",status="400"} 1`,
		`rangegate_http_requests_total{method="other",route="other",status="404"} 1`,
	}, counted(registry, "rangegate_http_requests_total"))
	require.Equal(t, []string{
		`rangegate_http_request_seconds_count{route="/api/v1/pos/bays"} 1`,
		`rangegate_http_request_seconds_count{route="/api/v2/pos/sessions"} 1`,
		`rangegate_http_request_seconds_count{route="/api/v2/pos/sessions/{id}"} 2`,
		`rangegate_http_request_seconds_count{route="/api/v2/swagger"} 1`,
		`rangegate_http_request_seconds_count{route="other"} 4`,
	}, counted(registry, "rangegate_http_request_seconds_count"))
}

// counted is the metrics of that name, as an operator reads them.
func counted(registry prometheus.Gatherer, name string) (lines []string) {
	operations := operationsOf(registry)
	for line := range strings.Lines(ask(operations, "GET", "/metrics").Body.String()) {
		if strings.HasPrefix(line, name+"{") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
