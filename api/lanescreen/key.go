package lanescreen

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
	"rangegate/api/screens"
)

// screenLane is a lane with its id.
type screenLane struct {
	Lane
	id uuid.UUID
}

// key returns the key of the lane's screen.
func (l screenLane) key() screens.Key { return screens.Key{Kind: "lane", ID: l.id, Secret: l.Key} }

// find returns the lane that a request's path names.
func (l *screen) find(r *http.Request) (lane screenLane, ok bool) {
	id, err := uuid.Parse(chi.URLParam(r, "lane_id"))
	found, ok := l.Lanes[id]
	return screenLane{found, id}, err == nil && ok
}

// authenticate returns the lane that a request's path names. ok is false without the lane's cookie.
func (l *screen) authenticate(r *http.Request) (lane screenLane, ok bool) {
	lane, ok = l.find(r)
	return lane, ok && lane.key().HasCookie(r)
}

type laneKey struct{}

// laneOf returns the lane of a request behind requireCookie.
func laneOf(ctx context.Context) screenLane { return ctx.Value(laneKey{}).(screenLane) }

// requireCookie refuses requests that do not come from the lane's own screen.
func (l *screen) requireCookie(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lane, ok := l.authenticate(r)
		if !ok {
			l.fail(w, r, endpoint.Refuse("unauthorized", "this is not the screen of that lane", 0))
			return
		}
		request.SetRange(r.Context(), lane.Range)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), laneKey{}, lane)))
	})
}

// page serves the lane's screen. It redirects an address with the key, so that the key remains in no history
// and no log.
func (l *screen) page(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("key") {
		l.exchangeKey(w, r)
		return
	}
	lane, ok := l.authenticate(r)
	if !ok {
		l.refuse(w, http.StatusUnauthorized)
		return
	}
	request.SetRange(r.Context(), lane.Range)
	l.files.Page("lane.html", l.fail)(w, r)
}

// exchangeKey checks the key in the address and sets the cookie.
func (l *screen) exchangeKey(w http.ResponseWriter, r *http.Request) {
	lane, found := l.find(r)
	switch status := lane.key().Exchange(w, r, found, l.WrongKeys); status {
	case http.StatusSeeOther:
		request.SetRange(r.Context(), lane.Range)
	case http.StatusUnauthorized:
		request.Log(r.Context()).Warn().Stringer("lane_id", lane.id).Msg("a wrong key of a lane screen")
		fallthrough
	default:
		l.refuse(w, status)
	}
}

// refuse serves the page which says that the address is not this lane's.
func (l *screen) refuse(w http.ResponseWriter, status int) {
	l.files.Refusal(w, "refused.html", status)
}
