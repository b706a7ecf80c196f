package hostile

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/gobwas/ws"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/certificate/certificatetest"
	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
	"rangegate/test/support"
)

// linkKey is that of lane 1. A stranger does not have it.
const linkKey = "W3V5aB0nq7oXr2kTQmJx9eLcYd4sHf6uPZgA1iEwN8M"

// impostor is a device at lane 1's address that somebody else has brought.
type impostor struct {
	address string
	hellos  atomic.Int64
	mu      sync.Mutex
	heard   []string // what the gateway says after its hello
}

// newImpostor answers each hello of the gateway as the function says, and then runs the other one, if there is one.
func newImpostor(
	t *testing.T, answer func(n int64, gateway frame.Greeting) frame.Hello, then func(*websocket.Conn),
) *impostor {
	i := &impostor{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{frame.Subprotocol}})
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		_, text, err := conn.Read(context.Background())
		if err != nil {
			return
		}
		message, err := frame.FromGateway(text)
		if err != nil {
			return
		}
		hello := answer(i.hellos.Load(), message.(frame.Greeting))
		i.hellos.Add(1)
		if conn.Write(context.Background(), websocket.MessageText, frame.ControllerHello(hello)) != nil {
			return
		}
		if then != nil {
			go then(conn)
		}
		for {
			_, text, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			i.mu.Lock()
			i.heard = append(i.heard, string(text))
			i.mu.Unlock()
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	i.address = "ws" + strings.TrimPrefix(server.URL, "http")
	return i
}

func (i *impostor) received() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.heard...)
}

func hello(log string) frame.Hello {
	return frame.Hello{Lane: uuid.MustParse(support.LaneID(1)), Hello: link.Hello{LogID: log}}
}

// proven is the hello of a controller with that key.
func proven(key, log string, gateway frame.Greeting) frame.Hello {
	answer := hello(log)
	h := frame.Handshake{Key: key, Lane: answer.Lane, Gateway: gateway.Challenge, Controller: frame.NewChallenge()}
	answer.Challenge, answer.Proof = h.Controller, h.ControllerProof(log)
	return answer
}

// waitLink waits until the lane's link is in that state.
func waitLink(t *testing.T, pos support.POS, lane int, state string) {
	t.Helper()
	support.Eventually(t, fmt.Sprintf("the link of lane %d is %s", lane, state), func() bool {
		return linkState(pos, lane) == state
	})
}

func linkState(pos support.POS, lane int) string {
	for _, status := range pos.LaneStatuses() {
		if status.Lane == support.LaneID(lane) {
			return status.Link
		}
	}
	return "no such lane"
}

