package routing

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// memory is what the process keeps, in bytes: the heap after a collection, and the stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A node may relay the links of tens of thousands of lanes. What one takes of the entry is the difference
// between links through it and links that the owner has itself.
func TestARelayedConnectionTakesLittleMemory(t *testing.T) {
	const connections = 500
	entry, owner := newPair(t, lines)
	open := func(to *httptest.Server) int64 {
		before := memory()
		for range connections {
			c, err := net.Dial("tcp", to.Listener.Addr().String())
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			_, err = io.WriteString(c, "GET /link/v1/lane HTTP/1.1\r\nHost: x\r\nConnection: "+
				"Upgrade\r\nUpgrade: lines\r\n\r\n")
			require.NoError(t, err)
			reader := bufio.NewReader(c)
			response, err := http.ReadResponse(reader, nil)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
			_, err = io.WriteString(c, "used\n")
			require.NoError(t, err)
			_, err = reader.ReadString('\n')
			require.NoError(t, err)
		}
		return (memory() - before) / connections
	}
	direct := open(owner.client)
	relayed := open(entry.client)
	t.Logf("a connection with both ends: %d bytes direct, %d relayed, so %d of the entry and of what the owner "+
		"has more", direct, relayed, relayed-direct)
	require.True(t, underRace || relayed-direct < 32<<10, fmt.Sprint(relayed-direct))
}
