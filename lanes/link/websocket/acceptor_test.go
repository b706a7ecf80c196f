package websocket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

// incoming is a lane whose controller dials, and the address that it dials.
type incoming struct {
	*testing.T
	*address
	driver *websocket.Driver
	lane   link.Lane
	key    string
}

func newIncoming(
	t *testing.T, key string, here func(uuid.UUID) error, change ...func(*websocket.AcceptorSettings),
) *incoming {
	i := &incoming{T: t, lane: link.Lane{Range: uuid.New(), ID: uuid.New(), Epoch: 7}, key: key}
	i.address = listenForControllers(t, clock(), here, change...)
	i.driver = websocket.New(websocket.Settings{
		Now: clock(), Acceptor: i.Acceptor,
		Lanes: map[uuid.UUID]websocket.Target{i.lane.ID: {Key: key, Incoming: true}},
	})
	return i
}

func (i *incoming) await() *waiter {
	w := newWaiter(&receiver{down: make(chan error, 2)})
	i.driver.Await(i.lane, w)
	return w
}

// dial connects as a controller would, and reads the gateway's hello.
func (i *incoming) dial(lane uuid.UUID) (*coder.Conn, frame.Greeting) {
	i.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	//nolint:bodyclose
	conn, _, err := coder.Dial(ctx, i.url+lane.String(), &coder.DialOptions{Subprotocols: []string{frame.Subprotocol}})
	require.NoError(i, err)
	i.Cleanup(func() { _ = conn.CloseNow() })
	_, text, err := conn.Read(ctx)
	require.NoError(i, err)
	message, err := frame.FromGateway(text)
	require.NoError(i, err)
	return conn, message.(frame.Greeting)
}

// hello is a controller's answer with the key, and another report log each time unless log says which.
func (i *incoming) hello(to frame.Greeting, key, log string) frame.Hello {
	h := frame.Handshake{Key: key, Lane: to.ID, Gateway: to.Challenge, Controller: frame.NewChallenge()}
	return frame.Hello{
		Lane: to.ID, Hello: link.Hello{LogID: log}, Challenge: h.Controller,
		Proof: h.ControllerProof(log),
	}
}

// link dials with the key until the link is up.
func (i *incoming) link(log string) *coder.Conn {
	i.Helper()
	conn, greeting := i.dial(i.lane.ID)
	send(conn, string(frame.ControllerHello(i.hello(greeting, i.key, log))))
	return conn
}

// closed reads until the connection is closed, and returns the status and the reason.
func closed(t *testing.T, conn *coder.Conn) (coder.StatusCode, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		_, _, err := conn.Read(ctx)
		if err != nil {
			var why coder.CloseError
			require.ErrorAs(t, err, &why)
			return why.Code, why.Reason
		}
	}
}

// A lane that nobody dials for is answered like one with a key, so whoever has no key does not learn which
// lanes there are.
func TestAnUnknownLaneIsAnsweredLikeAKnownOne(t *testing.T) {
	var known uuid.UUID
	i := newIncoming(t, laneKey, func(lane uuid.UUID) error {
		if lane != known {
			return websocket.ErrUnknownLane
		}
		return nil
	})
	known = i.lane.ID
	waiting := i.await()
	unknown := uuid.New()
	var greetings []frame.Greeting
	for range 2 {
		for _, lane := range []uuid.UUID{known, unknown} {
			conn, greeting := i.dial(lane)
			require.NotEmpty(t, greeting.Challenge)
			require.EqualValues(t, 4, greeting.Range.Version())
			require.Equal(t, lane, greeting.ID)
			greetings = append(greetings, greeting)
			send(conn, string(frame.ControllerHello(i.hello(greeting, "a key that was guessed", "log"))))
			status, reason := closed(t, conn)
			require.Equal(t, coder.StatusPolicyViolation, status)
			require.Contains(t, reason, "has not proven that it has the key")
		}
	}
	require.Equal(t, greetings[1].Lane, greetings[3].Lane, "an unknown lane says the same each time")
	like := greetings[0].Lane
	like.ID = unknown
	require.Equal(t, like, greetings[1].Lane, "of a range that is served here, as a known one")
	require.Empty(t, waiting.arrived)
	require.Eventually(t, func() bool { return len(i.seen()) == 4 }, patience, time.Millisecond)
	require.ElementsMatch(t, []string{"refused", "unknown_lane", "refused", "unknown_lane"}, i.seen())
}

