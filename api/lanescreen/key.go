package lanescreen

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"math"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
)

const (
	cookieName = "rangegate_lane"
	// cookieMaxAge is the maximum that browsers allow, in seconds. The cookie becomes invalid with the lane's key.
	cookieMaxAge = 400 * 24 * 60 * 60
)

// cookieValue returns the cookie of the lane's screen. It is derived from the key; the key cannot be derived from it.
func (l Lane) cookieValue(lane uuid.UUID) string { return l.sign("screen", lane.String()) }

// sign returns the MAC of a text, for one purpose.
func (l Lane) sign(purpose, text string) string {
	mac := hmac.New(sha256.New, []byte(l.Key))
	mac.Write([]byte("rangegate lane " + purpose + "\n" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// equal compares in constant time.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}

// screenLane is a lane with its id.
type screenLane struct {
	Lane
	id uuid.UUID
}

// find returns the lane that a request's path names.
func (l *screen) find(r *http.Request) (lane screenLane, ok bool) {
	id, err := uuid.Parse(chi.URLParam(r, "lane_id"))
	found, ok := l.Lanes[id]
	return screenLane{found, id}, err == nil && ok
}

// authenticate returns the lane that a request's path names. ok is false without the lane's cookie.
func (l *screen) authenticate(r *http.Request) (lane screenLane, ok bool) {
	lane, ok = l.find(r)
	if !ok {
		return lane, false
	}
	cookie, err := r.Cookie(cookieName)
	return lane, err == nil && equal(cookie.Value, lane.cookieValue(lane.id))
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

// page serves the lane's screen. It redirects an address with the key, so that the key remains in no history and no log.
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
	from := request.ClientNetwork(r)
	wait, ok := l.WrongKeys.Reserve(from)
	if !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		l.refuse(w, http.StatusTooManyRequests)
		return
	}
	lane, found := l.find(r)
	if match := equal(r.URL.Query().Get("key"), lane.Key); !match || !found {
		request.Log(r.Context()).Warn().Stringer("lane_id", lane.id).Msg("a wrong key of a lane screen")
		l.refuse(w, http.StatusUnauthorized)
		return
	}
	l.WrongKeys.Refund(from)
	request.SetRange(r.Context(), lane.Range)
	path := "/lane/" + lane.id.String()
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: lane.cookieValue(lane.id), Path: path, MaxAge: cookieMaxAge,
		HttpOnly: true, Secure: request.OverTLS(r), SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// refuse serves the page which says that the address is not this lane's.
func (l *screen) refuse(w http.ResponseWriter, status int) {
	l.files.Refusal(w, "refused.html", status)
}
