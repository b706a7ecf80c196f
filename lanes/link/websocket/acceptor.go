package websocket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

// contestTimeout is the time for the pong of a controller that is linked when a second one dials for its lane
// (LINK.md).
const contestTimeout = 2 * time.Second

// Acceptor is the handler of the address that controllers dial. It makes the links of the lanes that wait for
// their controllers (Driver.Await): nobody is believed before the proof of the lane's key, and a lane without
// a key believes whoever dials.
//
// An attempt holds one goroutine, for helloTimeout at most unless it is its turn behind another one of its
// lane. A lane that waits holds none.
type Acceptor struct {
	settings  AcceptorSettings
	timeouts  timeouts
	contest   time.Duration
	admission admission
	secret    [sha256.Size]byte // for what unknown lanes are told
	started   time.Time

	mu    sync.Mutex
	slots map[uuid.UUID]*laneSlot // of the lanes that wait, or are linked

	sample  map[uuid.UUID]link.Lane // see oneOfEachRange; replaced, never changed
	sampled time.Duration           // when, on the monotonic clock
}

// AcceptorSettings are what the acceptor needs of the gateway. Its functions do not block.
type AcceptorSettings struct {
	Now       func() lanes.Instant
	RoundTrip func(took time.Duration) // as that of Settings
	// Admit returns how many new links a second are let in.
	Admit func() int
	// Here returns nil for a lane whose controller dials, and whose range this process serves; ErrUnknownLane
	// for one that is not configured so; any other error if the lane is not served here, or not yet: the
	// controller is told to come back.
	Here func(lane uuid.UUID) error
	// Network returns the network of the request's client. It may be nil: all are of one.
	Network func(*http.Request) netip.Prefix
	// Linked is called when the request's connection has become a lane's link. It may be nil.
	Linked func(*http.Request)
	// Attempted is told what came of every attempt, with the error of one that failed. It may be nil.
	Attempted func(attempt Attempt, outcome string, err error)
}

// ErrUnknownLane is the error of AcceptorSettings.Here for a lane that no controller may dial for.
var ErrUnknownLane = errors.New("no controller of such a lane dials in")

// Attempt is a controller's attempt to make a link.
type Attempt struct {
	Lane uuid.UUID
	From string // the address of the controller, or of the proxy that has not told it
}

// The outcomes of attempts.
const (
	OutcomeLinked = "linked"
	OutcomeNotNow = "over_admit" // too many new links at a time
	// the lane's range is not served by this process, or not yet; or the link changed meanwhile
	OutcomeNotHere   = "not_here"
	OutcomeUnknown   = "unknown_lane"
	OutcomeRefused   = "refused"   // no proof of the lane's key, or a rule of the protocol broken
	OutcomeContested = "contested" // another controller of the lane is linked, and alive
	OutcomeFailed    = "failed"    // disconnected or timed out before its hello
)

// Outcomes are all of them.
var Outcomes = []string{
	OutcomeLinked, OutcomeNotNow, OutcomeNotHere, OutcomeUnknown, OutcomeRefused,
	OutcomeContested, OutcomeFailed,
}

// invitation is what the gateway's hello and the proofs of an attempt are made of.
type invitation struct {
	lane link.Lane
	key  string
}

// laneSlot is what the acceptor knows of a lane. The acceptor's lock guards all of it but what turn guards.
type laneSlot struct {
	invitation
	waiter  link.Waiter   // nil: the lane does not wait
	waiting chan struct{} // closed when it waits again; nil unless a pending link needs to know
	linked  *linked       // nil: no link is up
	pending int           // attempts with a proof that are being decided
	turn    chan struct{} // of capacity 1: one pending link of the lane is decided at a time; nil until there is one
}

// linked is the link of a lane.
type linked struct {
	connection *connection
	waiter     link.Waiter // that it was made for
	log        string      // the id of its controller's report log
	from       string
}

// NewAcceptor makes an acceptor, for which no lane waits yet.
func NewAcceptor(settings AcceptorSettings) *Acceptor {
	a := &Acceptor{
		settings: settings, timeouts: timeouts{helloTimeout, pingInterval, silenceTimeout, writeTimeout},
		contest: contestTimeout,
		slots:   map[uuid.UUID]*laneSlot{}, started: time.Now(),
	}
	_, _ = rand.Read(a.secret[:]) // never fails (crypto/rand)
	return a
}

