package gateway_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/actors/clock"
	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/config"
)

// patience bounds how long a test waits for what has to come.
const patience = time.Minute

// Any node answers any request of a range: the POS's, staff's, a lane's, and the operator's.
func TestAnyNodeServesEveryRange(t *testing.T) {
	nodes := gatewaytest.StartNodes(t, func(*config.Config) {}, "a", "b")
	entry, owner := nodes["a"], nodes["b"]
	if owner.HandsOn() {
		entry, owner = owner, entry
	}
	require.True(t, entry.HandsOn())
	require.False(t, owner.HandsOn())

	// On a machine that is slow for a second the range may move: a POS sends again what it gets 503 for.
	pos := func(to *gatewaytest.Gateway, method, path, body string, headers ...string) (answer gatewaytest.Answer) {
		require.Eventually(t, func() bool {
			answer = to.POS(method, path, body, headers...)
			return answer.Status != http.StatusServiceUnavailable
		}, patience, 100*time.Millisecond)
		return answer
	}

	// Sold through one, read through the other, repeated through both.
	create := `{"customer_name":"Jo","lane_id":"` + gatewaytest.DemoLane + `","group_id":"` + gatewaytest.DemoGroup +
		`","duration":30}`
	var sold, again struct {
		ID string `json:"session_id"`
	}
	response := pos(entry, "POST", "/sessions", create, "Idempotency-Key", "one")
	require.Equal(t, http.StatusCreated, response.Status)
	response.Decode(t, &sold)
	response = pos(owner, "POST", "/sessions", create, "Idempotency-Key", "one")
	require.Equal(t, http.StatusCreated, response.Status)
	response.Decode(t, &again)
	require.Equal(t, sold, again)
	for _, g := range nodes {
		require.Equal(t, http.StatusOK, pos(g, "GET", "/sessions/"+sold.ID, "").Status)
		require.Equal(t, http.StatusNotFound, pos(g, "GET", "/sessions/"+gatewaytest.DemoLane, "").Status)
		require.Equal(t, http.StatusConflict, pos(g, "POST", "/sessions", create).Status)
		require.Equal(t, http.StatusNotFound, pos(g, "GET", "/nowhere", "").Status)
		require.Equal(t, http.StatusUnprocessableEntity,
			pos(g, "POST", "/sessions", create+" ", "Idempotency-Key", "one").Status)
	}

	// Staff sign in at either, and their cookie is good at both.
	signIn := entry.Request("POST", "/control/sign-in", `{"range_id":"`+gatewaytest.DemoRange+
		`","name":"sam","pin":"1234"}`, nil)
	require.Equal(t, http.StatusNoContent, signIn.Status)
	wrong := entry.Request("POST", "/control/sign-in", `{"range_id":"`+gatewaytest.DemoRange+
		`","name":"sam","pin":"4321"}`, nil)
	require.Equal(t, http.StatusUnauthorized, wrong.Status)
	laneSignIn := entry.Request("GET", "/lane/"+gatewaytest.DemoLane+"?key=playground-lane-1-screen", "", nil)
	require.Equal(t, http.StatusSeeOther, laneSignIn.Status)
	board := entry.Request("GET", "/board/"+gatewaytest.DemoRange+"?key=playground-wall-board", "", nil)
	require.Equal(t, http.StatusSeeOther, board.Status)
	for _, g := range nodes {
		for path, cookie := range map[string]*http.Cookie{"/control/stream": signIn.Cookies[0], "/lane/" +
			gatewaytest.DemoLane + "/stream": laneSignIn.Cookies[0], "/board/" + gatewaytest.DemoRange +
			"/stream": board.Cookies[0]} {
			stream := g.Request("GET", path, "", cookie)
			require.Equal(t, http.StatusOK, stream.Status)
			first, err := bufio.NewReader(stream.Body).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "event: picture\n", first, path)
			_ = stream.Body.Close()
		}
		require.Equal(t, http.StatusOK, g.Request("GET", "/control/api/health", "", signIn.Cookies[0]).Status)
		require.Equal(t, http.StatusOK, g.Request("GET", "/lane/"+gatewaytest.DemoLane, "",
			laneSignIn.Cookies[0]).Status)
	}

	// An operator's ceasefire through either is in force on the range.
	for on, g := range map[string]*gatewaytest.Gateway{"true": entry, "false": owner} {
		held := g.With("PUT", g.Operations+"/ranges/"+gatewaytest.DemoRange+"/holds", `{"scope":"range","on":`+on+`}`,
			"Authorization", "Bearer operator")
		require.Equal(t, http.StatusOK, held.Status)
	}
	require.Equal(t, http.StatusUnauthorized, entry.With("GET", entry.Operations+"/ranges/"+gatewaytest.DemoRange+
		"/holds", "", "Authorization", "Bearer x").Status)

	// The frames of the lane's link come through either while the session is changed.
	var streams []*bufio.Scanner
	next := func(stream *bufio.Scanner, event string) string {
		for stream.Scan() {
			if stream.Text() == "event: "+event {
				require.True(t, stream.Scan())
				return stream.Text()
			}
		}
		require.NoError(t, stream.Err())
		return ""
	}
	for _, g := range nodes {
		frames := g.Operations + "/observer/lanes/" + gatewaytest.DemoLane + "/frames?range=" + gatewaytest.DemoRange
		request, err := http.NewRequestWithContext(t.Context(), "GET", frames, http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Accept", "text/event-stream")
		request.Header.Set("Authorization", "Bearer operator")
		response, err := http.DefaultTransport.RoundTrip(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		require.Equal(t, http.StatusOK, response.StatusCode)
		stream := bufio.NewScanner(response.Body)
		require.Contains(t, next(stream, "begin"), gatewaytest.DemoLane)
		streams = append(streams, stream)
	}
	require.Equal(t, http.StatusNoContent, pos(entry, "POST", "/sessions/"+sold.ID+"/modify?time=5", "").Status)
	for _, stream := range streams {
		for frames := ""; !strings.Contains(frames, sold.ID); { // others may come before
			frames = next(stream, "frames")
			require.NotEmpty(t, frames, "the stream has ended")
		}
	}

	// The owner stops: the other takes its ranges.
	owner.Stop()
	require.Eventually(t, func() bool { return entry.POS("GET", "/sessions/"+sold.ID, "").Status == 200 },
		patience, 20*time.Millisecond)
	entry.Stop()
}

// An operator gives one range to the other node, through either of them: a session goes on there, and it is on record.
// Given back it comes back. Once the other node drains, the range stays where it is, and is served.
func TestAnOperatorDrainsOneRange(t *testing.T) {
	nodes := gatewaytest.StartNodes(t, func(*config.Config) {}, "a", "b")
	entry, owner := nodes["a"], nodes["b"]
	if owner.HandsOn() {
		entry, owner = owner, entry
	}
	name := map[*gatewaytest.Gateway]string{nodes["a"]: "a", nodes["b"]: "b"}
	sold := owner.POS("POST", "/sessions", `{"customer_name":"Jo","lane_id":"`+gatewaytest.DemoLane+`","group_id":"`+
		gatewaytest.DemoGroup+`","duration":30,"auto_start":true}`)
	require.Equal(t, http.StatusCreated, sold.Status)
	var session struct {
		ID string `json:"session_id"`
	}
	sold.Decode(t, &session)
	const path = "/observer/drain?range=" + gatewaytest.DemoRange
	var drained struct{ Node, Code string }
	// The list has how many ranges a node owns.
	owns := func(g *gatewaytest.Gateway) func() bool {
		return func() bool {
			var list struct {
				Nodes []struct {
					Here   bool
					Ranges int
				}
			}
			g.With("GET", g.Operations+"/nodes", "", "Authorization", "Bearer operator").Decode(t, &list)
			for _, n := range list.Nodes {
				if n.Here && n.Ranges == 1 {
					return g.POS("GET", "/sessions/"+session.ID, "").Status == http.StatusOK
				}
			}
			return false
		}
	}
	for _, to := range []*gatewaytest.Gateway{entry, owner} {
		require.Equal(t, http.StatusAccepted, operate(t, entry, "POST", path, "", &drained))
		require.Equal(t, name[to], drained.Node)
		require.Eventually(t, owns(to), patience, 20*time.Millisecond)
	}
	signIn := entry.Request("POST", "/control/sign-in", `{"range_id":"`+gatewaytest.DemoRange+
		`","name":"sam","pin":"1234"}`, nil)
	require.Equal(t, http.StatusNoContent, signIn.Status)
	acts, err := io.ReadAll(entry.Request("GET", "/control/api/acts", "", signIn.Cookies[0]).Body)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(acts), `"what":"drain"`), string(acts))

	drain := entry.With("POST", entry.Operations+"/nodes/"+name[entry]+"/drain", "", "Authorization", "Bearer operator")
	require.Equal(t, http.StatusNoContent, drain.Status)
	require.Eventually(t, func() bool {
		return operate(t, owner, "POST", path, "", &drained) == http.StatusConflict && drained.Code == "no_other_node"
	}, patience, 20*time.Millisecond)
	require.True(t, owns(owner)())
	entry.Stop()
	require.Equal(t, http.StatusConflict, operate(t, owner, "POST", path, "", &drained))
	require.Equal(t, "no_other_node", drained.Code)
	require.True(t, owns(owner)())
	require.Equal(t, 204, owner.POS("POST", "/sessions/"+session.ID+"/stop", "").Status)
	owner.Stop()

	alone := gatewaytest.Start(t, t.TempDir())
	require.Equal(t, http.StatusConflict, operate(t, alone, "POST", path, "", &drained))
	require.Equal(t, "no_nodes", drained.Code)
	require.Equal(t, http.StatusOK, alone.POS("GET", "/lanes", "").Status)
	alone.Stop()
}

