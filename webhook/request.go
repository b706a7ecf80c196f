package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"rangegate/lanes"
)

// request returns the signed request of an event, and its body.
//
// A transport cannot send it twice: net/http repeats a request on a broken idle connection only if it has GetBody or an
// Idempotency-Key.
func (c *Client) request(
	ctx context.Context, logged lanes.Logged, late bool, traceparent string, at time.Time,
) (*http.Request, *requestBody, error) {
	event := logged.Event
	body, err := encode(event)
	if err != nil {
		return nil, nil, fmt.Errorf("webhook: write the event: %w", err)
	}
	id := "msg_" + event.ID.String()
	signature, err := c.signers.sign(id, at, body)
	if err != nil {
		return nil, nil, err
	}
	sent := &requestBody{text: bytes.NewReader(body)}
	request := (&http.Request{
		Method: http.MethodPost, URL: c.url, Header: http.Header{}, Body: sent, ContentLength: int64(len(body)),
	}).WithContext(ctx)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "rangegate/"+c.settings.Version)
	request.Header.Set("range-id", c.settings.Range.String())
	request.Header.Set("traceparent", traceparent)
	request.Header.Set("event-occurred-at", event.At.UTC().Format(milliseconds))
	request.Header.Set("event-sequence", strconv.FormatUint(logged.Cursor, 10))
	if logged.Redelivered() {
		request.Header.Set("event-redelivered", "true")
	}
	if late {
		request.Header.Set("webhook-late", "true")
	}
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	if signature != "" {
		request.Header.Set("webhook-signature", signature)
	}
	return request, sent, nil
}

// milliseconds is RFC 3339 in UTC, as in the bodies of the API.
const milliseconds = "2006-01-02T15:04:05.000Z"

// encode returns the event's body without escapes for HTML, like the event log.
func encode(event lanes.Event) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(BodyOf(event))
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// requestBody is the body of a request, and notes whether it was read. A transport reads it after it has written the
// headers. It can be read once only, so a transport cannot send the request again.
type requestBody struct {
	mu     sync.Mutex
	text   *bytes.Reader
	read   bool
	closed bool
}

var errWithdrawn = errors.New("webhook: the event was withdrawn")

// Read implements io.Reader. It fails after Close and after withdraw.
func (b *requestBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, errWithdrawn
	}
	b.read = true
	return b.text.Read(p)
}

// Close implements io.Closer.
func (b *requestBody) Close() error {
	b.withdraw()
	return nil
}

// withdraw closes the body and reports whether it was read. An unread body stays unread, although the transport's
// goroutines may go on for a while.
func (b *requestBody) withdraw() (read bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.read
}

// Body is the payload of an event: exactly the keys of SPEC.md part 6, in that order, and behind them those of the
// kinds that it does not have.
type Body struct {
	Event   string       `json:"event" doc:"What happened; ignore kinds that you do not know" example:"sessionStarted"`
	Session uuid.UUID    `json:"session_id"`
	Lane    uuid.UUID    `json:"lane_id"`
	Items   []lanes.Item `json:"items,omitempty" doc:"What the customer asks for; in a purchaseRequest only" example:"[{\"id\":\"time\",\"qty\":30}]"`

	Remaining *float64 `json:"minutes_remaining,omitempty" doc:"Minutes left when it happened; in a sessionEnding only" example:"5" min:"0" max:"480"`
	EndsAt    string   `json:"ends_at,omitempty" format:"date-time" doc:"When the time is used up, if nothing changes it; in a sessionEnding only" example:"2026-05-01T11:00:00.000Z"`
	// GraceEndsAt points to a nil where the key is null.
	GraceEndsAt **string `json:"grace_ends_at,omitempty" format:"date-time" doc:"Until when the session stays on its lane; null: it has ended. In a sessionExpired only"`
}

// BodyOf returns the payload of the event.
func BodyOf(event lanes.Event) Body {
	body := Body{Event: string(event.Kind), Session: event.Session, Lane: event.Lane}
	if event.Kind == lanes.PurchaseRequest {
		body.Items = event.Items
	}
	if e := event.Ending; e != nil {
		body.Remaining, body.EndsAt = new(Minutes(e.Remaining)), e.EndsAt.UTC().Format(milliseconds)
	}
	if event.Kind == lanes.SessionExpired {
		body.GraceEndsAt = new((*string)(nil))
		if at := event.GraceEndsAt; at != nil {
			*body.GraceEndsAt = new(at.UTC().Format(milliseconds))
		}
	}
	return body
}

// Minutes returns a duration in minutes, exact to the millisecond: with at most 5 decimals.
func Minutes(d time.Duration) float64 {
	const decimal = time.Minute / 1e5
	return float64(d.Round(decimal)/decimal) / 1e5
}

// signers sign requests, each with one of the integrator's secrets. There are two during a rotation.
type signers []*standardwebhooks.Webhook

// newSigners takes secrets in the form of Standard Webhooks: whsec_ and base64. Its errors do not quote them.
func newSigners(secrets []string) (signers, error) {
	var all signers
	for i, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, fmt.Errorf("webhook: secret %d: %w", i+1, err)
		}
		all = append(all, signer)
	}
	return all, nil
}

// sign returns the header webhook-signature: a signature for each secret, separated by spaces; empty without secrets.
func (all signers) sign(id string, at time.Time, body []byte) (string, error) {
	signatures := make([]string, len(all))
	for i, signer := range all {
		signature, err := signer.Sign(id, at, body)
		if err != nil {
			return "", fmt.Errorf("webhook: sign with secret %d: %w", i+1, err)
		}
		signatures[i] = signature
	}
	return strings.Join(signatures, " "), nil
}
