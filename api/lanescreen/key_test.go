package lanescreen

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestTheKeyMovesIntoACookieAndTheAddressIsCleaned(t *testing.T) {
	r := newRig(t)
	answer := r.ask("GET", "/lane/"+lane1+"?key="+key1, "")
	require.Equal(t, http.StatusSeeOther, answer.Code)
	require.Equal(t, "/lane/"+lane1, answer.Header().Get("Location"))
	cookie := r.cookies[lane1]
	require.Equal(t, "/lane/"+lane1, cookie.Path)
	require.True(t, cookie.HttpOnly)
	require.False(t, cookie.Secure)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.NotContains(t, cookie.Value, key1)

	page := r.ask("GET", "/lane/"+lane1, "")
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "/lane/assets/main.js")
	require.Equal(t, http.StatusOK, r.ask("GET", "/lane/"+lane1+"/", "").Code)
}

func TestUnderTLSTheCookieIsForTLSOnly(t *testing.T) {
	r := newRig(t)
	r.askAs(lane1, "GET", "https://range.example/lane/"+lane1+"?key="+key1, "")
	require.True(t, r.cookies[lane1].Secure)
}

func TestTheCookieOutlivesARestartAndEndsWithTheKey(t *testing.T) {
	r := newRig(t).opened()
	r.restart(http.DefaultTransport, key1)
	require.Equal(t, http.StatusOK, r.ask("GET", "/lane/"+lane1, "").Code)
	r.restart(http.DefaultTransport, "another-key-of-lane-one")
	require.Equal(t, http.StatusUnauthorized, r.ask("GET", "/lane/"+lane1, "").Code)
}

func TestWithoutTheKeyThereIsAPageThatSaysSo(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{
		"/lane/" + lane1, "/lane/" + lane1 + "?key=", "/lane/" + lane1 + "?key=" + key2, "/lane/" + session1, "/lane/" + session1 + "?key=" + key1,
	} {
		answer := r.ask("GET", path, "")
		require.Equal(t, http.StatusUnauthorized, answer.Code, path)
		require.Equal(t, "text/html; charset=utf-8", answer.Header().Get("Content-Type"))
		require.Contains(t, answer.Body.String(), "not the address")
		require.NotContains(t, answer.Body.String(), "main.js")
	}
	require.Empty(t, r.cookies)
}

func TestALanesCookieOpensNoOther(t *testing.T) {
	r := newRig(t).opened()
	require.Equal(t, http.StatusOK, r.askAs(lane1, "GET", "/lane/"+lane1, "").Code)
	for path, method := range map[string]string{
		"": "GET", "/stream": "GET", "/products": "GET", "/picture": "GET", "/help": "POST", "/start": "POST", "/purchase": "POST",
	} {
		answer := r.askAs(lane1, method, "/lane/"+lane2+path, "{}")
		require.Equal(t, http.StatusUnauthorized, answer.Code, path)
	}
	require.Empty(t, r.did)
}

func TestACookieIsOfItsLaneAlsoWhereTwoHaveOneKey(t *testing.T) {
	of := Lane{Key: key1}
	require.NotEqual(t, of.proof(uuid.MustParse(lane1)), of.proof(uuid.MustParse(lane2)))
	require.NotEqual(t, of.signed("screen", lane1), of.signed("picture", lane1), "nor does a picture's address open it")
}

func TestFiveWrongKeysAMinuteOfAnAddress(t *testing.T) {
	r := newRig(t)
	for range wrongAtMost {
		require.Equal(t, http.StatusUnauthorized, r.ask("GET", "/lane/"+lane1+"?key=wrong", "").Code)
	}
	answer := r.ask("GET", "/lane/"+lane1+"?key="+key1, "")
	require.Equal(t, http.StatusTooManyRequests, answer.Code, "the right one too")
	require.Equal(t, "12", answer.Header().Get("Retry-After"))
	r.from = "192.0.2.2:1"
	for range 2 * wrongAtMost {
		require.Equal(t, http.StatusSeeOther, r.ask("GET", "/lane/"+lane1+"?key="+key1, "").Code, "right ones are not counted")
	}
}

func TestAPageOfAnotherSiteDoesNothing(t *testing.T) {
	r := newRig(t).opened()
	for _, path := range []string{"/start", "/help", "/purchase"} {
		answer := r.ask("POST", "/lane/"+lane1+path, "{}", "Origin", "https://evil.example")
		require.Equal(t, http.StatusForbidden, answer.Code, path)
	}
	require.Empty(t, r.did)
}
