package main

import (
	"container/list"
	"net"
	"net/http"
	"sync"

	"golang.org/x/sys/unix"
)

// connectionsAtMost are open on one address, and never more than a quarter of the files that the process may open: links,
// the store and the neighbours need theirs.
const connectionsAtMost = 20_000

// connections holds the number of an address's connections below a bound. For one beyond it, the one closes that has been
// waiting for a request for longest: so whoever opens thousands and says nothing keeps nobody out.
type connections struct {
	atMost int

	mu    sync.Mutex
	open  map[net.Conn]*list.Element // nil while a request of it is under way
	quiet *list.List                 // of net.Conn, the longest first
}

func newConnections() *connections {
	atMost := connectionsAtMost
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		atMost = int(min(uint64(atMost), files.Cur/4))
	}
	return &connections{atMost: atMost, open: map[net.Conn]*list.Element{}, quiet: list.New()}
}

// turned takes in what has become of a connection (http.Server.ConnState).
func (c *connections) turned(connection net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.open[connection]; at != nil {
		c.quiet.Remove(at)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[connection] = c.quiet.PushBack(connection)
	case http.StateActive:
		c.open[connection] = nil
	case http.StateClosed, http.StateHijacked:
		delete(c.open, connection)
	}
	if len(c.open) > c.atMost && c.quiet.Len() > 0 {
		longest := c.quiet.Remove(c.quiet.Front()).(net.Conn)
		delete(c.open, longest)
		_ = longest.Close()
	}
}
