package support

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector takes traces by OTLP over HTTP, and keeps every span.
type Collector struct {
	URL string

	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex
	spans   []TracedSpan
	bodies  []byte
	headers http.Header // of the last post
	respond http.HandlerFunc
}

// TracedSpan is a span as the collector got it.
type TracedSpan struct {
	Trace, ID, Parent, Name string
	Server                  bool // of a request that came in
	Attributes, Resource    map[string]string
	Links                   []TracedLink
	Failed                  string // its status is an error: why
}

// TracedLink is where a link leads.
type TracedLink struct{ Trace, ID string }

// NewCollector opens a collector until the test ends.
func NewCollector(t testing.TB) *Collector {
	c := &Collector{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.receive)
	c.server = httptest.NewServer(mux)
	c.URL = c.server.URL
	t.Cleanup(c.Close)
	return c
}

// Setting is the section of a configuration that sends traces here, with further keys.
func (c *Collector) Setting(more ...string) string {
	text := fmt.Sprintf("telemetry: {endpoint: %q", c.URL)
	for _, key := range more {
		text += ", " + key
	}
	return text + "}"
}

// Close ends the collector before the test does: nothing listens at its address any more.
func (c *Collector) Close() {
	c.server.CloseClientConnections()
	c.server.Close()
}

// Respond has posts answered like this from now on, instead of being kept; nil: they are kept.
func (c *Collector) Respond(respond http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.respond = respond
}

func (c *Collector) receive(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	respond := c.respond
	c.mu.Unlock()
	if respond != nil {
		respond(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	var posted collector.ExportTraceServiceRequest
	if !assert.NoError(c.t, err) || !assert.NoError(c.t, proto.Unmarshal(body, &posted)) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies, c.headers = append(c.bodies, body...), r.Header.Clone()
	for _, of := range posted.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans = append(c.spans, tracedSpan(span, texts(of.Resource.GetAttributes())))
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func tracedSpan(span *traces.Span, resource map[string]string) TracedSpan {
	traced := TracedSpan{
		Trace:      hex.EncodeToString(span.TraceId),
		ID:         hex.EncodeToString(span.SpanId),
		Parent:     hex.EncodeToString(span.ParentSpanId),
		Name:       span.Name,
		Server:     span.Kind == traces.Span_SPAN_KIND_SERVER,
		Attributes: texts(span.Attributes),
		Resource:   resource,
	}
	for _, link := range span.Links {
		traced.Links = append(
			traced.Links,
			TracedLink{hex.EncodeToString(link.TraceId), hex.EncodeToString(link.SpanId)},
		)
	}
	if span.Status.GetCode() == traces.Status_STATUS_CODE_ERROR {
		traced.Failed = span.Status.Message
	}
	return traced
}

func texts(attributes []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, attribute := range attributes {
		switch value := attribute.Value.GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[attribute.Key] = value.StringValue
		case *common.AnyValue_IntValue:
			all[attribute.Key] = fmt.Sprint(value.IntValue)
		}
	}
	return all
}

// Spans are those that have come, of the trace; of every one if it is empty.
func (c *Collector) Spans(trace string) []TracedSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(
		slices.Clone(c.spans),
		func(span TracedSpan) bool { return trace != "" && span.Trace != trace },
	)
}

// Named are those of the trace with that name.
func (c *Collector) Named(trace, name string) []TracedSpan {
	return slices.DeleteFunc(c.Spans(trace), func(span TracedSpan) bool { return span.Name != name })
}

// Wait waits until there are so many spans with that name in the trace, and returns them.
func (c *Collector) Wait(many int, trace, name string) []TracedSpan {
	c.t.Helper()
	Eventually(c.t, fmt.Sprintf("%d spans %q of %s", many, name, trace), func() bool {
		return len(c.Named(trace, name)) >= many
	})
	return c.Named(trace, name)
}

// Bodies is everything that was posted, as it came.
func (c *Collector) Bodies() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.bodies)
}

// Header is a header of the last post.
func (c *Collector) Header(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.headers.Get(name)
}