// A controller that is refused changes nothing for the lane: it waits on, and the link that is up stays.
func TestWithoutAProofNothingIsBelieved(t *testing.T) {
	i := newIncoming(t, laneKey, nil)
	waiting := i.await()
	first := i.link("first")
	arrived := within(t, waiting.arrived)
	require.NoError(t, arrived.err)
	recorded := frame.Hello{}
	for name, spoil := range map[string]func(hello *frame.Hello, to frame.Greeting){
		"no proof":             func(h *frame.Hello, _ frame.Greeting) { h.Proof, h.Challenge = "", "" },
		"another key":          func(h *frame.Hello, to frame.Greeting) { *h = i.hello(to, laneKey+"x", "first") },
		"a recorded proof":     func(h *frame.Hello, _ frame.Greeting) { *h, recorded = recorded, *h },
		"another log's proof":  func(h *frame.Hello, _ frame.Greeting) { h.LogID = "first" },
		"another lane's hello": func(h *frame.Hello, _ frame.Greeting) { h.Lane = uuid.New() },
	} {
		conn, greeting := i.dial(i.lane.ID)
		hello := i.hello(greeting, laneKey, "another")
		if recorded.LogID == "" {
			recorded = i.hello(frame.Greeting{Lane: i.lane, Challenge: frame.NewChallenge()}, laneKey, "first")
		}
		spoil(&hello, greeting)
		send(conn, string(frame.ControllerHello(hello)))
		status, _ := closed(t, conn)
		require.Equal(t, coder.StatusPolicyViolation, status, name)
	}
	arrived.connection.Send(link.State{Revision: 1})
	_, text, err := first.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(text), `"revision":1`)
	require.Empty(t, waiting.contested)
}

func TestASecondControllerWhileTheFirstIsLinked(t *testing.T) {
	i := newIncoming(t, laneKey, nil)
	first := i.await()
	conn := i.link("first")
	linked := within(t, first.arrived)
	pongs := conn.CloseRead(t.Context()) // answers pings

	second := i.link("second")
	status, reason := closed(t, second)
	require.Equal(t, coder.StatusPolicyViolation, status)
	require.Equal(t, "another controller of this lane is linked", reason)
	addresses := within(t, first.contested)
	require.NotEqual(t, addresses[0], addresses[1])
	require.Contains(t, addresses[0], "127.0.0.1:")
	require.NoError(t, pongs.Err(), "the first stays")

	// The same hardware on a newer connection: its log says so, whether the older one answers or not.
	i.link("first")
	require.ErrorIs(t, within(t, first.Receiver.(*receiver).down), link.ErrReplaced)
	linked.connection.Close()
	next := i.await()
	arrived := within(t, next.arrived)
	require.NoError(t, arrived.err)

	// One that is there and does not answer is replaced by any other with the key.
	third := i.link("third")
	require.ErrorIs(t, within(t, next.Receiver.(*receiver).down), link.ErrReplaced)
	last := i.await()
	within(t, last.arrived).connection.Send(link.State{Revision: 3})
	_, text, err := third.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(text), `"revision":3`)
}

// What cannot be answered now is told when to come back; what can never be is told why.
func TestWhoeverIsNotLetIn(t *testing.T) {
	admit := 2
	var problem error
	i := newIncoming(t, laneKey, func(uuid.UUID) error { return problem },
		func(s *websocket.AcceptorSettings) {
			s.Admit = func() int { return admit }
			begun := s.Now() // on a slow machine one more would be let in meanwhile
			s.Now = func() lanes.Instant { return begun }
		})
	ask := func(path, protocol string) (status int, retryAfter string) {
		request, err := http.NewRequest(http.MethodGet, strings.Replace(strings.TrimSuffix(i.url, websocket.LanePath),
			"ws", "http", 1)+path, nil)
		require.NoError(t, err)
		request.Header.Set("Sec-WebSocket-Protocol", protocol)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		return response.StatusCode, response.Header.Get("Retry-After")
	}
	refused := func(status int, path, protocol string) (retryAfter string) {
		t.Helper()
		got, retryAfter := ask(path, protocol)
		require.Equal(t, status, got)
		return retryAfter
	}
	own := websocket.LanePath + i.lane.ID.String()
	refused(http.StatusNotFound, "/", frame.Subprotocol)
	refused(http.StatusNotFound, strings.ToUpper(own), frame.Subprotocol)
	refused(http.StatusBadRequest, own, "another")
	require.Equal(t, "1", refused(http.StatusServiceUnavailable, own, "another, "+frame.Subprotocol),
		"the lane does not wait yet")
	problem = lanes.ErrNotOwner
	require.Equal(t, "1", refused(http.StatusServiceUnavailable, own, frame.Subprotocol))
	require.NotEmpty(t, refused(http.StatusServiceUnavailable, own, frame.Subprotocol), "too many at a time")
	require.Equal(t, []string{"not_here", "not_here", "over_admit"}, i.seen())
}

