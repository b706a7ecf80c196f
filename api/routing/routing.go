// Package routing hands requests on to the node that owns their range, where several nodes share the ranges
// of one Redis.
//
// The node that a client has connected to is the entry. It authenticates the request; if another node owns
// the range, it sends the request to that node's own address, the node listener, over mutual TLS:
//
//	routing.go   what is served here, what is handed on, and how long it may take
//	forward.go   the request as the owner gets it, and its response
//	attempts.go  one more try, and what a failure means for the client
//	accept.go    the node listener: what the owner believes of the entry
//	relay.go     connections that go on in both directions
//
// The owner authenticates the request again, and alone applies the limits of the range, its Idempotency-Keys
// and the delays of sign-ins. A request makes one hop at most: what came through the node listener is served,
// or refused with wrong_node. Then the entry reads the owner anew, once.
package routing

import (
	"context"
	"crypto/tls"
	stdlog "log"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/screens"
	"rangegate/lanes"
	"rangegate/lanes/tracing"
)

// Directory says which node serves a range.
type Directory interface {
	// Owner returns the range's owner from memory. Errors: lanes.ErrNotOwner while no node owns it, as far as is known.
	Owner(rangeID uuid.UUID) (lanes.Owner, error)
	// Refresh reads it anew from the store, after a node answered that it is not the owner. One read at a
	// time for a range.
	Refresh(ctx context.Context, rangeID uuid.UUID) (lanes.Owner, error)
}

// Clock reads a clock that all nodes have in common.
type Clock interface {
	// Time returns its time and its name; no name while it is not known.
	Time() (now time.Time, name string)
	// TimeBy returns the time of the clock with that name; found is false if it was not read here.
	TimeBy(name string) (now time.Time, found bool)
}

// Way is how a kind of request is handed on.
type Way struct {
	service service
	// limit is for the whole exchange; of an open end for the header of the response.
	limit   time.Duration
	openEnd bool // a stream, a request that waits for an event, or a relayed connection
	// silence ends a stream from which nothing has come for so long.
	silence time.Duration
	// unauthenticated requests have places of their own among those under way: anybody can send them.
	unauthenticated bool
	// further is how much more room than others a request has that may close a fire line: so many times theirs.
	further int
	// largeBody is how many bytes a body may have, where that is more than other requests may.
	largeBody int
}

// WithBody returns the way of requests whose body may have so many bytes.
func (w Way) WithBody(bytes int) Way {
	w.largeBody = bytes
	return w
}

// service is a handler of the owner.
type service string

const (
	requests   service = "requests"
	operations service = "operations"
	links      service = "links"
)

// The ways that there are.
var (
	Request = Way{service: requests, limit: requestTimeout}
	// Closing is a stop or a pause, Hold a change of a hold. Other requests that hang take no room of theirs, and
	// stops none of a hold.
	Closing    = Way{service: requests, limit: requestTimeout, further: 1}
	Hold       = Way{service: requests, limit: requestTimeout, further: 2}
	SignIn     = Way{service: requests, limit: requestTimeout, unauthenticated: true}
	Integrator = Way{service: requests, limit: integratorTimeout} // the owner waits for the integrator
	Stream     = Way{service: requests, limit: requestTimeout, openEnd: true, silence: streamSilence}
	// Events is a stream of events, Waiting a request that waits for one. Neither takes a place among the
	// requests under way.
	Events  = Way{service: requests, limit: requestTimeout, openEnd: true, silence: eventsSilence}
	Waiting = Way{service: requests, limit: waitTimeout, openEnd: true}

	Operation     = Way{service: operations, limit: requestTimeout}
	OperationHold = Way{service: operations, limit: requestTimeout, further: 2}
	Observer      = Way{service: operations, limit: requestTimeout, openEnd: true, silence: streamSilence}
	// OperationWaiting is a request that may wait for what it asks for.
	OperationWaiting = Way{service: operations, limit: waitTimeout, openEnd: true}

	Link = Way{service: links, limit: requestTimeout, openEnd: true} // a controller that has dialled
)

