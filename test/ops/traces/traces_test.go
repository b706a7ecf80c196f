// Package traces has the real gateway send its traces to a collector, which may be slow or dead.
package traces

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50") // ms that spans wait for others; it is 5 s otherwise
	support.Run(m)
}

const (
	trace    = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent   = "00f067aa0ba902b7"
	customer = "Wilhelmine Sonderbar"
)

func sampled(trace string) []string {
	return []string{"traceparent", "00-" + trace + "-" + parent + "-01"}
}

func unsampled(trace string) []string {
	return []string{"traceparent", "00-" + trace + "-" + parent + "-00"}
}

func order(lane int) string {
	return strings.Replace(support.Order(lane, 30), "Jo Smith", customer, 1)
}

// serve starts a gateway that sends its traces to the collector, with further keys of telemetry.
func serve(
	t *testing.T,
	collector *support.Collector,
	receiver *support.Receiver,
	lanes []string,
	more ...string,
) *support.Gateway {
	config := support.NewConfig(t, lanes, "purchasing: true", receiver.Setting(), receiver.ProductsSetting())
	config.HTTP, config.Sections = support.NoLimit, []string{collector.Setting(more...), "log: {level: debug}"}
	return config.Serve(t)
}

// only is the one span.
func only(t *testing.T, spans []support.TracedSpan) support.TracedSpan {
	t.Helper()
	require.Len(t, spans, 1)
	return spans[0]
}

// From the request over the lane, the store and the hardware to the webhook a sale is one tree. Its answer, its log,
// its events and its webhook have the same trace id.
func TestTheTreeOfASale(t *testing.T) {
	collector, receiver, controllers := support.NewCollector(t), support.NewReceiver(t), support.NewControllers(t, 1, 1)
	g := serve(
		t,
		collector,
		receiver,
		controllers.Lanes(),
		`service: "till gateway"`,
		`attributes: ["deployment.environment.name=test"]`,
		`headers: ["authorization: Bearer a-credential"]`,
	)
	g.POS().WaitLinked()
	answer := g.POS().Expect(201, "POST", "/sessions", order(1), sampled(trace)...)
	session := answer.SessionID(t)
	require.Equal(t, trace, answer.Header.Get("trace-id"))
	controllers.WaitOpen(1, session)

	request := only(t, collector.Wait(1, trace, "request"))
	mailbox, decision := only(t, collector.Wait(1, trace, "mailbox")), only(t, collector.Wait(1, trace, "decide"))
	applied, attempts := only(t, collector.Wait(1, trace, "applied")), collector.Wait(2, trace, "webhook")
	require.Len(t, collector.Spans(trace), 6)
	require.Equal(t, parent, request.Parent)
	require.True(t, request.Server)
	require.Equal(t, []string{"POST", "/api/v2/pos/sessions", "201", support.RangeID}, []string{
		request.Attributes["http.request.method"],
		request.Attributes["http.route"],
		request.Attributes["http.response.status_code"],
		request.Attributes["rangegate.range_id"],
	})
	require.Equal(
		t,
		[]string{"till gateway", "test"},
		[]string{request.Resource["service.name"], request.Resource["deployment.environment.name"]},
	)
	require.Equal(t, []string{"create", "ok", session, support.LaneID(1)}, []string{
		decision.Attributes["rangegate.command"],
		decision.Attributes["rangegate.outcome"],
		decision.Attributes["rangegate.session_id"],
		decision.Attributes["rangegate.lane_id"],
	})
	for _, span := range append(attempts, mailbox, decision, applied) {
		require.Equal(t, request.ID, span.Parent, span.Name)
		require.Empty(t, span.Failed, span.Name)
	}

	// The flush is in a trace of its own, and each leads to the other.
	link := decision.Links[0]
	flush := only(t, collector.Wait(1, link.Trace, "flush"))
	require.Equal(t, link.ID, flush.ID)
	require.NotEqual(t, trace, flush.Trace)
	require.Empty(t, flush.Parent)
	require.Equal(t, []support.TracedLink{{Trace: trace, ID: request.ID}}, flush.Links)

	// The webhook gets the place of its attempt.
	var sent, recorded []string
	for _, a := range receiver.Arrived() {
		sent = append(sent, a.Header.Get("traceparent"))
	}
	for _, span := range attempts {
		recorded = append(recorded, "00-"+trace+"-"+span.ID+"-01")
		require.Equal(
			t,
			[]string{"delivered", "200"},
			[]string{span.Attributes["rangegate.outcome"], span.Attributes["http.response.status_code"]},
		)
	}
	require.ElementsMatch(t, sent, recorded)
	for _, message := range []string{"request", "command", "saved", "event"} {
		require.True(t, logged(g, message, trace), message)
	}

	// No name of a customer and no credential has left in them.
	bodies := collector.Bodies()
	require.Contains(t, bodies, session, "which is not compressed")
	secrets := []string{customer, strings.Fields(customer)[0], support.Token, support.Secret, "a-credential"}
	for _, secret := range secrets {
		require.NotContains(t, bodies, secret)
	}
	require.Equal(t, "Bearer a-credential", collector.Header("authorization"))

	// What it took is joined to the trace, for whoever asks for exemplars.
	ask, err := http.NewRequest(http.MethodGet, g.Operations+"/metrics", nil)
	require.NoError(t, err)
	ask.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	response, err := http.DefaultClient.Do(ask)
	require.NoError(t, err)
	metrics, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	exemplars := map[string]string{
		"rangegate_http_request_seconds":    trace,
		"rangegate_lane_command_seconds":    trace,
		"rangegate_webhook_request_seconds": trace,
		"rangegate_store_flush_seconds":     flush.Trace,
	}
	for line := range strings.Lines(string(metrics)) {
		for name, trace := range exemplars {
			if strings.HasPrefix(line, name+"_bucket") && strings.Contains(line, `# {trace_id="`+trace+`"}`) {
				delete(exemplars, name)
			}
		}
	}
	require.Empty(t, exemplars, "these have none")
}

