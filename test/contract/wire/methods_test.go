package wire

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// HEAD is answered wherever GET is: with the same status and headers, without a body, and to the same callers.
func TestHeadIsAnsweredAsGet(t *testing.T) {
	g, pos := serve(t)
	session := pos.sell(1, 30, "")
	open, closed := support.Client{}, pos.Client
	for _, c := range []struct {
		client  support.Client
		address string
		path    string
		status  int
	}{
		{open, g.API, v2 + "/openapi.json", 200},
		{open, g.API, v2 + "/products.openapi.json", 200},
		{open, g.API, v1 + "/openapi.json", 200},
		{open, g.API, "/api/v2/swagger/", 200},
		{open, g.API, "/api/v2/swagger/swagger-ui.css", 200},
		{open, g.API, "/control/", 200},
		{open, g.API, "/control/stream", 401},
		{open, g.API, v2 + "/lanes", 401},
		{open, g.API, "/nowhere", 404},
		{open, g.Operations, "/livez", 200},
		{open, g.Operations, "/readyz", 200},
		{open, g.Operations, "/metrics", 200},
		{open, g.Operations, "/actors", 401},
		{closed, g.API, v2 + "/lanes", 200},
		{closed, g.API, v2 + "/sessions", 200},
		{closed, g.API, v2 + "/sessions/" + session, 200},
		{closed, g.API, v2 + "/events?limit=5", 200},
		{closed, g.API, v2 + "/events?limit=0", 400},
		{closed, g.API, v1 + "/bays", 200},
		{closed, g.API, v2 + "/sessions/" + session + "/stop", 405},
		{closed, g.API, v2 + "/nowhere", 404},
	} {
		c.client.API = c.address
		get, err := c.client.Do("GET", c.path, "")
		require.NoError(t, err)
		head, err := c.client.Do("HEAD", c.path, "")
		require.NoError(t, err)
		require.Equal(t, c.status, get.Status, c.path)
		require.Equal(t, get.Status, head.Status, c.path)
		require.Empty(t, head.Body, c.path)
		require.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"), c.path)
		require.Equal(t, get.Header.Get("Allow"), head.Header.Get("Allow"), c.path)
	}
}

// A compressed body is refused as such, and not as one that is no JSON.
func TestACompressedBodyIsRefused(t *testing.T) {
	_, pos := serve(t)
	for coding, status := range map[string]int{"gzip": 415, "br": 415, "gzip, identity": 415, "identity": 201} {
		answer := pos.ask("POST", v2+"/sessions", order(1, 30, ""), "Content-Encoding", coding)
		require.Equal(t, status, answer.Status, coding)
		if status == 415 {
			require.Equal(t, "unsupported_media_type", answer.Code())
			require.Contains(t, answer.Body, "Content-Encoding")
		}
	}
}

// A whole number is an integer, however it is written.
func TestAWholeNumberIsAnInteger(t *testing.T) {
	_, pos := serve(t)
	answer := pos.ask("POST", v2+"/sessions", strings.Replace(order(1, 30, ""), `"duration":30`, `"duration":30.0`, 1))
	require.Equal(t, 201, answer.Status, answer.Body)
	require.Contains(t, answer.Body, `"duration":30,`)
	session := answer.Body[len(`{"session_id":"`) : len(`{"session_id":"`)+36]
	answer = pos.ask("PATCH", v1+"/sessions", fmt.Sprintf(`{"id":%q,"duration":4.5e1}`, session))
	require.Equal(t, 200, answer.Status, answer.Body)
	require.Contains(t, answer.Body, `"duration":45}`)
}

// The webhook and the products API are called by a valid product token.
func TestTheUserAgentIsAProduct(t *testing.T) {
	product := regexp.MustCompile("^rangegate/[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	agents := make(chan string, 100)
	receiver := support.NewReceiver(t)
	receiver.Respond(func(a support.Arrival, w http.ResponseWriter, r *http.Request) {
		agents <- r.UserAgent()
		support.Accept(a, w, r)
	})
	_, pos := serveConfig(t, newConfig(support.NewSQLite(t), receiver.Setting()))
	pos.sell(1, 30, "")
	require.Regexp(t, product, <-agents)
}
