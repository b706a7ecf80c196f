package screens

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// counter is a state that changes: its count. Its feed sends the count.
type counter struct {
	mu    sync.Mutex
	count int
	wake  chan struct{}
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	close(c.wake)
	c.wake = make(chan struct{})
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// beat is the data of every heartbeat.
const beat = `{"now":"2026-05-01T12:00:00.000Z"}`

func newCounter() *counter { return &counter{wake: make(chan struct{})} }

func (c *counter) feed() Feed {
	sent := -1
	return Feed{
		Next: func() (string, any, <-chan struct{}) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.count == sent {
				return "", nil, c.wake
			}
			sent = c.count
			return "change", sent, c.wake
		},
		Beat: func() (time.Time, bool) { return noon, true },
	}
}

// recorder records a stream inside a synctest bubble.
type recorder struct {
	http.ResponseWriter
	mu       sync.Mutex
	messages []string
}

func (r *recorder) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, strings.TrimSpace(strings.ReplaceAll(string(text), "\ndata:", "")))
	return len(text), nil
}

func (r *recorder) FlushError() error { return nil }

func (r *recorder) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.ReplaceAll(strings.Join(r.messages, ", "), "event: ", "")
}

// follow runs the story while a recorder follows the feed. It returns the messages once the stream has ended.
func follow(t *testing.T, f Feed, story func(r *recorder)) string {
	rec := &recorder{ResponseWriter: httptest.NewRecorder()}
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/stream", nil)
	var following sync.WaitGroup
	following.Go(func() { f.Follow(rec, request) })
	synctest.Wait()
	story(rec)
	following.Wait()
	return rec.all()
}

// What was shown runs elsewhere now: the screen connects again, and is not shown what is outdated until the
// next heartbeat.
func TestAStreamEndsWithWhatItShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ended, began := newCounter(), make(chan struct{}), time.Now()
		feed := c.feed()
		feed.Ended = ended
		require.Equal(t, "change 0", follow(t, feed, func(*recorder) { close(ended) }))
		require.Less(t, time.Since(began), BeatInterval)
	})
}

func TestChangesWithinATenthOfASecondAreSentTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, closing := newCounter(), make(chan struct{})
		feed := c.feed()
		feed.Closing = closing
		messages := follow(t, feed, func(r *recorder) {
			require.Equal(t, "change 0", r.all(), "the first message is sent at once")
			for range 1000 {
				time.Sleep(time.Millisecond)
				c.add()
				synctest.Wait()
			}
			time.Sleep(minInterval)
			close(closing)
		})
		require.LessOrEqual(t, strings.Count(messages, "change"), 12)
		require.GreaterOrEqual(t, strings.Count(messages, "change"), 10)
		require.True(t, strings.HasSuffix(messages, "change 1000"), "the last change is sent: %s", messages)
	})
}

func TestAQuietStreamBeatsEveryTwoSecondsUntilItIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		revoked := make(chan struct{})
		feed := newCounter().feed()
		feed.Revoked = revoked
		messages := follow(t, feed, func(*recorder) {
			time.Sleep(6 * time.Second)
			synctest.Wait()
			close(revoked)
		})
		require.Equal(t, `change 0, beat `+beat+`, beat `+beat+`, beat `+beat+`, bye {}`, messages)
	})
}

func TestAStreamEndsWhenItsBeatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newCounter().feed()
		feed.Beat = func() (time.Time, bool) { return noon, false }
		require.Equal(t, "change 0", follow(t, feed, func(*recorder) {}))
	})
}

// serve serves the feed on a real connection, with timeouts that are shorter than a stream.
func serve(t *testing.T, f Feed, ended chan<- struct{}) *httptest.Server {
	server := unstarted(f, ended)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// serverTimeout is longer than a busy machine takes from a connection's first byte to its handler.
const serverTimeout = 500 * time.Millisecond

func unstarted(f Feed, ended chan<- struct{}) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Follow(w, r)
		close(ended)
	}))
	server.Config.ReadTimeout, server.Config.WriteTimeout = serverTimeout, serverTimeout
	return server
}

func TestAStreamOutlivesTheTimeoutsOfItsServer(t *testing.T) {
	c, ended := newCounter(), make(chan struct{})
	server := serve(t, c.feed(), ended)
	response, err := http.Get(server.URL)
	require.NoError(t, err)
	readLonger(t, response, c)
	<-ended // the server notices that the client is gone
}

// HTTP/2 applies the timeouts to each stream of a connection.
func TestAStreamOutlivesTheTimeoutsOfAnHTTP2Server(t *testing.T) {
	c, ended := newCounter(), make(chan struct{})
	server := unstarted(c.feed(), ended)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	response, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	require.Equal(t, 2, response.ProtoMajor)
	readLonger(t, response, c)
	<-ended
}

// readLonger reads a stream that changes after every message, for twice the timeouts of its server.
func readLonger(t *testing.T, response *http.Response, c *counter) {
	t.Helper()
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	begun := time.Now()
	for time.Since(begun) < 2*serverTimeout {
		require.True(t, lines.Scan(), "the stream ended: %v", lines.Err())
		if strings.HasPrefix(lines.Text(), "data:") {
			c.add()
		}
	}
	_ = response.Body.Close()
}

func TestAStreamEndsWhenTheGatewayStops(t *testing.T) {
	closing, ended := make(chan struct{}), make(chan struct{})
	feed := newCounter().feed()
	feed.Closing = closing
	server := serve(t, feed, ended)
	server.Config.RegisterOnShutdown(func() { close(closing) })
	response, err := http.Get(server.URL)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.NoError(t, server.Config.Shutdown(t.Context()))
	<-ended
}

// pipe is a listener of one connection without a buffer.
type pipe struct {
	net.Listener
	connections chan net.Conn
}

func (p pipe) Accept() (net.Conn, error) {
	connection, ok := <-p.connections
	if !ok {
		return nil, net.ErrClosed
	}
	return connection, nil
}

func (p pipe) Close() error { return nil }

func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }

// connect opens the feed on a connection inside a synctest bubble.
func connect(f Feed, ended chan struct{}) (lines *bufio.Scanner, hangUp func()) {
	client, server := net.Pipe()
	listener := pipe{connections: make(chan net.Conn, 1)}
	listener.connections <- server
	handler := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		f.Follow(w, r)
	})}
	go func() { _ = handler.Serve(listener) }()
	_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: range.example\r\n\r\n")
	return bufio.NewScanner(client), func() {
		_ = client.Close()
		close(listener.connections)
		<-ended
		synctest.Wait()
	}
}

func next(lines *bufio.Scanner) string {
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return data
		}
	}
	return ""
}

func TestASlowBrowserSkipsToTheLatestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ended := newCounter(), make(chan struct{})
		lines, hangUp := connect(c.feed(), ended)
		require.Equal(t, "0", next(lines))
		for range 90 {
			time.Sleep(100 * time.Millisecond)
			c.add()
		}
		// One message was already being sent; the next one has all later changes.
		first, second := next(lines), next(lines)
		require.Contains(t, []string{"1", "2", beat}, first)
		for second == beat {
			second = next(lines)
		}
		require.Equal(t, "90", second)
		hangUp()
	})
}

func TestABrowserThatReadsNothingIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ended := newCounter(), make(chan struct{})
		lines, hangUp := connect(c.feed(), ended)
		require.Equal(t, "0", next(lines))
		begun := time.Now()
		<-ended
		require.Equal(t, BeatInterval+writeTimeout, time.Since(begun).Round(100*time.Millisecond),
			"the first beat was not read in time")
		hangUp()
	})
}
