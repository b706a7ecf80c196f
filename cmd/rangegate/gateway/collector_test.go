package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/config"
)

// Whether the collector takes traces is asked as they are sent, without one. What it answers may have the credential in
// it, and is not told.
func TestACollectorIsProbed(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		status int
		want   string
	}{
		"it takes them":          {"authorization: Bearer a-credential", 200, ""},
		"a wrong credential":     {"authorization: Bearer another", 200, "it answers 401 Unauthorized"},
		"a wrong path":           {"authorization: Bearer a-credential", 404, "it answers 404 Not Found"},
		"it is busy or starts":   {"authorization: Bearer a-credential", 503, "it does not take traces at the moment"},
		"an error of the server": {"authorization: Bearer a-credential", 500, "it answers 500 Internal Server Error"},
	} {
		t.Run(name, func(t *testing.T) {
			collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status := c.status
				if r.Header.Get("authorization") != "Bearer a-credential" {
					status = 401
				}
				if r.URL.Path != "/v1/traces" {
					t.Error(r.URL.Path)
				}
				http.Error(w, r.Header.Get("authorization"), status)
			}))
			defer collector.Close()
			telemetry := config.Telemetry{Endpoint: collector.URL, Headers: []config.Secret{config.Secret(c.header)}}
			err := ProbeCollector(t.Context(), telemetry)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}

// One that is gone, and one that does not answer, end soon.
func TestACollectorThatIsNotReached(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	require.EqualError(
		t,
		ProbeCollector(t.Context(), config.Telemetry{Endpoint: gone.URL}),
		"the connection was refused",
	)

	over := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer silent.Close()
	defer close(over)
	limited, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.EqualError(t, ProbeCollector(limited, config.Telemetry{Endpoint: silent.URL}), "no connection in time")
}