// await implements link.Awaiter for a driver.
func (a *Acceptor) await(i invitation, waiter link.Waiter) (cancel func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.slots[i.lane.ID]
	if p == nil {
		p = &laneSlot{}
		a.slots[i.lane.ID] = p
	}
	// Of a range that is being dropped here, and has been claimed anew since.
	if p.waiter != nil && i.lane.Epoch < p.lane.Epoch {
		return func() {}
	}
	p.invitation, p.waiter = i, waiter
	if p.waiting != nil {
		close(p.waiting)
		p.waiting = nil
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if p.waiter == waiter {
			p.waiter = nil
			a.dropEmpty(p)
		}
	}
}

// dropEmpty forgets a slot of which nothing is left. mu is held.
func (a *Acceptor) dropEmpty(p *laneSlot) {
	if id := p.lane.ID; p.waiter == nil && p.linked == nil && p.pending == 0 && a.slots[id] == p {
		delete(a.slots, id)
	}
}

// LanePath is the path that the controller of a lane dials, before the lane's id.
const LanePath = "/link/v1/"

// LaneOf returns the lane that a controller dials for with the request.
func LaneOf(r *http.Request) (lane uuid.UUID, ok bool) {
	id, ok := strings.CutPrefix(r.URL.Path, LanePath)
	lane, err := uuid.Parse(id)
	return lane, ok && err == nil && lane.String() == id
}

// ServeHTTP answers a controller that dials. It returns once the link is up, or the controller is refused.
func (a *Acceptor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lane, ok := LaneOf(r)
	switch {
	case !ok:
		http.Error(w, "controllers dial "+LanePath+" and the id of their lane", http.StatusNotFound)
		return
	case !asksForSubprotocol(r.Header):
		http.Error(w, "controllers dial with a WebSocket and the subprotocol "+frame.Subprotocol, http.StatusBadRequest)
		return
	}
	attempt := Attempt{Lane: lane, From: r.RemoteAddr}
	invited, err := a.invite(lane)
	if wait := a.ask(r, invited.lane.Range); wait > 0 {
		a.attempted(attempt, OutcomeNotNow, nil)
		sendAway(w, wait, "too many controllers dial at a time")
		return
	}
	unknown := errors.Is(err, ErrUnknownLane)
	switch {
	case unknown: // it is told the like, and cannot answer it: whoever has no key does not learn which lanes there are
		invited = a.fakeChallenge(lane)
	case err != nil:
		a.attempted(attempt, OutcomeNotHere, err)
		sendAway(w, time.Second, "the lane is not served here at the moment")
		return
	}
	outcome, err := a.serve(w, r, invited)
	if unknown {
		outcome, err = OutcomeUnknown, errors.Join(ErrUnknownLane, err)
	}
	a.attempted(attempt, outcome, err)
}

// ask returns how long the attempt has to wait, 0 if it may go on. rangeID is uuid.Nil if its lane does not wait here.
func (a *Acceptor) ask(r *http.Request, rangeID uuid.UUID) (wait time.Duration) {
	from := origin{rangeID: rangeID}
	if a.settings.Network != nil {
		from.network = a.settings.Network(r)
	}
	return a.admission.ask(a.settings.Now().Mono, a.settings.Admit(), from)
}

func (a *Acceptor) attempted(attempt Attempt, outcome string, err error) {
	if a.settings.Attempted != nil {
		a.settings.Attempted(attempt, outcome, err)
	}
}

// sendAway tells the controller to dial again after that time.
func sendAway(w http.ResponseWriter, wait time.Duration, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
	w.Header().Set("Connection", "close") // it makes room for the next one
	http.Error(w, why, http.StatusServiceUnavailable)
}

func asksForSubprotocol(h http.Header) bool {
	for _, line := range h["Sec-Websocket-Protocol"] {
		for name := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(name) == frame.Subprotocol {
				return true
			}
		}
	}
	return false
}

