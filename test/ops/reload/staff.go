package reload

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/api/control"
	"rangegate/test/support"
)

const pin = "123456"

// pinHash is the same for a member before and after a reload.
var pinHash = sync.OnceValues(func() (string, error) { return control.HashPIN(pin) })

// staff is the setting of the range with those members, who share a PIN.
func staff(t testing.TB, names ...string) string {
	hash, err := pinHash()
	require.NoError(t, err)
	var members []string
	for _, name := range names {
		members = append(members, fmt.Sprintf("{name: %s, pin_hash: %q}", name, hash))
	}
	return "staff: [" + strings.Join(members, ", ") + "]"
}

// browser is that of somebody who has signed in at the control screen. It keeps its cookie whatever it is told.
type browser struct {
	f      *fixture
	cookie *http.Cookie
}

func (f *fixture) signIn(name string) *browser {
	f.t.Helper()
	body := fmt.Sprintf(`{"range_id":"%s","name":"%s","pin":"%s"}`, support.RangeID, name, pin)
	response, err := http.Post(f.API+"/control/sign-in", "application/json", bytes.NewReader([]byte(body)))
	require.NoError(f.t, err)
	defer func() { _ = response.Body.Close() }()
	require.Equal(f.t, http.StatusNoContent, response.StatusCode)
	for _, cookie := range response.Cookies() {
		if cookie.Name == "rangegate_control" {
			return &browser{f, cookie}
		}
	}
	f.t.Fatal("signing in sets no cookie")
	return nil
}

func (b *browser) send(method, path string) *http.Response {
	b.f.t.Helper()
	request, err := http.NewRequest(method, b.f.API+path, nil)
	require.NoError(b.f.t, err)
	request.AddCookie(b.cookie)
	response, err := http.DefaultClient.Do(request)
	require.NoError(b.f.t, err)
	return response
}

func (b *browser) status(method, path string) int {
	response := b.send(method, path)
	_ = response.Body.Close()
	return response.StatusCode
}

// watch opens the live picture. The channel is closed when that ends.
func (b *browser) watch() <-chan struct{} {
	b.f.t.Helper()
	response := b.send("GET", "/control/stream") //nolint:bodyclose // it is closed when the stream ends
	require.Equal(b.f.t, http.StatusOK, response.StatusCode)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = response.Body.Close() }()
		_, _ = io.Copy(io.Discard, response.Body)
	}()
	return ended
}
