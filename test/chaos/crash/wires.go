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

// wires are one gateway's own ways to the controllers, where it is seen whether it goes them.
type wires struct {
	addresses  []string
	made, open atomic.Int64 // connections
}

// lay lays ways to those addresses, until the test ends.
func lay(t *testing.T, to []string) *wires {
	w := &wires{}
	for _, address := range to {
		end, err := url.Parse(address)
		require.NoError(t, err)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go w.carry(listener, end.Host)
		end.Host = listener.Addr().String()
		w.addresses = append(w.addresses, end.String())
	}
	return w
}

func (w *wires) carry(from net.Listener, to string) {
	for {
		near, err := from.Accept()
		if err != nil {
			return
		}
		w.made.Add(1)
		far, err := net.Dial("tcp", to)
		if err != nil {
			_ = near.Close()
			continue
		}
		w.open.Add(1)
		go w.join(near, far)
	}
}

// join passes on what is said in either direction, until one of the two ends it.
func (w *wires) join(near, far net.Conn) {
	defer w.open.Add(-1)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = near.Close()
			_ = far.Close()
		})
	}
	both.Wait()
}
