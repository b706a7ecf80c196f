package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/logtail"
	"rangegate/api/observer"
	"rangegate/api/request"
	"rangegate/api/routing"
	"rangegate/api/staffops"
	"rangegate/lanes"
	"rangegate/lanes/tracing"
)

// Operations is what the operations address is configured with.
type Operations struct {
	Ready   func() error // nil once the gateway is ready, else what is missing
	Metrics prometheus.Gatherer
	Tokens  OperationsTokens
	// KnownHost is true for a host name that the address may be called by, beside those of the machine itself.
	KnownHost func(name string) bool
	Limiters  *Limiters
	Traffic   *Traffic
	// Range returns the running range with that id, or ErrNoRange, lanes.ErrStarting, lanes.ErrNotOwner.
	Range   func(id uuid.UUID) (OperatedRange, error)
	Router  *routing.Router       // hands on what other nodes own; nil: this process serves every range
	Nodes   Nodes                 // nil as Router
	Ranges  func() []uuid.UUID    // the configured ones
	Waiting func() map[string]int // number of messages in mailboxes, by kind of actor
	// Unlock forgets the wrong PINs of one of a range's staff. waited is true if a browser had to wait for
	// them; found is false for a name that the staff do not have.
	Unlock func(rangeID uuid.UUID, name string) (waited, found bool)
	// ProbeWebhook is that of observer.Settings.
	ProbeWebhook func(ctx context.Context, rangeID uuid.UUID, webhook string) (observer.WebhookProbe, error)
	// Reload applies the configuration again for whoever that is, and blocks until that is done. Its error is made by
	// RefuseReload.
	Reload func(ctx context.Context, who string, force bool) (Reloaded, error)
	// Advisories are those of this node; nil: it has none.
	Advisories *observer.Advisories
	Flight     Flight
	LogLevel   LogLevel
	LogTail    *logtail.Tail // nil: the log cannot be followed
	// Maintenance is that of the store; nil: it has none.
	Maintenance observer.Maintenance
	// Closing is closed when another configuration is in force, and when the gateway stops.
	Closing <-chan struct{}
	Tracer  *tracing.Tracer // nil: nothing is traced
	Log     zerolog.Logger
}

// OperationsTokens are the SHA-256 digests of the operations tokens by name. Without any nobody has one.
type OperationsTokens map[string][sha256.Size]byte

// check returns the name of the token. It takes as long for any.
func (t OperationsTokens) check(token string) (name string, ok bool) {
	given := sha256.Sum256([]byte(token))
	for candidate, digest := range t {
		if subtle.ConstantTimeCompare(given[:], digest[:]) == 1 {
			name, ok = candidate, true
		}
	}
	return name, ok
}

// OperatedRange is the part of a running range that the operations address uses.
type OperatedRange interface {
	staffops.Range
	observer.Range
	Epoch() uint64
}

// ErrNoRange means that no range with that id is configured.
var ErrNoRange = endpoint.Refusal("not_found")

// NewOperations returns the handler of the operations address. Only health and metrics need no operations token.
func NewOperations(s Operations) http.Handler {
	a := &endpoint.API{
		Errors: operationsErrors, Timeout: timeout, Defect: logDefect, Context: request.Track(s.Log, s.Tracer),
	}
	r := a.Router(request.AccessLog(s.Traffic.sample), request.Trace, request.BoundBody, boundTarget(a.Fail),
		requireKnownHost(s.KnownHost, a.Fail))
	guard := s.requireToken(a.Fail)
	r.Get("/livez", func(w http.ResponseWriter, _ *http.Request) { writeLine(w, http.StatusOK, "up") })
	r.Get("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.Ready(); err != nil {
			writeLine(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		writeLine(w, http.StatusOK, "ready")
	})
	r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	r.Route("/debug/pprof", func(r chi.Router) {
		r.Use(guard)
		r.Get("/", pprof.Index)
		r.Get("/profile", recorded(pprof.Profile, a.Fail))
		r.Get("/trace", recorded(pprof.Trace, a.Fail))
		r.Get("/{profile}", recorded(pprof.Index, a.Fail))
	})
	a.Mount(r, "/debug/flight", []endpoint.Endpoint{flightEndpoint(s.Flight)}, guard)
	r.With(guard).Get("/debug/flight/newest", newestDump(s.Flight, a.Fail))
	a.Mount(r, "/reload", []endpoint.Endpoint{s.reloadEndpoint()}, guard)
	a.Mount(r, "/ranges", s.rangeEndpoints(), noteResponse, guard, s.Router.Route(a.Fail, s.ofPath))
	a.Mount(r, "/log-level", s.logLevelEndpoints(), guard, s.Router.Route(a.Fail, s.ofQuery))
	if s.Nodes != nil {
		a.Mount(r, "/nodes", s.nodeEndpoints(), guard, s.routeNodes(a.Fail))
	}
	observer.Mount(r, a, observer.Settings{
		Ranges: s.Ranges, Waiting: s.Waiting, Router: s.Router,
		Range: func(id uuid.UUID) (observer.Range, error) { return s.Range(id) }, Closing: s.Closing, Who: operatorOf,
		Advisories: s.Advisories, ProbeWebhook: s.ProbeWebhook, Maintenance: s.Maintenance,
		DrainRange: s.drainRange, Log: s.followedLog(),
	}, guard)
	return r
}