const (
	// requestTimeout is that of every request (WIRE.md): the hop is part of it.
	requestTimeout = 5 * time.Second
	// integratorTimeout is above the longest wait for an integrator's answer that the configuration allows.
	integratorTimeout = 65 * time.Second
	// waitTimeout is above the longest wait for an event (api/v2), and the time that its response takes.
	waitTimeout = 70 * time.Second
)

// The maximum number of requests that are handed on at a time: to one node, of one range, and without
// credentials. An owner, or a range, that does not respond leaves room for the others. What may close a fire line
// has more: a stop or a pause is handed on while twice as many are under way, a hold while three times as many
// are. Streams and links are bounded by the connections of their listener.
const (
	maxToNode          = 1024
	maxOfRange         = maxToNode / 2
	maxUnauthenticated = 64
)

// Settings is what a Router is made of.
type Settings struct {
	Name      string // of this node
	Directory Directory
	// TLS returns the configuration of a connection to the node at the host. nil: plain HTTP.
	TLS func(host string) *tls.Config
	// Dial connects to a node; nil: TCP.
	Dial dial
	// Clock says until when a request may be done. nil: that is not said.
	Clock   Clock
	Metrics *Metrics
	Tracer  *tracing.Tracer // nil: nothing is traced
	Log     zerolog.Logger
}

// Router hands requests on. It lives as long as the process; a nil *Router serves everything here.
type Router struct {
	Settings
	proxy     *httputil.ReverseProxy
	short     *http.Transport // for requests
	open      *http.Transport // for streams and relayed connections, each on a connection of its own
	closing   context.Context
	close     context.CancelFunc
	anonymous screens.Slots

	mu        sync.Mutex
	underWay  map[any]int          // by the name of the node, and by the id of the range
	undialled map[string]time.Time // when no connection to that address could be made, within dialCooldown
}

// New returns a Router. Close must be called.
func New(s Settings) *Router {
	r := &Router{
		Settings: s, short: newTransport(s.TLS, s.Dial, shortBuffer), open: newTransport(s.TLS, s.Dial, openBuffer),
		anonymous: make(screens.Slots, maxUnauthenticated),
		underWay:  map[any]int{}, undialled: map[string]time.Time{},
	}
	r.open.DisableKeepAlives = true
	r.closing, r.close = context.WithCancel(context.Background())
	r.proxy = &httputil.ReverseProxy{
		Rewrite: r.rewrite, Transport: attempts{r}, ModifyResponse: r.adopt, ErrorHandler: r.refuse,
		BufferPool: &buffers, ErrorLog: stdlog.New(brokenResponses{s.Log}, "", 0),
	}
	return r
}

// Close ends open streams and relayed connections, and the connections to other nodes that are idle.
func (r *Router) Close() {
	r.close()
	r.short.CloseIdleConnections()
}

// Elsewhere returns the node that owns the range, if that is another one.
func (r *Router) Elsewhere(id uuid.UUID) (owner lanes.Owner, elsewhere bool) {
	if r == nil {
		return owner, false
	}
	owner, err := r.Directory.Owner(id)
	return owner, err == nil && !owner.Here
}

// Route returns the middleware that hands a request on if another node owns its range. destination returns
// the range and the way to its owner, and uuid.Nil for a request that every node serves. A request that this
// middleware lets pass is this node's.
func (r *Router) Route(
	fail endpoint.FailFunc, destination func(*http.Request) (uuid.UUID, Way),
) func(http.Handler) http.Handler {
	if r == nil {
		return func(next http.Handler) http.Handler { return next }
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
			id, way := destination(in)
			if id == uuid.Nil {
				next.ServeHTTP(w, in)
				return
			}
			r.serve(w, in, forwarding{
				router: r, rangeID: id, way: way, began: time.Now(), w: w, in: in,
				next: next, fail: fail,
			})
		})
	}
}

