package routing

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rangegate/api/request"
	"rangegate/api/screens"
)

// relayBuffer is the size of the two buffers of a relayed connection. Most messages of a lane link are
// smaller, and there may be a connection for every lane: the 32 KiB of io.Copy would be all of its memory.
const relayBuffer = 1 << 10

// linkSettled is above the time that a controller has to prove its key (LINK.md: 5 s). A relayed connection
// that is still open has done so, and is not among those that make room for others.
const linkSettled = 10 * time.Second

// errRelayed tells the proxy that the client has the owner's response, and that its connection is relayed.
var errRelayed = errors.New("the connection is relayed")

// relay takes the client's connection, sends the owner's response, and copies between both from then on: in
// two goroutines of its own, with small stacks, while that of the request ends.
func (r *Router) relay(f *forwarding, response *http.Response) error {
	owner := response.Body.(io.ReadWriteCloser)
	response.Body = nil
	defer func() { response.Body = http.NoBody }() // which the proxy closes
	client, buffered, err := http.NewResponseController(f.w).Hijack()
	if err != nil {
		return errors.Join(err, owner.Close())
	}
	maps.Copy(response.Header, f.w.Header())
	err = errors.Join(response.Write(buffered), buffered.Flush())
	early, _ := buffered.Peek(buffered.Reader.Buffered())
	if err == nil && len(early) > 0 {
		_, err = owner.Write(early)
	}
	if err != nil {
		return errors.Join(errRelayed, err, owner.Close(), client.Close())
	}
	c := &relayed{client: client, owner: owner, gauge: r.Metrics.relayed}
	connection := f.in.Context()
	r.Metrics.relayed.Inc()
	c.mu.Lock()
	c.settled = time.AfterFunc(linkSettled, func() { request.Authenticated(connection) })
	c.forget = context.AfterFunc(r.closing, c.close)
	c.mu.Unlock()
	go c.copy(client, owner)
	go c.copy(owner, client)
	return errRelayed
}

// relayed is a connection between a client and the owner that has switched protocols. It ends with either side.
type relayed struct {
	client, owner io.ReadWriteCloser
	gauge         prometheus.Gauge

	mu      sync.Mutex
	closed  bool
	settled *time.Timer
	forget  func() bool // that the entry closes it
}

func (c *relayed) copy(to io.Writer, from io.Reader) {
	// Without their other methods io.CopyBuffer uses the buffer that it is given.
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, relayBuffer))
	c.close()
}

func (c *relayed) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	c.settled.Stop()
	c.forget()
	_ = c.client.Close()
	_ = c.owner.Close()
	c.gauge.Dec()
}

const streamType = "text/event-stream"

// Three times the interval of the beats that the owner sends, which is 15 s with events (api/v2).
const (
	streamSilence = 3 * screens.BeatInterval
	eventsSilence = 45 * time.Second
)

// streamBody is the body of a stream. However it ends, the client gets a proper end, and connects anew.
type streamBody struct {
	io.ReadCloser
	within  time.Duration // something has to come
	silence *time.Timer
}

func newStreamBody(body io.ReadCloser, silence time.Duration) *streamBody {
	return &streamBody{body, silence, time.AfterFunc(silence, func() { _ = body.Close() })}
}

// Read reads what the owner has sent. Its only error is io.EOF.
func (s *streamBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.silence.Reset(s.within)
	if err != nil {
		s.silence.Stop()
		return n, io.EOF
	}
	return n, nil
}

// Close ends the stream.
func (s *streamBody) Close() error {
	s.silence.Stop()
	return s.ReadCloser.Close()
}
