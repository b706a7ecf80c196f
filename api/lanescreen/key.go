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

	"rangegate/api/screens"
)

const (
	cookieName = "rangegate_lane"
	// cookieLasts is as long as browsers allow. The cookie is worthless once the lane's key is another.
	cookieLasts = 400 * 24 * 60 * 60 // seconds
)

// proof is what the cookie of the lane's screen is: it can be made of the key, and the key not of it.
func (of Lane) proof(lane uuid.UUID) string {
	return of.signed("screen", lane.String())
}

// signed is the MAC of a text, for one purpose.
func (of Lane) signed(purpose, text string) string {
	mac := hmac.New(sha256.New, []byte(of.Key))
	mac.Write([]byte("rangegate lane " + purpose + "\n" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// same compares without telling by its time how much is alike.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}

// admits tells which lane a request is about, and whether its cookie is that lane's.
func (l *screen) admits(r *http.Request) (at theLane, admitted bool) {
	at, known := l.laneOf(r)
	if !known {
		return at, false
	}
	cookie, err := r.Cookie(cookieName)
	return at, err == nil && same(cookie.Value, at.proof(at.id))
}

// theLane is the lane that a request is about.
type theLane struct {
	Lane
	id uuid.UUID
}

func (l *screen) laneOf(r *http.Request) (theLane, bool) {
	id, err := uuid.Parse(chi.URLParam(r, "lane_id"))
	lane, known := l.Lanes[id]
	return theLane{lane, id}, err == nil && known
}

type laneKey struct{}

func laneIn(ctx context.Context) theLane { return ctx.Value(laneKey{}).(theLane) }

// admitted lets nobody in but the lane's own screen.
func (l *screen) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, admitted := l.admits(r)
		if !admitted {
			l.fail(w, r, stranger{})
			return
		}
		l.Note(r.Context(), at.Range)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), laneKey{}, at)))
	})
}

// page is the lane's screen. With the key in its address it is sent on to the address without, and the key stays in no
// history and no log.
func (l *screen) page(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("key") {
		l.open(w, r)
		return
	}
	at, admitted := l.admits(r)
	if !admitted {
		l.refuse(w, r, http.StatusUnauthorized)
		return
	}
	l.Note(r.Context(), at.Range)
	l.files.Page("lane.html", l.fail)(w, r)
}

func (l *screen) open(w http.ResponseWriter, r *http.Request) {
	from := l.Network(r.RemoteAddr)
	wait, ok := l.wrong.Take(from)
	if !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		l.refuse(w, r, http.StatusTooManyRequests)
		return
	}
	at, known := l.laneOf(r)
	if right := same(r.URL.Query().Get("key"), at.Key); !right || !known {
		l.Log(r.Context()).Warn().Stringer("lane", at.id).Msg("a wrong key of a lane screen")
		l.refuse(w, r, http.StatusUnauthorized)
		return
	}
	l.wrong.GiveBack(from)
	l.Note(r.Context(), at.Range)
	path := "/lane/" + at.id.String()
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: at.proof(at.id), Path: path, MaxAge: cookieLasts,
		HttpOnly: true, Secure: screens.Secure(r), SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// refuse says on a page that the address is not this lane's.
func (l *screen) refuse(w http.ResponseWriter, r *http.Request, status int) {
	l.files.Refusal("refused.html", status)(w, r)
}

// stranger is the refusal of what does not come from the lane's own screen.
type stranger struct{}

func (stranger) Error() string { return "this is not the screen of that lane" }

// Code is unauthorized.
func (stranger) Code() string { return "unauthorized" }
