package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Settings are of the webhook of one range. All of them are needed, but Secrets and Metrics.
type Settings struct {
	Range     uuid.UUID
	URL       string            // absolute, http or https
	Secrets   []string          // whsec_…, each gives every request a signature
	Timeout   time.Duration     // of a whole attempt: connect, send, and read the answer
	Transport http.RoundTripper // see func Transport
	Version   string            // of the gateway
	Now       func() time.Time  // the wall clock: it dates attempts and signatures
	Metrics   *Metrics          // shared by the clients of all ranges; nil: nothing is measured
}

// Client delivers the events of one range to its webhook. Many goroutines may use it.
type Client struct {
	of      Settings
	url     *url.URL
	signers signers
}

// New is the client of the webhook. It connects to nothing yet. Its errors show neither the URL nor the secrets.
func New(settings Settings) (*Client, error) {
	to, err := url.Parse(settings.URL)
	if err != nil || (to.Scheme != "http" && to.Scheme != "https") || to.Hostname() == "" {
		return nil, errors.New("webhook: wants an absolute http or https url")
	}
	signers, err := signersOf(settings.Secrets)
	if err != nil {
		return nil, err
	}
	return &Client{of: settings, url: to, signers: signers}, nil
}

// Attempt makes the one attempt to deliver the event, and says what became of it and, of a purchaseRequest, what the
// integrator answered. The receiver gets the event at most once. It returns when the attempt is over, at the latest
// after Timeout, and when ctx ends.
func (c *Client) Attempt(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	begun := time.Now() // for the duration alone: Now may be stepped
	attempt := lanes.Attempt{At: c.of.Now().UTC().Round(0)}
	said := c.deliver(ctx, event, &attempt)
	attempt.Duration = time.Since(begun)
	c.of.Metrics.attempted(attempt)
	if event.Kind != lanes.PurchaseRequest {
		return attempt, lanes.Answer{}
	}
	return attempt, answerOf(said)
}

// longestAnswer is how much of an answer is read, in bytes. A connection on which more comes is not used again.
const longestAnswer = 64 << 10

// deliver sends the event and notes the outcome in the attempt. It returns what came of the answer's body.
func (c *Client) deliver(ctx context.Context, event lanes.Event, attempt *lanes.Attempt) []byte {
	inTime, cancel := context.WithTimeout(ctx, c.of.Timeout)
	defer cancel()
	request, body, err := c.request(inTime, event, attempt.At)
	if err != nil {
		attempt.Error = lanes.Unreachable + ": the request could not be made"
		return nil
	}
	// A transport, not an http.Client: that one follows redirects, keeps cookies and puts the URL into its errors.
	response, err := c.of.Transport.RoundTrip(request)
	if err != nil {
		attempt.Error = unanswered(ctx, inTime, body.withdraw(), err)
		return nil
	}
	defer response.Body.Close()
	attempt.Status, attempt.Error = response.StatusCode, answered(response.StatusCode)
	said, _ := io.ReadAll(io.LimitReader(response.Body, longestAnswer)) // the status has decided already
	return said
}