// logged reports whether the log has a line with that message about the trace.
func logged(g *support.Gateway, message, trace string) bool {
	for line := range strings.Lines(g.Log()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields["message"] == message && fields["trace_id"] == trace {
			return true
		}
	}
	return false
}

// A purchase at the lane is one tree, too: the question to the catalogue, and the one to the integrator.
func TestTheTreeOfAPurchase(t *testing.T) {
	collector, receiver := support.NewCollector(t), support.NewReceiver(t)
	var mu sync.Mutex
	var asked []string
	receiver.HandleFunc("GET /products", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Header.Get("traceparent"))
		list := "[]"
		if r.URL.Query().Get("type") == "time" {
			list = `[{"id":"time","display_name":"Lane time","price":0.40,"max_qty":120,"min_qty":15,"increment_by":15}]`
		}
		_, _ = io.WriteString(w, list)
	})
	g := serve(t, collector, receiver, []string{support.Lane(1, "screen_key: the-key-of-screen-1")})
	purchasing := strings.Replace(order(1), "{", `{"enable_purchasing":true,`, 1)
	session := g.POS().Expect(201, "POST", "/sessions", purchasing).SessionID(t)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	screen, page := &http.Client{Jar: jar}, g.API+"/lane/"+support.LaneID(1)
	response, err := screen.Get(page + "/?key=the-key-of-screen-1")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	buy, err := http.NewRequest(http.MethodPost, page+"/purchase", strings.NewReader(fmt.Sprintf(
		`{"purchase_id":%q,"session_id":%q,"items":[{"id":"time","qty":30}]}`, uuid.NewString(), session)))
	require.NoError(t, err)
	buy.Header.Set("Content-Type", "application/json")
	buy.Header.Set("traceparent", sampled(trace)[1])
	response, err = screen.Do(buy)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusAccepted, response.StatusCode)

	purchase := only(t, collector.Wait(1, trace, "purchase"))
	require.Equal(t, only(t, collector.Wait(1, trace, "request")).ID, purchase.Parent)
	require.Equal(t, "accepted", purchase.Attributes["rangegate.outcome"])
	products := collector.Wait(4, trace, "products")
	var sent []string
	for _, span := range products {
		require.Equal(t, purchase.ID, span.Parent)
		sent = append(sent, "00-"+trace+"-"+span.ID+"-01")
	}
	mu.Lock()
	require.ElementsMatch(t, sent, asked)
	mu.Unlock()
	question := collector.Wait(2, trace, "webhook") // the event of the longer session follows
	asks := slices.IndexFunc(
		question,
		func(span support.TracedSpan) bool { return span.Attributes["rangegate.event"] == "purchaseRequest" },
	)
	require.GreaterOrEqual(t, asks, 0)
	for _, span := range append(question, collector.Named(trace, "decide")[1:]...) { // the first is the request's
		require.Equal(t, purchase.ID, span.Parent, span.Name)
	}
	require.NotContains(t, collector.Bodies(), customer)
}

