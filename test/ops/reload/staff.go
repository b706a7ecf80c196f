package reload

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/stretchr/testify/require"
)

// browser is that of somebody who has signed in at the control screen. It keeps its cookie whatever it is told.
type browser struct {
	g      *gateway
	cookie *http.Cookie
}

func (g *gateway) signIn(name string) *browser {
	g.t.Helper()
	body := fmt.Sprintf(`{"range_id":"%s","name":"%s","pin":"123456"}`, firstRange, name)
	response, err := http.Post(g.API+"/control/sign-in", "application/json", bytes.NewReader([]byte(body)))
	require.NoError(g.t, err)
	defer response.Body.Close()
	require.Equal(g.t, http.StatusNoContent, response.StatusCode)
	for _, cookie := range response.Cookies() {
		if cookie.Name == "rangegate_control" {
			return &browser{g, cookie}
		}
	}
	g.t.Fatal("no cookie came of it")
	return nil
}

func (b *browser) ask(method, path string) *http.Response {
	b.g.t.Helper()
	request, err := http.NewRequest(method, b.g.API+path, nil)
	require.NoError(b.g.t, err)
	request.AddCookie(b.cookie)
	response, err := http.DefaultClient.Do(request)
	require.NoError(b.g.t, err)
	return response
}

func (b *browser) do(method, path string) (status int) {
	response := b.ask(method, path)
	_ = response.Body.Close()
	return response.StatusCode
}

// watch opens the live picture. The channel is closed when that ends.
func (b *browser) watch() <-chan struct{} {
	b.g.t.Helper()
	response := b.ask("GET", "/control/stream")
	require.Equal(b.g.t, http.StatusOK, response.StatusCode)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
	}()
	return ended
}
