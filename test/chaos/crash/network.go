package crash

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// network is a proxy for each controller, of one gateway alone. It counts that gateway's connections.
type network struct {
	addresses  []string
	made, open atomic.Int64 // connections
}

// newNetwork puts a proxy in front of each address until the test ends.
func newNetwork(t *testing.T, addresses []string) *network {
	w := &network{}
	for _, address := range addresses {
		end, err := url.Parse(address)
		require.NoError(t, err)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go w.forward(listener, end.Host)
		end.Host = listener.Addr().String()
		w.addresses = append(w.addresses, end.String())
	}
	return w
}

func (w *network) forward(from net.Listener, server string) {
	for {
		client, err := from.Accept()
		if err != nil {
			return
		}
		w.made.Add(1)
		upstream, err := net.Dial("tcp", server)
		if err != nil {
			_ = client.Close()
			continue
		}
		w.open.Add(1)
		go w.copyBoth(client, upstream)
	}
}

// copyBoth copies in both directions until one side ends the connection.
func (w *network) copyBoth(client, upstream net.Conn) {
	defer w.open.Add(-1)
	var both sync.WaitGroup
	for _, direction := range [][2]net.Conn{{client, upstream}, {upstream, client}} {
		both.Go(func() {
			_, _ = io.Copy(direction[0], direction[1])
			_ = client.Close()
			_ = upstream.Close()
		})
	}
	both.Wait()
}
