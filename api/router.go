// Package api is the HTTP side of the gateway. This file mounts every part of it; each part declares its own paths.
package api

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/control"
	"rangegate/api/endpoint"
	"rangegate/api/lanescreen"
	"rangegate/api/reference"
	"rangegate/api/request"
	"rangegate/api/routing"
	"rangegate/api/screens"
	"rangegate/api/shooterpage"
	"rangegate/api/simulate"
	"rangegate/api/startpage"
	v1 "rangegate/api/v1"
	v2 "rangegate/api/v2"
	"rangegate/api/wallboard"
	"rangegate/lanes/tracing"
)

// timeout is how long a request may take. A request without an outcome by then gets 504.
const timeout = 5 * time.Second

// Settings is what the API is configured with.
type Settings struct {
	Credentials Credentials
	// Range returns the running range with that id, or the reason why there is none: lanes.ErrStarting,
	// lanes.ErrNotOwner.
	Range func(id uuid.UUID) (v2.Range, error)
	// Configured is what the configuration says about each range.
	Configured map[uuid.UUID]v2.Configured
	// Playground adds the paths of the simulation, which needs the two functions below.
	Playground bool
	// Simulate returns the running range for the simulation, with the errors of Range.
	Simulate func(id uuid.UUID) (simulate.Range, error)
	// Products returns the products API of the range's integrator, or lanes.ErrProductsNotConfigured.
	Products func(id uuid.UUID) (simulate.Products, error)
	Screens  Screens
	LaneLink []byte          // the JSON Schema of the messages between gateway and lane controllers
	Router   *routing.Router // hands on what other nodes own; nil: this process serves every range
	Limits   Limits
	Limiters *Limiters
	Traffic  *Traffic
	Origins  []string        // of pages that may call the API; none: no page of another origin may
	Proxies  Proxies         // trusted to name the client of a request; none: nobody is
	Tracer   *tracing.Tracer // nil: nothing is traced
	Log      zerolog.Logger
}

// Screens is what the control screen, the lane screens and the wall boards are configured with.
type Screens struct {
	Staff map[uuid.UUID]control.RangeStaff
	// Sessions are the sessions of staff that this process has seen, Attempts what it knows of attempts to sign in.
	Sessions *control.Sessions
	Attempts *control.Attempts
	// Lanes are the lanes that have a screen.
	Lanes map[uuid.UUID]lanescreen.Lane
	// Boards are the ranges that have wall boards.
	Boards map[uuid.UUID]wallboard.Board
	// Control, Lane, Board and Shooter return the running range with that id, with the errors of Settings.Range.
	Control func(id uuid.UUID) (control.Range, error)
	Lane    func(id uuid.UUID) (lanescreen.Range, error)
	Board   func(id uuid.UUID) (wallboard.Range, error)
	Shooter func(id uuid.UUID) (shooterpage.Range, error)
	// Shop returns the products of the range's integrator, or lanes.ErrProductsNotConfigured.
	Shop     func(rangeID uuid.UUID) (lanescreen.Shop, error)
	Pictures *lanescreen.Pictures
	Closing  <-chan struct{} // closed when the gateway stops; open streams end
}

