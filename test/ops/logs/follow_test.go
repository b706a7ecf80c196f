package logs

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// followed is the log of a gateway as a follower gets it.
type followed struct {
	t      *testing.T
	stream *bufio.Scanner
}

// follow follows the log of the gateway from now on.
func (g gateway) follow(query string) followed {
	g.t.Helper()
	request, err := http.NewRequestWithContext(g.t.Context(), "GET", g.Operations+"/observer/log?"+query, http.NoBody)
	require.NoError(g.t, err)
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Authorization", "Bearer "+operator)
	response, err := http.DefaultClient.Do(request)
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(g.t, 200, response.StatusCode)
	f := followed{g.t, bufio.NewScanner(response.Body)}
	f.next("counts")
	return f
}

// next returns the next message of that kind; empty: the stream has ended.
func (f followed) next(event string) (data string) {
	f.t.Helper()
	for f.stream.Scan() {
		if f.stream.Text() != "event: "+event {
			continue
		}
		require.True(f.t, f.stream.Scan())
		return strings.TrimPrefix(f.stream.Text(), "data: ")
	}
	require.NoError(f.t, f.stream.Err())
	return ""
}

// A follower gets the lines that a request causes, as the log has them, once, and no others; what is below the level of
// the process it does not get. It is told how many there were, and it goes with the gateway.
func TestTheLogOfAGatewayIsFollowed(t *testing.T) {
	const trace = "0af7651916cd43dd8448eb211c803194"
	g := serve(t, configured(t, support.NewReceiver(t), "info"))
	support.Eventually(t, "both lanes have said that their links are up", func() bool {
		return strings.Count(g.Log(), `"message":"link up"`) == 2
	})
	followers := map[string]followed{
		"lane": g.follow("range=" + support.RangeID + "&lane=" + support.LaneID(1)),
		"text": g.follow("text=" + strings.ToUpper(trace) + "&level=info"),
		// of a sale there is none; on a slow machine there is one about the store
		"error": g.follow("level=error&text=" + trace),
	}
	g.sell(2, "0af7651916cd43dd8448eb211c803195")
	g.sell(1, trace)
	g.waitLines(1, "request", trace)
	g.waitLines(2, "event", trace)
	for name, messages := range map[string]int{"lane": 3, "text": 4} { // the request names no lane
		for range messages {
			data := followers[name].next("line")
			var line map[string]any
			require.NoError(t, json.Unmarshal([]byte(data), &line), data)
			require.Equal(t, trace, line["trace_id"], data)
			require.Equal(t, 1, strings.Count(g.Log(), data), "as it is in the log")
		}
	}
	var counts struct {
		Level       string
		Matching    int
		NotMatching int `json:"not_matching"`
	}
	for counts.NotMatching < 8 { // of two sales
		require.NoError(t, json.Unmarshal([]byte(followers["error"].next("counts")), &counts))
	}
	require.Equal(t, "info", counts.Level)
	require.Zero(t, counts.Matching)

	require.Zero(t, g.Terminate())
	for name, f := range followers {
		require.Empty(t, f.next("none"), name)
	}
}
