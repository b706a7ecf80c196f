package startpage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/api/control"
	"rangegate/api/endpoint"
)

var north = uuid.MustParse("11111111-1111-4111-8111-111111111111")

// newSite is the page of a gateway with those ranges.
func newSite(staff map[uuid.UUID]control.RangeStaff) http.Handler {
	a := &endpoint.API{Errors: endpoint.Errors{
		"not_found":  {Status: 404, Sentence: "no such path"},
		"cross_site": {Status: 403},
	}}
	r := chi.NewRouter()
	Mount(r, a, Settings{Staff: staff, Documents: []Document{{"openapi", "/openapi.json"}}})
	return r
}

func staffOf(name string) control.RangeStaff {
	return control.RangeStaff{Name: name, Members: map[string]control.Member{"sam": {PINHash: "$argon2id$…"}}}
}

func get(h http.Handler, accept ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest("GET", "/", nil)
	request.Header["Accept"] = accept
	response := httptest.NewRecorder()
	h.ServeHTTP(response, request)
	return response
}

// A browser gets the page, a program that asks for JSON the list, and any other what it got before there was a page.
func TestEveryClientGetsWhatItAsksFor(t *testing.T) {
	site := newSite(map[uuid.UUID]control.RangeStaff{
		north:      staffOf("North range"),
		uuid.New(): {Name: "Without staff"},
	})
	list := `{"ranges":[{"range_id":"11111111-1111-4111-8111-111111111111","name":"North range","control_screen":"/control/11111111-1111-4111-8111-111111111111"}],` +
		`"complete":true,"documents":[{"name":"openapi","path":"/openapi.json"}]}`
	for _, accept := range [][]string{
		{"application/json"},
		{"application/json, text/plain, */*"},
		{"text/html;q=0.5, application/json"},
		{"text/html;q=0, application/json;q=0.1"},
		{"text/plain", "application/json; charset=utf-8"},
	} {
		response := get(site, accept...)
		require.Equal(t, http.StatusOK, response.Code, accept)
		require.Equal(t, "application/json", response.Header().Get("Content-Type"))
		require.Equal(t, "no-store", response.Header().Get("Cache-Control"))
		require.Equal(t, list, response.Body.String())
	}
	for _, accept := range []string{
		"text/html", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
		"application/json;q=0.5, text/html", "text/html, application/json",
	} {
		response := get(site, accept)
		require.Equal(t, "text/html; charset=utf-8", response.Header().Get("Content-Type"), accept)
		require.Equal(t, "Accept", response.Header().Get("Vary"))
		require.NotContains(t, response.Body.String(), "North range", "the page itself has no data")
	}
	for _, accept := range [][]string{
		nil,
		{"*/*"},
		{""},
		{"text/*"},
		{"text/html;q=x"},
		{"text/html;q=0"},
		{"nonsense;;"},
	} {
		response := get(site, accept...)
		require.Equal(t, http.StatusNotFound, response.Code, accept)
		require.Contains(t, response.Body.String(), `"code":"not_found"`)
		require.Equal(t, "Accept", response.Header().Get("Vary"))
	}
}

// Whoever comes learns names alone: none of staff, none of a range without a control screen, and none where
// there are very many.
func TestAStrangerLearnsNoMoreThanNames(t *testing.T) {
	ranges := map[uuid.UUID]control.RangeStaff{uuid.New(): {Name: "Without staff"}}
	for n := range control.MaxListed {
		ranges[uuid.New()] = staffOf(fmt.Sprintf("Range %d", n))
	}
	listed := get(newSite(ranges), "application/json").Body.String()
	require.Contains(t, listed, `"Range 0"`)
	require.Contains(t, listed, `"complete":true`)
	for _, kept := range []string{"Without staff", "sam", "argon2id"} {
		require.NotContains(t, listed, kept)
	}
	ranges[uuid.New()] = staffOf("One more")
	require.Contains(t, get(newSite(ranges), "application/json").Body.String(), `{"ranges":[],"complete":false,`)
}