// invite returns what a controller that dials for the lane is asked. The error is that of
// AcceptorSettings.Here, or says that the lane does not wait.
func (a *Acceptor) invite(lane uuid.UUID) (invitation, error) {
	if err := a.settings.Here(lane); err != nil {
		return invitation{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.slots[lane]
	if p == nil {
		return invitation{}, errNotWaiting
	}
	return p.invitation, nil
}

// fakeChallenge makes an invitation that is the same for every attempt, and like that of a lane with a key: of one
// of the ranges of which lanes wait here, so that no id of a range tells a lane that there is from one that is not.
func (a *Acceptor) fakeChallenge(lane uuid.UUID) invitation {
	key := a.derive(lane[:])
	fake := link.Lane{Range: uuid.UUID(key[:16]), ID: lane, Epoch: uint64(a.started.UnixMilli())}
	fake.Range[6], fake.Range[8] = fake.Range[6]&0x0f|0x40, fake.Range[8]&0x3f|0x80 // version 4: where no lane waits
	var highest []byte
	for _, like := range a.oneOfEachRange() {
		// Another range changes few of them.
		if weight := a.derive(append(lane[:], like.Range[:]...)); bytes.Compare(weight, highest) > 0 {
			highest, fake = weight, like
		}
	}
	fake.ID, fake.Taps = lane, nil
	return invitation{fake, string(key)}
}

// sampleFor is how long the ranges are remembered of which lanes wait here: whoever dials may cause the search.
const sampleFor = time.Second

// oneOfEachRange returns a lane of each range of which lanes wait here.
func (a *Acceptor) oneOfEachRange() map[uuid.UUID]link.Lane {
	now := a.settings.Now().Mono
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sample == nil || now-a.sampled >= sampleFor {
		a.sample, a.sampled = map[uuid.UUID]link.Lane{}, now
		for _, p := range a.slots {
			if newest, found := a.sample[p.lane.Range]; !found || newest.Epoch < p.lane.Epoch {
				a.sample[p.lane.Range] = p.lane
			}
		}
	}
	return a.sample
}

// derive returns the keyed hash of a text: always the same, and unknown to whoever does not know the acceptor's secret.
func (a *Acceptor) derive(of []byte) []byte {
	made := hmac.New(sha256.New, a.secret[:])
	_, _ = made.Write(of) // never fails
	return made.Sum(nil)
}

// serve makes the request a WebSocket, exchanges the hellos, and makes the link.
func (a *Acceptor) serve(w http.ResponseWriter, r *http.Request, invited invitation) (outcome string, err error) {
	upgrader := ws.HTTPUpgrader{
		Timeout:  a.timeouts.write,
		Protocol: func(name string) bool { return name == frame.Subprotocol },
	}
	conn, buffered, _, err := upgrader.Upgrade(r, w)
	if err != nil {
		if conn != nil {
			_ = conn.Close()
		}
		return OutcomeFailed, err
	}
	s := a.socket(conn)
	s.tap = tap{invited.lane.Taps, invited.lane.ID, r.RemoteAddr}
	if early := buffered.Reader.Buffered(); early > 0 { // the controller has not waited for the gateway's hello
		text, _ := buffered.Peek(early)
		s.frames = &prefixedConn{s.frames, io.MultiReader(bytes.NewReader(bytes.Clone(text)), s.frames)}
	}
	tooLate := time.AfterFunc(a.timeouts.hello, func() { _ = s.wire.Close() })
	hello, proof, err := exchangeHellos(s, invited.lane, invited.key)
	tooLate.Stop()
	switch {
	case errors.Is(err, link.ErrFaulty):
		outcome = OutcomeRefused
		if invited.key == "" {
			a.faulty(invited, err)
		}
	case err != nil:
		outcome = OutcomeFailed
	default:
		a.admission.linked(a.settings.Now().Mono, a.settings.Admit(), invited.lane.Range)
		outcome, err = a.arrive(pendingLink{invited, s, hello, proof, r.RemoteAddr})
	}
	if err != nil {
		s.end(a.timeouts.write, err)
		return outcome, err
	}
	if a.settings.Linked != nil {
		a.settings.Linked(r)
	}
	return outcome, nil
}

// socket is the server's end of the WebSocket. A connection under others can be closed without waiting for them.
func (a *Acceptor) socket(conn net.Conn) *socket {
	wire := conn
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		wire = over.NetConn()
	}
	settings := Settings{Now: a.settings.Now, RoundTrip: a.settings.RoundTrip}
	return newSocket(ws.StateServerSide, acceptedConn{conn, a.timeouts.write}, wire, settings)
}

// acceptedConn limits how long a write blocks, and leaves no deadline behind: TLS over the connection writes
// by itself too.
type acceptedConn struct {
	net.Conn
	timeout time.Duration
}

func (c acceptedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	return n, cmp.Or(err, c.SetWriteDeadline(time.Time{}))
}

// pendingLink is a controller that has proven itself, where its lane has a key, and is not linked yet.
type pendingLink struct {
	invitation
	socket *socket
	hello  link.Hello
	proof  string // of the gateway, for the first state
	from   string
}

// notNow is the error of an attempt that may succeed when it is repeated. The connection is closed with the
// status 1013.
type notNow struct{ error }

var (
	errNotWaiting = notNow{errors.New("the lane does not wait for its controller")}
	errChanged    = notNow{errors.New("the lane's link is configured anew")}
	errContested  = violation{ws.StatusPolicyViolation, errors.New("another controller of this lane is linked")}
)

// arrive makes the pending link the lane's link, unless another controller is linked and alive. It waits
// until the lane has noticed the end of an older link.
func (a *Acceptor) arrive(n pendingLink) (outcome string, err error) {
	p := a.enter(n.lane.ID)
	if p == nil {
		return OutcomeNotHere, errNotWaiting
	}
	defer a.leave(p)
	tooLate := time.NewTimer(a.timeouts.hello)
	defer tooLate.Stop()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-tooLate.C:
		return OutcomeNotHere, errNotWaiting
	}
	if before := a.linkedOf(p); before != nil {
		if before.log != n.hello.LogID && before.connection.socket.answers(a.contest) {
			before.waiter.Contested(n.from, before.from)
			return OutcomeContested, errContested
		}
		before.connection.fail(link.ErrReplaced)
	}
	for {
		again, err := a.handOver(p, n)
		switch {
		case err != nil:
			return OutcomeNotHere, err
		case again == nil:
			return OutcomeLinked, nil
		}
		select {
		case <-again:
		case <-tooLate.C:
			return OutcomeNotHere, errNotWaiting
		}
	}
}

