package routing

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/lanes"
	"rangegate/lanes/tracing"
)

// What the entry tells the owner of a request. They are read of requests on the node listener only; rewrite replaces
// what a client sends under their names.
const (
	headerPrefix  = "Rangegate-"
	entryHeader   = headerPrefix + "Entry"   // the entry's name
	serviceHeader = headerPrefix + "Service" // which handler of the owner
	clientHeader  = headerPrefix + "Client"  // address and port of the client
	tlsHeader     = headerPrefix + "Tls"     // whether the client used TLS: true or false
	// untilHeader is when the entry stops waiting for the response to begin: milliseconds since 1970 by the clock that
	// the nodes have in common, and the name of that clock.
	untilHeader = headerPrefix + "Until"
)

// forwarding is one request that is handed on.
type forwarding struct {
	router  *Router
	rangeID uuid.UUID
	way     Way
	began   time.Time
	w       http.ResponseWriter
	in      *http.Request
	next    http.Handler
	fail    endpoint.FailFunc

	owner  lanes.Owner
	fixed  bool // the request is for that node, not for a range
	body   []byte
	header *time.Timer // ends the wait for the response

	span    lanes.Span // of the hop
	status  int        // of the owner's response; 0 if there is none
	outcome string     // otherwise
}

type forwardingKey struct{}

func forwardingOf(ctx context.Context) *forwarding { return ctx.Value(forwardingKey{}).(*forwarding) }

// forward sends the request to its owner, and the response to the client. A body that cannot be read is
// refused here, as every node would refuse it.
func (r *Router) forward(w http.ResponseWriter, f *forwarding) {
	body, err := readBodyOf(f.in, f.way.largeBody)
	if err != nil {
		f.next.ServeHTTP(w, f.in)
		return
	}
	f.body = body
	release, err := r.admit(f)
	if err != nil {
		r.Metrics.proxied(overloaded)
		f.fail(w, f.in, err)
		return
	}
	defer release()
	ctx, cancel := context.WithCancelCause(context.WithValue(f.in.Context(), forwardingKey{}, f))
	defer cancel(nil)
	f.header = time.AfterFunc(f.way.limit-time.Since(f.began), func() { cancel(context.DeadlineExceeded) })
	defer f.header.Stop()
	switch {
	case f.way.openEnd:
		defer context.AfterFunc(r.closing, func() { cancel(context.Canceled) })()
		w = &unboundedWriter{w, http.NewResponseController(w)}
	case f.way.limit > requestTimeout: // the server's write timeout counts from the end of the request's header
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	if i := request.Of(f.in.Context()); i != nil {
		f.span = r.Tracer.Begin(i.TraceID, i.Span)
		began := time.Now()
		defer func() {
			i.Node = f.answeredBy()
			r.record(f, i, began)
		}()
	}
	r.proxy.ServeHTTP(w, f.in.WithContext(ctx))
}

// maxBody is one byte more than a body may have (WIRE.md, Requests), unless the way says otherwise: the owner refuses
// it, unless the endpoint reads no body.
const maxBody = 64<<10 + 1

// Body reads the body of a request, up to maxBody, and leaves it to be read again: to the same end, or the same error.
func Body(r *http.Request) ([]byte, error) { return readBodyOf(r, 0) }

// readBodyOf is Body up to one byte more than a large body, if there may be one.
func readBodyOf(r *http.Request, large int) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if read, ok := r.Body.(*readBody); ok {
		return read.bytes, read.err
	}
	read := &readBody{rest: r.Body}
	read.bytes, read.err = io.ReadAll(io.LimitReader(r.Body, int64(max(maxBody, large+1))))
	var end io.Reader = r.Body
	if read.err != nil {
		end = failingReader{read.err}
	}
	read.Reader = io.MultiReader(bytes.NewReader(read.bytes), end)
	r.Body = read
	return read.bytes, read.err
}

// readBody is a body that was read, from its beginning.
type readBody struct {
	io.Reader
	rest  io.Closer
	bytes []byte
	err   error
}

// Close closes the body of the server.
func (b *readBody) Close() error { return b.rest.Close() }

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// rewrite makes the request for the owner. The proxy has removed what concerns one connection only, and the
// forwarding headers of proxies, which the entry has judged.
func (r *Router) rewrite(p *httputil.ProxyRequest) {
	f := forwardingOf(p.In.Context())
	out := p.Out
	// byte for byte, also what is malformed
	out.URL = &url.URL{Path: p.In.URL.Path, RawPath: p.In.URL.RawPath, RawQuery: p.In.URL.RawQuery}
	out.Host = p.In.Host
	for name := range out.Header {
		if strings.HasPrefix(name, headerPrefix) {
			delete(out.Header, name)
		}
	}
	out.Header.Del("Expect") // the body is here
	hideKeys(out.Header)
	out.Header[entryHeader] = []string{r.Name}
	out.Header[serviceHeader] = []string{string(f.way.service)}
	out.Header[clientHeader] = []string{p.In.RemoteAddr}
	out.Header[tlsHeader] = []string{strconv.FormatBool(request.OverTLS(p.In))}
	if until := r.until(f); until != "" {
		out.Header[untilHeader] = []string{until}
	}
	if _, given := p.In.Header["User-Agent"]; !given {
		out.Header["User-Agent"] = nil // otherwise net/http sends its own
	}
	i := request.Of(p.In.Context())
	switch {
	case i == nil:
	case r.Tracer != nil: // the trace state, which goes on, is that of whoever began the trace
		out.Header["Traceparent"] = []string{tracing.Header(i.TraceID, f.span)}
	case !carries(out.Header["Traceparent"], i.TraceID):
		out.Header["Traceparent"] = []string{"00-" + i.TraceID + "-" + spanID() + "-00"}
		delete(out.Header, "Tracestate") // belongs to the header that was replaced
	}
}

