package endpoint

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The demo is a small range with endpoints like those of v2, for tests of whole requests.

var demoErrors = Errors{
	"invalid_request":        {Status: 400, Sentence: "the request is invalid"},
	"unauthorized":           {Status: 401, Sentence: "token or range-id is not valid"},
	"not_found":              {Status: 404, Sentence: "no such path"},
	"session_not_found":      {Status: 404, Sentence: "no such session"},
	"method_not_allowed":     {Status: 405, Sentence: "the path does not take this method"},
	"lane_occupied":          {Status: 409, Sentence: "lane is occupied by another session"},
	"request_timeout":        {Status: 408, Sentence: "the request did not arrive in time"},
	"too_large":              {Status: 413, Sentence: "the body is larger than 64 KiB"},
	"unsupported_media_type": {Status: 415, Sentence: "the body must be application/json"},
	"idempotency_key_reused": {Status: 422, Sentence: "the key was used for another request"},
	"internal":               {Status: 500, Sentence: "a defect of ours; quote the trace_id"},
	"overloaded":             {Status: 503, Sentence: "too busy; nothing was changed", RetryAfter: 2 * time.Second},
	"timeout":                {Status: 504, Sentence: "the outcome is not known"},
}

// refused is a domain error: a code, and a sentence of its own.
type refused struct{ code, sentence string }

func (e refused) Error() string { return e.sentence }
func (e refused) Code() string  { return e.code }

// replay is the domain's error for a repeat.
type replay struct {
	status int
	body   []byte
}

func (r replay) Error() string         { return "replay" }
func (r replay) Replay() (int, []byte) { return r.status, r.body }

type (
	create struct {
		Customer   string
		Lane       uuid.UUID
		Duration   int
		Purchasing bool
		AutoStart  bool
	}
	modify struct {
		Session uuid.UUID
		Minutes int
	}
	session struct {
		ID uuid.UUID
		create
	}
	patch struct {
		Session uuid.UUID
		Minutes int
	}
	changed struct {
		ID       uuid.UUID `json:"id"`
		Duration int       `json:"duration" example:"90"`
	}
	stopped struct {
		ID      uuid.UUID `json:"id"`
		Message string    `json:"message" example:"session stopped"`
	}
	// key is the domain's own type, as in lanes.
	key struct {
		Name, Fingerprint string
		Render            func(session) (status int, body []byte)
	}
	sessionView struct {
		ID         uuid.UUID `json:"session_id" doc:"The session"`
		Customer   string    `json:"customer_name" example:"Jo Smith"`
		Duration   int       `json:"duration" doc:"Minutes sold" example:"60"`
		AutoStart  bool      `json:"auto_start"`
		BeganAt    *string   `json:"began_at" format:"date-time" example:"2026-05-01T10:00:00.000Z"`
		Purchasing bool      `json:"enable_purchasing"`
	}
	page struct {
		After uint64
		Limit int
	}
)

func show(_ create, s session) sessionView {
	return sessionView{
		ID: s.ID, Customer: s.Customer, Duration: s.Duration, AutoStart: s.AutoStart, Purchasing: s.Purchasing,
	}
}

func readCreate(in *Input) create {
	return create{
		Customer:   in.Text("customer_name", 1, 200, "Name of the customer", "Jo Smith"),
		Lane:       in.ID("lane_id", "Lane for the session", laneID),
		Duration:   in.Integer("duration", 1, 480, "Minutes", 60),
		Purchasing: in.Flag("enable_purchasing", false, "Lets the customer buy at the lane"),
		AutoStart:  in.Flag("auto_start", true, "If false, the time counts only once the customer enters the lane"),
	}
}

func readModify(in *Input) modify {
	return modify{
		Session: in.PathID("id", "Session"),
		Minutes: in.QuerySigned("time", 1_000_000, "Minutes to add, or with a minus to take away", 15),
	}
}

func readPatch(in *Input) patch {
	return patch{in.ID("id", "The session", laneID), in.Integer("duration", 0, 480, "Minutes in all; 0 stops", 90)}
}

func (p patch) done(s session) Either[changed, stopped] {
	if p.Minutes == 0 {
		return Second[changed](stopped{s.ID, "session stopped"})
	}
	return First[changed, stopped](changed{s.ID, s.Duration})
}

func readID(in *Input) uuid.UUID { return in.PathID("id", "Session") }

func readPage(in *Input) page {
	return page{
		After: in.QueryCursor("after", "Cursor of the page before"),
		Limit: in.QueryLimit("limit", 1, 1000, 100, "How many at most"),
	}
}

// simulated has the kinds of fields that the other readers lack.
type simulated struct {
	Kind, Header  string
	Session, Lane uuid.UUID
	Minutes       float64
}

func readSimulated(in *Input) simulated {
	return simulated{
		Kind:    in.PathOneOf("kind", "What to simulate", "time", "ammo"),
		Header:  in.Header("session-id", 50, "Passed on"),
		Lane:    in.QueryID("lane_id", "Lane", laneID),
		Session: in.OptionalID("session_id", "A real session"),
		Minutes: in.Positive("minutes", 480, "Minutes", 1.5),
	}
}

func readHelp(in *Input) uuid.UUID { return in.OptionalID("session_id", "A real session") }

// demo is the domain: the last input of its endpoints, the error they return, and the responses stored under keys.
type demo struct {
	mu           sync.Mutex
	last         any
	changes      int
	fails        error
	panics       any
	firsts       map[string]replay
	fingerprints map[string]string
	defects      []string
}

