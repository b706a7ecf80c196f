// Package storm has a running gateway asked for more than it takes, by clients that give up and repeat, while its
// controllers lose their links and its webhook hangs: and then everything is as if it had come one after the other.
// Nothing here is timed. What is timed is in rangebench storm.
package storm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// client is one of a POS that has no patience: it hangs up on its first attempts, and repeats the same request with
// the same key until it is answered.
type client struct {
	support.POS
	hangUps int // attempts of each request that it does not wait for
	done    *work
}

// work is what all clients have done.
type work struct {
	requests  atomic.Int64 // that were answered
	abandoned atomic.Int64 // attempts whose client has hung up
	refused   atomic.Int64 // attempts that were answered with 429, 503 or 504
}

func (w *work) String() string {
	return fmt.Sprintf("%d requests, %d attempts abandoned, %d refused",
		w.requests.Load(), w.abandoned.Load(), w.refused.Load())
}

// ask makes a request and returns how it was answered in the end: the error is that of the last attempt.
func (c client) ask(method, path, body string) (answer support.Answer, err error) {
	key := uuid.NewString()
	for range c.hangUps {
		c.hangUp(method, path, body, key)
		c.done.abandoned.Add(1)
	}
	for end := time.Now().Add(support.Patience); ; time.Sleep(5 * time.Millisecond) {
		answer, err = c.Do(method, path, body, "Idempotency-Key", key)
		switch {
		case time.Now().After(end):
			return answer, errors.Join(err, fmt.Errorf("it was not answered: %d %s", answer.Status, answer.Body))
		case err != nil:
			c.done.abandoned.Add(1)
		case answer.Status == http.StatusTooManyRequests, answer.Status >= http.StatusInternalServerError:
			c.done.refused.Add(1)
		default:
			c.done.requests.Add(1)
			return answer, nil
		}
	}
}

// hangUp sends a request and closes the connection, as a client whose time-out is over. The gateway may not be there.
func (c client) hangUp(method, path, body, key string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.API, "http://"))
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, fmt.Sprintf(
		"%s %s%s HTTP/1.1\r\nHost: client\r\nrange-id: %s\r\ntoken: %s\r\nIdempotency-Key: %s\r\n"+
			"Content-Length: %d\r\n\r\n%s",
		method, support.V2, path, c.Range, c.Token, key, len(body), body))
}

// hangingWebhook is a webhook that hangs until it is opened, and takes everything from then on.
type hangingWebhook struct {
	opened chan struct{}
	once   sync.Once
}

func newHangingWebhook() *hangingWebhook { return &hangingWebhook{opened: make(chan struct{})} }

func (h *hangingWebhook) open() { h.once.Do(func() { close(h.opened) }) }

func (h *hangingWebhook) respond(a support.Arrival, w http.ResponseWriter, r *http.Request) {
	select {
	case <-h.opened:
		support.Accept(a, w, r)
	case <-r.Context().Done():
	}
}

// atOnce runs do for all numbers below n at once, and fails the test for the first error.
func atOnce(t testing.TB, n int, do func(n int) error) {
	t.Helper()
	failed := make(chan error, n)
	for i := range n {
		go func() { failed <- do(i) }()
	}
	var first error
	for range n {
		if err := <-failed; first == nil {
			first = err
		}
	}
	require.NoError(t, first)
}
