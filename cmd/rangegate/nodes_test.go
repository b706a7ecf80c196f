package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/config"
	"rangegate/lanes/store/redis/redistest"
)

// startNodes starts nodes that share a Redis, and waits until all of them are ready.
func startNodes(t *testing.T, changes func(*config.Config), names ...string) map[string]*runningGateway {
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
			changes(c)
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
	nodes := startNodes(t, func(*config.Config) {}, "a", "b")
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
	board := entry.request("GET", "/board/"+demoRange+"?key=playground-wall-board", "", nil)
	require.Equal(t, http.StatusSeeOther, board.status)
	for _, g := range nodes {
		for path, cookie := range map[string]*http.Cookie{"/control/stream": signIn.cookies[0], "/lane/" + demoLane + "/stream": laneSignIn.cookies[0], "/board/" + demoRange + "/stream": board.cookies[0]} {
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

// What an operator does with nodes, through any of them.
func TestOperatorsDrainAndForgetNodes(t *testing.T) {
	nodes := startNodes(t, func(*config.Config) {}, "a", "b")
	a, b := nodes["a"], nodes["b"]
	command := func(g *runningGateway, run func(*terminal, operator) error) (string, error) {
		file := filepath.Join(t.TempDir(), "rangegate.yaml")
		text := fmt.Sprintf(networkRange, "1") + "operations: {address: '" + strings.TrimPrefix(g.operations, "http://") + "', token: operator}\n"
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		var out strings.Builder
		err := run(&terminal{ctx: t.Context(), out: &out}, operator{Config: file})
		return out.String(), err
	}
	list := func(term *terminal, o operator) error { return nodesList{o}.Run(term) }
	drain := func(name string) func(term *terminal, o operator) error {
		return func(term *terminal, o operator) error { return nodesDrain{name, o}.Run(term) }
	}
	forget := func(name string) func(term *terminal, o operator) error {
		return func(term *terminal, o operator) error { return nodesForget{name, o}.Run(term) }
	}

	var table string
	var err error
	require.Eventually(t, func() bool {
		table, err = command(a, list)
		return err == nil && strings.Count(table, "\n") == 3
	}, 30*time.Second, 20*time.Millisecond)
	require.Regexp(t, `(?m)^a .* 127\.0\.0\.1:\d+ .* serves, here$`, table)
	require.Regexp(t, `(?m)^b .* 127\.0\.0\.1:\d+ .* serves$`, table)

	owner, other := a, b
	if a.handsOn() {
		owner, other = b, a
	}
	name := map[*runningGateway]string{a: "a", b: "b"}
	_, err = command(other, drain(name[owner]))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		table, err = command(owner, list)
		return err == nil && regexp.MustCompile(`(?m)^`+name[other]+` .* 1  +serves$`).MatchString(table)
	}, 30*time.Second, 20*time.Millisecond)
	require.Regexp(t, `(?m)^`+name[owner]+` .* 0  +draining, here$`, table)
	require.Eventually(t, func() bool { return owner.pos("GET", "/lanes", "").status == 200 }, 30*time.Second, 20*time.Millisecond)

	_, err = command(other, drain("nobody"))
	require.EqualError(t, err, "no node of that name is alive (node_not_found)")
	_, err = command(other, forget(name[owner]))
	require.ErrorContains(t, err, "(node_alive)")
	out, err := command(other, forget("nobody"))
	require.NoError(t, err)
	require.Equal(t, "nobody is forgotten; it owned 0 ranges\n", out)
	require.Equal(t, http.StatusUnauthorized, a.with("GET", a.operations+"/nodes", "").status)
	b.stopAndWait()
	a.stopAndWait()

	alone := startGateway(t, t.TempDir())
	_, err = command(alone, list)
	require.ErrorContains(t, err, "its configuration has no nodes")
	alone.stopAndWait()
}

// The controller of a lane dials a node that does not own its range: its link is relayed, and a ceasefire through either node reaches
// it.
func TestAControllerAtAnotherNodeIsRelayed(t *testing.T) {
	const key = "4GhZ9qJ0sX2vB7nM1cL5kW"
	nodes := startNodes(t, func(c *config.Config) {
		c.Controllers = &config.Controllers{Address: "127.0.0.1:0", Admit: 500}
		c.Ranges[0].Lanes[0].Link = config.Link{Driver: config.DriverIncoming, Key: key}
	}, "a", "b")
	entry, owner := nodes["a"], nodes["b"]
	if owner.handsOn() {
		entry, owner = owner, entry
	}
	system, err := clock.NewSystem()
	require.NoError(t, err)
	hardware, err := lanesim.New(lanesim.Settings{Now: system.Now}, lanesim.Lane{
		ID: uuid.MustParse(demoLane), Dial: strings.Replace(entry.controllers, "http", "ws", 1) + "/link/v1/" + demoLane, Key: key,
	})
	require.NoError(t, err)
	defer hardware.Close()
	link := func() string {
		var lanes []struct {
			Lane string `json:"lane_id"`
			Link string
		}
		entry.pos("GET", "/lanes/status", "").decode(t, &lanes)
		return lanes[0].Link
	}
	require.Eventually(t, func() bool { return link() == "up" }, 30*time.Second, 20*time.Millisecond)
	metrics, err := io.ReadAll(entry.with("GET", entry.operations+"/metrics", "").body)
	require.NoError(t, err)
	require.Contains(t, string(metrics), "rangegate_relayed_links 1\n")

	for _, g := range nodes {
		for _, on := range []bool{true, false} {
			var reached struct{ Confirmed []string }
			held := g.with("PUT", g.operations+"/ranges/"+demoRange+"/holds", fmt.Sprintf(`{"scope":"range","on":%t}`, on), "Authorization", "Bearer operator")
			require.Equal(t, http.StatusOK, held.status)
			held.decode(t, &reached)
			require.Contains(t, reached.Confirmed, demoLane)
		}
	}
	owner.stopAndWait() // the entry takes the range over, and the controller, which dials again, is its own
	require.Eventually(t, func() bool { return entry.pos("GET", "/lanes", "").status == 200 && link() == "up" }, 60*time.Second, 50*time.Millisecond)
	entry.stopAndWait()
}
