package screens

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/request"
)

const (
	first, second   = "44444444-4444-4444-8444-000000000001", "44444444-4444-4444-8444-000000000002"
	unknown         = "44444444-4444-4444-8444-00000000000f"
	firstKey        = "the-key-of-the-first-screen"
	secondKey       = "the-key-of-the-second-screen"
	rangeOfTheKeys  = "11111111-1111-4111-8111-111111111111"
	pageText        = "the page"
	refusedText     = "not the address"
	refusedSentence = "this is not that screen"
)

// keyed is two screens with a key each, and a browser that keeps the cookies of their responses.
type keyed struct {
	Keyed
	t      *testing.T
	keys   map[uuid.UUID]string
	cookie *http.Cookie
	log    bytes.Buffer
}

func newKeyed(t *testing.T) *keyed {
	k := &keyed{t: t, keys: map[uuid.UUID]string{uuid.MustParse(first): firstKey, uuid.MustParse(second): secondKey}}
	k.Keyed = Keyed{
		Kind: "lane", IDName: "lane_id", Name: "lane screen", Refusal: refusedSentence, Page: "page.html",
		Files: Load(fstest.MapFS{
			"web/page.html":    {Data: []byte(pageText)},
			"web/refused.html": {Data: []byte(refusedText)},
		}),
		Find: func(id uuid.UUID) (rangeID uuid.UUID, key string, found bool) {
			key, found = k.keys[id]
			return uuid.MustParse(rangeOfTheKeys), key, found
		},
		WrongKeys: NewAttemptLimiter[netip.Prefix](PerMinute(MaxWrongKeys)),
		Fail: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(err.Error()))
		},
	}
	return k
}

// get sends a request to the page, or to what is behind RequireCookie, which answers with the key's id and range.
func (k *keyed) get(url string) *httptest.ResponseRecorder {
	router := chi.NewRouter()
	router.Get("/lane/{lane_id}", k.ServePage)
	router.With(k.RequireCookie).Get("/lane/{lane_id}/stream", func(w http.ResponseWriter, r *http.Request) {
		own := KeyOf(r.Context())
		_, _ = w.Write([]byte(own.ID.String() + " of " + own.Range.String()))
	})
	sent := httptest.NewRequest("GET", url, nil)
	if k.cookie != nil {
		sent.AddCookie(k.cookie)
	}
	response := httptest.NewRecorder()
	router.ServeHTTP(response, sent.WithContext(request.Track(zerolog.New(&k.log), nil)(sent.Context(), "trace", "")))
	for _, cookie := range response.Result().Cookies() {
		k.cookie = cookie
	}
	return response
}

// opened returns the screens with the cookie of the first one.
func (k *keyed) opened() *keyed {
	require.Equal(k.t, http.StatusSeeOther, k.get("/lane/"+first+"?key="+firstKey).Code)
	return k
}

func TestTheKeyIsExchangedForACookie(t *testing.T) {
	for base, secure := range map[string]bool{"": false, "https://range.example": true} {
		k := newKeyed(t)
		response := k.get(base + "/lane/" + first + "?key=" + firstKey)
		require.Equal(t, http.StatusSeeOther, response.Code)
		require.Equal(t, "/lane/"+first, response.Header().Get("Location"))
		require.Equal(t, "rangegate_lane", k.cookie.Name)
		require.Equal(t, "/lane/"+first, k.cookie.Path)
		require.Equal(t, 400*24*3600, k.cookie.MaxAge)
		require.True(t, k.cookie.HttpOnly)
		require.Equal(t, secure, k.cookie.Secure)
		require.Equal(t, http.SameSiteStrictMode, k.cookie.SameSite)
		require.NotContains(t, k.cookie.Value, firstKey)

		page := k.get("/lane/" + first)
		require.Equal(t, http.StatusOK, page.Code)
		require.Equal(t, pageText, page.Body.String())
		require.Equal(t, first+" of "+rangeOfTheKeys, k.get("/lane/"+first+"/stream").Body.String())
		require.Empty(t, k.log.String())
	}
}

// A cookie of an earlier process is valid: it is derived from the key, and ends with it.
func TestTheCookieSurvivesARestartAndEndsWithTheKey(t *testing.T) {
	cookie := newKeyed(t).opened().cookie
	k := newKeyed(t)
	k.cookie = cookie
	require.Equal(t, http.StatusOK, k.get("/lane/"+first).Code)
	k.keys[uuid.MustParse(first)] = "another-key-of-the-first-one"
	require.Equal(t, http.StatusUnauthorized, k.get("/lane/"+first).Code)
	k.keys[uuid.MustParse(first)] = firstKey
	require.Equal(t, http.StatusOK, k.get("/lane/"+first).Code)
	delete(k.keys, uuid.MustParse(first))
	require.Equal(t, http.StatusUnauthorized, k.get("/lane/"+first).Code)
}

