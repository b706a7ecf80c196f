package webhook

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// request is the event as it goes out, signed at that time, and the letter that is its body.
//
// It is made so that a transport does not send it twice: net/http sends a request again by itself when a connection
// that it had kept breaks, if it has GetBody or an Idempotency-Key.
func (c *Client) request(ctx context.Context, event lanes.Event, at time.Time) (*http.Request, *letter, error) {
	body, err := textOf(event)
	if err != nil {
		return nil, nil, fmt.Errorf("webhook: write the event: %w", err)
	}
	id := "msg_" + event.ID.String()
	signature, err := c.signers.sign(id, at, body)
	if err != nil {
		return nil, nil, err
	}
	letter := seal(body)
	request := (&http.Request{
		Method: http.MethodPost, URL: c.url, Header: http.Header{}, Body: letter, ContentLength: int64(len(body)),
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
	return request, letter, nil
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