// A device without the lane's key is never up: it is told nothing, and nothing is sold on its lane.
func TestAStrangersControllerIsNeverUp(t *testing.T) {
	for name, answer := range map[string]func(n int64, gateway frame.Greeting) frame.Hello{
		"without a key": func(int64, frame.Greeting) frame.Hello { return hello("stranger") },
		"with another key": func(_ int64, gateway frame.Greeting) frame.Hello {
			return proven("guess-"+linkKey, "stranger", gateway)
		},
		"with a proof for its own challenge": func(int64, frame.Greeting) frame.Hello {
			return proven(linkKey, "stranger", frame.Greeting{Challenge: frame.NewChallenge()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			device := newImpostor(t, answer, nil)
			gateway := support.NewConfig(t, []string{support.Lane(1, support.Link(device.address, linkKey))},
				"link_grace: 1ms").Serve(t)
			pos := gateway.POS()
			waitLink(t, pos, 1, "faulty")
			support.Eventually(t, "nothing is sold on it", func() bool {
				return strings.Contains(pos.Send("POST", "/sessions", support.Order(1, 30)).Body, "lane_not_usable")
			})
			require.Empty(t, device.received())
			require.Zero(t, gateway.Metrics().Series[`rangegate_links_total{what="up"}`])
			require.NotContains(t, gateway.Log(), linkKey)
		})
	}
}

// Who has recorded a controller's hello is not that controller.
func TestARecordedHelloIsWorthNothing(t *testing.T) {
	var recorded frame.Hello
	device := newImpostor(t, func(n int64, gateway frame.Greeting) frame.Hello {
		if n == 0 {
			recorded = proven(linkKey, "log", gateway)
		}
		return recorded
	}, nil)
	config := support.NewConfig(t, []string{support.Lane(1, support.Link(device.address, linkKey))})
	gateway := config.Serve(t)
	waitLink(t, gateway.POS(), 1, "up")
	gateway.Kill()

	gateway = config.Serve(t)
	waitLink(t, gateway.POS(), 1, "faulty")
	require.Zero(t, gateway.Metrics().Series[`rangegate_links_total{what="up"}`])
}

// stranger is a gateway that somebody runs who has no key. It says that its epoch is higher than any.
func stranger(t *testing.T, address string, challenge string, proof func(frame.Hello) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), support.Patience)
	defer cancel()
	options := &websocket.DialOptions{Subprotocols: []string{frame.Subprotocol}}
	//nolint:bodyclose // the library closes the body of the handshake
	conn, _, err := websocket.Dial(ctx, address, options)
	require.NoError(t, err)
	defer func() { _ = conn.CloseNow() }()
	lane := link.Lane{
		Range: uuid.MustParse(support.RangeID), ID: uuid.MustParse(support.LaneID(1)),
		Epoch: math.MaxInt64,
	}
	require.NoError(t, conn.Write(ctx, websocket.MessageText,
		frame.GatewayHello(frame.Greeting{Lane: lane, Challenge: challenge})))
	if challenge != "" {
		_, text, err := conn.Read(ctx)
		require.NoError(t, err)
		message, err := frame.FromController(text)
		require.NoError(t, err)
		session := &lanes.Session{ID: uuid.New(), Group: uuid.New(), Phase: lanes.Running, Left: time.Hour}
		open := frame.ProvenState{State: link.State{Revision: 1, Session: session}, Proof: proof(message.(frame.Hello))}
		require.NoError(t, conn.Write(ctx, websocket.MessageText, frame.State(open, lanes.Instant{})))
	}
	_, _, err = conn.Read(ctx)
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), "%v", err)
}

// During a ceasefire somebody on the network of the links commands a lane, with the program that makers of
// controllers use and with one of their own. The lane stays locked, its gateway stays its gateway, also after
// a restart, and the ceasefire ends as ever.
func TestAStrangersGatewayChangesNothing(t *testing.T) {
	controllers := support.NewControllers(t, 1, 1)
	config := support.NewConfig(t, controllers.Lanes())
	gateway := config.Serve(t)
	session := gateway.POS().Sell(1, 30)
	controllers.WaitOpen(1, session)
	require.Equal(t, []string{support.LaneID(1)}, gateway.HoldRange(true).Confirmed)

	address := controllers.Controller(1).Address()
	for _, key := range []string{"", linkKey} {
		command := support.Command("check-controller", address, "--lane", support.LaneID(1))
		if key != "" {
			command.Env = append(command.Env, "RANGEGATE_LINK_KEY="+key)
		}
		output, err := command.CombinedOutput()
		require.Error(t, err)
		require.NotContains(t, string(output), "holds ")
	}
	stranger(t, address, "", nil)
	stranger(t, address, frame.NewChallenge(), func(frame.Hello) string { return "" })
	stranger(t, address, frame.NewChallenge(), func(frame.Hello) string { return frame.NewChallenge() })
	stranger(t, address, frame.NewChallenge(), func(controller frame.Hello) string { return controller.Proof })

	shown := controllers.Controller(1).Shown()
	require.False(t, shown.Open)
	require.True(t, shown.Hold)
	require.Equal(t, session, shown.Session.String())
	require.Zero(t, gateway.Metrics().Series[`rangegate_links_total{what="down"}`],
		"the gateway's connection is the lane's")

	gateway.Kill()
	gateway = config.Serve(t)
	waitLink(t, gateway.POS(), 1, "up")
	require.Equal(t, []string{support.LaneID(1)}, gateway.HoldRange(false).Confirmed)
	controllers.WaitOpen(1, session)
}

