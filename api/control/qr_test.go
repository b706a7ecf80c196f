package control

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Staff get the QR code of a session of their range, as an image, for the address at which their browser
// reaches the gateway.
func TestTheQRCodeOfASession(t *testing.T) {
	f := newFixture(t)
	staff := f.signedIn()
	code := func(b *browser, session uuid.UUID, origin string) (status int, body, contentType string) {
		response := b.send("GET", "/control/sessions/"+session.String()+"/qr.svg?"+
			url.Values{"origin": {origin}}.Encode(), "")
		return response.Code, response.Body.String(), response.Header().Get("Content-Type")
	}
	status, first, contentType := code(staff, theSession, "https://range.example")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "image/svg+xml", contentType)
	require.True(t, strings.HasPrefix(first, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 `))
	require.NotContains(t, first, "Jo Smith")
	_, other, _ := code(staff, theSession, "http://192.0.2.1:8080")
	require.NotEqual(t, first, other)

	for _, origin := range []string{
		"", "range.example", "https://", "ftp://range.example", "https://range.example/",
		"https://range.example?x", "https://sam@range.example/", "javascript:alert(1)", "https://" +
			strings.Repeat("x", 200),
	} {
		status, body, _ := code(staff, theSession, origin)
		require.Equal(t, http.StatusBadRequest, status, origin)
		require.Contains(t, body, `"origin":"must be an origin like https://range.example`)
	}
	status, _, _ = code(staff, uuid.New(), "https://range.example")
	require.Equal(t, http.StatusNotFound, status)
	status, _, _ = code(f.browser(), theSession, "https://range.example")
	require.Equal(t, http.StatusUnauthorized, status)
}

// The key of the pages of shooters outlives a restart, is another one than any other purpose's, and changes
// with the secret.
func TestTheKeyForOnePurpose(t *testing.T) {
	f := newFixture(t)
	before := f.sessions.Key("pages")
	require.NotEqual(t, before, f.sessions.Key("other pages"))
	f.restart(northStaff(hashes))
	require.Equal(t, before, f.sessions.Key("pages"))
	f.store.secret = [32]byte{9}
	require.NoError(t, f.sessions.Refresh(t.Context()))
	require.NotEqual(t, before, f.sessions.Key("pages"))
}
