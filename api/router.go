// Package api is the HTTP side of the gateway. This file mounts every part of it; v1, v2 and simulate declare their paths
// themselves, and the screens and the operations address have routers of their own.
package api

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/hosted"
	"rangegate/api/reference"
	"rangegate/api/simulate"
	v1 "rangegate/api/v1"
	v2 "rangegate/api/v2"
)

// patience is how long a request may take. What has no outcome by then is answered 504.
const patience = 5 * time.Second

// Settings is what the API is made of.
type Settings struct {
	Credentials Credentials
	// Range is the running range with that id, or why there is none: lanes.ErrStarting, lanes.ErrNotOwner.
	Range func(id uuid.UUID) (v2.Range, error)
	// Playground opens the simulation, which needs the two functions below. Otherwise its paths do not exist.
	Playground bool
	// Simulate is the running range as the simulation needs it, found as by Range.
	Simulate func(id uuid.UUID) (simulate.Range, error)
	// Products is the products API of the range's integrator, or lanes.ErrProductsNotConfigured.
	Products func(id uuid.UUID) (simulate.Products, error)
	Screens  Screens
	Limits   Limits
	Traffic  *Traffic
	Proxies  Proxies // whose word on where a request came from is taken; none: nobody's
	Log      zerolog.Logger
}

// Where the versions are, and their reference pages.
const (
	prefix1, page1 = "/api/v1/pos", "/api/v1/swagger"
	prefix2, page2 = "/api/v2/pos", "/api/v2/swagger"
)

// New is the API that POS systems call, and the screens.
func New(s Settings) http.Handler {
	traffic := s.Traffic
	a := &endpoint.API{
		Errors: errors, GuardCodes: []string{"unauthorized", "too_many_requests", "overloaded"}, Timeout: patience, Defect: defect,
		Admit:   newCrowd(s.Credentials, traffic.limited.WithLabelValues("process")).admit,
		Context: carried(s.Log), Routed: routed,
	}
	r := a.Router(s.Proxies.forwarded, logged, traffic.counted, deprecated)

	current := v2.Handlers{RangeOf: ofRequest(s.Range)}
	version1, version2 := v1.Endpoints(current), current.Endpoints()
	if s.Playground {
		version2 = append(version2, simulate.Handlers{
			RangeOf:    ofRequest(s.Simulate),
			ProductsOf: ofRequest(s.Products),
		}.Endpoints()...)
	}

	document2 := a.Document(about2, version2)
	hosted.AddWebhooks(document2)
	documents := []reference.Document{
		{Name: "Version 2", Path: prefix2 + "/openapi.json", Text: document2},
		{Name: "Products API", Path: prefix2 + "/products.openapi.json", Text: hosted.Products()},
		{Name: "Version 1 (deprecated)", Path: prefix1 + "/openapi.json", Text: a.Document(about1, version1)},
	}
	for _, d := range documents {
		r.Get(d.Path, endpoint.DocumentHandler(d.Text))
	}
	reference.Mount(r, page2, "Range POS gateway: version 2 and what belongs to it", documents...)
	reference.Mount(r, page1, "Range POS gateway: version 1", documents[2])

	guards := []func(http.Handler) http.Handler{
		s.authenticate(&strangers{perMinute: s.Limits.FailuresPerMinute, refused: traffic.limited.WithLabelValues("address")}, a.Fail),
		s.Limits.perRange(s.Credentials, traffic.limited.WithLabelValues("range"), a.Fail),
	}
	a.Mount(r, prefix1, version1, guards...)
	a.Mount(r, prefix2, version2, guards...)
	s.Screens.mount(r, traffic)
	return r
}

// ofRequest looks up what belongs to the range of a request.
func ofRequest[R any](find func(id uuid.UUID) (R, error)) func(context.Context) (R, error) {
	return func(ctx context.Context) (R, error) { return find(rangeOf(ctx)) }
}

// defect logs what is our own fault, under the trace id that the client was given.
func defect(r *http.Request, cause error, stack []byte) {
	logOf(r.Context()).Error().Err(cause).Bytes("stack", stack).
		Str("route", chi.RouteContext(r.Context()).RoutePattern()).Msg("defect")
}