const (
	ownNetwork   = "192.0.2.1/32"
	otherNetwork = "198.51.100.7/32"
)

// Whoever is not let in is told a time of their own.
func TestAdmissionSpreadsThoseWhoWait(t *testing.T) {
	now, rangeID := time.Duration(0), uuid.New()
	var a websocket.Admission
	waits := map[time.Duration]int{}
	for range 10_000 {
		waits[a.Ask(now, 500, ownNetwork, rangeID)]++
	}
	require.InDelta(t, 500, waits[0], 1, "as many as a second has")
	for seconds := time.Second; seconds < 15*time.Second; seconds += time.Second {
		require.InDelta(t, 500, waits[seconds], 2, seconds)
	}

	// Whoever comes back as told is let in, all 10,000 within 30 s.
	a = websocket.Admission{}
	due, linked := map[time.Duration]int{0: 10_000}, 0
	for now = 0; linked < 10_000; now += time.Second {
		require.LessOrEqual(t, now, 25*time.Second)
		for range due[now] {
			wait := a.Ask(now, 500, ownNetwork, rangeID)
			if wait == 0 {
				a.Linked(now, 500, rangeID)
				linked++
				continue
			}
			due[now+wait]++
		}
	}
}

// Whoever has proven nothing takes nothing from another network, nor from a range that they do not know a lane of.
func TestAFloodOfAttemptsKeepsNoOtherControllerOut(t *testing.T) {
	own, other := uuid.New(), uuid.New()
	for name, flood := range map[string]struct {
		network string
		rangeID uuid.UUID
	}{
		"from the network of another range":              {otherNetwork, other},
		"from there, for the lanes of this range":        {otherNetwork, own},
		"from behind the same router, for no lane":       {ownNetwork, uuid.Nil},
		"from behind the same router, for another range": {ownNetwork, other},
	} {
		t.Run(name, func(t *testing.T) {
			var a websocket.Admission
			refused := 0
			for range 10_000 {
				if a.Ask(0, 500, flood.network, flood.rangeID) > 0 {
					refused++
				}
			}
			require.InDelta(t, 9_500, refused, 1)
			for range 400 {
				require.Zero(t, a.Ask(0, 500, ownNetwork, own))
				a.Linked(0, 500, own)
			}
		})
	}
}

// A range whose controllers come and go leaves a part to the others, wherever they dial from.
func TestARangeTakesNoMoreThanItsPart(t *testing.T) {
	var a websocket.Admission
	own, other := uuid.New(), uuid.New()
	require.Zero(t, a.Ask(0, 500, ownNetwork, own))
	linked := 0
	for i := range 1_000 {
		if a.Ask(0, 500, fmt.Sprintf("203.0.113.%d/32", i%250), other) == 0 {
			a.Linked(0, 500, other)
			linked++
		}
	}
	require.InDelta(t, 400, linked, 1)
	for range 98 {
		require.Zero(t, a.Ask(0, 500, ownNetwork, own))
		a.Linked(0, 500, own)
	}
}

// Networks that are gone are forgotten.
func TestAdmissionForgetsNetworks(t *testing.T) {
	var a websocket.Admission
	for i := range 100_000 {
		now := time.Duration(i) * time.Millisecond
		a.Ask(now, 500, fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&255, i&255), uuid.Nil)
		require.Less(t, a.Origins(), 4_096)
	}
}

