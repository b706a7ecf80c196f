package lanescreen

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// How keys are checked, package screens tests. Here: the pages that it serves.
func TestTheKeyOpensTheLanesScreen(t *testing.T) {
	f := newFixture(t)
	refused := f.send("GET", "/lane/"+lane1+"?key="+key2, "")
	require.Equal(t, http.StatusUnauthorized, refused.Code)
	require.Contains(t, refused.Body.String(), "not the address")
	require.NotContains(t, refused.Body.String(), "main.js")
	f.opened()
	for _, path := range []string{"/lane/" + lane1, "/lane/" + lane1 + "/"} {
		page := f.send("GET", path, "")
		require.Equal(t, http.StatusOK, page.Code)
		require.Contains(t, page.Body.String(), "/lane/assets/main.js")
	}
	f.restart(http.DefaultTransport, "another-key-of-lane-one")
	require.Equal(t, http.StatusUnauthorized, f.send("GET", "/lane/"+lane1, "").Code)
}

func TestALanesCookieIsInvalidForOtherLanes(t *testing.T) {
	f := newFixture(t).opened()
	require.Equal(t, http.StatusOK, f.sendAs(lane1, "GET", "/lane/"+lane1, "").Code)
	for path, method := range map[string]string{
		"": "GET", "/stream": "GET", "/products": "GET", "/picture": "GET", "/help": "POST", "/start": "POST",
		"/purchase": "POST",
	} {
		response := f.sendAs(lane1, method, "/lane/"+lane2+path, "{}")
		require.Equal(t, http.StatusUnauthorized, response.Code, path)
	}
	require.Empty(t, f.last)
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	f := newFixture(t).opened()
	for _, path := range []string{"/start", "/help", "/purchase"} {
		response := f.send("POST", "/lane/"+lane1+path, "{}", "Origin", "https://evil.example")
		require.Equal(t, http.StatusForbidden, response.Code, path)
	}
	require.Empty(t, f.last)
}
