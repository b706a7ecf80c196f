package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"rangegate/api/actorstatus"
	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/staffops"
)

// Operations is what the operations address is configured with.
type Operations struct {
	Ready   func() error // nil once the gateway is ready, else what is missing
	Metrics prometheus.Gatherer
	Token   string // the operations token; empty: nobody has one
	// Range returns the running range with that id, or ErrNoRange, lanes.ErrStarting, lanes.ErrNotOwner.
	Range   func(id uuid.UUID) (OperatedRange, error)
	Ranges  func() []uuid.UUID    // the configured ones
	Waiting func() map[string]int // number of messages in mailboxes, by kind of actor
	// Reload applies the configuration again and blocks until that is done. Its error is made by RefuseReload.
	Reload func(ctx context.Context, force bool) (Reloaded, error)
	Log    zerolog.Logger
}

// OperatedRange is the part of a running range that the operations address uses.
type OperatedRange interface {
	staffops.Range
	actorstatus.Range
}

// ErrNoRange means that no range with that id is configured.
var ErrNoRange = endpoint.Refusal("not_found")

// operatorName is who changed something, for the record: the holder of the operations token.
const operatorName = "operator"

// NewOperations returns the handler of the operations address. Only health and metrics need no operations token.
func NewOperations(s Operations) http.Handler {
	a := &endpoint.API{Errors: operationsErrors, Timeout: timeout, Defect: logDefect, Context: request.Track(s.Log)}
	r := a.Router(request.AccessLog)
	guard := requireToken(s.Token, a.Fail)
	s.Token = "" // the guard has its digest
	r.Get("/livez", func(w http.ResponseWriter, _ *http.Request) { writeLine(w, http.StatusOK, "up") })
	r.Get("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.Ready(); err != nil {
			writeLine(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		writeLine(w, http.StatusOK, "ready")
	})
	r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{}))
	r.Route("/debug/pprof", func(r chi.Router) {
		r.Use(guard)
		r.Get("/", pprof.Index)
		r.Get("/profile", pprof.Profile)
		r.Get("/trace", pprof.Trace)
		r.Get("/{profile}", pprof.Index)
	})
	a.Mount(r, "/reload", []endpoint.Endpoint{s.reloadEndpoint()}, guard)
	a.Mount(r, "/ranges", s.rangeEndpoints(), guard)
	a.Mount(r, "/log-level", logLevelEndpoints(), guard)
	actorstatus.Mount(r, a, actorstatus.Settings{
		Ranges: s.Ranges, Waiting: s.Waiting,
		Range: func(id uuid.UUID) (actorstatus.Range, error) { return s.Range(id) },
	}, guard)
	return r
}

func writeLine(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(sentence + "\n"))
}

// requireToken refuses requests without the operations token. An empty token is nobody's.
func requireToken(token string, fail endpoint.FailFunc) func(http.Handler) http.Handler {
	want, configured := sha256.Sum256([]byte(token)), token != ""
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			given := sha256.Sum256([]byte(token))
			if match := subtle.ConstantTimeCompare(given[:], want[:]) == 1; !match || !bearer || !configured {
				fail(w, r, endpoint.Refuse("unauthorized", "the header Authorization must be Bearer and the operations token", 0))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// rangeEndpoints are those by which operators and their scripts do what staff do at the control screen.
func (s Operations) rangeEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		onRange(s, "GET", "/holds", 200, "The holds in force", endpoint.NoInput, holds),
		onRange(s, "PUT", "/holds", 200, "Set a hold, or lift it", staffops.ReadHoldChange, changeHold),
		onRange(s, "GET", "/purchases", 200, "The purchases that wait for staff", endpoint.NoInput, purchases),
		onRange(s, "POST", "/purchases/{purchase_id}/credit", 204, "Add the minutes that were bought", readPurchase, settle(true)),
		onRange(s, "POST", "/purchases/{purchase_id}/drop", 204, "Add nothing", readPurchase, settle(false)),
	}
}

// onRange declares an endpoint that works on the running range in its path.
func onRange[In, Out any](
	s Operations, method, path string, status int, summary string,
	read func(*endpoint.Input) In, do func(context.Context, OperatedRange, In) (Out, error),
) endpoint.Endpoint {
	type input struct {
		rangeID uuid.UUID
		rest    In
	}
	readAll := func(in *endpoint.Input) input { return input{in.PathID("range_id", "Range"), read(in)} }
	return endpoint.Handle(method, "/{range_id}"+path, status, summary, readAll, func(ctx context.Context, in input) (out Out, err error) {
		r, err := s.Range(in.rangeID)
		if err != nil {
			return out, err
		}
		return do(ctx, r, in.rest)
	})
}

func holds(_ context.Context, r OperatedRange, _ endpoint.Empty) ([]staffops.HoldView, error) {
	return staffops.HoldViews(r.Holds(), func(t time.Time) string { return t.UTC().Format(time.RFC3339) }), nil
}

func changeHold(ctx context.Context, r OperatedRange, h staffops.HoldChange) (staffops.HoldResult, error) {
	return h.Apply(ctx, r, operatorName)
}

func purchases(_ context.Context, r OperatedRange, _ endpoint.Empty) ([]staffops.PurchaseView, error) {
	return staffops.PurchaseViews(r), nil
}

func readPurchase(in *endpoint.Input) uuid.UUID { return in.PathID("purchase_id", "Purchase") }

func settle(credit bool) func(context.Context, OperatedRange, uuid.UUID) (endpoint.Empty, error) {
	return func(ctx context.Context, r OperatedRange, purchase uuid.UUID) (endpoint.Empty, error) {
		return endpoint.Empty{}, r.Clear(ctx, operatorName, purchase, credit)
	}
}

// logLevel is the lowest level that is logged, as the configuration names it.
type logLevel struct {
	Level string `json:"level"`
}

var logLevels = []string{"debug", "info", "warn", "error"}

func logLevelEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/", 200, "The lowest level that is logged", endpoint.NoInput, currentLogLevel),
		endpoint.Handle("PUT", "/", 200, "Change the level until the gateway restarts", readLogLevel, setLogLevel),
	}
}

func readLogLevel(in *endpoint.Input) logLevel {
	return logLevel{in.OneOf("level", "The lowest level that is logged", logLevels...)}
}

func currentLogLevel(context.Context, endpoint.Empty) (logLevel, error) {
	return logLevel{zerolog.GlobalLevel().String()}, nil
}

// setLogLevel changes the level, and logs the change at every level.
func setLogLevel(ctx context.Context, l logLevel) (logLevel, error) {
	level, err := zerolog.ParseLevel(l.Level)
	if err != nil {
		return logLevel{}, err
	}
	before := zerolog.GlobalLevel()
	zerolog.SetGlobalLevel(level)
	request.Log(ctx).Log().Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).Str("who", operatorName).Str("from", request.Of(ctx).Client).
		Stringer("was", before).Stringer("is", level).Msg("log level changed")
	return l, nil
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

// RefuseReload returns the error of a reload that was refused. But for PartlyEnded, whose error says what was ended, it has changed
// nothing.
func RefuseReload(reason string, err error) error { return endpoint.Refuse(reason, err.Error(), 0) }

// reloadEndpoint reads the configuration again. It may take longer than other requests: it waits for lanes and the store.
func (s Operations) reloadEndpoint() endpoint.Endpoint {
	return endpoint.Handle("POST", "/", http.StatusOK, "Read the configuration again",
		func(in *endpoint.Input) bool {
			return in.Flag("force", false, "Stop the sessions of lanes that are removed, and drop their purchases")
		},
		s.Reload,
	).WithoutTimeout()
}