// The controller of a lane dials a node that does not own its range: its link is relayed, and a ceasefire
// through either node reaches it.
func TestAControllerAtAnotherNodeIsRelayed(t *testing.T) {
	const key = "4GhZ9qJ0sX2vB7nM1cL5kW"
	nodes := gatewaytest.StartNodes(t, func(c *config.Config) {
		c.Controllers = &config.Controllers{Address: "127.0.0.1:0", Admit: 500}
		c.Ranges[0].Lanes[0].Link = config.Link{Driver: config.DriverIncoming, Key: key}
	}, "a", "b")
	entry, owner := nodes["a"], nodes["b"]
	if owner.HandsOn() {
		entry, owner = owner, entry
	}
	system, err := clock.NewSystem()
	require.NoError(t, err)
	hardware, err := lanesim.New(lanesim.Settings{Now: system.Now}, lanesim.Lane{
		ID:   uuid.MustParse(gatewaytest.DemoLane),
		Dial: strings.Replace(entry.Controllers, "http", "ws", 1) + "/link/v1/" + gatewaytest.DemoLane, Key: key,
	})
	require.NoError(t, err)
	defer hardware.Close()
	link := func() string {
		var lanes []struct {
			Lane string `json:"lane_id"`
			Link string
		}
		entry.POS("GET", "/lanes/status", "").Decode(t, &lanes)
		return lanes[0].Link
	}
	require.Eventually(t, func() bool { return link() == "up" }, patience, 20*time.Millisecond)
	metrics, err := io.ReadAll(entry.With("GET", entry.Operations+"/metrics", "").Body)
	require.NoError(t, err)
	require.Contains(t, string(metrics), "rangegate_relayed_links 1\n")

	for _, g := range nodes {
		for _, on := range []bool{true, false} {
			require.Eventually(t, func() bool {
				var reached struct{ Confirmed []string }
				held := g.With("PUT", g.Operations+"/ranges/"+gatewaytest.DemoRange+"/holds",
					fmt.Sprintf(`{"scope":"range","on":%t}`, on), "Authorization", "Bearer operator")
				if held.Status == http.StatusOK {
					held.Decode(t, &reached)
				}
				return slices.Contains(reached.Confirmed, gatewaytest.DemoLane)
			}, patience, 20*time.Millisecond)
		}
	}
	owner.Stop() // the entry takes the range over, and the controller, which dials again, is its own
	require.Eventually(t, func() bool { return entry.POS("GET", "/lanes", "").Status == 200 && link() == "up" },
		patience, 50*time.Millisecond)
	entry.Stop()
}

