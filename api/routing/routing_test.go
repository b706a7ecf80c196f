package routing

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

func TestARequestIsServedByTheOwnerOfItsRange(t *testing.T) {
	entry, owner := newPair(t, echo)
	response := entry.send("POST", "/things/a%2Fb;x?q=1;2&%zz", `{"a":1}`, "Idempotency-Key", "k", "Content-Type",
		"application/json",
		"Range-Id", theRange.String(), "Token", "secret", "Cookie", "a=b")
	require.Equal(t, http.StatusOK, response.status)
	got := response.seen(t)
	require.Equal(t, "POST", got.Method)
	require.Equal(t, "/things/a%2Fb;x?q=1;2&%zz", got.URI,
		"byte for byte: an Idempotency-Key is of the very same request")
	require.Equal(t, `{"a":1}`, got.Body)
	require.Equal(t, strings.TrimPrefix(entry.client.URL, "http://"), got.Host,
		"cookies and commands of pages depend on it")
	require.Equal(t, "k", got.Header.Get("Idempotency-Key"))
	require.Equal(t, "secret", got.Header.Get("Token"))
	require.Equal(t, "a=b", got.Header.Get("Cookie"))
	require.Equal(t, "entry", got.Entry)
	require.Empty(t, entry.servedRequests())
	require.Len(t, owner.servedRequests(), 1)
	require.Equal(t, 1.0, entry.proxied(answered))

	require.Equal(t, http.StatusOK, entry.send("GET", "/local", "").status)
	require.Len(t, entry.servedRequests(), 1, "what belongs to no range is served everywhere")
	require.Equal(t, http.StatusOK, owner.send("GET", "/things", "").status)
	require.Len(t, owner.servedRequests(), 2)
}

// One trace id: in the client's response, and in the lines of both nodes, which name each other.
func TestBothLogsHaveTheTrace(t *testing.T) {
	entry, owner := newPair(t, echo)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, headers := range [][]string{
		nil,
		{"Traceparent", "nonsense", "Tracestate", "a=b"},
		{"Traceparent", "00-" + trace + "-00f067aa0ba902b7-01", "Tracestate", "a=b"},
	} {
		response := entry.send("GET", "/things", "", headers...)
		id := response.header["Trace-Id"]
		require.Len(t, id, 1)
		got := response.seen(t)
		require.Equal(t, id[0], got.Trace)
		for n, other := range map[*node]string{entry: `"node":"owner"`, owner: `"entry":"entry"`} {
			line := ""
			require.Eventually(t, func() bool {
				for _, l := range strings.Split(n.logged(), "\n") {
					if strings.Contains(l, id[0]) {
						line = l
					}
				}
				return line != ""
			}, time.Minute, time.Millisecond)
			require.Contains(t, line, other)
		}
		if len(headers) > 0 && strings.Contains(headers[1], trace) {
			require.Equal(t, trace, id[0])
			require.Equal(t, headers[1], got.Header.Get("Traceparent"))
			require.Equal(t, "a=b", got.Header.Get("Tracestate"))
		} else {
			require.Empty(t, got.Header.Get("Tracestate"))
		}
	}
}

// Only the node listener believes the headers of a hop, and only the entry writes them.
func TestNobodyElseSaysWhoTheClientIs(t *testing.T) {
	entry, owner := newPair(t, echo)
	spoofed := []string{
		clientHeader, "192.0.2.99:1", tlsHeader, "true", entryHeader, "other", serviceHeader, string(operations),
		"rangegate-anything", "x",
		"X-Forwarded-For", "192.0.2.98", "X-Forwarded-Proto", "https", "Forwarded", "for=192.0.2.97",
	}
	for _, n := range []*node{entry, owner} {
		got := n.send("GET", "/things", "", spoofed...).seen(t)
		host, _, err := net.SplitHostPort(got.Client)
		require.NoError(t, err)
		require.Equal(t, "127.0.0.1", host)
		require.False(t, got.TLS)
		require.NotEqual(t, "other", got.Entry)
		if n == entry {
			require.Equal(t, "entry", got.Entry)
			require.Empty(t, got.Header.Get("Rangegate-Anything"))
			require.Empty(t, got.Header.Get("X-Forwarded-For"), "the entry has judged it")
			require.Empty(t, got.Header.Get("Forwarded"))
		}
	}
	// A request that no entry has sent is no request of a client.
	response, err := http.Get(owner.nodes.URL + "/things")
	require.NoError(t, err)
	_ = response.Body.Close()
	require.Equal(t, http.StatusNotFound, response.StatusCode)
}