func writeLine(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(sentence + "\n"))
}

type operatorKey struct{}

// operatorOf returns who has sent a request behind requireToken, for the record: the name of the token.
func operatorOf(ctx context.Context) string {
	name, _ := ctx.Value(operatorKey{}).(string)
	return name
}

// requireKnownHost refuses requests to other host names. A page of another site can have its own name point
// to this address and would then be of the same origin (DNS rebinding), so that a browser on this machine
// would let it read health and metrics. An IP address as the host is no name that anybody could point here;
// without a host it is no browser. The host of a request that another node has handed on is that node's,
// which has judged it.
func requireKnownHost(known func(name string) bool, fail endpoint.FailFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name := hostOf(r.Host)
			_, notIP := netip.ParseAddr(name)
			if name != "" && notIP != nil && request.Entry(r.Context()) == "" && name != "localhost" &&
				!strings.HasSuffix(name, ".localhost") && !known(name) {
				fail(w, r, endpoint.Refusal("misdirected_request"))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// hostOf returns the name or the address of the header Host, in lower case, without a port, brackets and the
// dot of an absolute name.
func hostOf(header string) string {
	name := header
	if host, _, err := net.SplitHostPort(header); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// requireToken refuses requests without an operations token. It limits failures by network, never other
// requests: scripts and an attacker may be on the same machine.
func (s Operations) requireToken(fail endpoint.FailFunc) func(http.Handler) http.Handler {
	failures, refused := s.Limiters.operators, s.Traffic.limited.WithLabelValues("operations")
	unauthorized := endpoint.Refuse("unauthorized", "the header Authorization must be Bearer and the operations token",
		0)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			name, ok := s.Tokens.check(token)
			if !ok || !bearer {
				fail(w, r, failedAuthentication(r, failures, refused, unauthorized))
				return
			}
			request.Authenticated(r.Context())
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operatorKey{}, name)))
		})
	}
}

// ofPath is the destination of a request below /ranges. What names no configured range is refused here.
func (s Operations) ofPath(r *http.Request) (uuid.UUID, routing.Way) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/ranges/"), "/")
	id, err := uuid.Parse(name)
	if err != nil || !slices.Contains(s.Ranges(), id) {
		return uuid.Nil, routing.Operation
	}
	if r.Method == http.MethodPut { // a hold is all that is put there
		return id, routing.OperationHold
	}
	return id, routing.Operation
}

// rangeEndpoints are those by which operators and their scripts do what staff do at the control screen.
func (s Operations) rangeEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		onRange(s, "GET", "/holds", 200, "The holds in force", endpoint.NoInput, holds),
		onRange(s, "PUT", "/holds", 200, "Set a hold, or lift it", staffops.ReadHoldChange, changeHold),
		onRange(s, "GET", "/purchases", 200, "The purchases that wait for staff", endpoint.NoInput, purchases),
		onRange(s, "POST", "/purchases/{purchase_id}/credit", 204, "Add the minutes that were bought",
			readClear(true), settle),
		onRange(s, "POST", "/purchases/{purchase_id}/drop", 204, "Add nothing", readClear(false), settle),
		endpoint.Handle("POST", "/{range_id}/staff/unlock", 200, "Forget the wrong PINs of one of the staff",
			readUnlock, s.unlock),
	}
}

// unlocking is one of the staff whom wrong PINs keep from signing in.
type unlocking struct {
	rangeID uuid.UUID
	name    string
}

func readUnlock(in *endpoint.Input) unlocking {
	return unlocking{in.PathID("range_id", "Range"), in.Text("name", 1, 200, "Who signs in", "sam")}
}

type unlockedView struct {
	Waited bool `json:"waited"` // false: nobody was kept from signing in by this name
}

const staffNotFound = "staff_not_found"

