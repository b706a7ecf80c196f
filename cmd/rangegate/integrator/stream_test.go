package integrator

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reader reads a stream of server-sent events.
type reader struct {
	t     *testing.T
	lines *bufio.Scanner
}

func (r *fixture) openStream() *reader {
	response, err := r.server.Client().Get(r.server.URL + "/stream")
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(r.t, http.StatusOK, response.StatusCode)
	require.Equal(r.t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &reader{r.t, lines}
}

// next returns the next event of the stream, and false at its end.
func (s *reader) next(data any) (string, bool) {
	event := ""
	for s.lines.Scan() {
		if name, ok := strings.CutPrefix(s.lines.Text(), "event: "); ok {
			event = name
		}
		if encoded, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok {
			require.NoError(s.t, json.Unmarshal([]byte(encoded), data))
			return event, true
		}
	}
	return "", false
}

func TestTheStreamSendsASnapshotAndThenArrivalsInOrder(t *testing.T) {
	r := newFixture(t)
	for range 3 {
		r.event(started)
	}
	stream := r.openStream()
	var all snapshot
	event, _ := stream.next(&all)
	require.Equal(t, "all", event)
	require.Len(t, all.Arrived, 3)
	require.Equal(t, acceptAll, all.Next)
	require.False(t, all.Checks)

	for i := range 50 {
		go r.in.inbox.add(Arrival{Event: "sessionStarted", Range: strings.Repeat("r", i)})
	}
	for number := 4; number <= 53; number++ {
		var arrival Arrival
		event, _ := stream.next(&arrival)
		require.Equal(t, "arrived", event)
		require.Equal(t, number, arrival.Number)
	}
}

func TestTheStreamSendsTheNextAnswer(t *testing.T) {
	r := newFixture(t, secret)
	stream := r.openStream()
	var all snapshot
	_, _ = stream.next(&all)
	require.True(t, all.Checks)
	require.NotNil(t, all.Arrived)

	var next Next
	r.choose(`{"answer":"refuse","user_message":"Sold\nout.","once":true}`)
	event, _ := stream.next(&next)
	require.Equal(t, "next", event)
	require.Equal(t, Next{Refuse, "Sold\nout.", true}, next)

	r.in.inbox.add(Arrival{Event: purchaseRequest})
	var arrival Arrival
	event, _ = stream.next(&arrival)
	require.Equal(t, "arrived", event)
	require.Equal(t, Refuse, arrival.Answer)
	event, _ = stream.next(&next)
	require.Equal(t, "next", event)
	require.Equal(t, acceptAll, next)
}

func TestStreamsEndWithTheIntegrator(t *testing.T) {
	r := newFixture(t)
	first, second := r.openStream(), r.openStream()
	for _, stream := range []*reader{first, second} {
		event, _ := stream.next(&snapshot{})
		require.Equal(t, "all", event)
	}
	r.in.Close()
	for _, stream := range []*reader{first, second} {
		_, more := stream.next(nil)
		require.False(t, more)
		require.NoError(t, stream.lines.Err(), "closed properly")
	}
	require.NoError(t, r.server.Config.Shutdown(t.Context()), "no open request delays the server")
}

func TestTheInboxKeepsTheLastFiveHundred(t *testing.T) {
	d := newInbox()
	for range 510 {
		d.add(Arrival{})
	}
	for since, want := range map[int][2]int{0: {11, 510}, 10: {11, 510}, 11: {12, 510}, 509: {510, 510}} {
		list, _, _ := d.since(since)
		require.Equal(t, want, [2]int{list[0].Number, list[len(list)-1].Number})
		require.Len(t, list, want[1]-want[0]+1)
	}
	list, _, _ := d.since(510)
	require.Empty(t, list)
}