// enter notes a pending link in the slot of its lane, nil if there is none.
func (a *Acceptor) enter(lane uuid.UUID) *laneSlot {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.slots[lane]
	if p == nil {
		return nil
	}
	p.pending++
	if p.turn == nil {
		p.turn = make(chan struct{}, 1)
	}
	return p
}

func (a *Acceptor) leave(p *laneSlot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.pending--
	a.dropEmpty(p)
}

func (a *Acceptor) linkedOf(p *laneSlot) *linked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return p.linked
}

// handOver gives the pending link to the lane that waits for it. It returns a channel that is closed when it
// does, if it does not wait yet.
func (a *Acceptor) handOver(p *laneSlot, n pendingLink) (again <-chan struct{}, err error) {
	a.mu.Lock()
	waiter := p.waiter
	switch {
	case p.invitation != n.invitation:
		a.mu.Unlock()
		return nil, errChanged
	case waiter == nil:
		defer a.mu.Unlock()
		if p.waiting == nil {
			p.waiting = make(chan struct{})
		}
		return p.waiting, nil
	}
	made := &linked{waiter: waiter, log: n.hello.LogID, from: n.from}
	of := n.lane // which profiles name; one that is dialled has the labels of whoever dials
	labels := pprof.Labels("range", of.Range.String(), "lane", of.ID.String())
	pprof.Do(context.Background(), labels, func(context.Context) {
		made.connection = newConnection(&a.timeouts, n.socket, n.hello.LogID, n.proof, waiter)
	})
	made.connection.onStop(func() { a.unlink(p, made) })
	p.waiter, p.linked = nil, made
	a.mu.Unlock()
	waiter.Arrived(made.connection, n.hello, nil)
	return nil, nil
}

// unlink forgets a link that has ended.
func (a *Acceptor) unlink(p *laneSlot, ended *linked) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.linked == ended {
		p.linked = nil
		a.dropEmpty(p)
	}
}

// faulty tells a lane without a key, if it waits, that its controller is not in order. With a key nobody has
// proven to be its controller, and the lane is told nothing.
func (a *Acceptor) faulty(invited invitation, err error) {
	a.mu.Lock()
	p := a.slots[invited.lane.ID]
	if p == nil || p.waiter == nil || p.invitation != invited {
		a.mu.Unlock()
		return
	}
	waiter := p.waiter
	p.waiter = nil
	a.dropEmpty(p)
	a.mu.Unlock()
	waiter.Arrived(nil, link.Hello{}, err)
}
