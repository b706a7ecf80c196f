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

// counter is something that changes: its count. A feed of it tells the count.
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

func newCounter() *counter { return &counter{wake: make(chan struct{})} }

func (c *counter) feed() Feed {
	told := -1
	return Feed{
		Next: func() (string, any, <-chan struct{}) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.count == told {
				return "", nil, c.wake
			}
			told = c.count
			return "change", told, c.wake
		},
		Beat: func() (any, bool) { return "alive", true },
	}
}

// page hears a stream, in a bubble of synctest.
type page struct {
	http.ResponseWriter
	mu    sync.Mutex
	heard []string
}

func (p *page) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, strings.TrimSpace(strings.ReplaceAll(string(text), "\ndata:", "")))
	return len(text), nil
}

func (p *page) FlushError() error { return nil }

func (p *page) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.ReplaceAll(strings.Join(p.heard, ", "), "event: ", "")
}

// watching tells a story while a page hears the feed. It answers once the stream has ended.
func watching(t *testing.T, f Feed, story func(p *page)) string {
	p := &page{ResponseWriter: httptest.NewRecorder()}
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/stream", nil)
	var following sync.WaitGroup
	following.Go(func() { f.Follow(p, request) })
	synctest.Wait()
	story(p)
	following.Wait()
	return p.all()
}

func TestChangesOfATenthOfASecondComeInOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, closing := newCounter(), make(chan struct{})
		feed := c.feed()
		feed.Closing = closing
		heard := watching(t, feed, func(p *page) {
			require.Equal(t, "change 0", p.all(), "the picture is there at once")
			for range 1000 {
				time.Sleep(time.Millisecond)
				c.add()
				synctest.Wait()
			}
			time.Sleep(time.Second)
			close(closing)
		})
		require.LessOrEqual(t, strings.Count(heard, "change"), 12)
		require.GreaterOrEqual(t, strings.Count(heard, "change"), 10)
		require.True(t, strings.HasSuffix(heard, "change 1000"), "the last change is told: %s", heard)
	})
}

func TestAQuietStreamBeatsEveryFiveSecondsUntilItsSessionIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		feed := newCounter().feed()
		feed.Over = over
		heard := watching(t, feed, func(*page) {
			time.Sleep(15 * time.Second)
			synctest.Wait()
			close(over)
		})
		require.Equal(t, `change 0, beat "alive", beat "alive", beat "alive", bye {}`, heard)
	})
}

func TestAStreamOfARangeThatIsGoneEndsAtTheNextBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := newCounter().feed()
		feed.Beat = func() (any, bool) { return nil, false }
		require.Equal(t, "change 0", watching(t, feed, func(*page) {}))
	})
}

// serve answers the feed on a real connection, with the time-outs of a server that knows nothing of streams.
func serve(t *testing.T, f Feed, ended chan<- struct{}) *httptest.Server {
	server := unstarted(f, ended)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func unstarted(f Feed, ended chan<- struct{}) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Follow(w, r)
		close(ended)
	}))
	server.Config.ReadTimeout, server.Config.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
	return server
}

func TestAStreamOutlivesTheTimeOutsOfItsServer(t *testing.T) {
	c, ended := newCounter(), make(chan struct{})
	server := serve(t, c.feed(), ended)
	response, err := http.Get(server.URL)
	require.NoError(t, err)
	outlives(t, response, c)
	<-ended // who has gone is noticed
}

// HTTP/2 has the time-outs for each stream of a connection.
func TestAStreamOutlivesTheTimeOutsOfAServerOfHTTP2(t *testing.T) {
	c, ended := newCounter(), make(chan struct{})
	server := unstarted(c.feed(), ended)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	response, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	require.Equal(t, 2, response.ProtoMajor)
	outlives(t, response, c)
	<-ended
}

// outlives reads a stream of what changes whenever it is read, ten times as long as its server's patience.
func outlives(t *testing.T, response *http.Response, c *counter) {
	t.Helper()
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	begun := time.Now()
	for time.Since(begun) < 500*time.Millisecond {
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
	defer response.Body.Close()
	require.NoError(t, server.Config.Shutdown(t.Context()))
	<-ended
}

// pipe is a listener of one connection, which holds nothing that the browser has not read.
type pipe struct {
	net.Listener
	connections chan net.Conn
}

func (p pipe) Accept() (net.Conn, error) {
	connection, open := <-p.connections
	if !open {
		return nil, net.ErrClosed
	}
	return connection, nil
}

func (p pipe) Close() error { return nil }

func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }

// browser has the feed open on a connection of its own, in a bubble of synctest.
func browser(f Feed, ended chan struct{}) (lines *bufio.Scanner, hangUp func()) {
	here, there := net.Pipe()
	listener := pipe{connections: make(chan net.Conn, 1)}
	listener.connections <- there
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		f.Follow(w, r)
	})}
	go func() { _ = server.Serve(listener) }()
	_, _ = io.WriteString(here, "GET / HTTP/1.1\r\nHost: range.example\r\n\r\n")
	return bufio.NewScanner(here), func() {
		_ = here.Close()
		close(listener.connections)
		<-ended
		synctest.Wait()
	}
}

func next(lines *bufio.Scanner) string {
	for lines.Scan() {
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
			return data
		}
	}
	return ""
}

func TestASlowBrowserIsSkippedForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ended := newCounter(), make(chan struct{})
		lines, hangUp := browser(c.feed(), ended)
		require.Equal(t, "0", next(lines))
		for range 90 {
			time.Sleep(100 * time.Millisecond)
			c.add()
		}
		// One message was on its way, and one more is made of all that came after it.
		first, second := next(lines), next(lines)
		require.Contains(t, []string{"1", "2", `"alive"`}, first)
		for second == `"alive"` {
			second = next(lines)
		}
		require.Equal(t, "90", second)
		hangUp()
	})
}

func TestABrowserThatTakesNothingIsHungUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, ended := newCounter(), make(chan struct{})
		lines, hangUp := browser(c.feed(), ended)
		require.Equal(t, "0", next(lines))
		begun := time.Now()
		<-ended
		require.Equal(t, BeatEvery+stuckFor, time.Since(begun).Round(100*time.Millisecond), "the first beat was not taken in time")
		hangUp()
	})
}
