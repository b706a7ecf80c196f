package hostile

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/link/websocket/frame"
	"rangegate/test/support"
)

// Attacks on the address that controllers dial. Each one is watched from a lane whose controller is linked,
// and from one whose controller comes while the attack goes on.

// dialledGateway is a gateway with two lanes whose controllers dial, of which the first one has.
func dialledGateway(t *testing.T, files int, section string) (*support.Gateway, *support.Controllers) {
	t.Helper()
	config := support.NewConfig(t, support.IncomingLanes(1, 2))
	config.Sections = []string{section}
	limited := support.Limit(support.ServeCommand(config.Write(t)), fmt.Sprintf("-n %d", files))
	g := support.Start(t, limited).Ready()
	hardware := support.NewDialling(t, g.Dialled, 1, 1)
	waitLink(t, g.POS(), 1, "up")
	return g, hardware
}

// worksMeanwhile sells on the lane that was linked before, and has the second lane's controller come.
func worksMeanwhile(t *testing.T, g *support.Gateway, first *support.Controllers) {
	t.Helper()
	session := g.POS().Sell(1, 30)
	first.WaitOpen(1, session)
	g.POS().Command(session, "/stop")
	first.WaitLocked(1)
	second := support.NewDialling(t, g.Dialled, 2, 2)
	waitLink(t, g.POS(), 2, "up")
	session = g.POS().Sell(2, 30)
	second.WaitOpen(2, session)
	require.Equal(t, "up", linkState(g.POS(), 1))
	require.Zero(t, g.Metrics().Sum("rangegate_links_total", `what="down"`), "no link has broken")
}

func outcomes(g *support.Gateway, outcome string) float64 {
	return g.Metrics().Sum("rangegate_links_incoming_total", `outcome="`+outcome+`"`)
}

// attack runs the function in many goroutines until the test ends.
func attack(t *testing.T, many int, do func(stopped context.Context)) {
	ctx, stop := context.WithCancel(context.Background())
	var attackers sync.WaitGroup
	for range many {
		attackers.Go(func() {
			for ctx.Err() == nil {
				do(ctx)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		attackers.Wait()
	})
}

// Connections that say nothing, or their request's header byte by byte, from the address that the controllers have too.
func TestConnectionsThatSayNothingKeepNoControllerOut(t *testing.T) {
	g, hardware := dialledGateway(t, 600, support.ListenForControllers) // 150 connections that are no link
	address := strings.TrimPrefix(g.Dialled, "http://")
	slow := "GET /link/v1/" + support.LaneID(2) + " HTTP/1.1\r\nHost: g\r\nX-Slow: "
	attack(t, 200, func(stopped context.Context) {
		dialer := net.Dialer{Timeout: time.Second}
		conn, err := dialer.DialContext(stopped, "tcp", address)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		for _, character := range slow {
			if _, err := conn.Write([]byte(string(character))); err != nil || stopped.Err() != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	support.Eventually(t, "connections are displaced", func() bool {
		return g.Metrics().Sum("rangegate_connections_limited_total") > 0
	})
	worksMeanwhile(t, g, hardware)
}

// Handshakes without end: more than are let in are told to come back, and those who are known are let in
// before strangers.
func TestAFloodOfHandshakesKeepsNoControllerOut(t *testing.T) {
	for name, flood := range map[string]struct {
		from net.IP
		lane int
	}{
		"from another network, for lanes of the range": {net.IPv4(127, 0, 0, 66), 2},
		"from behind the same router, for no lane":     {net.IPv4(127, 0, 0, 1), 999},
	} {
		t.Run(name, func(t *testing.T) {
			g, hardware := dialledGateway(t, 4000, "controllers: {address: 127.0.0.1:0, admit: 20}")
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: flood.from}}
			client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
			attack(t, 16, func(stopped context.Context) {
				ctx, cancel := context.WithTimeout(stopped, 5*time.Second)
				defer cancel()
				//nolint:bodyclose // the library closes it
				conn, _, err := websocket.Dial(ctx, support.LinkURL(g.Dialled, flood.lane), &websocket.DialOptions{
					HTTPClient: client, Subprotocols: []string{frame.Subprotocol},
				})
				if err == nil {
					_, _, _ = conn.Read(ctx) // and no answer to the hello
					_ = conn.CloseNow()
				}
			})
			support.Eventually(t, "some are sent away", func() bool { return outcomes(g, "over_admit") > 20 })
			worksMeanwhile(t, g, hardware)
		})
	}
}

// Controllers behind a proxy that the operator trusts are told apart by the addresses that it names: each network has
// its own share of what is let in. Nobody else's word counts.
func TestTheAddressOfAControllerBehindAProxy(t *testing.T) {
	config := support.NewConfig(t, support.IncomingLanes(1, 1))
	config.Sections = []string{"controllers: {address: 127.0.0.1:0, behind_proxy: true, trusted_proxies: [127.0.0.9]}"}
	g := config.Serve(t)
	for _, c := range []struct {
		peer   byte
		logged string
	}{
		{9, `"from":"203.0.113.7`},
		{66, `"from":"127.0.0.66`},
	} {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, c.peer)}}
		//nolint:bodyclose // the library closes it
		conn, _, err := websocket.Dial(t.Context(), support.LinkURL(g.Dialled, 999), &websocket.DialOptions{
			HTTPClient: &http.Client{Transport: &http.Transport{
				DialContext:       dialer.DialContext,
				DisableKeepAlives: true,
			}},
			HTTPHeader: http.Header{"X-Forwarded-For": {"203.0.113.7"}}, Subprotocols: []string{frame.Subprotocol},
		})
		require.NoError(t, err)
		_, _, err = conn.Read(t.Context())
		require.NoError(t, err)
		_ = conn.Write(t.Context(), websocket.MessageText, []byte(`{}`)) // no hello
		g.WaitLogged(c.logged)
		_ = conn.CloseNow()
	}
	require.Equal(t, 1, strings.Count(g.Log(), "203.0.113.7"))
}

