package routing

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"rangegate/api/request"
	"rangegate/lanes"
)

// The bounds of the steps of a hop. All of them are within the time that the request has.
const (
	connectTimeout = time.Second // to connect, and again for the TLS handshake
	refreshTimeout = 500 * time.Millisecond
	// idleTimeout closes connections that no request uses, so that none is kept to a node that is gone. It is
	// far below the node listener's own.
	idleTimeout  = 15 * time.Second
	maxIdleConns = 64 // to one node
	// dialCooldown is for how long nobody connects again to a node that could not be connected to: a machine
	// that is gone would cost each request connectTimeout, and the client may try again as soon.
	dialCooldown = time.Second
)

// dial connects to an address.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// newTransport returns a transport to the other nodes. A dead machine is noticed within 15 s, also by a
// stream that is silent. connect nil is TCP.
func newTransport(config func(host string) *tls.Config, connect dial, buffer int) *http.Transport {
	if connect == nil {
		connect = (&net.Dialer{
			KeepAliveConfig: net.KeepAliveConfig{
				Enable: true, Idle: 5 * time.Second,
				Interval: 5 * time.Second, Count: 2,
			},
		}).DialContext
	}
	connectInTime := func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		return connect(ctx, network, address)
	}
	t := &http.Transport{
		DialContext: connectInTime, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: maxIdleConns,
		DisableCompression: true, WriteBufferSize: buffer, ReadBufferSize: buffer,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if config == nil {
		return t
	}
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		plain, err := connectInTime(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		secured := tls.Client(plain, config(host))
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = plain.Close()
			return nil, err
		}
		return secured, nil
	}
	return t
}

// The buffers of a connection, in each direction. A stream, or a relayed connection, has its own for as long
// as it lasts.
const (
	shortBuffer = 4 << 10
	openBuffer  = 1 << 10
)

// The errors of a hop, beside lanes.ErrTimeout: the outcome is not known.
var (
	errOwnedHere   = errors.New("this node owns the range by now")
	errUnreachable = errors.New("the owner could not be reached, and was sent nothing")
)

// attempts sends a request to its owner. It tries once more, at the owner that the store names by then, where
// nothing can have been changed: the node answered that it does not own the range, it was sent nothing, or
// the request only reads.
type attempts struct{ router *Router }

// RoundTrip returns the owner's response. Errors: errOwnedHere, lanes.ErrNotOwner, errUnreachable, lanes.ErrTimeout.
func (a attempts) RoundTrip(out *http.Request) (*http.Response, error) {
	r, ctx := a.router, out.Context()
	f := forwardingOf(ctx)
	for again := f.fixed; ; again = true {
		if r.inDialCooldown(f.owner.Address) {
			r.logFailure(f, errUnreachable)
			return nil, errUnreachable
		}
		response, sent, err := r.send(out, f)
		reads := out.Method == http.MethodGet || out.Method == http.MethodHead
		reason := ""
		switch {
		case err == nil && response.StatusCode == http.StatusMisdirectedRequest:
			_ = response.Body.Close()
			reason, err = wrongNode, lanes.ErrNotOwner
		case err == nil:
			r.Metrics.proxied(answered)
			f.status, f.outcome = response.StatusCode, answered
			return r.begun(f, response), nil
		case !sent:
			reason, err = unreachable, errUnreachable
		case reads:
			reason, err = "broken_off", lanes.ErrTimeout
		default:
			err = lanes.ErrTimeout
		}
		if reason == "" || again || ctx.Err() != nil {
			r.logFailure(f, err)
			return nil, err
		}
		r.Metrics.retries.WithLabelValues(reason).Inc()
		limited, cancel := context.WithTimeout(ctx, refreshTimeout)
		owner, unread := r.Directory.Refresh(limited, f.rangeID)
		cancel()
		switch {
		case errors.Is(unread, lanes.ErrNotOwner):
			return nil, lanes.ErrNotOwner
		case unread != nil: // while the store is away, the owner is whoever it was
		case owner.Here:
			f.owner = owner
			return nil, errOwnedHere
		default:
			f.owner = owner
		}
	}
}

func (r *Router) logFailure(f *forwarding, err error) {
	if f.in.Context().Err() == nil {
		log := &r.Log
		if request.Of(f.in.Context()) != nil {
			log = request.Log(f.in.Context())
		}
		log.Warn().Err(err).Stringer("range_id", f.rangeID).Str("node", f.owner.Name).Str("address", f.owner.Address).
			Msg("the request did not reach the node that owns its range, or its response was lost")
	}
}

// send makes one attempt. Without a response, sent is false if the owner cannot have got the request.
func (r *Router) send(out *http.Request, f *forwarding) (response *http.Response, sent bool, err error) {
	began := time.Now()
	var wrote atomic.Bool
	ctx := httptrace.WithClientTrace(out.Context(), &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	attempt := out.WithContext(ctx)
	address := *out.URL
	attempt.URL = &address
	attempt.URL.Scheme, attempt.URL.Host = "http", f.owner.Address
	if r.TLS != nil {
		attempt.URL.Scheme = "https"
	}
	attempt.TransferEncoding, attempt.ContentLength = nil, int64(len(f.body))
	attempt.Body, attempt.GetBody = http.NoBody, nil
	if len(f.body) > 0 {
		attempt.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.body)), nil }
		attempt.Body, _ = attempt.GetBody()
	}
	transport := r.short
	if f.way.openEnd {
		transport = r.open
	}
	response, err = transport.RoundTrip(attempt)
	if err != nil {
		r.noteDeaf(f.owner.Address, err)
		return nil, wrote.Load() && !refusedByTLS(err), err
	}
	response.Request = out
	if f.way.limit != waitTimeout { // the wait for an event is no measure of the hop
		id := ""
		if i := request.Of(f.in.Context()); i != nil {
			id = i.TraceID
		}
		r.Tracer.Observe(r.Metrics.seconds, time.Since(began).Seconds(), id, f.span)
	}
	return response, true, nil
}

// noteDeaf notes the address if the error says that it could not be connected to.
func (r *Router) noteDeaf(address string, err error) {
	var failed *net.OpError
	if !errors.As(err, &failed) || failed.Op != "dial" || errors.Is(err, context.Canceled) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undialled[address] = time.Now()
}

// inDialCooldown is true for dialCooldown after the address could not be connected to.
func (r *Router) inDialCooldown(address string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, found := r.undialled[address]
	if found && time.Since(since) >= dialCooldown {
		delete(r.undialled, address)
		return false
	}
	return found
}

// refusedByTLS is true if the other node did not accept this one's certificate. With TLS 1.3 it says so after
// the handshake, when the request may have been sent, which it has not read.
func refusedByTLS(err error) bool {
	var refused *net.OpError
	return errors.As(err, &refused) && refused.Op == "remote error" && strings.Contains(refused.Error(), "certificate")
}

// begun ends the wait for the response where the exchange has an open end.
func (r *Router) begun(f *forwarding, response *http.Response) *http.Response {
	if !f.way.openEnd {
		return response
	}
	f.header.Stop()
	if strings.HasPrefix(response.Header.Get("Content-Type"), streamType) {
		response.Body = newStreamBody(response.Body, f.way.silence)
	}
	return response
}
