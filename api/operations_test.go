package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/api/observer"
	"rangegate/lanes"
)

// fakeOperatedRange is a range with one purchase that waits for staff.
type fakeOperatedRange struct {
	cleared lanes.Clear
	scope   lanes.Scope
	staff   string
	lifted  bool

	acts    []string // of an operator: who, and what
	refused error    // why there are none
	frames  *fakeFrames

	storedRecords
	commanded string // result of the command of staff on the lane; empty: ceasefire
}

const thePurchase = "77777777-7777-4777-8777-000000000001"

func (s *fakeOperatedRange) Unresolved() []lanes.OpenPurchase {
	return []lanes.OpenPurchase{{Lane: uuid.MustParse(theLane), Purchase: lanes.Purchase{
		ID: uuid.MustParse(thePurchase), Session: uuid.MustParse(theSession), At: lanes.Instant{Wall: noon},
		Items: []lanes.Item{{ID: lanes.TimeItem, Qty: 15}, {ID: "9mm", Qty: 1}}, Reason: "timed out",
	}}}
}

func (s *fakeOperatedRange) Clear(_ context.Context, staff string, command lanes.Clear) error {
	if command.Purchase != uuid.MustParse(thePurchase) {
		return lanes.ErrPurchaseNotFound
	}
	s.cleared, s.staff = command, staff
	return nil
}

func (s *fakeOperatedRange) Epoch() uint64 { return (&fakeRange{}).Epoch() }

func (s *fakeOperatedRange) Layout() lanes.Layout { return (&fakeRange{}).Layout() }

func (s *fakeOperatedRange) Holds() lanes.Holds {
	return lanes.Holds{}.Set(lanes.Scope{Kind: lanes.OverRange}, "operator", noon).
		Set(lanes.Scope{Kind: lanes.OverBay, ID: uuid.MustParse(theBay)}, "sam", noon)
}

func (s *fakeOperatedRange) Hold(_ context.Context, scope lanes.Scope, staff string) (lanes.Reached, error) {
	s.scope, s.staff = scope, staff
	return lanes.Reached{Confirmed: []uuid.UUID{uuid.MustParse(theLane)}, Saved: true}, nil
}

func (s *fakeOperatedRange) Lift(_ context.Context, scope lanes.Scope, _ uuid.UUID,
	staff string,
) (lanes.Reached, error) {
	s.scope, s.staff, s.lifted = scope, staff, true
	return lanes.Reached{}, lanes.ErrStoreUnavailable
}

// operationsTokens are tokens that are their own names.
func operationsTokens(tokens ...string) OperationsTokens {
	digests := OperationsTokens{}
	for _, token := range tokens {
		digests[token] = sha256.Sum256([]byte(token))
	}
	return digests
}

func newOperations(registry prometheus.Gatherer) http.Handler {
	return newOperationsWith(registry, &fakeOperatedRange{}, "operator")
}

func newOperationsWith(registry prometheus.Gatherer, s *fakeOperatedRange, tokens ...string) http.Handler {
	return NewOperations(operationsSettings(registry, s, tokens...))
}

// fakeLogLevel has the level of the library, and debugs what it is told to, for ten minutes.
type fakeLogLevel struct{ debugged *Debugged }

func (f *fakeLogLevel) Process() (zerolog.Level, *Debugged) { return zerolog.GlobalLevel(), f.debugged }

func (f *fakeLogLevel) Set(level zerolog.Level) {
	f.debugged = nil
	zerolog.SetGlobalLevel(level)
}

func (f *fakeLogLevel) Debug(rangeID, lane uuid.UUID) Debugged {
	f.debugged = &Debugged{rangeID, lane, time.Now().Add(10 * time.Minute)}
	return *f.debugged
}

