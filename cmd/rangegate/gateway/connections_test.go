package gateway

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// socketFrom is a socket with that remote address, which notes that it was closed.
type socketFrom struct {
	net.Conn
	remote string
	closed bool
}

func (s *socketFrom) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s.remote))
}

func (s *socketFrom) Close() error {
	s.closed = true
	return nil
}

// fixtureLimits are limits for 16 connections: 4 of a host, 12 of unauthenticated clients.
func fixtureLimits(proxies ...string) *connectionLimits {
	l := newConnectionLimits(newConnectionMetrics(prometheus.NewRegistry()), func(address netip.Addr) bool {
		for _, proxy := range proxies {
			if address == netip.MustParseAddr(proxy) {
				return true
			}
		}
		return false
	})
	l.setLimit(16)
	return l
}

// admit opens a connection that is admitted.
func admit(t *testing.T, l *connectionLimits, remote string) (*connection, *socketFrom) {
	t.Helper()
	socket := &socketFrom{remote: remote}
	c, ok := l.admit(socket)
	require.True(t, ok, remote)
	return c, socket
}

// limited returns how many connections the limit of a host has refused or displaced.
func limited(t *testing.T, l *connectionLimits, outcome string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(l.metrics.connections)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, metric := range families[0].GetMetric() {
		if metric.GetLabel()[0].GetValue() == hostGroup && metric.GetLabel()[1].GetValue() == outcome {
			return metric.GetCounter().GetValue()
		}
	}
	return 0
}

func address(n int) string { return fmt.Sprintf("192.0.2.%d:4000", n) }

// A host that opens more than its share displaces its own connections: first the slowest request without
// valid credentials, then those that are idle. The others of it, and those of other hosts, stay.
func TestAHostDisplacesItsOwnConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fixtureLimits()
		_, other := admit(t, l, address(9))
		idle, idleSocket := admit(t, l, address(1))
		slow, slowSocket := admit(t, l, address(1))
		slower, slowerSocket := admit(t, l, address(1))
		served, servedSocket := admit(t, l, address(1))
		l.update(slower, http.StateActive)
		time.Sleep(time.Millisecond)
		l.update(slow, http.StateActive)
		l.update(served, http.StateActive)
		served.Authenticated()
		time.Sleep(slowRequest)

		order := []*socketFrom{slowerSocket, slowSocket, idleSocket}
		for n := range order {
			c, _ := admit(t, l, address(1))
			l.update(c, http.StateActive)
			c.Authenticated()
			for i, socket := range order {
				require.Equal(t, i <= n, socket.closed, "connection %d after %d more", i, n+1)
			}
		}
		_, ok := l.admit(&socketFrom{remote: address(1)})
		require.False(t, ok, "all connections of the host are serving")
		require.False(t, servedSocket.closed)
		require.False(t, other.closed)
		require.EqualValues(t, 3, limited(t, l, "displaced"))
		require.EqualValues(t, 1, limited(t, l, "refused"))

		l.update(served, http.StateIdle)
		admit(t, l, address(1))
		require.True(t, servedSocket.closed, "it was idle")
		require.NoError(t, idle.Close(), "what was displaced is closed again by the server")
		require.Equal(t, 4, l.hosts[idle.host].open)
	})
}

// A /64 of IPv6 is one host.
func TestANetworkOfIPv6IsOneHost(t *testing.T) {
	l := fixtureLimits()
	_, first := admit(t, l, "[2001:db8::1]:4000")
	for n := range 3 {
		admit(t, l, fmt.Sprintf("[2001:db8::%d]:4000", n+2))
	}
	admit(t, l, "[2001:db8:0:1::1]:4000")
	require.False(t, first.closed)
	admit(t, l, "[2001:db8::9]:4000")
	require.True(t, first.closed)
}