// What is not sampled leaves nothing but what has failed, and whoever is asked next is told that it is not.
func TestErrorsAreRecordedOfEveryTrace(t *testing.T) {
	collector, receiver := support.NewCollector(t), support.NewReceiver(t)
	var refusing atomic.Bool
	receiver.Respond(func(a support.Arrival, w http.ResponseWriter, r *http.Request) {
		if refusing.Load() {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		support.Accept(a, w, r)
	})
	g := serve(t, collector, receiver, support.Lanes(1, 2), "sample: 0")
	const (
		quiet   = "0af7651916cd43dd8448eb211c80319c"
		failing = "0af7651916cd43dd8448eb211c80319d"
		marker  = "0af7651916cd43dd8448eb211c80319e"
	)
	g.POS().Expect(201, "POST", "/sessions", order(1), unsampled(quiet)...)
	support.Eventually(t, "both events are delivered", func() bool { return len(receiver.Arrived()) == 2 })
	for _, a := range receiver.Arrived() {
		require.Regexp(t, "^00-"+quiet+"-[0-9a-f]{16}-00$", a.Header.Get("traceparent"))
	}
	refusing.Store(true)
	g.POS().Expect(201, "POST", "/sessions", order(2), unsampled(failing)...)
	for _, span := range collector.Wait(2, failing, "webhook") {
		require.Equal(t, "refused", span.Failed)
		require.Equal(t, "refused", span.Attributes["error.type"])
	}
	refusing.Store(false)
	g.POS().Expect(409, "POST", "/sessions", order(2), sampled(marker)...)
	collector.Wait(1, marker, "request")
	require.Empty(t, collector.Spans(quiet))
	require.Len(t, collector.Spans(failing), 2)
	require.Equal(t, "lane_occupied", collector.Named(marker, "decide")[0].Attributes["rangegate.outcome"])
	require.Empty(t, collector.Named(marker, "decide")[0].Failed, "a refusal is no error")
}

// Whoever has no credentials has nothing recorded, whatever they say of their trace.
func TestStrangersAreNotTraced(t *testing.T) {
	collector, receiver := support.NewCollector(t), support.NewReceiver(t)
	g := serve(t, collector, receiver, support.Lanes(1, 1))
	const marker = "0af7651916cd43dd8448eb211c80319e"
	stranger := support.NewPOS(t, support.Client{API: g.API, Range: support.RangeID, Token: support.Group})
	stranger.Expect(401, "GET", "/sessions", "", sampled(trace)...)
	g.POS().Expect(200, "GET", "/sessions", "", sampled(marker)...)
	collector.Wait(1, marker, "request")
	require.Empty(t, collector.Spans(trace))
}

// Without a collector configured nothing is sent, and the caller's place goes on to the webhook; with a variable of
// OpenTelemetry it is, and with another one it is not.
func TestTheVariablesOfOpenTelemetry(t *testing.T) {
	const to = "OTEL_EXPORTER_OTLP_ENDPOINT=URL"
	for name, c := range map[string]struct {
		variables []string
		traced    bool
	}{
		"off":                {nil, false},
		"an endpoint":        {[]string{to, "OTEL_SERVICE_NAME=by variable", "OTEL_RESOURCE_ATTRIBUTES=a=b"}, true},
		"an endpoint, off":   {[]string{to, "OTEL_SDK_DISABLED=true"}, false},
		"none is sampled":    {[]string{to, "OTEL_TRACES_SAMPLER=always_off"}, false},
		"all, by their id":   {[]string{to, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=1.0"}, true},
		"credentials for it": {[]string{to, "OTEL_EXPORTER_OTLP_HEADERS=x-key=a%20b,other=c"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			collector, receiver := support.NewCollector(t), support.NewReceiver(t)
			config := support.NewConfig(t, support.Lanes(1, 1), receiver.Setting())
			command := support.ServeCommand(config.Write(t))
			for _, variable := range c.variables {
				command.Env = append(command.Env, strings.Replace(variable, "URL", collector.URL, 1))
			}
			g := support.Start(t, command).Ready()
			g.POS().Expect(201, "POST", "/sessions", order(1), sampled(trace)...)
			support.Eventually(t, "both events are delivered", func() bool { return len(receiver.Arrived()) == 2 })
			require.Zero(t, g.Terminate(), "which sends what is left")
			require.Equal(t, c.traced, len(collector.Spans(trace)) > 0)
			if name == "off" {
				require.Equal(t, "00-"+trace+"-"+parent+"-01", receiver.Arrived()[0].Header.Get("traceparent"))
			}
			if name == "an endpoint" {
				span := collector.Spans(trace)[0]
				require.Equal(
					t,
					[]string{"by variable", "b"},
					[]string{span.Resource["service.name"], span.Resource["a"]},
				)
			}
			if name == "credentials for it" {
				require.Equal(t, []string{"a b", "c"}, []string{collector.Header("x-key"), collector.Header("other")})
			}
		})
	}
}

// A collector that never answers, and one that is gone, cost no sale: every one is answered while spans are lost, and
// a stop takes no longer for it.
func TestACollectorThatIsDeadCostsNoSale(t *testing.T) {
	collector, receiver := support.NewCollector(t), support.NewReceiver(t)
	const lanes, rounds = 8, 60
	g := serve(t, collector, receiver, support.Lanes(1, lanes))
	first := g.POS().Expect(201, "POST", "/sessions", order(1), sampled(trace)...).SessionID(t)
	collector.Wait(1, trace, "request")
	g.POS().Expect(204, "POST", "/sessions/"+first+"/stop", "")

	hung, over := make(chan struct{}), make(chan struct{})
	var once sync.Once
	collector.Respond(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise its context does not end with the connection
		once.Do(func() { close(hung) })
		select {
		case <-r.Context().Done():
		case <-over:
		}
	})
	defer close(over)
	var clients sync.WaitGroup
	sell := func() {
		for lane := 1; lane <= lanes; lane++ {
			clients.Go(func() {
				for range rounds {
					sold, err := g.POS().Do("POST", "/sessions", order(lane))
					if err != nil || sold.Status != 201 {
						t.Errorf("%d %s %v", sold.Status, sold.Body, err)
						return
					}
					var session struct {
						ID string `json:"session_id"`
					}
					_ = json.Unmarshal([]byte(sold.Body), &session)
					if stopped, err := g.POS().Do(
						"POST",
						"/sessions/"+session.ID+"/stop",
						"",
					); err != nil ||
						stopped.Status != 204 {
						t.Errorf("%d %s %v", stopped.Status, stopped.Body, err)
						return
					}
				}
			})
		}
		clients.Wait()
	}
	sell()
	<-hung
	outcome := func(word string) float64 {
		return g.Metrics().Sum("rangegate_trace_spans_total", `outcome="`+word+`"`)
	}
	require.Positive(t, outcome("dropped"), "the queue is full, and nobody waits for it")
	require.Positive(t, outcome("exported"))
	collector.Close()
	sell()
	support.Eventually(t, "the post under way has failed", func() bool { return outcome("failed") > 0 })
	g.WaitLogged("the collector did not take them")
	require.Zero(t, g.Terminate())
}
