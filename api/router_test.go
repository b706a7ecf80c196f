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

// public are the routes without a credential, on either address: health, metrics, the API reference, the
// start page, the sign-in page with the names of the ranges and whether a ceasefire is in force, and the
// files of pages. The page that /actors serves to browsers is public too, see
// TestThePageOfTheActorsContainsNoData.
var public = []string{
	"/livez", "/readyz", "/metrics",
	"/docs/*", "/docs/lane-link.schema.json", "/api/v1/pos/openapi.json", "/api/v2/pos/openapi.json",
	"/api/v2/pos/openapi-3.0.json", "/api/v2/pos/products.openapi.json",
	"/api/v1/swagger", "/api/v2/swagger",
	"/", "/start/assets/*", "/my/assets/*",
	"/control/", "/control/ranges/", "/control/{range_id:[0-9a-fA-F-]{36}}",
	"/control/sign-in/{range_id:[0-9a-fA-F-]{36}}/ceasefire/", "/pprof/profile", "/pprof/profile?seconds=1",
	"{profile}", "heap", "/control/assets/*", "/lane/assets/*", "/board/assets/*", "/screens/*", "/assets/*",
}

func isPublic(route string) bool {
	for _, path := range public {
		if route == path || strings.HasPrefix(route, "/api/v1/swagger/") ||
			strings.HasPrefix(route, "/api/v2/swagger/") {
			return true
		}
	}
	return false
}

// isAddress is true for a route whose credential is the address itself: another one is of nothing.
func isAddress(route string) bool { return strings.HasPrefix(route, "/my/{token}") }

// forEachRoute calls do with every route of the handler, and a path of it.
func forEachRoute(t *testing.T, h http.Handler, do func(method, route, path string)) {
	placeholders := strings.NewReplacer(
		"{id}", uuid.NewString(), "{type}", "ammo", "{range_id}", someRange, "{purchase_id}", uuid.NewString(),
		"{range_id:[0-9a-fA-F-]{36}}", someRange, "{lane_id:[0-9a-fA-F-]{36}}", theLane, "{lane_id}", theLane,
		"/pprof/profile", "/pprof/profile?seconds=1", "{profile}", "heap", "/control/assets/*",
		"/control/assets/main.js", "/lane/assets/*", "/lane/assets/main.js", "/board/assets/*", "/board/assets/main.js",
		"/start/assets/*", "/start/assets/main.js", "/my/assets/*", "/my/assets/main.js", "/my/{token}", shooterPath(),
		"{session_id}", theSession, "/docs/*", "/docs/integrators.md", "/screens/*", "/screens/base.css", "/assets/*",
		"/assets/main.js",
	)
	err := chi.Walk(h.(chi.Routes),
		func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
			route = strings.ReplaceAll(route, "/*/", "/")
			do(method, route, placeholders.Replace(route))
			return nil
		})
	require.NoError(t, err)
}

// Every route that is not public requires its credential. The test finds new routes by itself.
func TestEveryRouteRequiresItsCredential(t *testing.T) {
	operations := newOperations(prometheus.NewRegistry())
	count := 0
	for _, h := range []http.Handler{newStartingAPI(), operations} {
		forEachRoute(t, h, func(method, route, path string) {
			count++
			if route == "/control/sign-in/" { // the credential is in the body
				wrong := `{"range_id":"` + someRange + `","name":"sam","pin":"0000"}`
				require.Equal(t, http.StatusUnauthorized, sendBody(h, method, path, wrong).Code)
				return
			}
			// A ceasefire, of the browsers in which staff have signed in.
			if isPublic(route) && method == http.MethodPut {
				require.Equal(t, http.StatusUnauthorized, sendBody(h, method, path, `{"scope":"range"}`).Code)
				return
			}
			if isAddress(route) {
				wrong := strings.Replace(path, shooterPath(), shooterPath()[:len("/my/")+42]+"_", 1)
				require.Contains(t, []int{http.StatusNotFound, http.StatusGone}, send(h, method, wrong).Code, route)
				require.NotContains(t, []int{http.StatusNotFound, http.StatusGone}, send(h, method, path).Code, route)
				return
			}
			var accept []string
			if route == "/" { // a program that does not ask for the page gets 404
				accept = []string{"Accept", "text/html"}
			}
			status := send(h, method, path, accept...).Code
			if isPublic(route) {
				require.Less(t, status, 400, route)
				return
			}
			require.Equal(t, http.StatusUnauthorized, status, "%s %s", method, route)
			require.NotEqual(t, http.StatusUnauthorized, sendAuthorized(h, method, path, "").Code,
				"%s %s", method, route)
		})
	}
	require.Greater(t, count, 70)
}