// A trusted proxy may have any number of connections, up to the limits of all.
func TestAProxyIsNoHost(t *testing.T) {
	l := fixtureLimits("192.0.2.1")
	var sockets []*socketFrom
	for range 12 {
		_, socket := admit(t, l, address(1))
		sockets = append(sockets, socket)
	}
	for _, socket := range sockets {
		require.False(t, socket.closed)
	}
	require.Empty(t, l.hosts)
}

// Hosts without valid credentials share three quarters. A host that had valid credentials lately gets a
// connection when all of those are taken by requests that do not end, and displaces them when nothing else is
// left.
func TestUnauthenticatedClientsLeaveAReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fixtureLimits()
		known, _ := admit(t, l, address(1))
		l.update(known, http.StateActive)
		known.Authenticated()
		require.NoError(t, known.Close())

		var held []*socketFrom
		for n := range 12 {
			c, socket := admit(t, l, address(10+n/3))
			l.update(c, http.StateActive)
			held = append(held, socket)
		}
		for range 4 { // the reserve
			c, _ := admit(t, l, address(1))
			l.update(c, http.StateActive)
			c.Authenticated()
		}
		for _, socket := range held {
			require.False(t, socket.closed)
		}
		another, _ := admit(t, l, address(20))
		l.update(another, http.StateActive)
		require.True(t, held[0].closed, "one without credentials displaces another")
		require.False(t, held[1].closed)

		second, _ := admit(t, l, address(2)) // displaces held[1]
		l.update(second, http.StateActive)
		second.Authenticated()
		require.True(t, held[1].closed)
		require.Equal(t, 16, l.all.open)
		require.Equal(t, 11, l.unauthenticated.open)

		time.Sleep(2*knownTime + time.Second)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.forgetHosts()
		time.Sleep(knownTime)
		require.False(t, l.isKnown(second.host), "known hosts are forgotten")
	})
}

// A host that makes requests again and again stays known.
func TestAHostStaysKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fixtureLimits()
		c, _ := admit(t, l, address(1))
		for range 10 {
			l.update(c, http.StateActive)
			c.Authenticated()
			l.update(c, http.StateIdle)
			time.Sleep(knownTime)
			l.mu.Lock()
			require.True(t, l.isKnown(c.host))
			l.mu.Unlock()
		}
	})
}

// The number of known hosts is bounded.
func TestKnownHostsAreBounded(t *testing.T) {
	l := fixtureLimits()
	for n := range 3 * maxKnown {
		c, _ := admit(t, l, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}),
			4000).String())
		l.update(c, http.StateActive)
		c.Authenticated()
		require.NoError(t, c.Close())
	}
	require.LessOrEqual(t, len(l.known)+len(l.former), 2*maxKnown+1)
	require.Zero(t, l.all.open)
	require.Empty(t, l.hosts)
}

// Where controllers dial, a connection that has become a link is under no limit, and its host's others are
// not under that of a host: all controllers of a range may be behind one router.
func TestLinksAreUnderNoLimit(t *testing.T) {
	l := fixtureLimits()
	l.links = true
	var links []*socketFrom
	for n := range 40 {
		c, socket := admit(t, l, fmt.Sprintf("192.0.2.1:%d", 1000+n))
		c.Authenticated()
		links = append(links, socket)
	}
	for n := range 16 {
		admit(t, l, fmt.Sprintf("192.0.2.1:%d", 2000+n)) // of a host that is known
	}
	_, last := admit(t, l, "192.0.2.1:3000")
	require.False(t, last.closed)
	require.Equal(t, 16, l.all.open, "one was displaced")
	for _, socket := range links {
		require.False(t, socket.closed, "a link makes room for nobody")
	}

	unlinked := fixtureLimits()
	unlinked.links = true
	for n := range 5 {
		admit(t, unlinked, fmt.Sprintf("192.0.2.9:%d", 1000+n))
	}
	require.Equal(t, 4, unlinked.all.open, "a host from which nobody was linked has its quarter")
	require.EqualValues(t, 1, limited(t, unlinked, "displaced"))
}
