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

// runningGateway is a gateway with a demo range of two lanes, from its start to its stop.
type runningGateway struct {
	t          *testing.T
	url        string
	operations string
	// controllers is the address that controllers dial; empty where none do.
	controllers string
	stop        context.CancelFunc
	ended       chan error
}

// startGateway starts a gateway with its store in the folder, and waits until it serves.
func startGateway(t *testing.T, data string, changes ...func(*config.Config)) *runningGateway {
	cfg := config.Playground(2, data, "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address = "127.0.0.1:0"
	for _, change := range changes {
		change(&cfg)
	}
	ctx, stop := context.WithCancel(context.Background())
	g := &runningGateway{t: t, stop: stop, ended: make(chan error, 1)}
	listening := make(chan addresses, 1)
	go func() {
		g.ended <- run(&terminal{ctx: ctx, out: io.Discard, log: io.Discard}, program{
			config: cfg, listening: func(urls addresses) { listening <- urls },
		})
	}()
	select {
	case urls := <-listening:
		g.url, g.operations, g.controllers = urls.api, urls.operations, urls.controllers
	case err := <-g.ended:
		require.NoError(t, err)
	}
	t.Cleanup(stop)
	return g
}

func (g *runningGateway) stopAndWait() {
	g.stop()
	require.NoError(g.t, <-g.ended)
}

// answer is an HTTP answer whose body is closed at the end of the test.
type answer struct {
	status     int
	protoMajor int
	cookies    []*http.Cookie
	body       io.ReadCloser
}

// request sends a request with that cookie.
func (g *runningGateway) request(method, path, body string, cookie *http.Cookie) answer {
	return g.requestVia(http.DefaultTransport, method, g.url+path, body, cookie)
}

func (g *runningGateway) requestVia(transport http.RoundTripper, method, url, body string, cookie *http.Cookie) answer {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(g.t, err)
	if cookie != nil {
		request.AddCookie(cookie)
	}
	response, err := transport.RoundTrip(request)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = response.Body.Close() })
	return answer{response.StatusCode, response.ProtoMajor, response.Cookies(), response.Body}
}

// Open screens end properly when the gateway stops, delay nothing, and work again after the restart.
func TestScreensAcrossARestart(t *testing.T) {
	data := t.TempDir()
	before := startGateway(t, data)
	const rangeID, lane = "11111111-1111-4111-8111-111111111111", "44444444-4444-4444-8444-000000000001"
	signIn := before.request("POST", "/control/sign-in", `{"range_id":"`+rangeID+`","name":"sam","pin":"1234"}`, nil)
	require.Equal(t, http.StatusNoContent, signIn.status)
	laneSignIn := before.request("GET", "/lane/"+lane+"?key=playground-lane-1-screen", "", nil)
	require.Equal(t, http.StatusSeeOther, laneSignIn.status)
	open := map[string]*http.Cookie{"/control/stream": signIn.cookies[0], "/lane/" + lane + "/stream": laneSignIn.cookies[0]}

	streams := map[string]answer{}
	for path, cookie := range open {
		streams[path] = before.request("GET", path, "", cookie)
		require.Equal(t, http.StatusOK, streams[path].status, path)
	}
	before.stopAndWait()
	for path, stream := range streams {
		events, err := io.ReadAll(stream.body)
		require.NoError(t, err, "%s was cut off", path)
		require.Contains(t, string(events), "event: picture")
	}

	after := startGateway(t, data)
	for path, cookie := range open {
		stream := after.request("GET", path, "", cookie)
		require.Equal(t, http.StatusOK, stream.status, path)
		require.NoError(t, stream.body.Close())
	}
	require.Equal(t, http.StatusUnauthorized, after.request("GET", "/control/stream", "", open["/lane/"+lane+"/stream"]).status)
	after.stopAndWait()
}