// A certificate of the nodes' authority with another name, as a lane's controller may have, is not that of a node: what
// it says of a client is not believed, and nothing is served to it.
func TestOnlyTheCertificateOfALivingNodeIsBelieved(t *testing.T) {
	nodes := gatewaytest.StartNodes(t, func(*config.Config) {}, "a", "b")
	a := nodes["a"]
	var list struct {
		Nodes []struct{ Name, Address string }
	}
	a.With("GET", a.Operations+"/nodes", "", "Authorization", "Bearer operator").Decode(t, &list)
	require.Len(t, list.Nodes, 2)

	handOn := func(shown certificatetest.Pair, entry string) int {
		pair, err := tls.X509KeyPair(shown.Certificate, shown.Key)
		require.NoError(t, err)
		authorities := x509.NewCertPool()
		require.True(t, authorities.AppendCertsFromPEM(a.Authority.Certificate))
		transport := &http.Transport{TLSClientConfig: &tls.Config{
			Certificates: []tls.Certificate{pair},
			RootCAs:      authorities,
		}}
		defer transport.CloseIdleConnections()
		request, err := http.NewRequest("GET", "https://"+list.Nodes[0].Address+"/api/v2/pos/openapi.json", nil)
		require.NoError(t, err)
		for name, value := range map[string]string{
			"Entry": entry, "Service": "requests", "Client": "203.0.113.9:4711",
			"Tls": "true",
		} {
			request.Header.Set("Rangegate-"+name, value)
		}
		response, err := transport.RoundTrip(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		return response.StatusCode
	}
	node, controller := a.Authority.Sign(t, "127.0.0.1"), a.Authority.Sign(t, "lane-1.range.example")
	for _, n := range list.Nodes {
		require.Equal(t, http.StatusOK, handOn(node, n.Name))
		require.Equal(t, http.StatusMisdirectedRequest, handOn(controller, n.Name), "its name is that of no node")
	}
	require.Equal(t, http.StatusMisdirectedRequest, handOn(node, "c"), "no node of that name lives")
	asked := nodes[list.Nodes[0].Name]
	metrics, err := io.ReadAll(asked.With("GET", asked.Operations+"/metrics", "").Body)
	require.NoError(t, err)
	require.Contains(t, string(metrics), `rangegate_proxied_requests_total{outcome="not_a_node"} 3`+"\n")
}