// RouteToNode returns the middleware that hands a request on to the node that destination returns; found is
// false for a request that this node serves.
func (r *Router) RouteToNode(
	fail endpoint.FailFunc, way Way, destination func(*http.Request) (node lanes.Owner, found bool),
) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
			node, found := destination(in)
			if !found || node.Here || request.Entry(in.Context()) != "" {
				next.ServeHTTP(w, in)
				return
			}
			r.forward(w, &forwarding{
				router: r, way: way, began: time.Now(), w: w, in: in, next: next, fail: fail,
				owner: node, fixed: true,
			})
		})
	}
}

// OfRange is the destination of every request whose credentials have told its range.
func OfRange(way Way) func(*http.Request) (uuid.UUID, Way) {
	return func(r *http.Request) (uuid.UUID, Way) { return request.RangeID(r.Context()), way }
}

func (r *Router) serve(w http.ResponseWriter, in *http.Request, f forwarding) {
	owner, err := r.Directory.Owner(f.rangeID)
	switch {
	case err == nil && owner.Here && r.isLate(in):
		r.Metrics.proxied(late)
		f.fail(w, in, lanes.ErrTimeout)
	case err == nil && owner.Here:
		SetEpoch(w.Header(), owner.Epoch)
		f.next.ServeHTTP(w, in)
	case request.Entry(in.Context()) != "":
		r.Metrics.proxied(refusedHere)
		f.fail(w, in, ErrWrongNode)
	case err != nil:
		r.Metrics.proxied(noOwner)
		f.fail(w, in, err)
	default:
		f.owner = owner
		r.forward(w, &f)
	}
}

// isLate is true for a request from another node that does not wait for it any more, as far as that is known: it was
// on its way for long, or this node stood still, and whoever sent it may have asked for something else since.
func (r *Router) isLate(in *http.Request) bool {
	at, clock, _ := strings.Cut(in.Header.Get(untilHeader), " ")
	end, err := strconv.ParseInt(at, 10, 64)
	if err != nil || r.Clock == nil || request.Entry(in.Context()) == "" {
		return false
	}
	now, found := r.Clock.TimeBy(clock)
	return found && now.After(time.UnixMilli(end))
}

// EpochHeader names the response header with the epoch of the range's owner, as the node that answers knows
// it. Each owner has a higher one than those before it: of two answers with different epochs the one with the
// lower is of before.
const EpochHeader = "Range-Epoch"

// SetEpoch sets the header, unless the epoch is not known.
func SetEpoch(header http.Header, epoch uint64) {
	if epoch > 0 {
		header[EpochHeader] = []string{strconv.FormatUint(epoch, 10)}
	}
}

// ErrWrongNode refuses a request from another node, because this one does not own its range.
var ErrWrongNode = endpoint.Refusal(wrongNode)

const wrongNode = "wrong_node"

// admit takes a place for a request, if there is one.
func (r *Router) admit(f *forwarding) (release func(), err error) {
	if f.way.openEnd {
		return func() {}, nil
	}
	if f.way.unauthenticated && !r.anonymous.TryAcquire() {
		return nil, screens.Overloaded("sign-ins wait")
	}
	node, rangeID, rooms := any(f.owner.Name), any(f.rangeID), 1+f.way.further
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.underWay[node] >= rooms*maxToNode || r.underWay[rangeID] >= rooms*maxOfRange {
		if f.way.unauthenticated {
			r.anonymous.Release()
		}
		return nil, screens.Overloaded("requests are being carried out; nothing was changed")
	}
	r.underWay[node]++
	r.underWay[rangeID]++
	return func() {
		if f.way.unauthenticated {
			r.anonymous.Release()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, of := range []any{node, rangeID} {
			if r.underWay[of]--; r.underWay[of] == 0 {
				delete(r.underWay, of)
			}
		}
	}, nil
}

// brokenResponses logs what the proxy says of a response that broke off after its header was sent.
type brokenResponses struct{ log zerolog.Logger }

func (b brokenResponses) Write(line []byte) (int, error) {
	b.log.Warn().Str("error", strings.TrimSpace(string(line))).Msg("a response of another node broke off")
	return len(line), nil
}
