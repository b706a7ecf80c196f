package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/config"
	"rangegate/lanes/store/redis/redistest"
)

// startNodes starts nodes that share a Redis, and waits until all of them are ready.
func startNodes(t *testing.T, names ...string) map[string]*runningGateway {
	server, authority := redistest.Start(t), certificatetest.Issue(t, time.Hour)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, authority.Certificate, 0o600))
	running := map[string]*runningGateway{}
	for _, name := range names {
		tls := config.NodesTLS{CA: ca}
		tls.Certificate, tls.Key = authority.Sign(t, "127.0.0.1").Files(t)
		running[name] = startGateway(t, t.TempDir(), func(c *config.Config) {
			c.Store = config.Store{Redis: config.Secret(server.URL()), Retention: c.Store.Retention}
			c.Nodes = &config.Nodes{Name: name, Address: "127.0.0.1:0", TTL: config.MinNodesTTL, TLS: tls}
		})
	}
	for _, g := range running {
		require.Eventually(t, func() bool {
			return g.requestVia(http.DefaultTransport, "GET", g.operations+"/readyz", "", nil).status == 200 &&
				g.pos("GET", "/lanes", "").status == 200
		}, 30*time.Second, 20*time.Millisecond)
	}
	return running
}

const (
	demoRange, demoLane = "11111111-1111-4111-8111-111111111111", "44444444-4444-4444-8444-000000000001"
	demoGroup           = "33333333-3333-4333-8333-000000000001"
)

// pos sends a request as the POS of the demo range.
func (g *runningGateway) pos(method, path, body string, headers ...string) answer {
	return g.with(method, g.url+"/api/v2/pos"+path, body, append(headers, "range-id", demoRange, "token", "22222222-2222-4222-8222-222222222222")...)
}

func (g *runningGateway) with(method, url, body string, headers ...string) answer {
	g.t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(g.t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(g.t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(g.t, err)
	_ = response.Body.Close()
	return answer{response.StatusCode, response.ProtoMajor, response.Cookies(), io.NopCloser(strings.NewReader(string(text)))}
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	text, err := io.ReadAll(a.body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into), string(text))
}

// handsOn is true for a node that does not own the demo range.
func (g *runningGateway) handsOn() bool {
	text, err := io.ReadAll(g.with("GET", g.operations+"/metrics", "").body)
	require.NoError(g.t, err)
	return !strings.Contains(string(text), `rangegate_proxied_requests_total{outcome="answered"} 0`+"\n")
}

// Any node answers any request of a range: the POS's, staff's, a lane's, and the operator's.
func TestAnyNodeServesEveryRange(t *testing.T) {
	nodes := startNodes(t, "a", "b")
	entry, owner := nodes["a"], nodes["b"]
	if owner.handsOn() {
		entry, owner = owner, entry
	}
	require.True(t, entry.handsOn())
	require.False(t, owner.handsOn())

	// Sold through one, read through the other, repeated through both.
	create := `{"customer_name":"Jo","lane_id":"` + demoLane + `","group_id":"` + demoGroup + `","duration":30}`
	var sold, again struct {
		ID string `json:"session_id"`
	}
	response := entry.pos("POST", "/sessions", create, "Idempotency-Key", "one")
	require.Equal(t, http.StatusCreated, response.status)
	response.decode(t, &sold)
	response = owner.pos("POST", "/sessions", create, "Idempotency-Key", "one")
	require.Equal(t, http.StatusCreated, response.status)
	response.decode(t, &again)
	require.Equal(t, sold, again)
	for _, g := range nodes {
		require.Equal(t, http.StatusOK, g.pos("GET", "/sessions/"+sold.ID, "").status)
		require.Equal(t, http.StatusNotFound, g.pos("GET", "/sessions/"+demoLane, "").status)
		require.Equal(t, http.StatusConflict, g.pos("POST", "/sessions", create).status)
		require.Equal(t, http.StatusNotFound, g.pos("GET", "/nowhere", "").status)
		require.Equal(t, http.StatusUnprocessableEntity, g.pos("POST", "/sessions", create+" ", "Idempotency-Key", "one").status)
	}

	// Staff sign in at either, and their cookie is good at both.
	signIn := entry.request("POST", "/control/sign-in", `{"range_id":"`+demoRange+`","name":"sam","pin":"1234"}`, nil)
	require.Equal(t, http.StatusNoContent, signIn.status)
	wrong := entry.request("POST", "/control/sign-in", `{"range_id":"`+demoRange+`","name":"sam","pin":"4321"}`, nil)
	require.Equal(t, http.StatusUnauthorized, wrong.status)
	laneSignIn := entry.request("GET", "/lane/"+demoLane+"?key=playground-lane-1-screen", "", nil)
	require.Equal(t, http.StatusSeeOther, laneSignIn.status)
	for _, g := range nodes {
		for path, cookie := range map[string]*http.Cookie{"/control/stream": signIn.cookies[0], "/lane/" + demoLane + "/stream": laneSignIn.cookies[0]} {
			stream := g.request("GET", path, "", cookie)
			require.Equal(t, http.StatusOK, stream.status)
			first, err := bufio.NewReader(stream.body).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "event: picture\n", first, path)
			_ = stream.body.Close()
		}
		require.Equal(t, http.StatusOK, g.request("GET", "/control/api/health", "", signIn.cookies[0]).status)
		require.Equal(t, http.StatusOK, g.request("GET", "/lane/"+demoLane, "", laneSignIn.cookies[0]).status)
	}

	// An operator's ceasefire through either is in force on the range.
	for on, g := range map[string]*runningGateway{"true": entry, "false": owner} {
		held := g.with("PUT", g.operations+"/ranges/"+demoRange+"/holds", `{"scope":"range","on":`+on+`}`, "Authorization", "Bearer operator")
		require.Equal(t, http.StatusOK, held.status)
	}
	require.Equal(t, http.StatusUnauthorized, entry.with("GET", entry.operations+"/ranges/"+demoRange+"/holds", "", "Authorization", "Bearer x").status)

	// The owner stops: the other takes its ranges.
	owner.stopAndWait()
	require.Eventually(t, func() bool { return entry.pos("GET", "/sessions/"+sold.ID, "").status == 200 }, 30*time.Second, 20*time.Millisecond)
	entry.stopAndWait()
}
