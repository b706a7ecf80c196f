package gateway

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"rangegate/api/request"
)

// maxConnections bounds the open connections of one listener; a quarter of the files that the process may
// open bounds them too, as links, the store and the integrators need the others.
const maxConnections = 20_000

// Which part of a listener's connections one host, and all hosts without valid credentials together, may
// have.
const (
	hostShare            = 0.25
	unauthenticatedShare = 0.75
)

// slowRequest is how long a request without valid credentials may be under way until its connection is the
// first one to be closed for another. Any client on a working network has sent its request by then.
const slowRequest = 250 * time.Millisecond

// knownTime is for how long, at least, a host counts as known after a request with valid credentials. At most
// twice as long.
const knownTime = 30 * time.Minute

// maxKnown bounds the number of hosts that are known at a time, in each of two generations.
const maxKnown = 10_000

// The names of the limits, in the metric.
const (
	hostGroup            = "host"
	unauthenticatedGroup = "unauthenticated"
	allGroup             = "all"
	requestsLimit        = "requests" // see countRequests
)

// phase is what a connection is used for.
type phase int

const (
	waiting    phase = iota // no request is under way
	unverified              // a request is under way, and had no valid credentials so far
	serving                 // a request with valid credentials is under way
)

// connectionLimits bounds the connections of one listener: of one host, of all hosts that are not known, and
// of all. A host is an IPv4 address or a /64 of IPv6; it is known if a request with valid credentials came
// from it lately. A connection above a limit displaces another one under the same limit, if there is one that
// is not serving, and is refused otherwise.
type connectionLimits struct {
	metrics *connectionMetrics
	exempt  func(netip.Addr) bool // from the limit of one host: trusted proxies
	// links is set where controllers dial. A connection that has become a lane's link is under no limit:
	// there is one a lane. The others of its host are not under that of one host, as all controllers of a
	// range may be behind one router.
	links bool

	mu                   sync.Mutex
	all, unauthenticated *connectionGroup
	perHost              int
	hosts                map[netip.Prefix]*connectionGroup // that have a connection
	known, former        map[netip.Prefix]struct{}
	rotated              time.Time
}

// connectionGroup is a set of connections under one limit.
type connectionGroup struct {
	name  string
	limit int
	open  int
	queue [serving]*list.List // of *connection, by phase; the first one has been in that phase for longest
}

func newConnectionGroup(name string, limit int) *connectionGroup {
	return &connectionGroup{
		name: name, limit: max(1, limit),
		queue: [serving]*list.List{waiting: list.New(), unverified: list.New()},
	}
}

func newConnectionLimits(metrics *connectionMetrics, exempt func(netip.Addr) bool) *connectionLimits {
	if exempt == nil {
		exempt = func(netip.Addr) bool { return false }
	}
	limit := maxConnections
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		limit = int(min(uint64(limit), files.Cur/4))
	}
	l := &connectionLimits{
		metrics: metrics, exempt: exempt,
		hosts: map[netip.Prefix]*connectionGroup{}, rotated: time.Now(),
		known: map[netip.Prefix]struct{}{}, former: map[netip.Prefix]struct{}{},
	}
	l.setLimit(limit)
	return l
}

func (l *connectionLimits) setLimit(limit int) {
	l.all = newConnectionGroup(allGroup, limit)
	l.unauthenticated = newConnectionGroup(unauthenticatedGroup, int(float64(limit)*unauthenticatedShare))
	l.perHost = max(1, int(float64(limit)*hostShare))
}

// connection is an accepted connection.
type connection struct {
	net.Conn
	limits *connectionLimits
	host   netip.Prefix

	// In a row without valid credentials, counted for HTTP/2: see countRequests.
	strangersRequests, strangersCancelled atomic.Int32

	// The lock of the limits is held for these.
	places []place // in the groups that it belongs to; none once it is closed
	phase  phase
	since  time.Time // of the phase
}

// place is a connection's place in a group.
type place struct {
	group   *connectionGroup
	element *list.Element // nil while it is serving
}

// admit puts a connection under the limits, and closes those that it displaces. ok is false if it has to be
// closed itself.
func (l *connectionLimits) admit(socket net.Conn) (c *connection, ok bool) {
	c = &connection{Conn: socket, limits: l}
	if address, err := netip.ParseAddrPort(socket.RemoteAddr().String()); err == nil {
		c.host = request.Network(address.Addr())
	}
	displaced, ok := l.place(c)
	for _, other := range displaced {
		_ = other.Conn.Close()
	}
	return c, ok
}

// place puts the connection into its groups. It returns those that it displaces, which are in no group any
// more. ok is false if a group is full and has none to displace.
func (l *connectionLimits) place(c *connection) (displaced []*connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	groups := l.groupsOf(c)
	for _, group := range groups {
		if group.open < group.limit {
			continue
		}
		other := group.slowest()
		if group == l.all { // a host that is known makes no room for one that is not authenticated
			other = l.unauthenticated.slowest()
			if other == nil && !slices.Contains(groups, l.unauthenticated) {
				other = l.all.slowest()
			}
		}
		if other == nil {
			l.metrics.limited(group.name, "refused")
			return displaced, false
		}
		l.metrics.limited(group.name, "displaced")
		l.remove(other)
		displaced = append(displaced, other)
	}
	for _, group := range groups {
		group.open++
		c.places = append(c.places, place{group: group})
		if group.name == hostGroup {
			l.hosts[c.host] = group
		}
	}
	l.enter(c, waiting)
	return displaced, true
}