func operationsSettings(registry prometheus.Gatherer, s *fakeOperatedRange, tokens ...string) Operations {
	closing := make(chan struct{}) // streams end at once
	close(closing)
	o := Operations{
		Ready: func() error { return nil }, Metrics: registry, Tokens: operationsTokens(tokens...), Log: zerolog.Nop(),
		Closing: closing, Flight: &fakeFlight{}, LogLevel: &fakeLogLevel{},
		Traffic: NewTraffic(prometheus.NewRegistry()),
		Range: func(id uuid.UUID) (OperatedRange, error) {
			switch id {
			case uuid.MustParse(someRange):
				return s, nil
			case uuid.MustParse(otherRange):
				return nil, lanes.ErrNotOwner
			}
			return nil, ErrNoRange
		},
		Ranges:  func() []uuid.UUID { return []uuid.UUID{uuid.MustParse(someRange), uuid.MustParse(otherRange)} },
		Waiting: func() map[string]int { return map[string]int{"lane": 3} },

		KnownHost: func(name string) bool { return name == "example.com" }, // that of httptest
		Limiters:  NewLimiters(),
	}
	o.Advisories = observer.NewAdvisories(observer.AdvisorySettings{
		Ranges: o.Ranges, Range: func(id uuid.UUID) (observer.Range, error) { return o.Range(id) },
		Readings: func() observer.Readings { return observer.Readings{ReloadFailed: true} }, Node: "north-1",
		Log:       zerolog.Nop(),
		RangeName: func(uuid.UUID) string { return "North range" },
	}, prometheus.NewRegistry())
	return o
}

// Operators settle purchases with the operations token.
func TestPurchasesThatWaitForStaff(t *testing.T) {
	fake := &fakeOperatedRange{}
	h := newOperationsWith(prometheus.NewRegistry(), fake, "operator")
	at := "/ranges/" + someRange + "/purchases"
	response := sendAuthorized(h, "GET", at, "")
	require.Equal(t, 200, response.Code)
	require.Equal(t, `[{"purchase_id":"`+thePurchase+`","lane_id":"`+theLane+`","session_id":"`+theSession+
		`","items":[{"id":"time","qty":15},{"id":"9mm","qty":1}],"minutes":15,"asked_at":"2026-05-01T12:00:00.250Z",`+
		`"reason":"timed out","event_id":"00000000-0000-0000-0000-000000000000","trace_id":"",`+
		`"credit_session_id":null,"credit_lane_id":null}]`+"\n",
		response.Body.String())

	require.Equal(t, 204, sendAuthorized(h, "POST", at+"/"+thePurchase+"/credit", "").Code)
	purchase := uuid.MustParse(thePurchase)
	require.Equal(t, lanes.Clear{Purchase: purchase, Credit: true}, fake.cleared)
	require.Equal(t, "operator", fake.staff)
	require.Equal(t, 204, sendAuthorized(h, "POST", at+"/"+thePurchase+"/drop", "").Code)
	require.Equal(t, lanes.Clear{Purchase: purchase}, fake.cleared)
	ofSession := at + "/" + thePurchase + "/credit?session_id="
	require.Equal(t, 204, sendAuthorized(h, "POST", ofSession+theSession, "").Code)
	require.Equal(t, lanes.Clear{Session: uuid.MustParse(theSession), Purchase: purchase, Credit: true}, fake.cleared)
	require.Contains(t, sendAuthorized(h, "POST", ofSession+"1", "").Body.String(), `"session_id":"must be`)
	require.Equal(t, 404, sendAuthorized(h, "POST", at+"/"+theLane+"/drop", "").Code)
	for _, page := range []string{"/purchases", "/holds"} {
		require.Equal(t, 404, sendAuthorized(h, "GET", "/ranges/"+theLane+page, "").Code)
		require.Contains(t, sendAuthorized(h, "GET", "/ranges/"+otherRange+page, "").Body.String(),
			`"code":"not_owner"`)
	}
	require.Equal(t, 400, sendAuthorized(h, "GET", "/ranges/lane/purchases", "").Code)
}

