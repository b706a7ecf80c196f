package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"rangegate/lanes"
	"rangegate/lanes/trace"
	"rangegate/lanes/tracing"
	"rangegate/webhook/egress"
)

// Settings configures a Client.
type Settings struct {
	URL       string            // of the products API, http or https, without the last path element "products"
	Timeout   time.Duration     // of a request, to the last byte of its answer; more than 0
	Transport http.RoundTripper // nil: http.DefaultTransport
	UserAgent string
	Log       zerolog.Logger
	Metrics   *Metrics // shared by the clients of all ranges
	// SecureOnly leaves out pictures without https, which the screens' own transport would refuse. The log names them.
	SecureOnly bool
	Tracer     *tracing.Tracer // nil: nothing is traced
}

// Client fetches from one integrator's products API, without a cache. It is safe for concurrent use.
type Client struct {
	settings Settings
	http     http.Client
}

// New returns a client.
func New(s Settings) *Client {
	return &Client{settings: s, http: http.Client{Transport: s.Transport, CheckRedirect: checkRedirect}}
}

// Fetch returns the products of one type for the session's customer, in the integrator's order. An empty
// session is none. The list is not nil without an error. The error is a *Failed, which Fetch logs, or
// context.Canceled when ctx was.
func (c *Client) Fetch(ctx context.Context, t Type, session string) (products []Product, err error) {
	started := time.Now()
	place := c.settings.Tracer.Begin(trace.ID(ctx), trace.Span(ctx))
	defer func() {
		if defect := recover(); defect != nil { // All calls Fetch in goroutines, which have no other recover
			c.observe(ctx, place, t, "defect", started)
			c.settings.Log.Error().Str("type", string(t)).Interface("panic", defect).Bytes("stack", debug.Stack()).
				Msg("a catalogue panicked")
			products, err = nil, &Failed{
				Type: t, Reason: "could not be asked: a defect of the gateway",
				outcome: "defect",
			}
		}
	}()
	body, err := c.get(ctx, place, t, session)
	if err == nil {
		var elements []json.RawMessage
		if elements, err = split(body); err == nil {
			c.observe(ctx, place, t, "ok", started)
			return c.validProducts(t, elements), nil
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		c.observe(ctx, place, t, "abandoned", started)
		return nil, context.Canceled
	}
	took := time.Since(started)
	failed := failure(err, took)
	failed.Type = t
	c.observe(ctx, place, t, failed.outcome, started)
	c.settings.Log.Warn().Str("type", string(t)).Str("outcome", failed.outcome).Msg(failed.Error())
	return nil, &failed
}

// All returns the products of every type. It makes the four requests in parallel, and returns the first error of Fetch.
func (c *Client) All(ctx context.Context, session string) (Catalogue, error) {
	var all Catalogue
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range Types {
		group.Go(func() (err error) {
			*all.list(t), err = c.Fetch(ctx, t, session)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Catalogue{}, err
	}
	return all, nil
}

// Failed is the error of a request: the products API cannot be reached, or its answer is invalid. It contains
// neither the query of an address nor a user or password.
type Failed struct {
	Type    Type
	Reason  string // a clause about the products API, for developers of a POS
	outcome string
}

// Error names the type and the reason.
func (f *Failed) Error() string {
	return fmt.Sprintf("products of type %s: the products API %s", f.Type, f.Reason)
}

// Code returns products_failed (WIRE.md, Errors).
func (f *Failed) Code() string { return "products_failed" }

// The failures without a parameter.
var (
	noURL     = Failed{Reason: "is configured with an address that is no URL", outcome: "unreachable"}
	noArray   = Failed{Reason: "did not answer with a JSON array", outcome: "invalid"}
	tooLarge  = Failed{Reason: "answered with more than 1 MiB", outcome: "too_large"}
	otherHost = Failed{Reason: "redirects to another host, which is not followed", outcome: "redirected"}
	tooFar    = Failed{Reason: "redirects more than 3 times", outcome: "redirected"}
)

func badStatus(status int) Failed {
	return Failed{
		Reason:  fmt.Sprintf("answered with status %d %s, where 200 is wanted", status, http.StatusText(status)),
		outcome: "refused",
	}
}

func timedOut(took time.Duration) Failed {
	return Failed{
		Reason:  fmt.Sprintf("did not answer in full within %s", took.Round(10*time.Millisecond)),
		outcome: "timed_out",
	}
}

// failure turns the error of a request, which took so long, into a Failed.
func failure(err error, took time.Duration) Failed {
	var failed *Failed
	var timeout net.Error
	switch {
	case errors.As(err, &failed):
		return *failed
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return timedOut(took)
	}
	reason := egress.Reason(err, "the connection failed, or broke before the answer was complete")
	return Failed{Reason: "could not be reached: " + reason, outcome: "unreachable"}
}

// Metrics counts and measures the requests of all clients.
type Metrics struct {
	asked, failed atomic.Uint64 // see Counts

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// outcomes are the possible outcomes of a request.
var outcomes = []string{
	"ok", "refused", "timed_out", "unreachable", "invalid", "too_large", "redirected",
	"abandoned", "defect",
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "rangegate", Name: "products_requests_total",
			Help: "Requests to the integrators' products APIs by type of product and outcome: ok, refused (a status " +
				"that is not 200), timed_out, unreachable, invalid (not a JSON array), too_large, redirected, " +
				"abandoned (nobody waited any more), or defect (of the gateway).",
		}, []string{"type", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "rangegate", Name: "products_request_seconds",
			Help: "How long the requests to the integrators' products APIs took, to the last byte of the answer, " +
				"by outcome (as in products_requests_total). Normal is less than a second: customers wait for it " +
				"when they open the shop.",
			Buckets: egress.DurationBuckets,
		}, []string{"outcome"}),
	}
	registry.MustRegister(m.requests, m.seconds)
	for _, outcome := range outcomes {
		m.seconds.WithLabelValues(outcome)
		for _, t := range Types {
			m.requests.WithLabelValues(string(t), outcome)
		}
	}
	return m
}

// Counts returns how many requests were made, but for the abandoned ones, and how many of those failed.
func (m *Metrics) Counts() (asked, failed uint64) { return m.asked.Load(), m.failed.Load() }

// observe counts and measures a request, and records its span.
func (c *Client) observe(ctx context.Context, place lanes.Span, t Type, outcome string, started time.Time) {
	ended, traceID := time.Now(), trace.ID(ctx)
	c.settings.Metrics.requests.WithLabelValues(string(t), outcome).Inc()
	c.settings.Tracer.Observe(
		c.settings.Metrics.seconds.WithLabelValues(outcome),
		ended.Sub(started).Seconds(),
		traceID,
		place,
	)
	failed := outcome != "ok" && outcome != "abandoned"
	if outcome != "abandoned" {
		c.settings.Metrics.asked.Add(1)
	}
	if failed {
		c.settings.Metrics.failed.Add(1)
	}
	if traceID == "" || !c.settings.Tracer.Records(place, failed) {
		return
	}
	span := tracing.Span{
		Name:       tracing.Products,
		Trace:      traceID,
		Place:      place,
		Parent:     trace.Span(ctx),
		Kind:       oteltrace.SpanKindClient,
		Began:      started,
		Ended:      ended,
		Attributes: []attribute.KeyValue{tracing.Type.String(string(t)), tracing.Outcome.String(outcome)},
	}
	if address, err := url.Parse(c.settings.URL); err == nil {
		span.Attributes = append(span.Attributes, tracing.Host.String(address.Hostname()))
	}
	if failed {
		span.Failed = outcome
	}
	c.settings.Tracer.Record(span)
}

const (
	maxBody      = 1 << 20 // bytes of an answer, decompressed
	maxRedirects = 3
)

// get returns the body of the integrator's answer.
func (c *Client) get(ctx context.Context, place lanes.Span, t Type, session string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	request, err := c.request(ctx, t, session)
	if err != nil {
		return nil, err
	}
	if place != (lanes.Span{}) {
		request.Header.Set("traceparent", tracing.Header(trace.ID(ctx), place))
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		failed := badStatus(response.StatusCode)
		return nil, &failed
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, &tooLarge
	}
	return body, nil
}

func (c *Client) request(ctx context.Context, t Type, session string) (*http.Request, error) {
	address, err := url.Parse(c.settings.URL)
	if err != nil {
		return nil, &noURL
	}
	address = address.JoinPath("products")
	// The integrator's own query stays unchanged, as it may be signed.
	address.RawQuery = strings.TrimPrefix(address.RawQuery+"&type="+url.QueryEscape(string(t)), "&")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, &noURL
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.settings.UserAgent)
	if session != "" {
		request.Header.Set("session-id", session)
	}
	return request, nil
}

// checkRedirect allows redirects on the same host: the same scheme, name and port, or from http to https of
// the same name.
func checkRedirect(next *http.Request, before []*http.Request) error {
	from, to := before[len(before)-1].URL, next.URL
	if len(before) > maxRedirects {
		return &tooFar
	}
	sameName := strings.EqualFold(from.Hostname(), to.Hostname())
	sameServer := from.Scheme == to.Scheme && port(from) == port(to)
	upgrade := from.Scheme == "http" && to.Scheme == "https"
	if sameName && (sameServer || upgrade) {
		return nil
	}
	return &otherHost
}

func port(address *url.URL) string {
	if port := address.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[address.Scheme]
}