func (s Operations) unlock(ctx context.Context, u unlocking) (unlockedView, error) {
	if !slices.Contains(s.Ranges(), u.rangeID) {
		return unlockedView{}, ErrNoRange
	}
	waited, found := s.Unlock(u.rangeID, u.name)
	if !found {
		return unlockedView{}, endpoint.Refusal(staffNotFound)
	}
	request.Log(ctx).Info().Str("who", operatorOf(ctx)).Str("from", request.Of(ctx).Client).
		Stringer("range_id", u.rangeID).
		Str("name", u.name).Bool("waited", waited).Msg("the wrong PINs of a user are forgotten")
	return unlockedView{waited}, nil
}

// onRange declares an endpoint that works on the running range in its path, whose epoch the response gets.
func onRange[In, Out any](
	s Operations, method, path string, status int, summary string,
	read func(*endpoint.Input) In, do func(context.Context, OperatedRange, In) (Out, error),
) endpoint.Endpoint {
	type input struct {
		rangeID uuid.UUID
		rest    In
	}
	readAll := func(in *endpoint.Input) input { return input{in.PathID("range_id", "Range"), read(in)} }
	return endpoint.Handle(method, "/{range_id}"+path, status, summary, readAll,
		func(ctx context.Context, in input) (out Out, err error) {
			r, err := s.Range(in.rangeID)
			if err != nil {
				return out, err
			}
			routing.SetEpoch(request.Of(ctx).Response, r.Epoch())
			return do(ctx, r, in.rest)
		})
}

func holds(_ context.Context, r OperatedRange, _ endpoint.Empty) ([]staffops.HoldView, error) {
	return staffops.HoldViews(r.Holds(), func(t time.Time) string { return t.UTC().Format(time.RFC3339) }), nil
}

func changeHold(ctx context.Context, r OperatedRange, h staffops.HoldChange) (staffops.HoldResult, error) {
	return h.Apply(ctx, r, operatorOf(ctx))
}

func purchases(_ context.Context, r OperatedRange, _ endpoint.Empty) ([]staffops.PurchaseView, error) {
	return staffops.PurchaseViews(r), nil
}

// readClear takes the session from the query: scripts that do not name it may send any body.
func readClear(credit bool) func(*endpoint.Input) lanes.Clear {
	return func(in *endpoint.Input) lanes.Clear {
		return lanes.Clear{
			Purchase: in.PathID("purchase_id", "Purchase"),
			Session: in.QueryOptionalID("session_id", "The session that it belongs to. Without it, a purchase whose "+
				"id another session has too is refused"),
			Credit: credit,
		}
	}
}

func settle(ctx context.Context, r OperatedRange, command lanes.Clear) (endpoint.Empty, error) {
	return endpoint.Empty{}, r.Clear(ctx, operatorOf(ctx), command)
}

// Reloaded is what a reload of the configuration has changed.
type Reloaded struct {
	Keys   []string        `json:"keys"` // outside of the ranges
	Ranges []ReloadedRange `json:"ranges"`
}

// ReloadedRange is what a reload has changed in one range.
type ReloadedRange struct {
	ID      uuid.UUID   `json:"range_id"`
	Change  string      `json:"change"` // added, changed or removed
	Keys    []string    `json:"keys"`
	Added   []uuid.UUID `json:"lanes_added"`
	Changed []uuid.UUID `json:"lanes_changed"`
	Removed []uuid.UUID `json:"lanes_removed"`
	Renewed []uuid.UUID `json:"links_renewed"`
	Refused string      `json:"refused,omitempty"` // why the range is not served with its new layout
}

// The reasons for which a reload is refused, as codes of the response.
const (
	BadConfiguration = "configuration_invalid"
	NeedsRestart     = "needs_restart"
	InUse            = "in_use"
	PartlyEnded      = "partly_ended"     // force had stopped sessions before the reload was refused
	NoConfiguration  = "no_configuration" // the gateway has no configuration file
	ReloadFailed     = "reload_failed"
)

// RefuseReload returns the error of a reload that was refused. But for PartlyEnded, whose error says what was
// ended, it has changed nothing.
func RefuseReload(reason string, err error) error { return endpoint.Refuse(reason, err.Error(), 0) }

// reloadEndpoint reads the configuration again. It may take longer than other requests: it waits for lanes
// and the store.
func (s Operations) reloadEndpoint() endpoint.Endpoint {
	return endpoint.Handle("POST", "/", http.StatusOK, "Read the configuration again",
		func(in *endpoint.Input) bool {
			return in.Flag("force", false, "Stop the sessions of lanes that are removed, and drop their purchases")
		},
		func(ctx context.Context, force bool) (Reloaded, error) { return s.Reload(ctx, operatorOf(ctx), force) },
	).WithoutTimeout()
}
