// Package machinery is how the actors of the gateway are doing, for its operator: all ranges, one range, one lane with its
// latest commands, as JSON and as a page. No customer is named anywhere in it, and no actor is asked.
package machinery

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/machinery/web"
	"rangegate/api/screens"
	pages "rangegate/api/web"
	"rangegate/lanes"
)

// Range is what there is to know of a running range.
type Range interface {
	Layout() lanes.Layout
	Actors() lanes.ActorHealth
	// LaneActor is one of its lanes; found is false for any other.
	LaneActor(lane uuid.UUID) (health lanes.LaneHealth, found bool)
}

// Settings is what it is made of.
type Settings struct {
	Ranges func() []uuid.UUID // that are configured
	// Range is the running range with that id, or why there is none.
	Range func(id uuid.UUID) (Range, error)
	// Waiting is the messages that wait in mailboxes, by kind of actor.
	Waiting func() map[string]int
}

type machinery struct{ Settings }

// Mount puts it under /actors on the router. The page holds nothing, and is for everybody: what it shows it asks for with the
// token that it is given. All else is behind the guard.
func Mount(r chi.Router, a *endpoint.API, s Settings, guard func(http.Handler) http.Handler) {
	m := machinery{s}
	files := screens.Load(web.Files)
	own := screens.Guard(a.Fail)
	r.With(own).Get("/screens/*", screens.Load(pages.Files).Handler(a.Fail))
	r.With(own).Get("/assets/*", files.Handler(a.Fail))
	page := files.Page("page.html", a.Fail)
	a.Mount(r, "/actors", []endpoint.Endpoint{
		endpoint.Handle("GET", "/", 200, "How the actors are doing", readRange, m.overview, "not_found"),
		endpoint.Handle("GET", "/{lane_id}", 200, "How one lane's actors are doing, and its latest commands", readLane, m.lane,
			"lane_not_found"),
	}, own, toBrowsers(page), guard)
}

// toBrowsers gives the page to whoever asks for one.
func toBrowsers(page http.HandlerFunc) func(http.Handler) http.Handler {
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

// overview is of the range, or of all of them.
func (m machinery) overview(_ context.Context, only uuid.UUID) (overview, error) {
	ids := m.Ranges()
	if only != uuid.Nil {
		if !slices.Contains(ids, only) {
			return overview{}, endpoint.Refusal("not_found")
		}
		ids = []uuid.UUID{only}
	}
	all := newOverview(time.Now(), m.Waiting())
	for _, id := range ids {
		r, err := m.Range(id)
		if err != nil {
			all.away(id, err)
			continue
		}
		all.add(id, r.Layout(), r.Actors())
	}
	return all.bounded(), nil
}

// lane is the lane, of whichever range.
func (m machinery) lane(_ context.Context, id uuid.UUID) (laneView, error) {
	for _, rangeID := range m.Ranges() {
		r, err := m.Range(rangeID)
		if err != nil {
			continue
		}
		if health, found := r.LaneActor(id); found {
			return viewOf(time.Now(), rangeID, r.Layout().Name, health), nil
		}
	}
	return laneView{}, lanes.ErrLaneNotFound
}
