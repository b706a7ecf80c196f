package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/config"
)

// life is one life of a gateway with a demo range of two lanes.
type life struct {
	t          *testing.T
	url        string
	operations string
	stop       context.CancelFunc
	ended      chan error
}

// begin starts a gateway that keeps its range in the folder, and waits until it answers.
func begin(t *testing.T, data string, changes ...func(*config.Config)) *life {
	cfg := config.Playground(2, data, "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address = "127.0.0.1:0"
	for _, change := range changes {
		change(&cfg)
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &life{t: t, stop: stop, ended: make(chan error, 1)}
	listening := make(chan addresses, 1)
	go func() {
		l.ended <- run(&terminal{ctx: ctx, out: io.Discard, log: io.Discard}, program{
			config: cfg, listening: func(at addresses) { listening <- at },
		})
	}()
	select {
	case at := <-listening:
		l.url, l.operations = at.api, at.operations
	case err := <-l.ended:
		require.NoError(t, err)
	}
	t.Cleanup(stop)
	return l
}

func (l *life) end() {
	l.stop()
	require.NoError(l.t, <-l.ended)
}

// ask sends a request with that cookie.
func (l *life) ask(method, path, body string, cookie *http.Cookie) *http.Response {
	return l.askThrough(http.DefaultTransport, method, l.url+path, body, cookie)
}

func (l *life) askThrough(transport http.RoundTripper, method, url, body string, cookie *http.Cookie) *http.Response {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(l.t, err)
	if cookie != nil {
		request.AddCookie(cookie)
	}
	response, err := transport.RoundTrip(request)
	require.NoError(l.t, err)
	return response
}

// Open screens end in order when the gateway stops, hold nothing up, and find everything again when it is back.
func TestScreensAcrossARestart(t *testing.T) {
	data := t.TempDir()
	before := begin(t, data)
	const rangeID, lane = "11111111-1111-4111-8111-111111111111", "44444444-4444-4444-8444-000000000001"
	signedIn := before.ask("POST", "/control/sign-in", `{"range_id":"`+rangeID+`","name":"sam","pin":"1234"}`, nil)
	require.Equal(t, http.StatusNoContent, signedIn.StatusCode)
	atLane := before.ask("GET", "/lane/"+lane+"?key=playground-lane-1-screen", "", nil)
	require.Equal(t, http.StatusSeeOther, atLane.StatusCode)
	open := map[string]*http.Cookie{"/control/stream": signedIn.Cookies()[0], "/lane/" + lane + "/stream": atLane.Cookies()[0]}

	streams := map[string]*http.Response{}
	for path, cookie := range open {
		streams[path] = before.ask("GET", path, "", cookie)
		require.Equal(t, http.StatusOK, streams[path].StatusCode, path)
	}
	before.end()
	for path, stream := range streams {
		told, err := io.ReadAll(stream.Body)
		require.NoError(t, err, "%s was cut off: its end was not asked for", path)
		require.Contains(t, string(told), "event: picture")
	}

	after := begin(t, data)
	for path, cookie := range open {
		stream := after.ask("GET", path, "", cookie)
		require.Equal(t, http.StatusOK, stream.StatusCode, path)
		require.NoError(t, stream.Body.Close())
	}
	require.Equal(t, http.StatusUnauthorized, after.ask("GET", "/control/stream", "", open["/lane/"+lane+"/stream"]).StatusCode)
	after.end()
}
