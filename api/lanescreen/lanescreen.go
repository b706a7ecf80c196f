// Package lanescreen is the lane screen: a shooter sees the session's time, starts it, calls for help, and
// buys. The page is in web/.
//
// A lane's screen authenticates with the lane's own key, which its first address contains; then a cookie
// derived from the key replaces it. It shows that one lane only and changes no other.
package lanescreen

import (
	"context"
	"embed"
	"net/http"
	"net/netip"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"rangegate/api/endpoint"
	"rangegate/api/routing"
	"rangegate/api/screens"
	"rangegate/catalog"
	"rangegate/lanes"
)

//go:embed web/*.html web/*.css web/*.js
var web embed.FS

// Range is the part of a running range that a lane screen uses.
type Range interface {
	Layout() lanes.Layout
	Now() lanes.Instant
	// LaneStatus returns the lane as it is now. found is false if the range does not have it.
	LaneStatus(lane uuid.UUID) (status lanes.LaneStatus, found bool)
	// LaneChange returns it with the version of its newest change, above 0, and a channel that is closed at
	// its next change.
	LaneChange(lane uuid.UUID) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool)
	// SessionChange is LaneChange of the lane that the session is on.
	SessionChange(session uuid.UUID) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool)
	// Ended is closed when the range stops here, or another process owns it.
	Ended() <-chan struct{}
	// LaneOn sends a command of the shooter to the lane.
	LaneOn(ctx context.Context, lane uuid.UUID, c lanes.Command) (*lanes.SessionView, error)
	// LaneBuy begins a purchase. The screen chooses the id, so that repeating is safe. Changes reports the outcome.
	LaneBuy(ctx context.Context, lane, session, purchase uuid.UUID, items []lanes.Item) error
}

// Shop is the integrator's products API.
type Shop interface {
	// All returns the products of every type, as the integrator offers them to the session's customer.
	All(ctx context.Context, session string) (catalog.Catalogue, error)
	// Fetch returns those of one type.
	Fetch(ctx context.Context, t catalog.Type, session string) ([]catalog.Product, error)
}

// Settings is what the lane screens are configured with.
type Settings struct {
	// Lanes are the lanes that have a screen.
	Lanes map[uuid.UUID]Lane
	// Range returns the running range with that id, or the reason why there is none: lanes.ErrStarting,
	// lanes.ErrNotOwner.
	Range func(id uuid.UUID) (Range, error)
	// Shop returns the products of the range's integrator, or lanes.ErrProductsNotConfigured.
	Shop     func(rangeID uuid.UUID) (Shop, error)
	Pictures *Pictures
	Router   *routing.Router // hands on what other nodes own; nil: this process serves every range
	// WrongKeys limits wrong keys of lanes. It outlives a reload.
	WrongKeys *screens.AttemptLimiter[netip.Prefix]
	Closing   <-chan struct{}  // closed when the gateway stops; open streams end
	Streams   prometheus.Gauge // number of open streams
}

// Lane is a lane that has a screen.
type Lane struct {
	Range uuid.UUID
	Key   string
}

// maxStreams is the maximum number of open streams of one lane.
const maxStreams = 8

type screen struct {
	Settings
	streams *screens.SlotTable
	keys    screens.Keyed
	fail    endpoint.FailFunc
}

// Mount puts every route of the lane screens on the router.
func Mount(r chi.Router, a *endpoint.API, s Settings) {
	l := &screen{
		Settings: s, streams: screens.NewSlotTable(maxStreams), fail: a.Fail,
		keys: screens.Keyed{
			Kind: "lane", IDName: "lane_id", Name: "lane screen", Refusal: "this is not the screen of that lane",
			Files: screens.Load(web), Page: "lane.html", WrongKeys: s.WrongKeys, Fail: a.Fail,
			Find: func(id uuid.UUID) (rangeID uuid.UUID, key string, found bool) {
				lane, found := s.Lanes[id]
				return lane.Range, lane.Key, found
			},
		},
	}
	r.Route("/lane", func(r chi.Router) {
		r.Use(screens.Guard(a.Fail))
		r.Get("/assets/*", l.keys.Files.Handler(a.Fail))
		r.Route("/{lane_id:[0-9a-fA-F-]{36}}", func(r chi.Router) {
			r.With(l.Router.Route(a.Fail, l.keyDestination)).Get("/", l.keys.ServePage)
			r.With(l.keys.RequireCookie, l.route(routing.Stream)).Get("/stream", l.stream)
			r.With(l.keys.RequireCookie, l.route(routing.Integrator)).Get("/picture", l.picture)
			for path, e := range l.endpoints() {
				way := routing.Request
				if path == "/products" || path == "/time" {
					way = routing.Integrator
				}
				a.Mount(r, path, []endpoint.Endpoint{e}, l.keys.RequireCookie, l.route(way))
			}
		})
	})
}

// route is the middleware behind RequireCookie that hands requests on to the node that owns the lane's range.
// Pictures too: one node keeps them, and its connections to the integrator's server are all that there are.
func (l *screen) route(way routing.Way) func(http.Handler) http.Handler {
	return l.Router.Route(l.fail, routing.OfRange(way))
}

// keyDestination returns the range that compares the key in the address of a page, if it has one.
func (l *screen) keyDestination(r *http.Request) (uuid.UUID, routing.Way) {
	return l.keys.RangeOfKey(r), routing.SignIn
}

func (l *screen) endpoints() map[string]endpoint.Endpoint {
	return map[string]endpoint.Endpoint{
		"/start": endpoint.Handle("POST", "/", 204, "The customer has entered the lane", readStart,
			endpoint.WithTarget(l.target, start)),
		"/help": endpoint.Handle("POST", "/", 204, "Call for help", endpoint.NoInput,
			endpoint.WithTarget(l.target, callHelp)),
		"/products": endpoint.Handle("GET", "/", 200, "What can be bought", endpoint.NoInput,
			endpoint.WithTarget(l.target, l.products)).
			WithoutTimeout(),
		"/time": endpoint.Handle("GET", "/", 200, "The time that can be bought", endpoint.NoInput,
			endpoint.WithTarget(l.target, l.time)).
			WithoutTimeout(),
		"/purchase": endpoint.Handle("POST", "/", 202, "Buy", readPurchase, l.buy),
	}
}

// target is the lane of a request and its running range.
type target struct {
	Range
	lane screens.Key
}

func (l *screen) target(ctx context.Context) (target, error) {
	lane := screens.KeyOf(ctx)
	r, err := l.Range(lane.Range)
	return target{r, lane}, err
}

// readStart reads the session that the shooter sees, so that an outdated screen does not start the next session.
func readStart(in *endpoint.Input) lanes.Enter {
	return lanes.Enter{Session: in.ID("session_id", "The session on the lane", endpoint.ExampleID)}
}

func start(ctx context.Context, t target, enter lanes.Enter) (endpoint.Empty, error) {
	_, err := t.LaneOn(ctx, t.lane.ID, enter)
	return endpoint.Empty{}, err
}

func callHelp(ctx context.Context, t target, _ endpoint.Empty) (endpoint.Empty, error) {
	_, err := t.LaneOn(ctx, t.lane.ID, lanes.CallHelp{})
	return endpoint.Empty{}, err
}