// An operator unlocks a name, and is told what did not need it.
func TestUnlockingAName(t *testing.T) {
	s := operationsSettings(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	s.Unlock = func(id uuid.UUID, name string) (waited, found bool) {
		return name == "sam", id == uuid.MustParse(someRange) && name != "nobody"
	}
	h := NewOperations(s)
	unlock := func(rangeID, body string) *httptest.ResponseRecorder {
		return sendAuthorized(h, "POST", "/ranges/"+rangeID+"/staff/unlock", body)
	}
	require.JSONEq(t, `{"waited":true}`, unlock(someRange, `{"name":"sam"}`).Body.String())
	require.JSONEq(t, `{"waited":false}`, unlock(someRange, `{"name":"alex"}`).Body.String())
	require.Contains(t, unlock(someRange, `{"name":"nobody"}`).Body.String(), `"code":"staff_not_found"`)
	require.Contains(t, unlock(theLane, `{"name":"sam"}`).Body.String(), `"code":"not_found"`)
	require.Equal(t, 400, unlock(someRange, `{}`).Code)
	require.Equal(t, 401, send(h, "POST", "/ranges/"+someRange+"/staff/unlock").Code)
}

func TestTheOperationsToken(t *testing.T) {
	path := "/ranges/" + someRange + "/purchases"
	h := newOperationsWith(prometheus.NewRegistry(), &fakeOperatedRange{}, "operator")
	for _, wrong := range []string{"", "operator", "Bearer", "Bearer ", "Bearer operatox", "Basic operator"} {
		require.Equal(t, 401, send(h, "GET", path, "Authorization", wrong).Code, wrong)
	}
	unset := newOperationsWith(prometheus.NewRegistry(), &fakeOperatedRange{})
	require.Equal(t, 401, send(unset, "GET", path, "Authorization", "Bearer ").Code, "an unset token is nobody's")
}

// Acts are recorded by the name of the token that was sent.
func TestNamedOperationsTokens(t *testing.T) {
	fake := &fakeOperatedRange{}
	h := newOperationsWith(prometheus.NewRegistry(), fake, "operator", "night", "day")
	at := "/ranges/" + someRange + "/purchases/" + thePurchase + "/drop"
	for _, name := range []string{"night", "operator", "day"} {
		require.Equal(t, 204, send(h, "POST", at, "Authorization", "Bearer "+name).Code)
		require.Equal(t, name, fake.staff)
	}
	var reloadedBy string
	s := Operations{
		Tokens: operationsTokens("night"), Traffic: NewTraffic(prometheus.NewRegistry()),
		Metrics: prometheus.NewRegistry(), Log: zerolog.Nop(),
		Ready: func() error { return nil }, Limiters: NewLimiters(), KnownHost: func(string) bool { return true },
		Reload: func(_ context.Context, who string, _ bool) (Reloaded, error) {
			reloadedBy = who
			return Reloaded{}, nil
		},
	}
	require.Equal(t, 200, send(NewOperations(s), "POST", "/reload", "Authorization", "Bearer night").Code)
	require.Equal(t, "night", reloadedBy)
}

// Wrong tokens are limited by network, and a right one is never held up: it may be on the same machine.
func TestWrongOperationsTokensAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		path := "/ranges/" + someRange + "/holds"
		limiters := NewLimiters()
		limiters.setFailures(3)
		h := NewOperations(Operations{
			Tokens: operationsTokens("operator"), Limiters: limiters, Traffic: NewTraffic(registry), Metrics: registry,
			Log:       zerolog.Nop(),
			KnownHost: func(string) bool { return true },
			Ready:     func() error { return nil },
			Range:     func(uuid.UUID) (OperatedRange, error) { return &fakeOperatedRange{}, nil },
		})
		guess := func() *httptest.ResponseRecorder { return send(h, "GET", path, "Authorization", "Bearer guess") }
		for range 3 {
			require.Equal(t, 401, guess().Code)
		}
		refused := guess()
		require.Equal(t, 429, refused.Code)
		require.Contains(t, refused.Body.String(), `"code":"too_many_requests"`)
		require.Equal(t, "20", refused.Header().Get("Retry-After"))
		require.Equal(t, 429, send(h, "GET", "/debug/pprof/heap").Code, "all that needs a token shares the limit")
		require.Equal(t, 200, send(h, "GET", path, "Authorization", "Bearer operator").Code)
		require.Equal(t, 200, send(h, "GET", "/livez").Code)
		require.Contains(t, send(h, "GET", "/metrics").Body.String(),
			`rangegate_requests_limited_total{limit="operations"} 2`)
		time.Sleep(20 * time.Second)
		require.Equal(t, 401, guess().Code)
		require.Equal(t, 429, guess().Code)
	})
}

