package lanescreen

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/api/screens"
)

func TestTheKeyIsExchangedForACookie(t *testing.T) {
	f := newFixture(t)
	response := f.send("GET", "/lane/"+lane1+"?key="+key1, "")
	require.Equal(t, http.StatusSeeOther, response.Code)
	require.Equal(t, "/lane/"+lane1, response.Header().Get("Location"))
	cookie := f.cookies[lane1]
	require.Equal(t, "/lane/"+lane1, cookie.Path)
	require.True(t, cookie.HttpOnly)
	require.False(t, cookie.Secure)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.NotContains(t, cookie.Value, key1)

	page := f.send("GET", "/lane/"+lane1, "")
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "/lane/assets/main.js")
	require.Equal(t, http.StatusOK, f.send("GET", "/lane/"+lane1+"/", "").Code)
}

func TestTheCookieIsSecureUnderTLS(t *testing.T) {
	f := newFixture(t)
	f.sendAs(lane1, "GET", "https://range.example/lane/"+lane1+"?key="+key1, "")
	require.True(t, f.cookies[lane1].Secure)
}

func TestTheCookieSurvivesARestartAndEndsWithTheKey(t *testing.T) {
	f := newFixture(t).opened()
	f.restart(http.DefaultTransport, key1)
	require.Equal(t, http.StatusOK, f.send("GET", "/lane/"+lane1, "").Code)
	f.restart(http.DefaultTransport, "another-key-of-lane-one")
	require.Equal(t, http.StatusUnauthorized, f.send("GET", "/lane/"+lane1, "").Code)
}

func TestWithoutTheKeyTheRefusalIsAPage(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{
		"/lane/" + lane1, "/lane/" + lane1 + "?key=", "/lane/" + lane1 + "?key=" + key2, "/lane/" + session1, "/lane/" + session1 + "?key=" + key1,
	} {
		response := f.send("GET", path, "")
		require.Equal(t, http.StatusUnauthorized, response.Code, path)
		require.Equal(t, "text/html; charset=utf-8", response.Header().Get("Content-Type"))
		require.Contains(t, response.Body.String(), "not the address")
		require.NotContains(t, response.Body.String(), "main.js")
	}
	require.Empty(t, f.cookies)
}

func TestALanesCookieIsInvalidForOtherLanes(t *testing.T) {
	f := newFixture(t).opened()
	require.Equal(t, http.StatusOK, f.sendAs(lane1, "GET", "/lane/"+lane1, "").Code)
	for path, method := range map[string]string{
		"": "GET", "/stream": "GET", "/products": "GET", "/picture": "GET", "/help": "POST", "/start": "POST", "/purchase": "POST",
	} {
		response := f.sendAs(lane1, method, "/lane/"+lane2+path, "{}")
		require.Equal(t, http.StatusUnauthorized, response.Code, path)
	}
	require.Empty(t, f.last)
}

func TestLanesWithTheSameKeyHaveDifferentCookies(t *testing.T) {
	first, second := screenLane{Lane{Key: key1}, uuid.MustParse(lane1)}, screenLane{Lane{Key: key1}, uuid.MustParse(lane2)}
	cookie := &http.Request{Header: http.Header{"Cookie": {"rangegate_lane=" + first.key().Sign("screen", lane1)}}}
	require.True(t, first.key().HasCookie(cookie))
	require.False(t, second.key().HasCookie(cookie))
	require.NotEqual(t, first.key().Sign("screen", lane1), first.key().Sign("picture", lane1), "a picture's signature is no cookie")
}

func TestFiveWrongKeysAMinuteOfAnAddress(t *testing.T) {
	f := newFixture(t)
	for range screens.MaxWrongKeys {
		require.Equal(t, http.StatusUnauthorized, f.send("GET", "/lane/"+lane1+"?key=wrong", "").Code)
	}
	response := f.send("GET", "/lane/"+lane1+"?key=wrong", "")
	require.Equal(t, http.StatusTooManyRequests, response.Code)
	require.Equal(t, "12", response.Header().Get("Retry-After"))
	for range 2 * screens.MaxWrongKeys {
		require.Equal(t, http.StatusSeeOther, f.send("GET", "/lane/"+lane1+"?key="+key1, "").Code, "the right one opens the screen")
	}
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	f := newFixture(t).opened()
	for _, path := range []string{"/start", "/help", "/purchase"} {
		response := f.send("POST", "/lane/"+lane1+path, "{}", "Origin", "https://evil.example")
		require.Equal(t, http.StatusForbidden, response.Code, path)
	}
	require.Empty(t, f.last)
}
