package webhook

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// request is the event as it goes out, signed at that time, and its body.
//
// It is made so that a transport does not send it twice: net/http sends a request again by itself when a connection
// that it had kept breaks, if it has GetBody or an Idempotency-Key.
func (c *Client) request(ctx context.Context, event lanes.Event, at time.Time) (*http.Request, *requestBody, error) {
	body, err := textOf(event)
	if err != nil {
		return nil, nil, fmt.Errorf("webhook: write the event: %w", err)
	}
	id := "msg_" + event.ID.String()
	signature, err := c.signers.sign(id, at, body)
	if err != nil {
		return nil, nil, err
	}
	sent := newRequestBody(body)
	request := (&http.Request{
		Method: http.MethodPost, URL: c.url, Header: http.Header{}, Body: sent, ContentLength: int64(len(body)),
	}).WithContext(ctx)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "rangegate/"+c.of.Version)
	request.Header.Set("range-id", c.of.Range.String())
	request.Header.Set("traceparent", traceparent(event.ID))
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	if signature != "" {
		request.Header.Set("webhook-signature", signature)
	}
	return request, sent, nil
}

// textOf is the event's body as the event log shows it too: nothing is escaped for HTML.
func textOf(event lanes.Event) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(BodyOf(event))
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// traceparent puts the attempt into the trace that the event names: W3C Trace Context, version 00, sampled. The parent
// is the id's second half, which is never zero: every UUID has a bit set there that tells its variant.
func traceparent(event uuid.UUID) string {
	return "00-" + hex.EncodeToString(event[:]) + "-" + hex.EncodeToString(event[8:]) + "-01"
}

// requestBody is the body of a request, and tells whether it was read. A transport reads it after it has written the headers.
// It can be read once: a transport that wants to send the request again finds nothing to start over with.
type requestBody struct {
	mu     sync.Mutex
	text   *bytes.Reader
	read   bool
	closed bool
}

var errWithdrawn = errors.New("webhook: the event was withdrawn")

func newRequestBody(text []byte) *requestBody { return &requestBody{text: bytes.NewReader(text)} }

func (b *requestBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, errWithdrawn
	}
	b.read = true
	return b.text.Read(p)
}

func (b *requestBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// withdraw ends the sending. It tells whether the body was read; one that was not never will be, although the transport's own
// goroutines may go on for a while after they gave up on the request.
func (b *requestBody) withdraw() (read bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.read
}
