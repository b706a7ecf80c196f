// Package webhook sends events to the integrator's webhook (SPEC.md part 6).
//
// A Client makes one attempt to deliver an event: a POST of its Body, which this package never sends twice. It returns
// the outcome as a lanes.Attempt, and what else was answered as a lanes.Answer:
//
//	lanes.Event ──► Body, request, requestBody ──► egress.Transport ──► the integrator's receiver
//	               request.go                      egress/               │
//	                                                                     │ an answer, or none
//	lanes.Attempt, lanes.Answer ◄── client.go ◄──────────────────────────┘
//
// The outcome of an attempt without an answer depends on whether the body was read. A transport reads it after it has
// written the headers: the receiver cannot have an unread body, and may have a body that was read:
//
//	status 2xx                                  delivered, whatever the answer's body
//	any other status                            refused; a redirect is not followed
//	body unread                                 unreachable: no name, no connection, no TLS, not allowed, no time
//	body read, then no answer in time           timed out
//	body read, then the connection broke,
//	or the caller gave up                       interrupted
//
// Requests are signed as in Standard Webhooks, once for each secret of the integrator. In production the transport is
// guarded: it connects to public addresses only, whatever a host name resolves to.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"rangegate/lanes"
	"rangegate/lanes/tracing"
	"rangegate/webhook/egress"
)

// Settings configures the Client of one range. Only Name, Secrets and Metrics may be left out.
type Settings struct {
	Range     uuid.UUID
	Name      string            // of several webhooks of the range, for Metrics; may be empty
	URL       string            // absolute, http or https
	Secrets   []string          // whsec_…, each adds a signature to every request
	Timeout   time.Duration     // of an attempt: connect, send, and read the answer
	Transport http.RoundTripper // see egress.Transport
	Version   string            // of the gateway
	Now       func() time.Time  // wall clock, for the time of attempts and signatures
	Metrics   *Metrics          // shared by the clients of all ranges; nil: none
	Tracer    *tracing.Tracer   // nil: nothing is traced
}

// Client delivers the events of one range to its webhook. It is safe for concurrent use.
type Client struct {
	settings Settings
	url      *url.URL
	signers  signers
}

// New returns a client, without connecting. It fails for an invalid URL or secret, and quotes neither.
func New(settings Settings) (*Client, error) {
	to, err := url.Parse(settings.URL)
	if err != nil || (to.Scheme != "http" && to.Scheme != "https") || to.Hostname() == "" {
		return nil, errors.New("webhook: wants an absolute http or https url")
	}
	signers, err := newSigners(settings.Secrets)
	if err != nil {
		return nil, err
	}
	return &Client{settings: settings, url: to, signers: signers}, nil
}

// Attempt makes one attempt to deliver the event of the log, and returns its outcome and the integrator's
// answer, whose texts are those to a purchaseRequest. late says that later events of its lane may have been
// sent before. The receiver gets the event at most once. Attempt blocks until the attempt ends, Timeout has
// passed, or ctx ends.
func (c *Client) Attempt(ctx context.Context, event lanes.Logged, late bool) (lanes.Attempt, lanes.Answer) {
	started := time.Now() // for the duration only, as the wall clock may be stepped
	attempt := lanes.Attempt{At: c.settings.Now().UTC().Round(0)}
	traceID, parent, place := c.settings.Tracer.BeginEvent(event)
	answer := c.deliver(ctx, event, late, tracing.Header(traceID, place), &attempt)
	attempt.Duration = time.Since(started)
	if m := c.settings.Metrics; m != nil {
		seconds := m.seconds.WithLabelValues(attempt.Outcome(), c.settings.Name)
		c.settings.Tracer.Observe(seconds, attempt.Duration.Seconds(), traceID, place)
	}
	if c.settings.Tracer.Records(place, attempt.Error != "") {
		c.record(
			event,
			attempt,
			tracing.Span{
				Trace:  traceID,
				Parent: parent,
				Place:  place,
				Began:  started,
				Ended:  started.Add(attempt.Duration),
			},
		)
	}
	return attempt, answer
}

// maxAnswerBytes bounds what is read of an answer. A connection with a longer answer is closed.
const maxAnswerBytes = 64 << 10

// deliver sends the event, notes the outcome in the attempt, and returns the answer as far as it was read.
func (c *Client) deliver(
	ctx context.Context, event lanes.Logged, late bool, traceparent string, attempt *lanes.Attempt,
) (answer lanes.Answer) {
	limited, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	request, sent, err := c.request(limited, event, late, traceparent, attempt.At)
	if err != nil {
		attempt.Error = lanes.Unreachable + ": the request could not be made"
		return lanes.Answer{}
	}
	// A transport, as an http.Client follows redirects, keeps cookies and has the URL in its errors.
	response, err := c.settings.Transport.RoundTrip(request)
	if err != nil {
		attempt.Error = errorWithoutStatus(ctx, limited, sent.withdraw(), err)
		return lanes.Answer{}
	}
	defer func() { _ = response.Body.Close() }()
	attempt.Status, attempt.Error = response.StatusCode, errorOfStatus(response.StatusCode)
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes)) // the status has decided the outcome
	if event.Event.Kind == lanes.PurchaseRequest {
		answer = parseAnswer(body)
	}
	if attempt.Error != "" {
		answer.RetryAfter = retryAfter(response.Header.Get("Retry-After"), c.settings.Now())
	}
	return answer
}

