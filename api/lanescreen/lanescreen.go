package lanescreen

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/lanescreen/web"
	"rangegate/api/screens"
)

// Settings is what the lane screens are made of.
type Settings struct {
	// Lanes are those that have a screen.
	Lanes map[uuid.UUID]Lane
	// Range is the running range with that id, or why there is none: lanes.ErrStarting, lanes.ErrNotOwner.
	Range func(id uuid.UUID) (Range, error)
	// Shop is the products of a range's integrator, or lanes.ErrProductsNotConfigured.
	Shop     func(rangeID uuid.UUID) (Shop, error)
	Pictures *Pictures
	// Network is whose address it is that a request comes from.
	Network func(remote string) netip.Prefix
	// Note is told which range a request is for.
	Note func(ctx context.Context, rangeID uuid.UUID)
	// Log is for what is to be said of a request.
	Log     func(ctx context.Context) *zerolog.Logger
	Closing <-chan struct{}  // closed when the gateway stops: open streams end
	Streams prometheus.Gauge // that are open
}

// Lane is a lane that has a screen.
type Lane struct {
	Range uuid.UUID
	Key   string
}

const (
	streamsAtMost = 8 // open at a time for one lane
	wrongAtMost   = 5 // wrong keys a minute of one address
)

type screen struct {
	Settings
	wrong   *screens.Attempts[netip.Prefix]
	streams map[uuid.UUID]screens.Places
	files   screens.Files
	fail    screens.Fail
}

// Mount puts every route of the lane screens on the router.
func Mount(r chi.Router, a *endpoint.API, s Settings) {
	l := &screen{
		Settings: s, wrong: screens.NewAttempts[netip.Prefix](wrongAtMost), streams: map[uuid.UUID]screens.Places{},
		files: screens.Load(web.Files), fail: a.Fail,
	}
	for id := range s.Lanes {
		l.streams[id] = make(screens.Places, streamsAtMost)
	}
	r.Route("/lane", func(r chi.Router) {
		r.Use(screens.Guard(a.Fail))
		r.Get("/assets/*", l.files.Handler(a.Fail))
		r.Route("/{lane_id:[0-9a-fA-F-]{36}}", func(r chi.Router) {
			r.Get("/", l.page)
			r.With(l.admitted).Get("/stream", l.stream)
			r.With(l.admitted).Get("/picture", l.picture)
			for path, e := range l.endpoints() {
				a.Mount(r, path, []endpoint.Endpoint{e}, l.admitted)
			}
		})
	})
}

func (l *screen) endpoints() map[string]endpoint.Endpoint {
	codes := func(own ...string) []string {
		return append(own, "unauthorized", "starting", "not_owner", "store_unavailable", "overloaded", "session_not_found", "session_ended")
	}
	return map[string]endpoint.Endpoint{
		"/start":    endpoint.Handle("POST", "/", http.StatusNoContent, "The customer has entered the lane", readStart, l.start, codes("not_waiting")...),
		"/help":     endpoint.Handle("POST", "/", http.StatusNoContent, "Call for help", endpoint.NoInput, l.help, codes()...),
		"/products": endpoint.Handle("GET", "/", http.StatusOK, "What can be bought", endpoint.NoInput, l.products, codes("no_purchasing", "products_not_configured", "products_failed")...).WithoutTimeout(),
		"/purchase": endpoint.Handle("POST", "/", http.StatusAccepted, "Buy", readPurchase, l.buy,
			codes("no_purchasing", "purchase_pending", "purchase_malformed", "too_many_unresolved", "duration_out_of_range")...),
	}
}
