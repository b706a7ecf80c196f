package request

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// The bounds of the body of a request whose credentials were not checked yet, or are in the body. A sign-in
// has some hundred bytes.
const (
	MaxUnauthenticatedBody  = 1 << 10 // bytes
	UnauthenticatedBodyTime = 2 * time.Second
)

// BodyTime is how long a client may take to send a request. Requests without valid credentials have
// UnauthenticatedBodyTime.
const BodyTime = 15 * time.Second

// Connection is the connection that a request came over.
type Connection interface {
	// Authenticated notes that a request with valid credentials came over the connection.
	Authenticated()
}

type connectionKey struct{}

// WithConnection returns the context for the requests that come over a connection.
func WithConnection(ctx context.Context, c Connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// Authenticated notes that the credentials of the request are valid: its body has the bounds of every other
// one from now on, and its connection is not among those that make room for others first.
func Authenticated(ctx context.Context) {
	if i := Of(ctx); i != nil && !i.authenticated {
		i.authenticated = true
		if i.body != nil {
			i.body.lift()
		}
	}
	if c, ok := ctx.Value(connectionKey{}).(Connection); ok {
		c.Authenticated()
	}
}

// BoundBody bounds the body of every request until Authenticated is called.
func BoundBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &boundedBody{
			ReadCloser: r.Body, began: time.Now(), limited: http.MaxBytesReader(w, r.Body, MaxUnauthenticatedBody),
			header: w.Header(), connection: http.NewResponseController(w),
		}
		b.setDeadline(UnauthenticatedBodyTime)
		// The server reads up to 256 KiB of a body that no handler has read before it responds. It does not
		// wait for them on a connection that it closes. HTTP/2 resets the stream of such a body by itself.
		if r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > MaxUnauthenticatedBody) {
			b.closes = true
			b.header.Set("Connection", "close")
		}
		r.Body = b
		Of(r.Context()).body = b
		next.ServeHTTP(w, r)
	})
}

// boundedBody is the body of a request. Only the goroutine that serves the request uses it.
type boundedBody struct {
	io.ReadCloser
	began      time.Time
	limited    io.Reader // nil once the request was authenticated
	ended      bool
	header     http.Header
	closes     bool // the header says that the connection is closed
	connection *http.ResponseController
}

// Read reads from the body within its bounds. Errors: *http.MaxBytesError, os.ErrDeadlineExceeded, those of
// the connection.
func (b *boundedBody) Read(p []byte) (n int, err error) {
	if b.limited == nil {
		n, err = b.ReadCloser.Read(p)
	} else {
		n, err = b.limited.Read(p)
	}
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

func (b *boundedBody) lift() {
	b.limited = nil
	if !b.ended { // behind its end the server reads without a deadline, to notice that the client is gone
		b.setDeadline(BodyTime)
	}
	if b.closes {
		b.header.Del("Connection")
	}
}

// setDeadline sets the time that the request may take from its beginning. A test's recorder has no deadline to set.
func (b *boundedBody) setDeadline(limit time.Duration) {
	_ = b.connection.SetReadDeadline(b.began.Add(limit))
}