func TestProfilesRequireTheOperationsToken(t *testing.T) {
	h := newOperations(prometheus.NewRegistry())
	heap := send(h, "GET", "/debug/pprof/heap?debug=1", "Authorization", "Bearer operator")
	require.Equal(t, 200, heap.Code)
	require.Contains(t, heap.Body.String(), "heap profile")
}

// Operators set and lift holds with the operations token.
func TestHolds(t *testing.T) {
	fake := &fakeOperatedRange{}
	h := newOperationsWith(prometheus.NewRegistry(), fake, "operator")
	at := "/ranges/" + someRange + "/holds"
	set := func(body string) (int, string) {
		response := sendAuthorized(h, "PUT", at, body)
		if response.Code != 400 {
			require.Equal(t, "1700000000123", response.Header().Get("range-epoch"),
				"also of the only process of a gateway")
		}
		return response.Code, response.Body.String()
	}
	status, body := set(`{"scope":"range","id":null,"on":true}`)
	require.Equal(t, 200, status)
	require.Equal(t, `{"confirmed":["`+theLane+`"],"sent":[],"not_reached":[],"saved":true}`+"\n", body)
	require.Equal(t, lanes.Scope{Kind: lanes.OverRange}, fake.scope)
	require.Equal(t, "operator", fake.staff)

	fake.staff = ""
	status, body = set(`{"scope":"bay","id":"` + theBay + `","on":false}`)
	require.Equal(t, 503, status)
	require.Contains(t, body, "store_unavailable")
	require.Equal(t, lanes.Scope{Kind: lanes.OverBay, ID: uuid.MustParse(theBay)}, fake.scope)
	require.True(t, fake.lifted)
	require.Equal(t, "operator", fake.staff)

	for change, field := range map[string]string{
		`{"scope":"range"}`: "on", `{"on":true}`: "scope", `{"scope":"world","on":true}`: "scope",
		`{"scope":"bay","on":true}`: "id", `{"scope":"lane","id":"` + theBay + `","on":true}`: "id",
		`{"scope":"range","id":"` + theBay + `","on":true}`: "id", `{"scope":"range","on":"yes"}`: "on",
	} {
		status, body := set(change)
		require.Equal(t, 400, status, change)
		require.Contains(t, body, `"`+field+`":"`, change)
	}
	require.Equal(t, `[{"scope":"range","id":null,"who":"operator","since":"2026-05-01T12:00:00Z","press":null},`+
		`{"scope":"bay","id":"`+theBay+`","who":"sam","since":"2026-05-01T12:00:00Z","press":null}]`+"\n",
		sendAuthorized(h, "GET", at, "").Body.String())
}

// logLines parses the lines of a log.
func logLines(t *testing.T, log *bytes.Buffer) (all []map[string]any) {
	t.Helper()
	for decoder := json.NewDecoder(log); decoder.More(); {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line))
		all = append(all, line)
	}
	return all
}