// New returns the handler of the API that POS systems call, and of the screens.
func New(s Settings) http.Handler {
	traffic, pages := s.Traffic, newPages(s)
	a := &endpoint.API{
		Errors: posErrors, GuardCodes: []string{"unauthorized", "too_many_requests", "overloaded"},
		WriteGuardCodes: []string{"forbidden"},
		Timeout:         timeout, Defect: logDefect,
		Admit:       s.Limiters.admission.limit(traffic.ofProcess()),
		ReservePage: pages.reserve,
		Context:     request.Track(s.Log, s.Tracer),
		KeyReused: func(ctx context.Context, name, fingerprint string) bool {
			r, err := ofRequest(s.Range)(ctx)
			return err == nil && r.KeyReused(name, fingerprint)
		},
	}
	s.Limiters.setFailures(s.Limits.FailuresPerMinute)
	s.Screens.Attempts.SetFailures(s.Limits.FailuresPerMinute)
	r := a.Router(
		s.Proxies.IdentifyClient, request.AccessLog(traffic.sample), request.Trace, traffic.count, addDeprecation,
		allowOrigins(s.Origins), request.BoundBody,
		boundTarget(a.Fail),
	)

	handlers := v2.Handlers{
		RangeOf: ofRequest(s.Range),
		Readers: v2.NewReaders(s.Limits.Waiting, s.Screens.Closing, traffic.readers,
			traffic.limited.WithLabelValues("waiting"), pages.reserve),
		ConfiguredOf: func(ctx context.Context) v2.Configured { return s.Configured[request.RangeID(ctx)] },
		Errors:       posErrors,
		Limits: v2.Limits{
			PerSecond: s.Limits.PerSecond, Burst: cmp.Or(s.Limits.Burst, s.Limits.PerSecond),
			Waiting: s.Limits.Waiting,
		},
	}
	version1, version2 := v1.Endpoints(handlers), handlers.Endpoints()
	forced := simulate.NewForcedErrors(posErrors)
	if s.Playground {
		version2 = append(version2, simulate.Handlers{
			Forced:  forced,
			RangeOf: ofRequest(s.Simulate),
			ProductsOf: func(ctx context.Context) (simulate.Products, error) {
				return s.Products(request.RangeID(ctx))
			},
		}.Endpoints()...)
	}

	document2 := sync.OnceValue(func() *openapi3.T {
		document := a.Document(reference2, version2)
		reference.AddWebhooks(document)
		return document
	})
	documents := []reference.Document{
		{Name: "Version 2", Path: openapi2Path, Text: document2},
		{Name: "Products API", Path: productsPath, Text: reference.ProductsAPI},
		{
			Name: "Version 1 (deprecated)", Path: openapi1Path,
			Text: func() *openapi3.T { return a.Document(reference1, version1) },
		},
	}
	for _, d := range documents {
		r.Get(d.Path, endpoint.DocumentHandler(d.Text))
	}
	r.Get(openapi30Path, endpoint.Document30Handler(document2, note30))
	r.Get(schemaPath, serveSchema(s.LaneLink))
	reference.Mount(r, page2, "Range POS gateway: version 2 and what belongs to it", documents...)
	reference.Mount(r, page1, "Range POS gateway: version 1", documents[2])

	guards := []func(http.Handler) http.Handler{
		noteResponse, s.authenticate(traffic.limited.WithLabelValues("address"), a.Fail),
		s.Router.Route(a.Fail, ofToken),
		perRange(s.Limiters.ofRanges(s.Credentials, s.Limits), traffic.ofRange(s.Limiters), a.Fail),
	}
	a.Mount(r, prefix1, version1, guards...)
	if s.Playground {
		guards = append(guards, forced.Answer(prefix2+simulate.Paths, a.Fail))
	}
	a.Mount(r, prefix2, version2, guards...)
	s.mountScreens(r, pages)
	return r
}

// ofToken is the destination of a POS's request behind authenticate. Simulated events and purchases wait for
// the integrator, and whoever reads events may wait for the next one.
func ofToken(r *http.Request) (uuid.UUID, routing.Way) {
	way := routing.Request
	switch target := r.URL.Path; {
	case strings.HasPrefix(target, prefix2+simulate.Paths):
		way = routing.Integrator
	case target == prefix2+v2.EventStreamPath:
		way = routing.Events
	case target == prefix2+v2.EventsPath && strings.Contains(r.URL.RawQuery, "wait="):
		way = routing.Waiting
	case target == prefix2+v2.BatchPath:
		way = way.WithBody(v2.MaxBatchBody)
	case closes(r):
		way = routing.Closing
	}
	return routing.OfRange(way)(r)
}

// closes is true for a POS's request that closes the fire line of a session, as its endpoint says once it has read
// the request (endpoint.API.Admit).
func closes(r *http.Request) bool {
	switch {
	case r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, prefix2+"/sessions/"):
		return v2.Closes(path.Base(r.URL.Path))
	case r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, prefix1):
		body, err := routing.Body(r)
		return err == nil && v1.Closes(body)
	default:
		return false
	}
}