// The refusal is a page, and the same whether there is such a screen or not.
func TestWithoutTheKeyTheRefusalIsAPage(t *testing.T) {
	for _, path := range []string{
		first, first + "?key=", first + "?key=" + secondKey, unknown, unknown + "?key=", unknown + "?key=" + firstKey,
		"x", "x?key=" + firstKey,
	} {
		k := newKeyed(t)
		response := k.get("/lane/" + path)
		require.Equal(t, http.StatusUnauthorized, response.Code, path)
		require.Equal(t, "text/html; charset=utf-8", response.Header().Get("Content-Type"))
		require.Equal(t, refusedText, response.Body.String())
		require.Nil(t, k.cookie, path)
	}
}

func TestACookieIsThatOfOneScreen(t *testing.T) {
	k := newKeyed(t).opened()
	require.Equal(t, http.StatusUnauthorized, k.get("/lane/"+second).Code)
	for _, path := range []string{second, unknown, "x"} {
		require.Equal(t, refusedSentence, k.get("/lane/"+path+"/stream").Body.String(), path)
	}
	k.keys[uuid.MustParse(second)] = firstKey
	require.Equal(t, http.StatusUnauthorized, k.get("/lane/"+second).Code, "also where two have the same key")
	k.cookie = nil
	require.Equal(t, refusedSentence, k.get("/lane/"+first+"/stream").Body.String())

	id := uuid.MustParse(first)
	lane, board := Key{ID: id, kind: "lane", secret: firstKey}, Key{ID: id, kind: "board", secret: firstKey}
	require.NotEqual(t, lane.cookieValue(), board.cookieValue(), "another kind of screens")
	require.NotEqual(t, lane.cookieValue(), lane.Sign("picture", first), "a picture's signature is no cookie")
}

func TestFiveWrongKeysAMinuteOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyed(t)
		for i := range MaxWrongKeys {
			screen := []string{first, second, unknown}[i%3]
			require.Equal(t, http.StatusUnauthorized, k.get("/lane/"+screen+"?key=wrong").Code)
		}
		response := k.get("/lane/" + first + "?key=wrong")
		require.Equal(t, http.StatusTooManyRequests, response.Code)
		require.Equal(t, "12", response.Header().Get("Retry-After"))
		require.Equal(t, refusedText, response.Body.String())
		for range 2 * MaxWrongKeys {
			require.Equal(t, http.StatusSeeOther, k.get("/lane/"+first+"?key="+firstKey).Code,
				"the right one opens the screen")
		}
	})
}

// The log has whose screen it was, and no key.
func TestAWrongKeyIsLogged(t *testing.T) {
	k := newKeyed(t)
	k.get("/lane/" + first + "?key=wrong-key")
	require.JSONEq(t, `{"level":"warn","trace_id":"trace","lane_id":"`+first+
		`","message":"a wrong key of a lane screen"}`, k.log.String())
	for range MaxWrongKeys {
		k.get("/lane/" + first + "?key=wrong-key")
	}
	require.Equal(t, MaxWrongKeys, strings.Count(k.log.String(), "\n"), "of those beyond the limit it has nothing")
}

// The owner of a range alone counts wrong keys: a page whose address has one is for its node.
func TestAPageWithAKeyIsForTheRangeOfItsScreen(t *testing.T) {
	k := newKeyed(t)
	rangeOf := func(path string) (rangeID uuid.UUID) {
		router := chi.NewRouter()
		router.Get("/lane/{lane_id}", func(_ http.ResponseWriter, r *http.Request) { rangeID = k.RangeOfKey(r) })
		router.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/lane/"+path, nil))
		return rangeID
	}
	require.Equal(t, uuid.MustParse(rangeOfTheKeys), rangeOf(first+"?key=wrong"))
	require.Equal(t, uuid.MustParse(rangeOfTheKeys), rangeOf(first+"?key="))
	for _, path := range []string{first, unknown + "?key=" + firstKey, "x?key=" + firstKey} {
		require.Equal(t, uuid.Nil, rangeOf(path), path)
	}
}
