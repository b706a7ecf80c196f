// Package request holds what the gateway learns of a request while it serves it, for the access log, the
// metrics and logs.
package request

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"rangegate/api/endpoint"
	"rangegate/lanes"
	"rangegate/lanes/trace"
	"rangegate/lanes/tracing"
)

// Info is what is known of one request. Only the goroutine that serves the request uses it.
type Info struct {
	credential [sha256.Size]byte // digest of the POS's token

	Began    time.Time
	TraceID  string
	Client   string        // the address, with port
	RangeID  uuid.UUID     // uuid.Nil until it is known
	Who      string        // the name of the POS's token; empty if it has none
	ProxyTLS bool          // a trusted proxy, or the entry, received the request over TLS
	Entry    string        // the node that has handed the request on; empty if the client sent it here
	Waited   time.Duration // for an event
	Node     string        // the node that has answered; empty if it is this one

	// Response is the header of the response; nil outside of the APIs for POS systems.
	Response http.Header

	// Span is the request's place in its trace, Parent that of whoever sent it: zero if it did not say so.
	Span, Parent lanes.Span
	Tracer       *tracing.Tracer // nil: nothing is traced

	log           *zerolog.Logger
	route         string       // as chi writes its pattern, once Route was called
	body          *boundedBody // nil without a body
	authenticated bool
}

type infoKey struct{}

// Of returns what is known of the request; nil outside of one.
func Of(ctx context.Context) *Info {
	i, _ := ctx.Value(infoKey{}).(*Info)
	return i
}

// Track returns the hook of endpoint.API that begins an Info for each request and passes its place in its trace on.
func Track(log zerolog.Logger, tracer *tracing.Tracer) func(context.Context, string, string) context.Context {
	return func(ctx context.Context, traceID, parent string) context.Context {
		i := &Info{log: &log, Began: time.Now(), TraceID: traceID, Parent: tracing.Parent(parent), Tracer: tracer}
		i.Span = tracer.Begin(traceID, i.Parent)
		if from, ok := ctx.Value(entryKey{}).(entry); ok {
			i.Entry, i.ProxyTLS = from.name, from.overTLS
		}
		return context.WithValue(trace.WithSpan(ctx, traceID, i.Span), infoKey{}, i)
	}
}

// entry is the node that has handed a request on.
type entry struct {
	name    string
	overTLS bool // the client used TLS
}

type entryKey struct{}

// WithEntry returns the context of a request that another node has handed on.
func WithEntry(ctx context.Context, name string, overTLS bool) context.Context {
	return context.WithValue(ctx, entryKey{}, entry{name, overTLS})
}

// Entry returns the node that has handed the request on; empty if the client sent it here.
func Entry(ctx context.Context) string {
	from, _ := ctx.Value(entryKey{}).(entry)
	return from.name
}

// SetRange records which range the request has valid credentials for.
func SetRange(ctx context.Context, rangeID uuid.UUID) {
	if i := Of(ctx); i != nil {
		i.RangeID = rangeID
	}
	Authenticated(ctx)
}

// SetWho records the name of the POS's token.
func SetWho(ctx context.Context, name string) {
	if i := Of(ctx); i != nil {
		i.Who = name
	}
}

// SetCredential records the digest of the POS's token.
func SetCredential(ctx context.Context, digest [sha256.Size]byte) {
	if i := Of(ctx); i != nil {
		i.credential = digest
	}
}

// Credential returns the digest of the POS's token; zeros if it is not known.
func Credential(ctx context.Context) (digest [sha256.Size]byte) {
	if i := Of(ctx); i != nil {
		return i.credential
	}
	return digest
}

// RangeID returns the range that the request is for; uuid.Nil if it is not known.
func RangeID(ctx context.Context) uuid.UUID {
	if i := Of(ctx); i != nil {
		return i.RangeID
	}
	return uuid.Nil
}

// Route returns the pattern that the request was routed by, as far as it was. It is known once the request is served.
func (i *Info) Route(r *http.Request) string {
	if i.route == "" {
		i.route = chi.RouteContext(r.Context()).RoutePattern()
	}
	return i.route
}

// Log returns a log whose lines have the trace id and the range of the request. Outside of a request it discards them.
func Log(ctx context.Context) *zerolog.Logger {
	i := Of(ctx)
	if i == nil {
		discard := zerolog.Nop()
		return &discard
	}
	fields := i.log.With().Str("trace_id", i.TraceID)
	if i.RangeID != uuid.Nil {
		fields = fields.Stringer("range_id", i.RangeID)
	}
	log := fields.Logger()
	return &log
}