// Hellos that prove nothing, for lanes that there are and for others: none is believed, and none learns which is which.
func TestHellosWithoutAProofChangeNothing(t *testing.T) {
	g, hardware := dialledGateway(t, 4000, support.ListenForControllers)
	recorded := make(chan frame.Hello, 1)
	ask := func(ctx context.Context, lane int, answer func(frame.Greeting) frame.Hello) (reason string) {
		ctx, cancel := context.WithTimeout(ctx, support.Patience)
		defer cancel()
		//nolint:bodyclose
		conn, _, err := websocket.Dial(ctx, support.LinkURL(g.Dialled, lane),
			&websocket.DialOptions{Subprotocols: []string{frame.Subprotocol}})
		if err != nil {
			return err.Error()
		}
		defer func() { _ = conn.CloseNow() }()
		_, text, err := conn.Read(ctx)
		if err != nil {
			return err.Error()
		}
		greeting, err := frame.FromGateway(text)
		if err != nil {
			return err.Error()
		}
		_ = conn.Write(ctx, websocket.MessageText, frame.ControllerHello(answer(greeting.(frame.Greeting))))
		_, _, err = conn.Read(ctx)
		return err.Error()
	}
	guess := func(to frame.Greeting) frame.Hello { return provenFor("a key that somebody has guessed", "log", to) }
	known, unknown := ask(t.Context(), 1, guess), ask(t.Context(), 999, guess)
	require.Equal(t, known, unknown)
	require.Contains(t, known, "has not proven that it has the key")

	// A proof of another connection, with the right key: it was recorded, and is replayed.
	_ = ask(t.Context(), 2, func(to frame.Greeting) frame.Hello {
		recorded <- provenFor(support.LinkKey(2), "log", to)
		return guess(to)
	})
	replay := <-recorded
	require.Contains(t, ask(t.Context(), 2, func(frame.Greeting) frame.Hello { return replay }), "has not proven")
	// A proof of the other lane's key, for the other lane's log.
	require.Contains(t, ask(t.Context(), 2,
		func(to frame.Greeting) frame.Hello { return provenFor(support.LinkKey(1), "log", to) }), "has not proven")

	attack(t, 8, func(stopped context.Context) { _ = ask(stopped, 1, guess) })
	support.Eventually(t, "many are refused", func() bool { return outcomes(g, "refused") > 100 })
	worksMeanwhile(t, g, hardware)
	require.Zero(t, outcomes(g, "contested"), "who has not proven anything is no second controller")
	g.WaitLogged("has not proven that it has the key of this lane")
	require.NotContains(t, g.Log(), "a second controller dialled")
}

// What is no dial of a controller is refused, whatever its size.
func TestWhatIsNoDialIsRefused(t *testing.T) {
	g, hardware := dialledGateway(t, 4000, support.ListenForControllers)
	for request, status := range map[string]string{
		"GET / HTTP/1.1\r\nHost: " +
			"g\r\n\r\n": "404",
		"GET /link/v1/" + support.LaneID(1) +
			"/x HTTP/1.1\r\nHost: g\r\n\r\n": "404",
		"GET /link/v1/../../metrics HTTP/1.1\r\nHost: " +
			"g\r\n\r\n": "404",
		"POST /link/v1/" + support.LaneID(1) +
			" HTTP/1.1\r\nHost: g\r\nContent-Length: 4\r\n\r\nabcd": "400",
		"GET /link/v1/" + support.LaneID(1) + " HTTP/1.1\r\nHost: g\r\nX: " +
			strings.Repeat("x", 1<<20) + "\r\n": "431",
	} {
		conn := dialFrom(t, g.Dialled, "127.0.0.1")
		require.NoError(t, conn.SetDeadline(time.Now().Add(support.Patience)))
		go func() { _, _ = io.WriteString(conn, request) }()
		said := make([]byte, 12)
		_, err := io.ReadFull(conn, said)
		require.NoError(t, err, request[:20])
		require.Equal(t, "HTTP/1.1 "+status, string(said), request[:20])
	}
	worksMeanwhile(t, g, hardware)
}

// provenFor is the hello of a controller with that key, for the lane that it was greeted for.
func provenFor(key, log string, gateway frame.Greeting) frame.Hello {
	answer := hello(log)
	answer.Lane = gateway.ID
	h := frame.Handshake{Key: key, Lane: answer.Lane, Gateway: gateway.Challenge, Controller: frame.NewChallenge()}
	answer.Challenge, answer.Proof = h.Controller, h.ControllerProof(log)
	return answer
}