func TestTheOwnersHeadersWin(t *testing.T) {
	entry, _ := newPair(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "a=1; Path=/control; HttpOnly")
		w.Header().Add("Set-Cookie", "b=2")
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	response := entry.send("GET", "/things", "")
	require.Equal(t, http.StatusTooManyRequests, response.status)
	require.Equal(t, []string{"a=1; Path=/control; HttpOnly", "b=2"}, response.header["Set-Cookie"])
	require.Equal(t, "7", response.header.Get("Retry-After"))
	require.Empty(t, response.header.Get("X-Hop"))
	require.Len(t, response.header["Date"], 1)
}

// The owner refuses a body that is too long, unless it reads none: as it would without a hop.
func TestBodies(t *testing.T) {
	entry, owner := newPair(t, echo)
	for _, size := range []int{0, 1, 64 << 10, maxBody, 1 << 20} {
		got := entry.send("POST", "/things", strings.Repeat("x", size)).seen(t)
		require.Equal(t, min(size, maxBody), got.Length)
		require.Equal(t, "<nil>", got.Error)
	}
	chunked, err := http.NewRequest("POST", entry.client.URL+"/things",
		io.MultiReader(strings.NewReader("ab"), strings.NewReader("cd")))
	require.NoError(t, err)
	chunked.Header.Set("Expect", "100-continue")
	response, err := http.DefaultClient.Do(chunked)
	require.NoError(t, err)
	text, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	got := answer{body: string(text)}.seen(t)
	require.Equal(t, "abcd", got.Body)
	require.Empty(t, got.Header.Get("Expect"))
	require.Len(t, owner.servedRequests(), 6)

	// One that breaks off never reaches the owner.
	connection, err := net.Dial("tcp", entry.client.Listener.Addr().String())
	require.NoError(t, err)
	_, _ = io.WriteString(connection, "POST /things HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	require.NoError(t, connection.(*net.TCPConn).CloseWrite())
	_, _ = io.ReadAll(connection)
	_ = connection.Close()
	require.Equal(t, []string{"POST /things"}, entry.servedRequests(), "this node refuses it")
	require.Len(t, owner.servedRequests(), 6)
}

// A request that came from another node goes no further, whatever this node believes.
func TestARequestMakesOneHop(t *testing.T) {
	a, b, c := newNode(t, "a", byPath, echo), newNode(t, "b", byPath, echo), newNode(t, "c", byPath, echo)
	a.know(b)
	b.know(c)
	c.know(c)
	response := a.send("POST", "/things", "x")
	require.Equal(t, http.StatusServiceUnavailable, response.status)
	require.Equal(t, "not_owner", response.code)
	require.Equal(t, "1", response.header.Get("Retry-After"))
	require.Equal(t, 1, a.refreshes, "the owner is read anew, once")
	require.Equal(t, 2, b.arrived)
	require.Equal(t, 2.0, b.proxied(refusedHere))
	require.Zero(t, c.arrived)

	// Now the store knows better than a's memory.
	current := c.seenBy(a)
	a.truth = &current
	require.Equal(t, http.StatusOK, a.send("POST", "/things", "x").status)
	require.Equal(t, []string{"POST /things"}, c.servedRequests())
	require.Equal(t, 2, a.refreshes)
	require.Equal(t, 2.0, a.retries(wrongNode))

	// The range has come here meanwhile.
	here := a.seenBy(a)
	a.owner, a.truth = b.seenBy(a), &here
	require.Equal(t, "hello", a.send("POST", "/things", "hello").seen(t).Body)
	require.Equal(t, []string{"POST /things"}, a.servedRequests())
	require.Equal(t, 1.0, a.proxied(ownedHere))
}

// What a client is told when the owner does not answer: 503 where nothing was changed, 504 where nobody knows.
func TestWhatAFailureMeans(t *testing.T) {
	hangUp := func(after func(net.Conn)) func(net.Conn) {
		return func(c net.Conn) { after(c); _ = c.Close() }
	}
	readRequest := func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }
	for name, tt := range map[string]struct {
		owner   func(t *testing.T) string
		method  string
		status  int
		code    string
		retried string
	}{
		"nobody listens":                  {closed, "POST", 503, "not_owner", unreachable},
		"nobody listens to one who reads": {closed, "GET", 503, "not_owner", unreachable},
		"broken after it was sent": {
			func(t *testing.T) string { return rawListener(t, hangUp(readRequest)) },
			"POST", 504, "timeout", "",
		},
		"broken after it was sent, a read": {
			func(t *testing.T) string { return rawListener(t, hangUp(readRequest)) },
			"GET", 504, "timeout", "broken_off",
		},
	} {
		t.Run(name, func(t *testing.T) {
			entry := newNode(t, "entry", byPath, echo)
			entry.knowAddress(tt.owner(t))
			response := entry.send(tt.method, "/things", "x")
			require.Equal(t, tt.status, response.status)
			require.Equal(t, tt.code, response.code)
			require.Contains(t, response.body, response.header.Get("Trace-Id"))
			if tt.status == 503 {
				require.Equal(t, "1", response.header.Get("Retry-After"))
			}
			if tt.retried != "" {
				require.Equal(t, 1.0, entry.retries(tt.retried))
			} else {
				require.Zero(t, entry.refreshes, "it may have been carried out")
			}
			require.Empty(t, entry.servedRequests())
			require.NotContains(t, entry.logged(), `"node":"other","method"`, "no node has answered")
		})
	}
}