// A frame that is not masked breaks the rules of WebSockets for a client.
func TestFramesOfAControllerThatDialsAreMasked(t *testing.T) {
	i := newIncoming(t, "", nil)
	i.await()
	host := strings.TrimSuffix(strings.TrimPrefix(i.url, "ws://"), websocket.LanePath)
	conn, err := net.Dial("tcp", host)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(conn, "GET %s%s HTTP/1.1\r\nHost: gateway\r\nUpgrade: websocket\r\nConnection: "+
		"Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: %s\r\n\r\n\x81\x02{}",
		websocket.LanePath, i.lane.ID, frame.Subprotocol)
	require.NoError(t, err)
	said, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(said), "101 Switching Protocols")
	require.Contains(t, string(said), `{"type":"hello"`,
		"it has not waited for the gateway's hello, which comes all the same")
	require.Contains(t, string(said), "\x03\xea", "the close status 1002")
	require.Contains(t, string(said), "must be masked")
}

// Without a key a controller that is not in order makes the lane faulty; with one it is nobody's.
func TestAFaultyControllerOfALaneWithoutAKey(t *testing.T) {
	for _, key := range []string{"", laneKey} {
		i := newIncoming(t, key, nil)
		waiting := i.await()
		conn, _ := i.dial(i.lane.ID)
		send(conn, "no JSON")
		status, _ := closed(t, conn)
		require.Equal(t, coder.StatusPolicyViolation, status)
		if key == "" {
			require.ErrorIs(t, within(t, waiting.arrived).err, link.ErrFaulty)
			continue
		}
		require.Empty(t, waiting.arrived)
	}
}

// A wait that was cancelled is no wait; a link whose lane waits for nothing is not made.
func TestALaneThatNoLongerWaits(t *testing.T) {
	i := newIncoming(t, laneKey, nil)
	waiting := newWaiter(&receiver{down: make(chan error, 2)})
	cancel := i.driver.Await(i.lane, waiting)
	conn, greeting := i.dial(i.lane.ID)
	cancel()
	send(conn, string(frame.ControllerHello(i.hello(greeting, laneKey, "log"))))
	status, _ := closed(t, conn)
	require.EqualValues(t, 1013, status)
	require.Empty(t, waiting.arrived)
	require.Zero(t, i.Places())

	older := i.await()
	conn, greeting = i.dial(i.lane.ID)
	i.lane.Epoch++
	newer := i.await()
	send(conn, string(frame.ControllerHello(i.hello(greeting, laneKey, "log"))))
	status, _ = closed(t, conn)
	require.EqualValues(t, 1013, status, "it was greeted with an epoch that has passed")
	require.Empty(t, older.arrived)
	i.link("log")
	within(t, newer.arrived).connection.Close()
	require.Eventually(t, func() bool { return i.Places() == 0 }, patience, time.Millisecond,
		"what has ended leaves nothing behind")
}

// A range that is dropped here and soon served again has two lanes of that id for a moment. The older one may
// be the last to wait.
func TestALaneOfAnEarlierEpochDisplacesNone(t *testing.T) {
	i := newIncoming(t, laneKey, nil)
	i.lane.Epoch++
	waiting := i.await()
	i.lane.Epoch--
	outdated := newWaiter(&receiver{down: make(chan error, 2)})
	i.driver.Await(i.lane, outdated)()
	i.lane.Epoch++
	i.link("log")
	within(t, waiting.arrived).connection.Close()
	require.Empty(t, outdated.arrived)
}

// Measured on amd64, Go 1.26: 0.4 kB a lane that waits, and no goroutine.
func TestALaneThatWaitsIsCheap(t *testing.T) {
	const waitingLanes = 10_000
	a := websocket.NewAcceptor(websocket.AcceptorSettings{Now: clock()})
	targets := map[uuid.UUID]websocket.Target{}
	for n := range waitingLanes {
		targets[idleLane(n)] = websocket.Target{Key: laneKey, Incoming: true}
	}
	driver := websocket.New(websocket.Settings{Now: clock(), Acceptor: a, Lanes: targets})
	rangeID, waiting := uuid.New(), &waiter{}
	goroutines, before := runtime.NumGoroutine(), used()
	cancels := make([]func(), waitingLanes)
	for n := range cancels {
		cancels[n] = driver.Await(link.Lane{Range: rangeID, ID: idleLane(n), Epoch: 1}, waiting)
	}
	each := (used() - before) / waitingLanes
	t.Logf("%d bytes a lane that waits", each)
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines) // those of an earlier test end
	assert.True(t, underRace || each < 1<<10, fmt.Sprint(each))
	runtime.KeepAlive(cancels)
	runtime.KeepAlive(driver)
}
