package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	v2 "rangegate/api/v2"
)

const (
	someRange = "11111111-1111-4111-8111-111111111111"
	someToken = "22222222-2222-4222-8222-222222222222"
)

// asleep is an API whose range is still being brought back.
func asleep() http.Handler {
	return New(Settings{
		Credentials: Credentials{uuid.MustParse(someRange): {digest(someToken)}},
		Range:       func(uuid.UUID) (v2.Range, bool) { return nil, false },
		Log:         zerolog.Nop(),
	})
}

func ask(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, request)
	return answer
}

// open to all, on either address: health, metrics and the API reference.
var open = []string{"/livez", "/readyz", "/metrics", "/api/v2/pos/openapi.json"}

// Every route demands its credential, but those that are open to all. A route that is added is asked too.
func TestEveryRouteDemandsItsCredential(t *testing.T) {
	operations := NewOperations(func() error { return nil }, prometheus.NewRegistry(), zerolog.Nop())
	asked := 0
	for _, h := range []http.Handler{asleep(), operations} {
		err := chi.Walk(h.(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
			path := strings.NewReplacer("{id}", uuid.NewString()).Replace(strings.TrimSuffix(route, "/*"))
			asked++
			status := ask(h, method, path).Code
			for _, free := range open {
				if path == free {
					require.Equal(t, http.StatusOK, status, route)
					return nil
				}
			}
			require.Equal(t, http.StatusUnauthorized, status, "%s %s", method, route)
			return nil
		})
		require.NoError(t, err)
	}
	require.Greater(t, asked, 15)
}

// While its range is being brought back, every path answers that, and when to ask again.
func TestARangeThatIsStarting(t *testing.T) {
	h := asleep()
	for _, path := range []string{"/sessions", "/lanes", "/events", "/sessions/" + uuid.NewString()} {
		answer := ask(h, "GET", prefix2+path, "range-id", someRange, "token", someToken)
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.Contains(t, answer.Body.String(), `"code":"starting"`)
		require.Equal(t, "1", answer.Header().Get("Retry-After"))
	}
}

// A token is compared as the same UUID however it is written, and as nothing else.
func TestCredentials(t *testing.T) {
	c := Credentials{uuid.MustParse(someRange): {digest("aaaaaaaa-2222-4222-8222-222222222222"), digest(someToken)}}
	admits := func(rangeID, token string) bool { _, ok := c.admits(rangeID, token); return ok }
	require.True(t, admits(someRange, someToken))
	require.True(t, admits(someRange, "AAAAAAAA-2222-4222-8222-222222222222"))
	require.False(t, admits(someRange, ""))
	require.False(t, admits("", someToken))
	require.False(t, admits("urn:uuid:"+someRange, someToken))
	require.False(t, admits(uuid.Nil.String(), someToken))
	require.False(t, admits(uuid.NewString(), someToken))
}