// A request that the owner may have carried out is sent to it once, whatever headers it has. net/http would send
// it again by itself when a connection breaks that was used before.
func TestARequestThatMayHaveBeenCarriedOutIsSentOnce(t *testing.T) {
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		for _, body := range []string{"", "x"} {
			t.Run(header+" "+body, func(t *testing.T) {
				entry, owner := newPair(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						panic(http.ErrAbortHandler) // carried out, and the response is lost
					}
				})
				require.Equal(t, http.StatusOK, entry.send("GET", "/things", "").status)
				response := entry.send("POST", "/modify?time=30", body, header, "k")
				require.Equal(t, http.StatusGatewayTimeout, response.status)
				require.Equal(t, "timeout", response.code)
				require.Equal(t, []string{"GET /things", "POST /modify?time=30"}, owner.servedRequests())
				require.Zero(t, entry.refreshes)
			})
		}
	}
}

// What could not be connected to is not tried again for a moment: each request would wait for a machine that is gone.
func TestANodeThatCannotBeConnectedToIsLeftAloneForAMoment(t *testing.T) {
	address := closed(t)
	entry, owner := newNode(t, "entry", byPath, echo), newNode(t, "owner", byPath, echo)
	owner.know(owner)
	entry.knowAddress(address)
	require.Equal(t, http.StatusServiceUnavailable, entry.send("GET", "/things", "").status)
	entry.router.noteDeaf(address, &net.OpError{Op: "dial", Err: errors.New("again")}) // a moment begins

	l, err := net.Listen("tcp", address) // were it tried, it would now hear of it
	require.NoError(t, err)
	connected := make(chan struct{}, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
			connected <- struct{}{}
		}
	}()
	response := entry.send("POST", "/things", "x")
	require.Equal(t, http.StatusServiceUnavailable, response.status)
	require.Equal(t, "not_owner", response.code)
	select {
	case <-connected:
		require.Fail(t, "it was connected to")
	default:
	}
	require.NoError(t, l.Close())

	entry.know(owner) // another node is not concerned
	require.Equal(t, http.StatusOK, entry.send("GET", "/things", "").status)

	entry.knowAddress(address)
	entry.router.mu.Lock()
	entry.router.undialled[address] = time.Now().Add(-dialCooldown) // the moment is over
	entry.router.mu.Unlock()
	require.False(t, entry.router.inDialCooldown(address))
}

func TestNoOwner(t *testing.T) {
	entry := newNode(t, "entry", byPath, echo)
	response := entry.send("GET", "/things", "")
	require.Equal(t, http.StatusServiceUnavailable, response.status)
	require.Equal(t, "not_owner", response.code)
	require.Equal(t, "1", response.header.Get("Retry-After"))
	require.Equal(t, 1.0, entry.proxied(noOwner))
}

