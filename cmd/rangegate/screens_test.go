package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
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
	board := before.request("GET", "/board/"+rangeID+"?key=playground-wall-board", "", nil)
	require.Equal(t, http.StatusSeeOther, board.status)
	open := map[string]*http.Cookie{
		"/control/stream": signIn.cookies[0], "/lane/" + lane + "/stream": laneSignIn.cookies[0], "/board/" + rangeID + "/stream": board.cookies[0],
	}

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

// A change of one lane reaches the control screen and the wall board of its range and the screen of that lane: not the screen of another lane,
// and nothing of another range.
func TestAChangeReachesTheScreensThatShowIt(t *testing.T) {
	south := strings.NewReplacer("11111111-1111-4111-8111-", "11111111-2222-4111-8111-", "44444444-4444", "44444444-2222", "33333333-3333", "33333333-2222",
		"55555555-5555", "55555555-2222", "22222222-2222", "22222222-1111")
	g := startGateway(t, t.TempDir(), func(c *config.Config) {
		second := config.Playground(2, "", "127.0.0.1:0", "http://127.0.0.1:1").Ranges[0]
		second.ID = uuid.MustParse(south.Replace(second.ID.String()))
		second.Tokens = []config.RangeToken{{Token: config.Secret(south.Replace(second.Tokens[0].Token.Reveal())), Scope: config.ScopeSell}}
		second.Board.Key = "the-key-of-the-south-wall"
		for i := range second.Groups {
			second.Groups[i].ID = uuid.MustParse(south.Replace(second.Groups[i].ID.String()))
		}
		for i := range second.Bays {
			second.Bays[i].ID = uuid.MustParse(south.Replace(second.Bays[i].ID.String()))
		}
		for i := range second.Lanes {
			lane := &second.Lanes[i]
			lane.ID, lane.Bay = uuid.MustParse(south.Replace(lane.ID.String())), second.Bays[0].ID
		}
		c.Ranges = append(c.Ranges, second)
	})
	north := strings.NewReplacer()
	const lane2 = "44444444-4444-4444-8444-000000000002"
	ask := func(of *strings.Replacer, method, path, body string) string {
		response := g.with(method, g.url+"/api/v2/pos"+path, of.Replace(body),
			"range-id", of.Replace(demoRange), "token", of.Replace("22222222-2222-4222-8222-222222222222"))
		text, err := io.ReadAll(response.body)
		require.NoError(t, err)
		require.Less(t, response.status, 300, string(text))
		return string(text)
	}
	for _, of := range []*strings.Replacer{north, south} {
		require.Eventually(t, func() bool { return strings.Count(ask(of, "GET", "/lanes/status", ""), `"link":"up"`) == 2 }, time.Minute, time.Millisecond)
	}

	// open opens a screen, reads its picture, and returns a function that waits for its next change.
	open := func(path string, entry answer) (next func() string) {
		stream := g.request("GET", path, "", entry.cookies[0])
		require.Equal(t, http.StatusOK, stream.status, path)
		lines := bufio.NewScanner(stream.body)
		lines.Buffer(nil, 1<<20)
		read := func(event string) string {
			for of := ""; lines.Scan(); {
				if name, found := strings.CutPrefix(lines.Text(), "event: "); found {
					of = name
				}
				if data, found := strings.CutPrefix(lines.Text(), "data: "); found && of == event {
					return data
				}
			}
			return ""
		}
		require.NotEmpty(t, read("picture"), path)
		return func() string { return read("change") }
	}
	control := func(of *strings.Replacer) func() string {
		return open("/control/stream", g.request("POST", "/control/sign-in", `{"range_id":"`+of.Replace(demoRange)+`","name":"sam","pin":"1234"}`, nil))
	}
	keyed := func(path, key string) func() string {
		return open(path+"/stream", g.request("GET", path+"?key="+key, "", nil))
	}
	northScreens := []func() string{control(north), keyed("/board/"+demoRange, "playground-wall-board"), keyed("/lane/"+demoLane, "playground-lane-1-screen")}
	otherLane := keyed("/lane/"+lane2, "playground-lane-2-screen")
	southScreens := []func() string{
		control(south), keyed("/board/"+south.Replace(demoRange), "the-key-of-the-south-wall"), keyed("/lane/"+south.Replace(demoLane), "playground-lane-1-screen"),
	}
	sell := func(of *strings.Replacer, lane string, minutes int) {
		ask(of, "POST", "/sessions", fmt.Sprintf(`{"customer_name":"Jo","lane_id":%q,"group_id":%q,"duration":%d,"auto_start":true}`, lane, demoGroup, minutes))
	}
	const running = `"phase":"running"`
	sell(north, demoLane, 30)
	for _, next := range northScreens {
		require.Contains(t, next(), running)
	}
	// The first change that the others see is their own.
	sell(north, lane2, 40)
	require.Contains(t, otherLane(), `"duration":40`)
	sell(south, demoLane, 50)
	for _, next := range southScreens {
		change := next()
		require.Contains(t, change, running)
		require.Regexp(t, `"left_ms":(3000000|299\d{4})\b`, change)
	}
}