// OverTLS is true if the client sent the request over TLS, to the gateway or to a trusted proxy.
func OverTLS(r *http.Request) bool {
	i := Of(r.Context())
	return r.TLS != nil || i != nil && i.ProxyTLS
}

// ClientNetwork returns the network of the request's client, see Network. Everything that is no address
// counts as one client.
func ClientNetwork(r *http.Request) netip.Prefix {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	return Network(remote.Addr())
}

// Network returns the network that counts as one client: the address of IPv4, the /64 of IPv6, which is what
// one customer has.
func Network(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits)
	return prefix
}

// The bounds of what a line of the access log has of a client's own text, in bytes. They are far above what a
// client of the gateway sends.
const (
	maxLoggedPath   = 256
	maxLoggedMethod = 16
)

// AccessLog returns a middleware that writes one line about every request, and about requests without valid
// credentials as many as the sample admits. A nil sample admits all.
func AccessLog(sample *Sample) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			i, recorder := Of(r.Context()), endpoint.Recorder(w, r)
			i.Client = r.RemoteAddr
			next.ServeHTTP(recorder, r)
			route := i.Route(r)
			level := levelOf(r.Method, route, recorder.Status())
			if !i.authenticated && level >= zerolog.InfoLevel && !sample.admits() {
				return
			}
			line := i.log.WithLevel(level).Str("trace_id", i.TraceID)
			if i.RangeID != uuid.Nil {
				line = line.Str("range_id", i.RangeID.String())
			}
			if i.Who != "" {
				line = line.Str("who", i.Who)
			}
			if i.Entry != "" {
				line = line.Str("entry", i.Entry)
			}
			if i.Node != "" {
				line = line.Str("node", i.Node)
			}
			line.Str("method", atMost(maxLoggedMethod, r.Method)).
				Str("path", atMost(maxLoggedPath, loggedPath(r, route))).Str("route", route).
				Int("status", recorder.Status()).Int("bytes", recorder.BytesWritten()).
				Dur("duration_ms", time.Since(i.Began)).
				Str("from", r.RemoteAddr).Msg("request")
		})
	}
}

// loggedPath returns the path of a request; its route, if the path is a credential: the address of a shooter's page.
func loggedPath(r *http.Request, route string) string {
	if strings.HasPrefix(route, "/my/{") {
		return route
	}
	return r.URL.Path
}

// atMost returns the beginning of a text, of that many bytes at most.
func atMost(length int, text string) string { return text[:min(length, len(text))] }

// Sample bounds the lines of the access log about requests without valid credentials, which anybody can send.
type Sample struct {
	lines   *rate.Limiter
	dropped prometheus.Counter
	count   atomic.Uint64 // of those that were dropped
}

// NewSample returns a sample of 100 lines at once and 10 a second after that. dropped counts the other lines.
func NewSample(dropped prometheus.Counter) *Sample {
	return &Sample{lines: rate.NewLimiter(10, 100), dropped: dropped}
}

// Dropped returns how many lines it has not admitted.
func (s *Sample) Dropped() uint64 { return s.count.Load() }

func (s *Sample) admits() bool {
	if s == nil || s.lines.Allow() {
		return true
	}
	s.dropped.Inc()
	s.count.Add(1)
	return false
}

// polled are the routes of the operations address that programs and the pages of the observer ask again and again.
var polled = []string{
	"/livez", "/metrics", "/actors", "/actors/{lane_id}", "/advisories", "/nodes", "/log-level", "/observer",
	"/observer/lanes/{lane_id}", "/observer/maintenance",
}

// levelOf returns the level of a request's line. Successful requests that programs and open pages repeat all
// the time, and the files of pages, are logged at debug; so is a gateway that is not ready, which is no
// error.
func levelOf(method, route string, status int) zerolog.Level {
	switch {
	case route == "/readyz":
		return zerolog.DebugLevel
	case method != http.MethodGet && method != http.MethodHead || status >= http.StatusBadRequest:
		return zerolog.InfoLevel
	case slices.Contains(polled, route),
		strings.HasPrefix(route, "/control/api/"), strings.HasPrefix(route, "/screens/"),
		strings.Contains(route, "/assets/"):
		return zerolog.DebugLevel
	}
	return zerolog.InfoLevel
}