// tries is how often a test does what takes too long while the machine stands still: a defect takes long every time.
const tries = 3

// A request takes 5 s at most, however silent the owner is.
func TestTheWholeRequestIsBounded(t *testing.T) {
	entry := newNode(t, "entry", byPath, echo)
	entry.knowAddress(rawListener(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }))
	for try := 1; ; try++ {
		began := time.Now()
		response := entry.send("GET", "/things", "")
		took := time.Since(began)
		require.Equal(t, http.StatusGatewayTimeout, response.status)
		require.Equal(t, "timeout", response.code)
		require.GreaterOrEqual(t, took, requestTimeout-time.Second)
		require.EqualValues(t, try, entry.proxied(timedOut))
		if took < 2*requestTimeout {
			return
		}
		require.Less(t, try, tries, "it took %s", took)
	}
}

// sharedClock is a clock that nodes have in common, of which one of them is so far ahead.
type sharedClock struct {
	name  string
	ahead time.Duration
}

func (c *sharedClock) Time() (time.Time, string) {
	return time.Unix(1_750_000_000, 0).Add(c.ahead), c.name
}

func (c *sharedClock) TimeBy(name string) (time.Time, bool) {
	now, own := c.Time()
	return now, name == own
}

// A request that its entry does not wait for any more is not done: the owner may have stood still, and whoever sent it
// may have asked for the contrary since.
func TestARequestThatComesTooLateIsNotDone(t *testing.T) {
	atEntry, atOwner := &sharedClock{name: "redis"}, &sharedClock{name: "redis"}
	with := func(c Clock) func(*Settings, *httptest.Server) {
		return func(s *Settings, _ *httptest.Server) { s.Clock = c }
	}
	entry, owner := newNode(t, "entry", byPath, echo, with(atEntry)), newNode(t, "owner", byPath, echo, with(atOwner))
	entry.know(owner)
	owner.know(owner)
	atOwner.ahead = requestTimeout - time.Second
	require.Equal(t, http.StatusOK, entry.send("PUT", "/things", "x").status)

	atOwner.ahead = requestTimeout + time.Second
	tooLate := entry.send("PUT", "/things", "x")
	require.Equal(t, http.StatusGatewayTimeout, tooLate.status)
	require.Equal(t, "timeout", tooLate.code)
	require.Equal(t, []string{"PUT /things"}, owner.servedRequests())
	require.Equal(t, 1.0, owner.proxied(late))

	require.Equal(t, http.StatusOK, owner.send("PUT", "/things", "x", untilHeader, "1000 redis").status,
		"only nodes say that")
	atOwner.name = "another redis"
	require.Equal(t, http.StatusOK, entry.send("PUT", "/things", "x").status, "its clock says nothing here")
	atEntry.name = ""
	require.Equal(t, http.StatusOK, entry.send("PUT", "/things", "x").status, "not measured yet")
}

// A read whose owner broke off is answered by the one that has taken the range over.
func TestAReadIsTriedOnceMore(t *testing.T) {
	entry, owner := newPair(t, echo)
	current := owner.seenBy(entry)
	entry.knowAddress(rawListener(t, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_ = c.Close()
	}))
	entry.truth = &current
	require.Equal(t, http.StatusOK, entry.send("GET", "/things", "").status)
	require.Equal(t, 1.0, entry.retries("broken_off"))

	entry.knowAddress(closed(t))
	entry.truth = &current
	require.Equal(t, http.StatusOK, entry.send("POST", "/things", "x").status, "the first owner was sent nothing")

	// While the store is away, the owner is whoever it was.
	entry.knowAddress(closed(t))
	entry.unread = errors.New("the store is away")
	require.Equal(t, "not_owner", entry.send("POST", "/things", "x").code)
	entry.know(owner)
	entry.unread = errors.New("the store is away")
	require.Equal(t, http.StatusOK, entry.send("POST", "/things", "x").status)
}

// A client that hangs up ends the request of the owner.
func TestAClientThatHangsUp(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	entry, _ := newPair(t, func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(ended)
	})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", entry.client.URL+"/things", nil)
	require.NoError(t, err)
	go func() {
		<-begun
		cancel()
	}()
	response, err := http.DefaultClient.Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	require.ErrorIs(t, err, context.Canceled)
	<-ended
	require.Eventually(t, func() bool { return entry.proxied(cancelled) == 1 }, time.Minute, time.Millisecond)
}