// tap passes on what goes between a gateway and a controller, and records it.
type tap struct {
	address string
	mu      sync.Mutex
	sent    bytes.Buffer // by the gateway
	other   bytes.Buffer // by the controller
}

func newTap(t *testing.T, controller string) *tap {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	p := &tap{address: "ws://" + listener.Addr().String() + "/"}
	go func() {
		for {
			gateway, err := listener.Accept()
			if err != nil {
				return
			}
			lane, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(controller, "ws://"), "/"))
			if err != nil {
				_ = gateway.Close()
				continue
			}
			go p.pass(lane, gateway, &p.sent)
			go p.pass(gateway, lane, &p.other)
		}
	}()
	return p
}

func (p *tap) pass(to, from net.Conn, record *bytes.Buffer) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		_, _ = record.Write(buffer[:n])
		p.mu.Unlock()
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// read returns what one side has said, as bytes and as the texts in its frames.
func (p *tap) read(t *testing.T, record *bytes.Buffer) (raw string, texts []string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	raw = record.String()
	reader := bufio.NewReader(strings.NewReader(raw))
	for line := "-"; strings.TrimSpace(line) != ""; { // the handshake
		var err error
		line, err = reader.ReadString('\n')
		require.NoError(t, err)
	}
	for {
		f, err := ws.ReadFrame(reader)
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			return raw, texts
		}
		if f.Header.Masked {
			f = ws.UnmaskFrameInPlace(f)
		}
		texts = append(texts, string(f.Payload))
	}
}

// Whoever listens on a link in the clear hears neither the key nor anything that is worth as much.
func TestNoKeyCrossesTheWire(t *testing.T) {
	hardware, err := lanesim.New(lanesim.Settings{Now: support.Now},
		lanesim.Lane{ID: uuid.MustParse(support.LaneID(1)), Listen: "127.0.0.1:0", Key: linkKey})
	require.NoError(t, err)
	t.Cleanup(hardware.Close)
	controller := hardware.Controller(uuid.MustParse(support.LaneID(1)))
	wire := newTap(t, controller.Address())
	gateway := support.NewConfig(t, []string{support.Lane(1, support.Link(wire.address, linkKey))}).Serve(t)
	waitLink(t, gateway.POS(), 1, "up")
	gateway.POS().Sell(1, 30)
	support.Eventually(t, "the lane opens", func() bool { return controller.Shown().Open })
	gateway.Kill()
	support.Eventually(t, "the wire is quiet", func() bool {
		_, texts := wire.read(t, &wire.sent)
		return len(texts) >= 3
	})

	for _, side := range []*bytes.Buffer{&wire.sent, &wire.other} {
		raw, texts := wire.read(t, side)
		everything := strings.ToLower(raw + strings.Join(texts, "\n"))
		require.NotContains(t, everything, strings.ToLower(linkKey))
		require.NotContains(t, everything, "authorization")
		require.NotContains(t, everything, "bearer")
		require.NotContains(t, everything, fmt.Sprintf("%x", sha256.Sum256([]byte(linkKey))))
		require.Contains(t, everything, `"challenge"`)
		require.Contains(t, everything, `"proof"`, "it has recorded what there is to hear")
	}
}

// production is the configuration for production of a range with that lane.
func production(t *testing.T, lane string, settings ...string) string {
	configuration := support.NewConfig(t, []string{lane}, settings...)
	configuration.Operator = operator
	return strings.Replace(configuration.String(), "environment: playground", "environment: production", 1)
}

