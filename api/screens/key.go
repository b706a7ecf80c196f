package screens

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/netip"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/api/request"
)

// Keyed checks the keys of one kind of screens that nobody signs in to: lane screens, wall boards. The first
// address of such a screen contains its key. Then a cookie that is derived from the key replaces it, so that the
// key remains in no history and no log.
type Keyed struct {
	Kind    string // of the screens, the first part of their path: lane, board
	IDName  string // of the id of what a screen shows, in its path and in the log: lane_id
	Name    string // of such a screen in the log: lane screen
	Refusal string // why a request without the cookie is refused
	Files   Files  // of the screens, among them Page, and refused.html for whoever has no key
	Page    string
	// Find returns the range and the key of a screen by the id of what it shows.
	Find func(id uuid.UUID) (rangeID uuid.UUID, key string, found bool)
	// WrongKeys limits wrong keys by network.
	WrongKeys *AttemptLimiter[netip.Prefix]
	Fail      endpoint.FailFunc
}

// Key opens one screen.
type Key struct {
	ID     uuid.UUID // of what the screen shows
	Range  uuid.UUID
	kind   string
	secret string
}

// MaxWrongKeys is the maximum number of wrong keys a minute for a client's network.
const MaxWrongKeys = 5

// cookieMaxAge is the maximum that browsers allow, in seconds. The cookie becomes invalid with the key.
const cookieMaxAge = 400 * 24 * 60 * 60

func (k Key) path() string { return "/" + k.kind + "/" + k.ID.String() }

func (k Key) cookieName() string { return "rangegate_" + k.kind }

// cookieValue is derived from the key; the key cannot be derived from it.
func (k Key) cookieValue() string { return k.Sign("screen", k.ID.String()) }

// Sign returns the MAC of a text, for one purpose.
func (k Key) Sign(purpose, text string) string {
	mac := hmac.New(sha256.New, []byte(k.secret))
	mac.Write([]byte("rangegate " + k.kind + " " + purpose + "\n" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Equal compares in constant time.
func Equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}

func (k Key) hasCookie(r *http.Request) bool {
	cookie, err := r.Cookie(k.cookieName())
	return err == nil && Equal(cookie.Value, k.cookieValue())
}

// find returns the key of the screen that a request's path names.
func (s Keyed) find(r *http.Request) (k Key, found bool) {
	id, err := uuid.Parse(chi.URLParam(r, s.IDName))
	rangeID, secret, found := s.Find(id)
	return Key{id, rangeID, s.Kind, secret}, err == nil && found
}

// authenticate returns the key of the screen that a request's path names. ok is false without its cookie.
func (s Keyed) authenticate(r *http.Request) (k Key, ok bool) {
	k, ok = s.find(r)
	return k, ok && k.hasCookie(r)
}

// RangeOfKey returns the range of a page whose address has a key: its owner alone counts wrong ones. Of every
// other page it is uuid.Nil: each node serves it itself.
func (s Keyed) RangeOfKey(r *http.Request) uuid.UUID {
	k, found := s.find(r)
	if !found || !r.URL.Query().Has("key") {
		return uuid.Nil
	}
	return k.Range
}

type screenKey struct{}

// KeyOf returns the key of the screen that sent a request behind RequireCookie.
func KeyOf(ctx context.Context) Key { return ctx.Value(screenKey{}).(Key) }

// RequireCookie refuses requests that do not come from the screen that their path names.
func (s Keyed) RequireCookie(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k, ok := s.authenticate(r)
		if !ok {
			s.Fail(w, r, endpoint.Refuse("unauthorized", s.Refusal, 0))
			return
		}
		request.SetRange(r.Context(), k.Range)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), screenKey{}, k)))
	})
}

// ServePage serves the page of a screen. An address with the key is exchanged for the cookie.
func (s Keyed) ServePage(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("key") {
		s.exchange(w, r)
		return
	}
	k, ok := s.authenticate(r)
	if !ok {
		s.refuse(w, http.StatusUnauthorized)
		return
	}
	request.SetRange(r.Context(), k.Range)
	s.Files.Page(s.Page, s.Fail)(w, r)
}

// exchange compares the key in the address of the request. If it is the screen's, exchange sets the cookie and
// redirects to the address without the key. The right key is taken whatever others of that network have sent: in
// production it has 128 random bits, which no number of guesses finds.
func (s Keyed) exchange(w http.ResponseWriter, r *http.Request) {
	k, found := s.find(r)
	if match := Equal(r.URL.Query().Get("key"), k.secret); !match || !found {
		if wait, ok := s.WrongKeys.Reserve(request.ClientNetwork(r)); !ok {
			endpoint.SetRetryAfter(w, wait)
			s.refuse(w, http.StatusTooManyRequests)
			return
		}
		request.Log(r.Context()).Warn().Stringer(s.IDName, k.ID).Msg("a wrong key of a " + s.Name)
		s.refuse(w, http.StatusUnauthorized)
		return
	}
	request.SetRange(r.Context(), k.Range)
	http.SetCookie(w, &http.Cookie{
		Name: k.cookieName(), Value: k.cookieValue(), Path: k.path(), MaxAge: cookieMaxAge,
		HttpOnly: true, Secure: request.OverTLS(r), SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, k.path(), http.StatusSeeOther)
}

// refuse serves the page which says that the address is not that of the screen.
func (s Keyed) refuse(w http.ResponseWriter, status int) { s.Files.Refusal(w, "refused.html", status) }
