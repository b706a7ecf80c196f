package wire

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// dial opens a connection to the gateway's API.
func dial(t *testing.T, p *support.Gateway) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(p.API, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// Hundreds of clients send a request one byte at a time. Others are served meanwhile, and the slow ones are let go of.
func TestSlowClients(t *testing.T) {
	p, pos := serve(t)
	head := fmt.Sprintf("POST %s/sessions HTTP/1.1\r\nHost: here\r\nrange-id: %s\r\ntoken: %s\r\n", v2,
		support.RangeID, support.Token)
	var slow []net.Conn
	for n := range 400 {
		connection := dial(t, p)
		text := head // never ends its header
		if n%2 == 0 {
			text += "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{" // or its body
		}
		_, err := io.WriteString(connection, text)
		require.NoError(t, err)
		slow = append(slow, connection)
	}
	drip := time.NewTicker(time.Second)
	defer drip.Stop()
	stop := make(chan struct{})
	var dripping sync.WaitGroup
	defer dripping.Wait()
	defer close(stop)
	dripping.Go(func() {
		for {
			for _, connection := range slow {
				_, _ = connection.Write([]byte{' '})
			}
			select {
			case <-stop:
				return
			case <-drip.C:
			}
		}
	})
	session := pos.sell(1, 30, "")
	for range 100 {
		require.Equal(t, 200, pos.ask("GET", v2+"/sessions/"+session, "").Status)
	}
	for _, connection := range slow {
		require.NoError(t, connection.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err := io.Copy(io.Discard, connection)
		require.False(t, errors.Is(err, net.ErrClosed) || isTimeout(err), "it was let go of: %v", err)
	}
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+session+"/stop", "").Status)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// What is far too much is refused before it is taken in.
func TestFloods(t *testing.T) {
	p, pos := serve(t)
	session := pos.sell(1, 30, "")

	var headers strings.Builder
	fmt.Fprintf(&headers, "GET %s/sessions HTTP/1.1\r\nHost: here\r\n", v2)
	for n := range 10_000 {
		fmt.Fprintf(&headers, "x-%d: %s\r\n", n, strings.Repeat("y", 100))
	}
	flood := dial(t, p)
	_, _ = io.WriteString(flood, headers.String()+"\r\n")         // breaks off when the gateway has had enough
	answer, err := http.ReadResponse(bufio.NewReader(flood), nil) //nolint:bodyclose // it ends with the connection
	if err == nil {                                               // or the connection was reset first
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, answer.StatusCode)
	}

	for _, size := range []int64{1 << 30, -1} { // announced, and not
		request, err := http.NewRequest("POST", p.API+v2+"/sessions", io.LimitReader(rand.Reader, 1<<30))
		require.NoError(t, err)
		request.ContentLength = size
		request.Header.Set("range-id", support.RangeID)
		request.Header.Set("token", support.Token)
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
			require.NoError(t, response.Body.Close())
		} else {
			require.True(t, errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET), "%v", err)
		}
	}
	require.Equal(t, 200, pos.ask("GET", v2+"/sessions/"+session, "").Status)
}

// Ten thousand connections are open and say nothing. A POS that comes then is served as ever.
func TestTenThousandIdleConnections(t *testing.T) {
	var files syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	p, pos := serve(t)
	for range min(10_000, files.Cur-500) {
		dial(t, p)
	}
	session := pos.sell(1, 30, "")
	for range 100 {
		require.Equal(t, 200, pos.ask("GET", v2+"/sessions/"+session, "").Status)
	}
	require.Equal(t, 200, status(t, p.Operations+"/readyz"))
	require.Zero(t, p.Terminate())
}