// NoPaths returns a handler that has no path.
func NoPaths(log zerolog.Logger) http.Handler {
	return (&endpoint.API{Errors: posErrors, Defect: logDefect, Context: request.Track(log, nil)}).Router()
}

// maxTarget is the maximum length of a request's target in bytes. RFC 9110 asks for 8,000 at least.
const maxTarget = 8 << 10

// boundTarget refuses requests whose target is too long.
func boundTarget(fail endpoint.FailFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.RequestURI) > maxTarget {
				fail(w, r, endpoint.Refusal("uri_too_long"))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// mountScreens puts the screens on the router, without the limits on a POS: a ceasefire is never refused as
// one request too many.
func (s Settings) mountScreens(r chi.Router, p *pages) {
	t := s.Traffic
	a := &endpoint.API{
		Errors: screenErrors, Timeout: timeout, Defect: logDefect, ReservePage: p.reserve,
	}
	guides().Mount(r, a.Fail)
	startpage.Mount(r, a, startpage.Settings{Staff: s.Screens.Staff, Documents: startDocuments})
	r.Route("/screens", func(r chi.Router) {
		r.Use(screens.Guard(a.Fail))
		r.Get("/*", screens.SharedFiles().Handler(a.Fail))
	})
	addresses := shooterpage.NewAddresses(func() []byte { return s.Screens.Sessions.Key("pages of shooters") },
		slices.Collect(maps.Keys(s.Screens.Staff)))
	shooterpage.Mount(r, a, shooterpage.Settings{
		Addresses: addresses, Range: s.Screens.Shooter, Router: s.Router, WrongAddresses: s.Limiters.shooterPages,
		Closing: s.Screens.Closing,
		Streams: t.streams.WithLabelValues("shooter"),
	})
	control.Mount(r, a, control.Settings{
		Staff: s.Screens.Staff, Sessions: s.Screens.Sessions, Attempts: s.Screens.Attempts, Router: s.Router,
		ShooterPath: addresses.Path,
		Range:       s.Screens.Control, Closing: s.Screens.Closing, Streams: t.streams.WithLabelValues("control"),
		Turn: p.turn, Refused: t.limited.WithLabelValues("pages"),
	})
	lanescreen.Mount(r, a, lanescreen.Settings{
		Lanes: s.Screens.Lanes, Range: s.Screens.Lane, Shop: s.Screens.Shop, Pictures: s.Screens.Pictures,
		Router:    s.Router,
		WrongKeys: s.Limiters.screenKeys, Closing: s.Screens.Closing, Streams: t.streams.WithLabelValues("lane"),
	})
	wallboard.Mount(r, a, wallboard.Settings{
		Boards: s.Screens.Boards, Range: s.Screens.Board, Router: s.Router,
		WrongKeys: s.Limiters.screenKeys, Closing: s.Screens.Closing, Streams: t.streams.WithLabelValues("board"),
	})
}

// noteResponse has ofRequest know the header of the response.
func noteResponse(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request.Of(r.Context()).Response = w.Header()
		next.ServeHTTP(w, r)
	})
}

// ofRequest returns the function that finds the running range of a request. The response gets that range's epoch.
func ofRequest[R interface{ Epoch() uint64 }](find func(id uuid.UUID) (R, error)) func(context.Context) (R, error) {
	return func(ctx context.Context) (R, error) {
		r, err := find(request.RangeID(ctx))
		if err == nil {
			routing.SetEpoch(request.Of(ctx).Response, r.Epoch())
		}
		return r, err
	}
}

// logDefect logs an internal error under the trace id of its response.
func logDefect(r *http.Request, cause error, stack []byte) {
	request.Log(r.Context()).Error().Err(cause).Bytes("stack", stack).
		Str("route", chi.RouteContext(r.Context()).RoutePattern()).Msg("defect")
}
