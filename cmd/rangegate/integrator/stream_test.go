package integrator

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// reader reads a stream as a browser does.
type reader struct {
	t     *testing.T
	lines *bufio.Scanner
}

func (r *rig) reads() *reader {
	response := r.get("/stream")
	require.Equal(r.t, http.StatusOK, response.StatusCode)
	require.Equal(r.t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &reader{r.t, lines}
}

// next is the next event of the stream, and false at its end.
func (s *reader) next(data any) (string, bool) {
	event := ""
	for s.lines.Scan() {
		if name, is := strings.CutPrefix(s.lines.Text(), "event: "); is {
			event = name
		}
		if encoded, is := strings.CutPrefix(s.lines.Text(), "data: "); is {
			require.NoError(s.t, json.Unmarshal([]byte(encoded), data))
			return event, true
		}
	}
	return "", false
}

func TestTheStreamBeginsWithEverythingAndGoesOnInOrder(t *testing.T) {
	r := newRig(t)
	for range 3 {
		r.event(started)
	}
	stream := r.reads()
	var all everything
	event, _ := stream.next(&all)
	require.Equal(t, "all", event)
	require.Len(t, all.Arrived, 3)
	require.Equal(t, byDefault, all.Next)
	require.False(t, all.Checks)

	for i := range 50 {
		go r.in.desk.take(Arrival{Event: "sessionStarted", Range: strings.Repeat("r", i)})
	}
	for number := 4; number <= 53; number++ {
		var arrival Arrival
		event, _ := stream.next(&arrival)
		require.Equal(t, "arrived", event)
		require.Equal(t, number, arrival.Number)
	}
}

func TestTheStreamTellsTheNextAnswerAndThatItIsUsedUp(t *testing.T) {
	r := newRig(t, secret)
	stream := r.reads()
	var all everything
	_, _ = stream.next(&all)
	require.True(t, all.Checks)
	require.NotNil(t, all.Arrived)

	var next Next
	r.choose(`{"answer":"refuse","user_message":"Sold\nout.","once":true}`)
	event, _ := stream.next(&next)
	require.Equal(t, "next", event)
	require.Equal(t, Next{Refuse, "Sold\nout.", true}, next)

	r.in.desk.take(Arrival{Event: purchaseRequest})
	var arrival Arrival
	event, _ = stream.next(&arrival)
	require.Equal(t, "arrived", event)
	require.Equal(t, Refuse, arrival.Answer)
	event, _ = stream.next(&next)
	require.Equal(t, "next", event)
	require.Equal(t, byDefault, next)
}

func TestStreamsEndWithTheIntegrator(t *testing.T) {
	r := newRig(t)
	one, other := r.reads(), r.reads()
	for _, stream := range []*reader{one, other} {
		event, _ := stream.next(&everything{})
		require.Equal(t, "all", event)
	}
	r.in.Close()
	for _, stream := range []*reader{one, other} {
		_, more := stream.next(nil)
		require.False(t, more)
		require.NoError(t, stream.lines.Err(), "ended, not broken off")
	}
	require.NoError(t, r.server.Config.Shutdown(t.Context()), "nothing holds the server up")
}

func TestTheDeskKeepsTheLastFiveHundred(t *testing.T) {
	d := newDesk()
	for range 510 {
		d.take(Arrival{})
	}
	for since, want := range map[int][2]int{0: {11, 510}, 10: {11, 510}, 11: {12, 510}, 509: {510, 510}} {
		list, _, _ := d.since(since)
		require.Equal(t, want, [2]int{list[0].Number, list[len(list)-1].Number})
		require.Len(t, list, want[1]-want[0]+1)
	}
	list, _, _ := d.since(510)
	require.Empty(t, list)
}