// retryAfter returns the time that the header asks for, in seconds or as a date of HTTP: 0 if it does
// neither, or is over.
func retryAfter(header string, now time.Time) time.Duration {
	const longest = 1 << 30 // seconds, within a Duration
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil {
		return time.Duration(min(seconds, longest)) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}

// errorOfStatus returns the error of an attempt with that status.
func errorOfStatus(status int) string {
	switch status / 100 {
	case 2:
		return ""
	case 3:
		return lanes.Refused + ": redirects are not followed"
	}
	return lanes.Refused
}

// errorWithoutStatus returns the error of an attempt without a status. caller is the caller's context, limited the one
// with the timeout; read reports whether the receiver may have the event.
func errorWithoutStatus(caller, limited context.Context, read bool, err error) string {
	switch {
	case !read && caller.Err() != nil:
		return lanes.Unreachable + ": given up before it was sent"
	case !read:
		return lanes.Unreachable + ": " + egress.Reason(err, "no connection could be made")
	case caller.Err() != nil:
		return lanes.Interrupted + ": given up before it was answered"
	case limited.Err() != nil:
		return lanes.TimedOut
	}
	return lanes.Interrupted + ": the connection broke"
}

// Metrics measures the attempts of all clients.
type Metrics struct{ seconds *prometheus.HistogramVec }

// outcomes are the possible outcomes of an attempt.
var outcomes = []string{"delivered", "refused", "timed_out", "unreachable", "interrupted"}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "rangegate", Name: "webhook_request_seconds",
		Help: "How long the requests to the integrators' webhooks took, purchases and simulated events among " +
			"them, by what became of them: delivered, refused (answered, not with 2xx), timed_out, unreachable, " +
			"interrupted (the connection broke). Normal is less than a second; slow ones hold up the " +
			"events behind them.",
		Buckets: egress.DurationBuckets,
	}, []string{"outcome", "webhook"})}
	registry.MustRegister(m.seconds)
	for _, outcome := range outcomes {
		m.seconds.WithLabelValues(outcome, "")
	}
	return m
}

// record records the span of an attempt.
func (c *Client) record(event lanes.Logged, attempt lanes.Attempt, span tracing.Span) {
	span.Name, span.Kind = tracing.Webhook, trace.SpanKindClient
	span.Attributes = append(make([]attribute.KeyValue, 0, 9),
		tracing.Event.String(string(event.Event.Kind)), tracing.EventID.String(event.Event.ID.String()),
		tracing.RangeID.String(c.settings.Range.String()), tracing.LaneID.String(event.Event.Lane.String()),
		tracing.SessionID.String(event.Event.Session.String()), tracing.Host.String(c.url.Hostname()),
		tracing.Outcome.String(attempt.Outcome()))
	if attempt.Status > 0 {
		span.Attributes = append(span.Attributes, tracing.Status.Int(attempt.Status))
	}
	if c.settings.Name != "" {
		span.Attributes = append(span.Attributes, tracing.Name.String(c.settings.Name))
	}
	if attempt.Error != "" {
		span.Failed = attempt.Outcome()
	}
	c.settings.Tracer.Record(span)
}

// longestText bounds a text of the integrator, in characters.
const longestText = 500

// parseAnswer reads the texts of an answer to a purchaseRequest, each by itself: a key of another type takes
// no other one away. An unreadable body has none. The status decides whether the purchase succeeded, not the
// body.
func parseAnswer(body []byte) lanes.Answer {
	var keys map[string]json.RawMessage
	if json.Unmarshal(body, &keys) != nil {
		return lanes.Answer{}
	}
	text := func(key string) (text string) {
		if json.Unmarshal(keys[key], &text) != nil {
			return ""
		}
		return cleanText(text)
	}
	return lanes.Answer{UserMessage: text("user_message"), Error: text("error"), Trace: text("trace_id")}
}

// cleanText makes a text of the integrator fit for a lane's screen and a line of a log: short, without
// control characters.
func cleanText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case !unicode.IsControl(r):
			return r
		case unicode.IsSpace(r): // a line break separates words
			return ' '
		}
		return -1
	}, text)
	text = strings.TrimSpace(text)
	if runes := []rune(text); len(runes) > longestText {
		text = strings.TrimSpace(string(runes[:longestText]))
	}
	return text
}