// A range that does not respond leaves room for the others of its owner, requests without credentials for all
// others, and whatever hangs for what closes a fire line.
func TestRequestsUnderWayAreBounded(t *testing.T) {
	r := New(Settings{Metrics: nil})
	defer r.Close()
	admit := func(f forwarding) (func(), error) { return r.admit(&f) }
	full := forwarding{rangeID: theRange, way: Request, owner: lanes.Owner{Name: "a"}}
	var release func()
	for range maxOfRange {
		var err error
		release, err = admit(full)
		require.NoError(t, err)
	}
	_, err := admit(full)
	require.ErrorContains(t, err, "nothing was changed")
	other := full
	other.rangeID[0]++
	_, err = admit(other)
	require.NoError(t, err)
	release()
	_, err = admit(full)
	require.NoError(t, err)
	for _, way := range []Way{Stream, Events, Waiting} {
		open := full
		open.way = way
		_, err = admit(open)
		require.NoError(t, err)
	}

	stranger := other
	stranger.way = SignIn
	var releases []func()
	for range maxUnauthenticated {
		release, err := admit(stranger)
		require.NoError(t, err)
		releases = append(releases, release)
	}
	_, err = admit(stranger)
	require.Error(t, err)
	_, err = admit(other)
	require.NoError(t, err)
	for _, release := range releases {
		release()
	}
	_, err = admit(stranger)
	require.NoError(t, err)

	third := other
	third.rangeID[1]++
	fill := func(way Way, f forwarding) (admitted int) {
		f.way = way
		for {
			if _, err := admit(f); err != nil {
				return admitted
			}
			admitted++
		}
	}
	require.Zero(t, fill(Request, full))
	require.Positive(t, fill(Request, other))
	require.Zero(t, fill(Request, third), "the node is full")
	for _, f := range []forwarding{full, other, third} {
		for _, way := range []Way{Closing, Hold, OperationHold} {
			f.way = way
			_, err = admit(f)
			require.NoError(t, err)
		}
	}
	require.Positive(t, fill(Closing, full))
	require.Positive(t, fill(Closing, other))
	require.Zero(t, fill(Closing, third), "stops are bounded too")
	for _, f := range []forwarding{full, other, third} {
		f.way = Hold
		_, err = admit(f)
		require.NoError(t, err, "and leave room for a ceasefire")
	}
	require.Equal(t, maxOfRange-1, fill(Hold, full), "which is bounded as well")
}

// A stream arrives as it is sent, in no buffer, and outlives the time that a request has.
func TestAStreamArrivesAtOnce(t *testing.T) {
	messages := make(chan string)
	entry, _ := newPair(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", streamType)
		for m := range messages {
			_, _ = io.WriteString(w, "data: "+m+"\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	})
	open := func(n *node) *bufio.Reader {
		begun := make(chan struct{})
		go func() {
			messages <- "first"
			close(begun)
		}()
		response, err := http.Get(n.client.URL + "/stream")
		require.NoError(t, err)
		<-begun
		t.Cleanup(func() { _ = response.Body.Close() })
		return bufio.NewReader(response.Body)
	}
	stream := open(entry)
	read := func() string {
		line, err := stream.ReadString('\n')
		require.NoError(t, err)
		_, _ = stream.ReadString('\n')
		return line
	}
	require.Equal(t, "data: first\n", read())
	for _, m := range []string{"a", "b"} {
		messages <- m
		require.Equal(t, "data: "+m+"\n", read())
	}
	close(messages)
	_, err := stream.ReadString('\n')
	require.ErrorIs(t, err, io.EOF)
}

// An owner that is frozen, or behind a broken network, holds no screen: its stream ends, and the page connects anew.
func TestASilentStreamEnds(t *testing.T) {
	silent, longest := make(chan struct{}), make(chan time.Duration, tries) // between two lines
	const lines = 4                                                         // the last one after the bound of a request
	const every = requestTimeout / (lines - 2)
	entry, _ := newPair(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", streamType)
		between, last := time.Duration(0), time.Now()
		for n := range lines {
			if n > 0 {
				time.Sleep(every)
			}
			between, last = max(between, time.Since(last)), time.Now()
			_, _ = io.WriteString(w, ":\n")
			_ = http.NewResponseController(w).Flush()
		}
		longest <- between
		<-silent
	})
	defer close(silent)
	for try := 1; ; try++ {
		response, err := http.Get(entry.client.URL + "/stream")
		require.NoError(t, err)
		all, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		if string(all) == strings.Repeat(":\n", lines) {
			return
		}
		require.Greater(t, <-longest, 2*every, "it ended before: %q", all)
		require.Less(t, try, tries)
	}
}

// A request that waits for an event is answered when there is one, also after the time that other requests have.
func TestARequestThatWaitsIsWaitedFor(t *testing.T) {
	entry, _ := newPair(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/wait" {
			<-r.Context().Done()
			return
		}
		time.Sleep(requestTimeout + 500*time.Millisecond)
		_, _ = io.WriteString(w, "an event")
	})
	response := entry.send("GET", "/wait", "")
	require.Equal(t, http.StatusOK, response.status)
	require.Equal(t, "an event", response.body)
	require.Equal(t, http.StatusGatewayTimeout, entry.send("GET", "/things", "").status)
}

