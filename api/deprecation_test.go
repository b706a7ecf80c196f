package api

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Whatever version 1 answers says that it is deprecated, and since when; version 2 says nothing of the kind.
func TestVersion1SaysThatItIsDeprecated(t *testing.T) {
	h := New(settings(&stand{}))
	session := `{"id":"` + theSession + `","duration":0}`
	for _, c := range []struct {
		status             int
		method, path, body string
	}{
		{200, "GET", "/pos/sessions", ""},
		{200, "PATCH", "/pos/sessions", session},
		{200, "GET", "/pos/openapi.json", ""},
		{200, "GET", "/swagger/", ""},
		{400, "POST", "/pos/sessions", "{}"},
		{404, "GET", "/pos/nowhere", ""},
		{404, "GET", "/nowhere", ""},
		{405, "DELETE", "/pos/sessions", ""},
	} {
		answer := known(h, c.method, "/api/v1"+c.path, c.body)
		require.Equal(t, c.status, answer.Code, c.path)
		require.Equal(t, "@1706918400", answer.Header().Get("Deprecation"), c.path)
		require.Equal(t, `</api/v2/swagger/>; rel="successor-version", </api/v1/swagger/>; rel="deprecation"; type="text/html"`,
			answer.Header().Get("Link"), c.path)
		require.Empty(t, answer.Header().Get("Sunset"))
	}
	stranger := ask(h, "GET", prefix1+"/sessions", "range-id", uuid.NewString())
	require.Equal(t, http.StatusUnauthorized, stranger.Code)
	require.Equal(t, "@1706918400", stranger.Header().Get("Deprecation"))

	require.Empty(t, known(h, "GET", prefix2+"/sessions", "").Header().Get("Deprecation"))
	require.Empty(t, ask(h, "GET", "/nowhere").Header().Get("Deprecation"))
}
