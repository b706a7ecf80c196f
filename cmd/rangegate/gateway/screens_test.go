package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
)

// Open screens end properly when the gateway stops, delay nothing, and work again after the restart.
func TestScreensAcrossARestart(t *testing.T) {
	data := t.TempDir()
	before := gatewaytest.Start(t, data)
	const rangeID, lane = "11111111-1111-4111-8111-111111111111", "44444444-4444-4444-8444-000000000001"
	signIn := before.Request("POST", "/control/sign-in", `{"range_id":"`+rangeID+`","name":"sam","pin":"1234"}`, nil)
	require.Equal(t, http.StatusNoContent, signIn.Status)
	laneSignIn := before.Request("GET", "/lane/"+lane+"?key=playground-lane-1-screen", "", nil)
	require.Equal(t, http.StatusSeeOther, laneSignIn.Status)
	board := before.Request("GET", "/board/"+rangeID+"?key=playground-wall-board", "", nil)
	require.Equal(t, http.StatusSeeOther, board.Status)
	open := map[string]*http.Cookie{
		"/control/stream": signIn.Cookies[0], "/lane/" + lane + "/stream": laneSignIn.Cookies[0],
		"/board/" + rangeID + "/stream": board.Cookies[0],
	}

	streams := map[string]gatewaytest.Answer{}
	for path, cookie := range open {
		streams[path] = before.Request("GET", path, "", cookie)
		require.Equal(t, http.StatusOK, streams[path].Status, path)
	}
	before.Stop()
	for path, stream := range streams {
		events, err := io.ReadAll(stream.Body)
		require.NoError(t, err, "%s was cut off", path)
		require.Contains(t, string(events), "event: picture")
	}

	after := gatewaytest.Start(t, data)
	for path, cookie := range open {
		stream := after.Request("GET", path, "", cookie)
		require.Equal(t, http.StatusOK, stream.Status, path)
		require.NoError(t, stream.Body.Close())
	}
	require.Equal(t, http.StatusUnauthorized,
		after.Request("GET", "/control/stream", "", open["/lane/"+lane+"/stream"]).Status)
	after.Stop()
}

// A change of one lane reaches the control screen and the wall board of its range and the screen of that
// lane: not the screen of another lane, and nothing of another range.
func TestAChangeReachesTheScreensThatShowIt(t *testing.T) {
	south := strings.NewReplacer("11111111-1111-4111-8111-", "11111111-2222-4111-8111-", "44444444-4444",
		"44444444-2222", "33333333-3333", "33333333-2222",
		"55555555-5555", "55555555-2222", "22222222-2222", "22222222-1111")
	g := gatewaytest.Start(t, t.TempDir(), func(c *config.Config) {
		second := config.Playground(2, "", "127.0.0.1:0", "http://127.0.0.1:1").Ranges[0]
		second.ID = uuid.MustParse(south.Replace(second.ID.String()))
		second.Tokens = []config.RangeToken{{
			Token: config.Secret(south.Replace(second.Tokens[0].Token.Reveal())),
			Scope: config.ScopeSell,
		}}
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
		response := g.With(method, g.URL+"/api/v2/pos"+path, of.Replace(body),
			"range-id", of.Replace(gatewaytest.DemoRange), "token", of.Replace("22222222-2222-4222-8222-222222222222"))
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Less(t, response.Status, 300, string(text))
		return string(text)
	}
	for _, of := range []*strings.Replacer{north, south} {
		require.Eventually(t, func() bool {
			return strings.Count(ask(of, "GET", "/lanes/status", ""),
				`"link":"up"`) == 2
		}, time.Minute, time.Millisecond)
	}

	// open opens a screen, reads its picture, and returns a function that waits for its next change.
	open := func(path string, entry gatewaytest.Answer) (next func() string) {
		stream := g.Request("GET", path, "", entry.Cookies[0])
		require.Equal(t, http.StatusOK, stream.Status, path)
		lines := bufio.NewScanner(stream.Body)
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
		return open("/control/stream", g.Request("POST", "/control/sign-in", `{"range_id":"`+
			of.Replace(gatewaytest.DemoRange)+`","name":"sam","pin":"1234"}`, nil))
	}
	keyed := func(path, key string) func() string {
		return open(path+"/stream", g.Request("GET", path+"?key="+key, "", nil))
	}
	northScreens := []func() string{
		control(north), keyed("/board/"+gatewaytest.DemoRange, "playground-wall-board"),
		keyed("/lane/"+gatewaytest.DemoLane, "playground-lane-1-screen"),
	}
	otherLane := keyed("/lane/"+lane2, "playground-lane-2-screen")
	southScreens := []func() string{
		control(south), keyed("/board/"+south.Replace(gatewaytest.DemoRange), "the-key-of-the-south-wall"),
		keyed("/lane/"+south.Replace(gatewaytest.DemoLane), "playground-lane-1-screen"),
	}
	sell := func(of *strings.Replacer, lane string, minutes int) {
		ask(of, "POST", "/sessions",
			fmt.Sprintf(`{"customer_name":"Jo","lane_id":%q,"group_id":%q,"duration":%d,"auto_start":true}`, lane,
				gatewaytest.DemoGroup, minutes))
	}
	const running = `"phase":"running"`
	sell(north, gatewaytest.DemoLane, 30)
	for _, next := range northScreens {
		require.Contains(t, next(), running)
	}
	// The first change that the others see is their own.
	sell(north, lane2, 40)
	require.Contains(t, otherLane(), `"duration":40`)
	sell(south, gatewaytest.DemoLane, 50)
	for _, next := range southScreens {
		change := next()
		require.Contains(t, change, running)
		require.Regexp(t, `"left_ms":(3000000|299\d{4})\b`, change)
	}
}