// The entry stops: open streams end properly.
func TestAStreamEndsWithItsEntry(t *testing.T) {
	entry, _ := newPair(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", streamType)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	response, err := http.Get(entry.client.URL + "/stream")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	entry.router.Close()
	_, err = io.ReadAll(response.Body)
	require.NoError(t, err)
}

func gauge(n *node) float64 { return n.value("rangegate_relayed_links", "") }

// upgrade switches to the protocol of lines, which answers each line with the same line. It returns the
// status and Retry-After of the response.
func upgrade(
	t *testing.T, address string, path string,
) (c net.Conn, reader *bufio.Reader, status int, retryAfter string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
	require.NoError(t, err)
	reader = bufio.NewReader(c)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	return c, reader, response.StatusCode, response.Header.Get("Retry-After")
}

func lines(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "lines" {
		w.WriteHeader(http.StatusUpgradeRequired)
		return
	}
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n")
	for {
		line, err := buffered.ReadString('\n')
		if err != nil {
			return
		}
		if _, err := io.WriteString(c, line); err != nil {
			return
		}
	}
}

func TestAConnectionIsRelayed(t *testing.T) {
	entry, owner := newPair(t, lines)
	var open sync.WaitGroup
	for range 20 {
		open.Go(func() {
			c, reader, status, _ := upgrade(t, entry.client.Listener.Addr().String(), "/link/v1/lane")
			if status != http.StatusSwitchingProtocols {
				t.Error(status)
				return
			}
			for _, text := range []string{"a\n", strings.Repeat("x", 16<<10) + "\n", "z\n"} {
				if _, err := io.WriteString(c, text); err != nil {
					t.Error(err)
				}
				if got, err := reader.ReadString('\n'); got != text || err != nil {
					t.Error("another line came back", err)
				}
			}
			_ = c.Close()
		})
	}
	open.Wait()
	require.Len(t, owner.servedRequests(), 20)
	require.Eventually(t, func() bool { return gauge(entry) == 0 }, time.Minute, time.Millisecond)

	// It ends with either side, and with the entry.
	c, reader, _, _ := upgrade(t, entry.client.Listener.Addr().String(), "/link/v1/lane")
	require.Eventually(t, func() bool { return gauge(entry) == 1 }, time.Minute, time.Millisecond)
	entry.router.Close()
	_, err := reader.ReadByte()
	require.Error(t, err)
	_ = c.Close()
	require.Eventually(t, func() bool { return gauge(entry) == 0 }, time.Minute, time.Millisecond)
}

// A controller at a node that does not own its range, and at one that no longer does.
func TestAControllerIsSentToTheOwner(t *testing.T) {
	entry, owner := newPair(t, lines)
	owner.know(entry)
	_, _, status, retryAfter := upgrade(t, entry.client.Listener.Addr().String(), "/link/v1/lane")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "1", retryAfter, "LINK.md: it waits so long")
	require.Equal(t, 1.0, entry.retries(wrongNode))
}