func TestProductionRefusesInsecureLinks(t *testing.T) {
	pair := certificatetest.Issue(t, time.Hour)
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	require.NoError(t, err)
	hardware, err := lanesim.New(lanesim.Settings{Now: support.Now}, lanesim.Lane{
		ID: uuid.MustParse(support.LaneID(1)), Listen: "127.0.0.1:0", Key: linkKey,
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
	})
	require.NoError(t, err)
	t.Cleanup(hardware.Close)
	secured := hardware.Controller(uuid.MustParse(support.LaneID(1))).Address()
	trust := fmt.Sprintf(`link_tls: {fingerprint: "sha256:%x"}`, sha256.Sum256(certificatetest.Block(pair.Certificate)))
	device := newImpostor(t, func(int64, frame.Greeting) frame.Hello { return hello("log") }, nil)

	for name, c := range map[string]struct {
		address, key, trust, fault string
	}{
		"in the clear":    {device.address, linkKey, trust, "link.address: wants wss:// in production"},
		"without a key":   {secured, "", trust, "link.key: missing"},
		"without trust":   {secured, linkKey, "", "link_tls: missing"},
		"with a weak key": {secured, "sesame", trust, "link.key: wants at least 22 characters"},
	} {
		settings := []string{}
		if c.trust != "" {
			settings = append(settings, c.trust)
		}
		lane := support.Lane(1, support.Link(c.address, c.key))
		output, err := support.ServeCommand(support.WriteFile(t, "rangegate.yaml", production(t, lane, settings...))).
			CombinedOutput()
		require.Error(t, err, name)
		require.Contains(t, string(output), c.fault, name)
		require.NotContains(t, string(output), "sesame")
	}

	gateway := support.Serve(t, production(t, support.Lane(1, support.Link(secured, linkKey)), trust)).Ready()
	waitLink(t, gateway.POS(), 1, "up")
	insecure := fmt.Sprintf(`rangegate_lanes_link_insecure{range=%q}`, support.RangeID)
	require.Equal(t, 0.0, gateway.Metrics().Series[insecure])
	require.NotContains(t, gateway.Log(), "insecure_links")

	accepted := support.Serve(t, production(t, support.Lane(1, support.Link(device.address, "")),
		"insecure_links: true")).Ready()
	waitLink(t, accepted.POS(), 1, "up")
	require.Equal(t, 1.0, accepted.Metrics().Series[insecure])
	require.Contains(t, accepted.Log(),
		"with a link without wss, link_tls or key: whoever is on their network can take them over")
}

// A device that floods its link, with the key, costs its own link; another lane of the range notices nothing.
func TestAFloodCostsTheLinkAlone(t *testing.T) {
	const flood = 1_000_000
	var written, refused atomic.Int64
	device := newImpostor(t, func(_ int64, gateway frame.Greeting) frame.Hello {
		return proven(linkKey,
			"log", gateway)
	},
		func(conn *websocket.Conn) {
			for seq := uint64(1); seq <= flood; seq++ {
				report := frame.Report(lanes.Report{Log: lanes.Log{Seq: seq}, Kind: lanes.ReportHelp})
				if conn.Write(context.Background(), websocket.MessageText, report) != nil {
					refused.Add(1)
					return
				}
				written.Add(1)
			}
		})
	controllers := support.NewControllers(t, 2, 2)
	gateway := support.NewConfig(t, []string{
		support.Lane(1, support.Link(device.address, linkKey)),
		controllers.Lane(2),
	}).Serve(t)
	pos := gateway.POS()
	waitLink(t, pos, 1, "faulty")
	gateway.WaitLogged("more than a lane has to say")
	support.Eventually(t, "the device is disconnected", func() bool { return refused.Load() > 0 })
	require.Less(t, written.Load(), int64(flood))

	session := pos.Sell(2, 30)
	controllers.WaitOpen(2, session)
	var taken float64
	for series, value := range gateway.Metrics().Series {
		if strings.HasPrefix(series, `rangegate_lane_commands_total{command="report`) ||
			strings.HasPrefix(series, `rangegate_lane_commands_total{command="help`) {
			taken += value
		}
	}
	require.LessOrEqual(t, taken, 5000.0*float64(device.hellos.Load())+200*60)
	require.Equal(t, "up", linkState(pos, 2))

	var line struct{ Error string }
	for _, text := range strings.Split(gateway.Log(), "\n") {
		if strings.Contains(text, "more than a lane has to say") {
			require.NoError(t, json.Unmarshal([]byte(text), &line))
		}
	}
	require.Contains(t, line.Error, "the controller is faulty")
}