// No route of a screen accepts an invalid credential, that of another screen, or the token of the range's POS.
func TestNoRouteOfAScreenAcceptsAnotherCredential(t *testing.T) {
	h := newStartingAPI()
	wrong := [][]string{
		{"range-id", someRange, "token", someToken, "Authorization", "Bearer operator"},
		{"Cookie", "rangegate_control=x; rangegate_lane=x; rangegate_board=x"},
		{"Cookie", strings.ReplaceAll(staffCookie(h), "rangegate_control=", "rangegate_lane=")},
		{"Cookie", strings.ReplaceAll(laneCookie(h, theLane, laneKey), "rangegate_lane=", "rangegate_control=")},
		{"Cookie", strings.ReplaceAll(laneCookie(h, theLane, laneKey), "rangegate_lane=", "rangegate_board=")},
		{"Cookie", strings.ReplaceAll(boardCookie(h, someRange, boardKey), "rangegate_board=", "rangegate_lane=")},
		{"Cookie", laneCookie(h, otherLane, otherLaneKey)},
		{"Cookie", boardCookie(h, otherRange, otherBoardKey)},
	}
	count := 0
	forEachRoute(t, h, func(method, route, path string) {
		if isPublic(route) || isAddress(route) || strings.HasPrefix(route, "/api/") || route == "/control/sign-in/" {
			return
		}
		count++
		for _, headers := range wrong {
			require.Equal(t, http.StatusUnauthorized, send(h, method, path, headers...).Code, "%s %s %v", method,
				route, headers)
		}
		if method != http.MethodGet {
			response := sendAuthorized(h, method, path, "{}", "Sec-Fetch-Site", "cross-site")
			require.Equal(t, http.StatusForbidden, response.Code, "%s %s", method, route)
			require.Contains(t, response.Body.String(), `"code":"cross_site"`)
		}
		require.Equal(t, "nosniff", send(h, method, path).Header().Get("X-Content-Type-Options"), route)
		require.NotEmpty(t, send(h, method, path).Header().Get("Content-Security-Policy"), route)
	})
	require.Greater(t, count, 25)
}

// The limits on a POS do not apply to staff.
func TestTheLimitsOfThePOSDoNotApplyToScreens(t *testing.T) {
	s := settings(nil)
	s.Limits = Limits{PerSecond: 1, Burst: 1}
	h := New(s)
	status := 0
	for range 3 {
		status = sendAuthorized(h, "GET", prefix2+"/sessions", "").Code
	}
	require.Equal(t, http.StatusTooManyRequests, status)
	for range 10 {
		require.Equal(t, http.StatusServiceUnavailable, sendAuthorized(h, "GET", "/control/api/health", "").Code,
			"the range is starting")
	}
}

// While a range is starting, every path returns 503 and Retry-After.
func TestARangeThatIsStarting(t *testing.T) {
	h := newStartingAPI()
	for _, path := range []string{
		prefix2 + "/sessions", prefix2 + "/lanes", prefix2 + "/events", prefix2 + "/sessions/" + uuid.NewString(),
		prefix1 + "/sessions", prefix1 + "/bays",
	} {
		response := sendAuthorized(h, "GET", path, "")
		require.Equal(t, http.StatusServiceUnavailable, response.Code)
		require.Contains(t, response.Body.String(), `"code":"starting"`)
		require.Equal(t, "1", response.Header().Get("Retry-After"))
	}
	response := sendAuthorized(h, "POST", prefix2+"/simulate/help", "")
	require.Equal(t, http.StatusServiceUnavailable, response.Code)
}

// In production the simulation's paths are refused like paths that do not exist.
func TestTheSimulationIsOnThePlaygroundOnly(t *testing.T) {
	production := settings(&fakeRange{status: 200})
	production.Playground = false
	h := New(production)
	for _, request := range [][2]string{
		{"POST", "/simulate/help"},
		{"POST", "/simulate/advance"},
		{"POST", "/simulate/enter"},
		{"POST", "/simulate/ceasefire"},
		{"POST", "/simulate/fault"},
		{"POST", "/simulate/error"},
		{"GET", "/simulate/products"},
		{"GET", "/simulate/help"},
		{"GET", "/simulate"},
	} {
		method, path := request[0], prefix2+request[1]
		require.Equal(t, http.StatusUnauthorized, send(h, method, path).Code)
		simulated, unknown := sendAuthorized(h, method, path, ""), sendAuthorized(h, method, prefix2+"/nowhere", "")
		require.Equal(t, http.StatusNotFound, simulated.Code)
		masked := func(body string) string { return body[:strings.Index(body, "trace_id")] }
		require.Equal(t, masked(unknown.Body.String()), masked(simulated.Body.String()))
	}
	require.NotContains(t, send(h, "GET", prefix2+"/openapi.json").Body.String(), "/simulate")
}

// The case of a token does not matter; everything else does.
func TestCredentials(t *testing.T) {
	c := Credentials{uuid.MustParse(someRange): {
		{Digest: digest("aaaaaaaa-2222-4222-8222-222222222222")},
		{Digest: digest(someToken)},
	}}
	check := func(rangeID, token string) bool { _, _, ok := c.check(rangeID, token); return ok }
	require.True(t, check(someRange, someToken))
	require.True(t, check(someRange, "AAAAAAAA-2222-4222-8222-222222222222"))
	require.False(t, check(someRange, ""))
	require.False(t, check("", someToken))
	require.False(t, check("urn:uuid:"+someRange, someToken))
	require.False(t, check(uuid.Nil.String(), someToken))
	require.False(t, check(uuid.NewString(), someToken))
}