// do returns a handler that records its input.
func do[T, A any](d *demo, result func(T) A) func(context.Context, T) (A, error) {
	return func(_ context.Context, input T) (A, error) {
		d.last = input
		if d.panics != nil {
			panic(d.panics)
		}
		return result(input), d.fails
	}
}

// change is do for commands: it claims a key, and repeats the response rendered for it.
func change[C any](d *demo, result func(C) session) func(context.Context, C, *key) (session, error) {
	return func(ctx context.Context, c C, k *key) (session, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if k != nil {
			if fingerprint, ok := d.fingerprints[k.Name]; ok && fingerprint != k.Fingerprint {
				return session{}, refused{"idempotency_key_reused", "the key was used for another request"}
			} else if ok {
				return session{}, d.firsts[k.Name]
			}
		}
		made, err := do(d, result)(ctx, c)
		if err != nil {
			return session{}, err
		}
		d.changes++
		if k != nil {
			status, body := k.Render(made)
			d.fingerprints[k.Name], d.firsts[k.Name] = k.Fingerprint, replay{status, body}
		}
		return made, nil
	}
}

func (d *demo) endpoints() []Endpoint {
	found := func(id uuid.UUID) sessionView { return sessionView{ID: id, Customer: "Jo <Smith>", Duration: 60} }
	return []Endpoint{
		Handle("GET", "/sessions", 200, "All sessions", NoInput, do(d, func(Empty) []sessionView { return nil })),
		Handle("GET", "/sessions/{id}", 200, "One session", readID, do(d, found), "session_not_found"),
		Handle("GET", "/history", 200, "Ended sessions", readPage, do(d, func(page) []sessionView { return nil })),
		Handle("POST", "/simulate/help", 201, "Call for help", readHelp, do(d, found)),
		Handle("POST", "/simulate/{kind}", 201, "Simulate", readSimulated, do(d, func(s simulated) passedOn {
			return passedOn{Kind: s.Kind, Status: 202}
		}), "overloaded"),
		Command("POST", "/sessions", 201, "Create a session", readCreate, change(d, func(c create) session {
			return session{ID: uuid.New(), create: c}
		}), show, "lane_occupied", "overloaded"),
		Command("PATCH", "/sessions", 200, "Change the time, or stop", readPatch,
			change(d, func(p patch) session { return session{ID: p.Session, create: create{Duration: p.Minutes}} }),
			patch.done),
		Command("POST", "/sessions/{id}/modify", 204, "Change the time", readModify,
			change(d, func(modify) session { return session{} }), NoBody),
	}
}

// passedOn is a response with a header of its own.
type passedOn struct {
	Kind   string `json:"kind"`
	Status int    `json:"-" header:"webhook-status" doc:"The receiver's status" example:"202"`
}

const prefix = "/api/v2/pos"

type traceKey struct{}

// traceOf returns the trace id of a request to the demo.
func traceOf(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}

func (d *demo) api() *API {
	return &API{
		Errors:     demoErrors,
		GuardCodes: []string{"unauthorized"},
		Context: func(ctx context.Context, traceID, _ string) context.Context {
			return context.WithValue(ctx, traceKey{}, traceID)
		},
		Defect: func(r *http.Request, cause error, stack []byte) {
			note := traceOf(r.Context()) + " " + cause.Error()
			if stack != nil {
				note += "\n" + string(stack)
			}
			d.defects = append(d.defects, note)
		},
	}
}

func (d *demo) document() *openapi3.T {
	return d.api().Document(Reference{Info: openapi3.Info{Title: "Demo", Version: "2.0.0"}, Prefix: prefix},
		d.endpoints())
}

// newDemo starts the demo behind a guard that requires some token; /raw needs none.
func newDemo() (*demo, http.Handler) {
	d := &demo{firsts: map[string]replay{}, fingerprints: map[string]string{}}
	api := d.api()
	guard := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("token") == "" {
				api.Fail(w, r, Refusal("unauthorized"))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	r := api.Router()
	r.Get(prefix+"/openapi.json", DocumentHandler(d.document))
	api.Mount(r, prefix, d.endpoints(), guard)
	r.Route("/raw", func(r chi.Router) {
		r.Get("/half", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half a resp"))
			panic("too late")
		})
		r.Get("/abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	})
	return d, r
}

const (
	laneID  = "9c1d7a52-6f0e-4d3b-8a21-b0c4e5f60718"
	ordered = `{"customer_name":"Jo Smith","lane_id":"` + laneID + `","duration":60}`
)

// call sends one request, with a token; headers come in pairs.
func call(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("token", "any")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return serve(h, r)
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// problem parses the error of a response and checks its shape.
func problem(t *testing.T, w *httptest.ResponseRecorder) failure {
	t.Helper()
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	var shape map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &shape), w.Body.String())
	require.Subset(t, []string{"error", "code", "trace_id", "fields"}, mapKeys(shape))
	var f failure
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &f))
	require.NotEmpty(t, f.Error)
	require.Equal(t, demoErrors[f.Code].Status, w.Code, f.Code)
	require.Equal(t, w.Header().Get("trace-id"), f.TraceID)
	require.Len(t, f.TraceID, 32)
	require.Equal(t, f.Code == "invalid_request", len(f.Fields) > 0, w.Body.String())
	return f
}

func mapKeys(m map[string]any) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}