// hideKeys keeps net/http from sending the request again by itself when its connection breaks, as it does with what has
// an entry of one of these names: the owner may have carried it out, and attempts decides. The names reach the owner in
// lower case, which are the same to it.
func hideKeys(header http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if keys, given := header[name]; given {
			delete(header, name)
			header[strings.ToLower(name)] = keys
		}
	}
}

// until is the value of untilHeader, empty while the clock that the nodes have in common is not known.
func (r *Router) until(f *forwarding) string {
	if r.Clock == nil {
		return ""
	}
	now, name := r.Clock.Time()
	if name == "" {
		return ""
	}
	return strconv.FormatInt(now.Add(f.way.limit-time.Since(f.began)).UnixMilli(), 10) + " " + name
}

// carries is true if the one traceparent is of that trace.
func carries(parents []string, traceID string) bool {
	return len(parents) == 1 && len(parents[0]) > 35 && parents[0][3:35] == traceID
}

// spanID returns the id of the entry's part of a trace, which is not zero.
func spanID() string { return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64()|1)) }

// adopt makes the owner's response the entry's. Headers that both have set are the owner's.
func (r *Router) adopt(response *http.Response) error {
	f := forwardingOf(response.Request.Context())
	own := f.w.Header()
	for name := range response.Header {
		delete(own, name)
	}
	if f.way.unauthenticated && response.StatusCode < http.StatusBadRequest {
		request.SetRange(f.in.Context(), f.rangeID)
	}
	if _, switched := response.Body.(io.ReadWriteCloser); switched &&
		response.StatusCode == http.StatusSwitchingProtocols {
		return r.relay(f, response)
	}
	return nil
}

// The outcomes of requests that are, or would be, handed on.
const (
	answered    = "answered"
	noOwner     = "no_owner"
	unreachable = "unreachable"
	timedOut    = "timeout"
	cancelled   = "cancelled" // by the client
	overloaded  = "overloaded"
	ownedHere   = "owned_here" // since the owner was read anew
	refusedHere = wrongNode    // what another node has handed on
	late        = "late"       // what another node has handed on, and does not wait for any more
	notANode    = "not_a_node" // what came to the node listener on the connection of no living node
)

// refuse responds to a request that the owner has not answered.
func (r *Router) refuse(w http.ResponseWriter, out *http.Request, err error) {
	f := forwardingOf(out.Context())
	outcome := noOwner
	switch {
	case errors.Is(err, errRelayed):
		return
	case errors.Is(err, errOwnedHere):
		r.Metrics.proxied(ownedHere)
		f.outcome = ownedHere
		f.in.Body = &readBody{Reader: bytes.NewReader(f.body), rest: io.NopCloser(nil), bytes: f.body}
		f.next.ServeHTTP(w, f.in)
		return
	case f.in.Context().Err() != nil:
		outcome, err = cancelled, context.Canceled
	case errors.Is(err, lanes.ErrTimeout):
		outcome = timedOut
	case errors.Is(err, errUnreachable):
		outcome, err = unreachable, lanes.ErrNotOwner
	default:
		err = lanes.ErrNotOwner
	}
	r.Metrics.proxied(outcome)
	f.outcome = outcome
	f.owner.Name = "" // it has not answered
	f.fail(w, f.in, err)
}

// answeredBy returns the node whose response the client got; empty if it is this one.
func (f *forwarding) answeredBy() string {
	if f.owner.Here {
		return ""
	}
	return f.owner.Name
}

// writeTimeout is how long a client may take to accept a part of a stream.
const writeTimeout = 10 * time.Second

// unboundedWriter bounds each write instead of the whole response.
type unboundedWriter struct {
	http.ResponseWriter
	connection *http.ResponseController
}

// Write writes a part.
func (u *unboundedWriter) Write(part []byte) (int, error) {
	_ = u.connection.SetWriteDeadline(time.Now().Add(writeTimeout)) // a test's recorder has no deadline
	return u.ResponseWriter.Write(part)
}

// Unwrap is for http.ResponseController.
func (u *unboundedWriter) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// buffers are those that bodies of responses are copied through.
var buffers = bufferPool{sync.Pool{New: func() any { return new([copyBuffer]byte) }}}

const copyBuffer = 8 << 10 // most responses are smaller

type bufferPool struct{ pool sync.Pool }

// Get returns a buffer of copyBuffer bytes.
func (b *bufferPool) Get() []byte { return b.pool.Get().(*[copyBuffer]byte)[:] }

// Put takes it back.
func (b *bufferPool) Put(buffer []byte) { b.pool.Put((*[copyBuffer]byte)(buffer)) }
