package websocket_test

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
	"rangegate/lanes/link/websocket/frame"
)

func TestAnUnreachableControllerIsNotFaulty(t *testing.T) {
	_, _, err := newFixture(t, "ws://127.0.0.1:"+freePort(t)+"/", "").dial()
	require.Error(t, err, "nobody listens there")
	assert.NotErrorIs(t, err, link.ErrFaulty)

	r := newFixture(t, "ws://127.0.0.1:1/", "")
	r.lane.ID = uuid.New()
	_, _, err = r.dial()
	assert.ErrorContains(t, err, "no address is known")

	address := listen(t, func(conn net.Conn) { _ = conn.Close() })
	_, _, err = newFixture(t, "ws://"+address, "").dial()
	require.Error(t, err, "it hangs up")
	assert.NotErrorIs(t, err, link.ErrFaulty)
}

func TestHangingHandshakes(t *testing.T) {
	r, controller := newSimulated(t)
	controller.Hang(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := r.driver.Dial(ctx, r.lane, &receiver{})
	require.Error(t, err, "the caller's patience")
	assert.NotErrorIs(t, err, link.ErrFaulty)

	r.driver.SetTimeouts(50*time.Millisecond, time.Hour, time.Hour, time.Second)
	_, _, err = r.dial()
	assert.ErrorIs(t, err, context.DeadlineExceeded, "the driver's own")

	silent := newScripted(t, func(_ *fixture, to *coder.Conn) { _, _, _ = to.Read(context.Background()) })
	silent.driver.SetTimeouts(50*time.Millisecond, time.Hour, time.Hour, time.Second)
	_, _, err = silent.dial()
	assert.ErrorIs(t, err, context.DeadlineExceeded, "no hello")
	assert.NotErrorIs(t, err, link.ErrFaulty)

	controller.Hang(false)
	r.driver.SetTimeouts(patience, time.Hour, time.Hour, time.Second)
	r.connected()
}

func TestAControllerThatRefusesIsFaulty(t *testing.T) {
	r, controller := newSimulated(t)
	controller.Refuse(true)
	_, _, err := r.dial()
	assert.ErrorIs(t, err, link.ErrFaulty)
	assert.ErrorContains(t, err, "503")
}

func TestAnotherProtocolIsFaulty(t *testing.T) {
	address := listen(t, func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('\n')
		_, _ = io.WriteString(conn, "220 lane.example ESMTP\r\n")
		_ = conn.Close()
	})
	_, _, err := newFixture(t, "ws://"+address, "").dial()
	assert.ErrorIs(t, err, link.ErrFaulty)

	server := httptest.NewServer(http.RedirectHandler("http://192.0.2.1/", http.StatusFound))
	defer server.Close()
	_, _, err = newFixture(t, "ws"+strings.TrimPrefix(server.URL, "http"), "key").dial()
	assert.ErrorIs(t, err, link.ErrFaulty, "another address is not the lane's")

	otherServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, err := coder.Accept(w, r, nil); err == nil {
			_, _, err := conn.Read(context.Background())
			assert.Equal(t, coder.StatusPolicyViolation, coder.CloseStatus(err))
		}
	}))
	defer otherServer.Close()
	_, _, err = newFixture(t, "ws"+strings.TrimPrefix(otherServer.URL, "http"), "").dial()
	assert.ErrorIs(t, err, link.ErrFaulty)
	assert.ErrorContains(t, err, "rangegate.lane.v1")
}

func TestWrongHellos(t *testing.T) {
	for _, c := range []struct{ name, text, problem string }{
		{
			"another lane",
			`{"type":"hello","protocol":1,"lane_id":"44444444-4444-4444-8444-000000000001","log_id":"log","state":{"hold":true}}`, "lane 44444444-",
		},
		{
			"another protocol",
			`{"type":"hello","protocol":2,"lane_id":"44444444-4444-4444-8444-000000000001","log_id":"log","state":{"hold":true}}`, "protocol: wants 1",
		},
		{"no hello", `{"type":"applied","revision":1}`, "before its hello"},
		{"no message", `hello`, "not a JSON object"},
	} {
		closed := make(chan coder.StatusCode, 1)
		_, _, err := newScripted(t, func(_ *fixture, to *coder.Conn) {
			send(to, `{"type":"weather"}`)
			send(to, c.text)
			_, _, err := to.Read(context.Background())
			closed <- coder.CloseStatus(err)
		}).dial()
		assert.ErrorIs(t, err, link.ErrFaulty, c.name)
		assert.ErrorContains(t, err, c.problem, c.name)
		assert.Equal(t, coder.StatusPolicyViolation, <-closed, c.name)
	}
}

// A controller's hello may come together with its response to the handshake.
func TestAHelloMayComeWithTheHandshake(t *testing.T) {
	var r *fixture
	address := listen(t, func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, acceptResponse(request)+longFrame(whole,
			r.hello()+strings.Repeat(" ", 5000))+shortFrame(whole, help))
		_, _ = io.Copy(io.Discard, conn)
	})
	r = newFixture(t, "ws://"+address+"/lane", "")
	conn, received := r.connected()
	require.Eventually(t, func() bool { return received.count() == 1 }, patience, time.Millisecond)
	conn.Close()
	assert.Empty(t, received.down)
}

// acceptResponse is the response that accepts the handshake. It requires the headers of LINK.md.
func acceptResponse(request *http.Request) string {
	if request.URL.Path != "/lane" || request.Header.Get("Authorization") != "" ||
		request.Header.Get("Sec-WebSocket-Protocol") != frame.Subprotocol ||
		request.Header.Get("Sec-WebSocket-Version") != "13" {
		return "HTTP/1.1 400 Bad Request\r\n\r\n"
	}
	key := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nconnection: upgrade\r\n" +
		"sec-websocket-protocol: " + frame.Subprotocol + "\r\n" +
		"sec-websocket-accept: " + base64.StdEncoding.EncodeToString(key[:]) + "\r\n\r\n"
}

// The driver limits the size of a response to the handshake.
func TestAnEndlessResponseIsFaulty(t *testing.T) {
	address := listen(t, func(conn net.Conn) {
		_, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nX-Noise: ")
		for err == nil {
			_, err = io.WriteString(conn, filler)
		}
	})
	_, _, err := newFixture(t, "ws://"+address, "").dial()
	assert.ErrorIs(t, err, link.ErrFaulty)
	assert.ErrorContains(t, err, "longer than 16 KiB")
}

// listen starts a TCP server that runs handle on every connection.
func listen(t *testing.T, handle func(net.Conn)) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go handle(conn)
		}
	}()
	return listener.Addr().String()
}

// A probe sends nothing.
func TestAProbeSendsNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	received := make(chan string, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = connection.Close() }()
		sent, _ := io.ReadAll(connection)
		received <- string(sent)
	}()
	require.NoError(t, websocket.Probe(t.Context(), "ws://"+listener.Addr().String()+"/lane-1", websocket.TLS{}))
	require.Empty(t, <-received)
	require.Error(t, websocket.Probe(t.Context(), "ws://%zz", websocket.TLS{}))
}
