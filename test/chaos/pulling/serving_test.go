package pulling

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// openStream opens a stream and reads its beginning. The test's end closes it.
func openStream(t testing.TB, gateway *support.Gateway, path string) (status int, body io.ReadCloser) {
	request, err := http.NewRequestWithContext(t.Context(), "GET", gateway.API+support.V2+path, nil)
	require.NoError(t, err)
	request.Header.Set("range-id", support.RangeID)
	request.Header.Set("token", support.Token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.StatusCode, response.Body
}

// A gateway that stops answers those that wait and ends the streams, and takes no longer than the requests
// that are carried out.
func TestReadersEndWithTheGateway(t *testing.T) {
	gateway := support.NewConfig(t, support.Lanes(1, 1)).Serve(t)
	pos := gateway.POS()
	pos.Sell(1, 30)
	log := pos.Events("0")
	last := log[len(log)-1].Cursor
	_, stream := openStream(t, gateway, "/events/stream?after="+last)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		answer, err := pos.Do("GET", "/events?wait=60&after="+last, "")
		if err != nil || answer.Status != 200 || answer.Body != `{"events":[],"next":"`+last+"\"}\n" {
			t.Error("the poll: ", answer, err)
		}
	})
	support.Eventually(t, "both wait", func() bool { return gateway.Metrics().Sum("rangegate_event_readers") == 2 })
	require.Zero(t, gateway.Terminate())
	waiting.Wait()
	text, err := io.ReadAll(stream)
	require.NoError(t, err, "the response has a proper end")
	require.Equal(t, "retry: 1000\n\n", strings.ReplaceAll(string(text), ":\n\n", ""), "and beats, in time")
	require.NotContains(t, gateway.Log(), `"level":"error"`)
}

// The limit is one range's, of polls and streams together. Those who leave make room, and those who need not
// wait are never refused.
func TestOneMoreThanMayWait(t *testing.T) {
	const limit = 100
	gateway := support.NewConfig(t, support.Lanes(1, 1)).Serve(t)
	pos := gateway.POS()
	session := pos.Sell(1, 30)
	var streams []io.Closer
	for range limit {
		status, body := openStream(t, gateway, "/events/stream?after=2")
		require.Equal(t, 200, status)
		streams = append(streams, body)
	}
	for _, path := range []string{"/events/stream", "/events?after=2&wait=1"} {
		answer := pos.Expect(503, "GET", path, "")
		require.Equal(t, "overloaded", answer.Code())
		require.Equal(t, "1", answer.Header.Get("Retry-After"))
	}
	require.Equal(t, 2.0, gateway.Metrics().Sum("rangegate_requests_limited_total", `limit="waiting"`))
	require.Len(t, pos.Events("0"), 2)
	pos.Expect(200, "GET", "/events?after=1&wait=60", "")
	pos.Command(session, "/pause") // a POS sells on, however many wait
	require.NoError(t, streams[0].Close())
	support.Eventually(t, "there is room again", func() bool {
		return gateway.Metrics().Sum("rangegate_event_readers") == limit-1
	})
	pos.Expect(200, "GET", "/events?after=3&wait=1", "")
}

// A token that the configuration no longer has reads nothing more: every stream ends with a reload, and who
// has a token connects again.
func TestAReloadEndsStreams(t *testing.T) {
	config := support.NewConfig(t, support.Lanes(1, 1))
	gateway := config.Serve(t)
	_, stream := openStream(t, gateway, "/events/stream")
	const another = "22222222-2222-4222-8222-333333333333"
	config.Ranges[0].Tokens = []string{another}
	gateway.Configure(config.String())
	gateway.Signal(syscall.SIGHUP)
	_, err := io.ReadAll(stream)
	require.NoError(t, err)
	status, _ := openStream(t, gateway, "/events/stream")
	require.Equal(t, 401, status)
}

// A poll is told what happens at once: the body has the event that the same POS was answered for.
func TestAPollIsWokenByTheEvent(t *testing.T) {
	gateway := support.NewConfig(t, support.Lanes(1, 1)).Serve(t)
	pos := gateway.POS()
	answered := make(chan support.Answer, 1)
	go func() {
		answer, _ := pos.Do("GET", "/events?wait=60", "")
		answered <- answer
	}()
	support.Eventually(t, "it waits", func() bool {
		return gateway.Metrics().Sum("rangegate_event_readers", `kind="poll"`) == 1
	})
	session := pos.Sell(1, 30)
	answer := <-answered
	require.Equal(t, 200, answer.Status)
	require.True(t, strings.Contains(answer.Body, `"event":"sessionCreated"`) && strings.Contains(answer.Body, session),
		answer.Body)
	support.Eventually(t, "it is gone", func() bool { return gateway.Metrics().Sum("rangegate_event_readers") == 0 })
}