// The level is global to the process: this test must not run in parallel with others.
func TestTheLogLevel(t *testing.T) {
	before := zerolog.GlobalLevel()
	t.Cleanup(func() { zerolog.SetGlobalLevel(before) })
	zerolog.SetGlobalLevel(zerolog.InfoLevel)
	var log bytes.Buffer
	s := Operations{
		Tokens: operationsTokens("operator"), Metrics: prometheus.NewRegistry(),
		Ready: func() error { return nil }, Log: zerolog.New(&log), LogLevel: &fakeLogLevel{},
	}
	s.KnownHost, s.Limiters, s.Traffic = func(string) bool { return true }, NewLimiters(),
		NewTraffic(prometheus.NewRegistry())
	h := NewOperations(s)
	set := func(body string) *httptest.ResponseRecorder { return sendAuthorized(h, "PUT", "/log-level", body) }
	require.JSONEq(t, `{"level":"info"}`, sendAuthorized(h, "GET", "/log-level", "").Body.String())

	for _, level := range []string{"error", "debug", "warn", "info"} { // above and below info
		log.Reset()
		response := set(`{"level":"` + level + `"}`)
		require.Equal(t, 200, response.Code)
		require.JSONEq(t, `{"level":"`+level+`"}`, response.Body.String())
		require.JSONEq(t, `{"level":"`+level+`"}`, sendAuthorized(h, "GET", "/log-level", "").Body.String())
		change := logLines(t, &log)[0]
		require.Equal(t, "log level changed", change["message"], "is logged at every level")
		require.Equal(t, []any{"info", level, "operator", "192.0.2.1:1234"},
			[]any{change["level"], change["is"], change["who"], change["from"]})
		require.NotEmpty(t, change["trace_id"])
	}

	zerolog.SetGlobalLevel(zerolog.WarnLevel)
	for _, wrong := range []string{
		``, `{}`, `{"level":"trace"}`, `{"level":"DEBUG"}`, `{"level":0}`,
		`{"level":"disabled"}`,
	} {
		require.Equal(t, 400, set(wrong).Code, wrong)
	}
	require.Equal(t, 401, sendBody(h, "PUT", "/log-level", `{"level":"debug"}`).Code)
	require.Equal(t, 401, send(h, "GET", "/log-level").Code)
	require.Equal(t, zerolog.WarnLevel, zerolog.GlobalLevel(), "a refused change changes nothing")
}

// One range or one of its lanes is logged at debug, on record, until the next change. The level of the process stays.
func TestTheLogLevelOfOneRange(t *testing.T) {
	before := zerolog.GlobalLevel()
	t.Cleanup(func() { zerolog.SetGlobalLevel(before) })
	zerolog.SetGlobalLevel(zerolog.InfoLevel)
	fake, log := &fakeOperatedRange{}, &bytes.Buffer{}
	settings := operationsSettings(prometheus.NewRegistry(), fake, "operator")
	settings.Log = zerolog.New(log)
	h := NewOperations(settings)
	set := func(query, body string) *httptest.ResponseRecorder {
		return sendAuthorized(h, "PUT", "/log-level"+query, body)
	}
	debug := `{"level":"debug"}`
	for query, lane := range map[string]string{
		"?range=" + someRange: "null", "?lane=" + theLane: `"` + theLane + `"`,
		"?range=" + someRange + "&lane=" + theLane: `"` + theLane + `"`,
	} {
		fake.acts = nil
		log.Reset()
		response := set(query, debug)
		require.Equal(t, 200, response.Code, response.Body)
		_, debugged := settings.LogLevel.Process()
		require.JSONEq(t, `{"level":"info","debug":{"range_id":"`+someRange+`","lane_id":`+lane+`,"until":"`+
			endpoint.Stamp(debugged.Until)+`"}}`, response.Body.String())
		require.Equal(t, response.Body.String(), sendAuthorized(h, "GET", "/log-level", "").Body.String())
		require.Equal(t, []string{"operator debug"}, fake.acts)
		change := logLines(t, log)[0]
		require.Equal(t, []any{"log level changed", "debug", "operator", someRange},
			[]any{change["message"], change["is"], change["who"], change["range_id"]})
	}
	code := func(query string) string { return codeOf(t, set(query, debug)) }
	require.Equal(t, "not_found", code("?range="+theLane))
	require.Equal(t, "not_owner", code("?range="+otherRange))
	require.Equal(t, "lane_not_found", code("?lane="+theSession))
	require.Equal(t, "lane_not_found", code("?range="+someRange+"&lane="+theSession))
	for query, field := range map[string]string{"?range=" + someRange: "range", "?lane=" + theLane: "lane"} {
		refused := set(query, `{"level":"warn"}`)
		require.Equal(t, 400, refused.Code)
		require.Contains(t, refused.Body.String(), `"`+field+`":"is for level debug only"`)
	}
	require.Equal(t, 400, set("?range=north", debug).Code)
	_, debugged := settings.LogLevel.Process()
	require.NotNil(t, debugged, "a refused change changes nothing")

	require.JSONEq(t, `{"level":"warn"}`, set("", `{"level":"warn"}`).Body.String())
	_, debugged = settings.LogLevel.Process()
	require.Nil(t, debugged)
}
