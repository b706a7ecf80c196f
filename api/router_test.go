package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// public to all, on either address: health, metrics, the API reference, the page to sign in on and the files of pages. What
// /actors gives a browser that asks for a page is among those: see TestThePageOfTheActorsHoldsNothing.
var public = []string{
	"/livez", "/readyz", "/metrics",
	"/api/v1/pos/openapi.json", "/api/v2/pos/openapi.json", "/api/v2/pos/products.openapi.json",
	"/api/v1/swagger", "/api/v2/swagger",
	"/control/", "/control/{range_id:[0-9a-fA-F-]{36}}", "/pprof/profile", "/pprof/profile?seconds=1", "{profile}", "heap", "/control/assets/*", "/lane/assets/*", "/screens/*", "/assets/*",
}

func isPublic(route string) bool {
	for _, path := range public {
		if route == path || strings.HasPrefix(route, "/api/v1/swagger/") || strings.HasPrefix(route, "/api/v2/swagger/") {
			return true
		}
	}
	return false
}

// routes calls do with every route of the handler, and a path of it.
func routes(t *testing.T, h http.Handler, do func(method, route, path string)) {
	placeholders := strings.NewReplacer(
		"{id}", uuid.NewString(), "{type}", "ammo", "{range_id}", someRange, "{purchase_id}", uuid.NewString(),
		"{range_id:[0-9a-fA-F-]{36}}", someRange, "{lane_id:[0-9a-fA-F-]{36}}", theLane, "{lane_id}", theLane,
		"/pprof/profile", "/pprof/profile?seconds=1", "{profile}", "heap", "/control/assets/*", "/control/assets/main.js", "/lane/assets/*", "/lane/assets/main.js", "/screens/*", "/screens/base.css", "/assets/*", "/assets/main.js",
	)
	err := chi.Walk(h.(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		route = strings.ReplaceAll(route, "/*/", "/")
		do(method, route, placeholders.Replace(route))
		return nil
	})
	require.NoError(t, err)
}

// Every route demands its credential, but those that are public. A route that is added is asked too.
func TestEveryRouteDemandsItsCredential(t *testing.T) {
	operations := operationsOf(prometheus.NewRegistry())
	asked := 0
	for _, h := range []http.Handler{asleep(), operations} {
		routes(t, h, func(method, route, path string) {
			asked++
			if route == "/control/sign-in/" { // which is where one shows one's credential
				wrong := `{"range_id":"` + someRange + `","name":"sam","pin":"0000"}`
				require.Equal(t, http.StatusUnauthorized, send(h, method, path, wrong).Code)
				return
			}
			status := ask(h, method, path).Code
			if isPublic(route) {
				require.Less(t, status, 400, route)
				return
			}
			require.Equal(t, http.StatusUnauthorized, status, "%s %s", method, route)
			require.NotEqual(t, http.StatusUnauthorized, known(h, method, path, "").Code, "%s %s", method, route)
		})
	}
	require.Greater(t, asked, 70)
}

// What is nobody's, or somebody else's, opens no route of a screen; nor does the token of the range's POS.
func TestNoRouteOfAScreenTakesAnothersCredential(t *testing.T) {
	h := asleep()
	wrong := [][]string{
		{"range-id", someRange, "token", someToken, "Authorization", "Bearer operator"},
		{"Cookie", "rangegate_control=x; rangegate_lane=x"},
		{"Cookie", strings.ReplaceAll(signedIn(h), "rangegate_control=", "rangegate_lane=")},
		{"Cookie", strings.ReplaceAll(atTheLane(h, theLane, laneKey), "rangegate_lane=", "rangegate_control=")},
		{"Cookie", atTheLane(h, otherLane, otherLaneKey)},
	}
	asked := 0
	routes(t, h, func(method, route, path string) {
		if isPublic(route) || strings.HasPrefix(route, "/api/") || route == "/control/sign-in/" {
			return
		}
		asked++
		for _, headers := range wrong {
			require.Equal(t, http.StatusUnauthorized, ask(h, method, path, headers...).Code, "%s %s %v", method, route, headers)
		}
		if method != http.MethodGet {
			answer := known(h, method, path, "{}", "Sec-Fetch-Site", "cross-site")
			require.Equal(t, http.StatusForbidden, answer.Code, "%s %s", method, route)
			require.Contains(t, answer.Body.String(), `"code":"cross_site"`)
		}
		require.Equal(t, "nosniff", ask(h, method, path).Header().Get("X-Content-Type-Options"), route)
		require.NotEmpty(t, ask(h, method, path).Header().Get("Content-Security-Policy"), route)
	})
	require.Greater(t, asked, 25)
}

// A POS at its limit, or one that keeps every request busy, takes nothing from staff.
func TestTheLimitsOfThePOSAreNotTheScreens(t *testing.T) {
	s := settings(nil)
	s.Limits = Limits{PerSecond: 1, Burst: 1}
	h := New(s)
	status := 0
	for range 3 {
		status = known(h, "GET", prefix2+"/sessions", "").Code
	}
	require.Equal(t, http.StatusTooManyRequests, status)
	for range 10 {
		require.Equal(t, http.StatusServiceUnavailable, known(h, "GET", "/control/api/health", "").Code, "which is that the range is starting")
	}
}

// While its range is being brought back, every path answers that, and when to ask again.
func TestARangeThatIsStarting(t *testing.T) {
	h := asleep()
	for _, path := range []string{
		prefix2 + "/sessions", prefix2 + "/lanes", prefix2 + "/events", prefix2 + "/sessions/" + uuid.NewString(),
		prefix1 + "/sessions", prefix1 + "/bays",
	} {
		answer := known(h, "GET", path, "")
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.Contains(t, answer.Body.String(), `"code":"starting"`)
		require.Equal(t, "1", answer.Header().Get("Retry-After"))
	}
	answer := known(h, "POST", prefix2+"/simulate/help", "")
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
}

// In production the simulation's paths are like any that do not exist.
func TestTheSimulationIsOnThePlaygroundOnly(t *testing.T) {
	production := settings(&stand{status: 200})
	production.Playground = false
	h := New(production)
	for _, request := range [][2]string{
		{"POST", "/simulate/help"}, {"POST", "/simulate/advance"}, {"GET", "/simulate/products"}, {"GET", "/simulate/help"}, {"GET", "/simulate"},
	} {
		method, path := request[0], prefix2+request[1]
		require.Equal(t, http.StatusUnauthorized, ask(h, method, path).Code)
		there, nowhere := known(h, method, path, ""), known(h, method, prefix2+"/nowhere", "")
		require.Equal(t, http.StatusNotFound, there.Code)
		masked := func(body string) string { return body[:strings.Index(body, "trace_id")] }
		require.Equal(t, masked(nowhere.Body.String()), masked(there.Body.String()))
	}
	require.NotContains(t, ask(h, "GET", prefix2+"/openapi.json").Body.String(), "/simulate")
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
