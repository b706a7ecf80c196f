// Package observer shows the gateway's actors to its operator: all ranges, one range, or one lane with its latest
// commands, as JSON and as a page. It names no customer and sends no actor a message.
package observer

import (
	"context"
	"embed"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/routing"
	"rangegate/api/screens"
	"rangegate/lanes"
)

//go:embed web/*.html web/*.css web/*.js web/*.svg
var web embed.FS

// Range is the part of a running range that is shown.
type Range interface {
	Layout() lanes.Layout
	Actors() lanes.ActorHealth
	// LaneActor returns the health of one of the range's lanes.
	LaneActor(lane uuid.UUID) (health lanes.LaneHealth, found bool)
}

// Settings is what the status is read from.
type Settings struct {
	Ranges func() []uuid.UUID // the configured ones
	// Range returns the running range with that id, or the reason why there is none.
	Range func(id uuid.UUID) (Range, error)
	// Router hands on what is asked of one range that another node owns; nil: this process serves every range.
	Router *routing.Router
	// Waiting returns the number of messages in mailboxes, by kind of actor.
	Waiting func() map[string]int
}

// Mount puts the status under /actors, behind the guard. The page is public: it gets its data with the
// operator's token.
func Mount(r chi.Router, a *endpoint.API, s Settings, guard func(http.Handler) http.Handler) {
	files := screens.Load(web)
	headers := screens.Guard(a.Fail)
	r.With(headers).Get("/screens/*", screens.SharedFiles().Handler(a.Fail))
	r.With(headers).Get("/assets/*", files.Handler(a.Fail))
	a.Mount(r, "/actors", []endpoint.Endpoint{
		endpoint.Handle("GET", "/", 200, "The actors of all ranges, or of one", readRange, s.overview),
		endpoint.Handle("GET", "/{lane_id}", 200, "The actors of one lane, and its latest commands", readLane, s.lane),
	}, headers, servePageToBrowsers(files.Page("page.html", a.Fail)), guard, s.Router.Route(a.Fail, s.ofQuery))
}

// ofQuery is the destination of a request that names its range. What names none is answered of the ranges of this node.
func (s Settings) ofQuery(r *http.Request) (uuid.UUID, routing.Way) {
	id, err := uuid.Parse(r.URL.Query().Get("range"))
	if err != nil || !slices.Contains(s.Ranges(), id) {
		return uuid.Nil, routing.Operation
	}
	return id, routing.Operation
}

// servePageToBrowsers serves the page to clients that accept HTML.
func servePageToBrowsers(page http.HandlerFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Vary", "Accept")
			if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
				page(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func readRange(in *endpoint.Input) uuid.UUID {
	return in.QueryOptionalID("range", "The range; all of them when none is given")
}

func readLane(in *endpoint.Input) uuid.UUID { return in.PathID("lane_id", "Lane") }

// overview shows one range, or all of them for uuid.Nil.
func (s Settings) overview(_ context.Context, rangeID uuid.UUID) (overview, error) {
	ids := s.Ranges()
	if rangeID != uuid.Nil {
		if !slices.Contains(ids, rangeID) {
			return overview{}, endpoint.Refusal("not_found")
		}
		ids = []uuid.UUID{rangeID}
	}
	all := newOverview(time.Now(), s.Waiting())
	for _, id := range ids {
		if owner, elsewhere := s.Router.Elsewhere(id); elsewhere {
			all.addElsewhere(id, owner.Name)
			continue
		}
		r, err := s.Range(id)
		if err != nil {
			all.addNotRunning(id, err)
			continue
		}
		all.add(id, r.Layout(), r.Actors())
	}
	return all.bounded(), nil
}

// lane shows a lane of any range.
func (s Settings) lane(_ context.Context, id uuid.UUID) (laneView, error) {
	for _, rangeID := range s.Ranges() {
		r, err := s.Range(rangeID)
		if err != nil {
			continue
		}
		if health, found := r.LaneActor(id); found {
			return viewOf(time.Now(), rangeID, r.Layout().Name, health), nil
		}
	}
	return laneView{}, lanes.ErrLaneNotFound
}