// groupsOf returns the groups of a new connection, the smallest first: a connection that is displaced there
// makes room in the others too. The lock is held.
func (l *connectionLimits) groupsOf(c *connection) (groups []*connectionGroup) {
	if known := l.links && l.isKnown(c.host); !known && !l.exempt(c.host.Addr()) {
		host := l.hosts[c.host]
		if host == nil {
			host = newConnectionGroup(hostGroup, l.perHost)
		}
		groups = append(groups, host)
	}
	if !l.isKnown(c.host) {
		groups = append(groups, l.unauthenticated)
	}
	return append(groups, l.all)
}

// slowest returns the connection that makes room for another one: that with the slowest request without valid
// credentials, or else the one that has been without a request for longest. It returns nil if all are
// serving.
func (g *connectionGroup) slowest() *connection {
	request, idle := g.queue[unverified].Front(), g.queue[waiting].Front()
	switch {
	case request != nil && (idle == nil || time.Since(request.Value.(*connection).since) >= slowRequest):
		return request.Value.(*connection)
	case idle != nil:
		return idle.Value.(*connection)
	}
	return nil
}

// enter begins a phase of a connection that is open. The lock is held.
func (l *connectionLimits) enter(c *connection, p phase) {
	c.phase, c.since = p, time.Now()
	for i := range c.places {
		place := &c.places[i]
		place.leaveQueue()
		if p != serving {
			place.element = place.group.queue[p].PushBack(c)
		}
	}
}

// leaveQueue takes a connection out of the queue of its group.
func (p *place) leaveQueue() {
	for _, queue := range p.group.queue {
		if p.element != nil {
			queue.Remove(p.element) // does nothing in the queue that it is not in
		}
	}
	p.element = nil
}

// remove takes a connection out of all groups. The lock is held.
func (l *connectionLimits) remove(c *connection) {
	for i := range c.places {
		l.leave(&c.places[i], c)
	}
	c.places = nil
}

func (l *connectionLimits) leave(p *place, c *connection) {
	p.leaveQueue()
	p.group.open--
	if p.group.name == hostGroup && p.group.open == 0 {
		delete(l.hosts, c.host)
	}
}

// isKnown is true if a request with valid credentials came from the host lately. The lock is held.
func (l *connectionLimits) isKnown(host netip.Prefix) bool {
	l.forgetHosts()
	_, recent := l.known[host]
	_, former := l.former[host]
	return recent || former
}

// forgetHosts forgets the hosts that have not been heard of for a generation, when it is time for a new one.
// The lock is held.
func (l *connectionLimits) forgetHosts() {
	if time.Since(l.rotated) >= knownTime || len(l.known) >= maxKnown {
		l.known, l.former, l.rotated = map[netip.Prefix]struct{}{}, l.known, time.Now()
	}
}

// update takes a connection's new state from the server, which tells of a request once it has its header.
func (l *connectionLimits) update(c *connection, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case c.places == nil: // closed
	case state == http.StateActive:
		l.enter(c, unverified)
	case state == http.StateIdle:
		l.enter(c, waiting)
	}
}

// Authenticated notes that a request with valid credentials came over the connection.
func (c *connection) Authenticated() {
	c.strangersRequests.Store(0)
	c.strangersCancelled.Store(0)
	l := c.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.places == nil || c.phase == serving {
		return
	}
	l.forgetHosts()
	l.known[c.host] = struct{}{}
	if l.links {
		c.phase = serving
		l.remove(c)
		return
	}
	l.enter(c, serving)
	c.places = slices.DeleteFunc(c.places, func(p place) bool {
		if p.group == l.unauthenticated {
			l.leave(&p, c)
		}
		return p.group == l.unauthenticated
	})
}

// Close closes the socket.
func (c *connection) Close() error {
	c.limits.mu.Lock()
	c.limits.remove(c)
	c.limits.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends what is sent, and goes on receiving.
func (c *connection) CloseWrite() error {
	if socket, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return socket.CloseWrite()
	}
	return nil
}

// connectionMetrics counts what the limits of all listeners did.
type connectionMetrics struct{ connections *prometheus.CounterVec }

func newConnectionMetrics(registry prometheus.Registerer) *connectionMetrics {
	m := &connectionMetrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "rangegate", Name: "connections_limited_total",
		Help: "Connections that were refused, or displaced by a new one, by the limit that was reached: of one " +
			"host, of all hosts without valid credentials (unauthenticated), or of all; and connections of " +
			"HTTP/2 that were closed after too many requests without valid credentials. Normal is 0; a client that " +
			"opens many at once, or holds them, is one reason.",
	}, []string{"limit", "outcome"})}
	registry.MustRegister(m.connections)
	for _, limit := range []string{hostGroup, unauthenticatedGroup, allGroup} {
		for _, outcome := range []string{"refused", "displaced"} {
			m.connections.WithLabelValues(limit, outcome)
		}
	}
	m.connections.WithLabelValues(requestsLimit, "closed")
	return m
}

func (m *connectionMetrics) limited(limit, outcome string) {
	m.connections.WithLabelValues(limit, outcome).Inc()
}
