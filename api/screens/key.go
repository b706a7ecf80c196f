package screens

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"math"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/google/uuid"

	"rangegate/api/request"
)

// Key opens one screen that nobody signs in to. The screen's first address contains its secret; then a cookie
// that is derived from the secret replaces it, so that the secret remains in no history and no log.
type Key struct {
	Kind   string    // of the screen, the first part of its path: lane, board
	ID     uuid.UUID // of what it shows
	Secret string
}

// MaxWrongKeys is the maximum number of wrong keys a minute for a client's network.
const MaxWrongKeys = 5

// cookieMaxAge is the maximum that browsers allow, in seconds. The cookie becomes invalid with the secret.
const cookieMaxAge = 400 * 24 * 60 * 60

func (k Key) path() string { return "/" + k.Kind + "/" + k.ID.String() }

func (k Key) cookieName() string { return "rangegate_" + k.Kind }

// cookieValue is derived from the secret; the secret cannot be derived from it.
func (k Key) cookieValue() string { return k.Sign("screen", k.ID.String()) }

// Sign returns the MAC of a text, for one purpose.
func (k Key) Sign(purpose, text string) string {
	mac := hmac.New(sha256.New, []byte(k.Secret))
	mac.Write([]byte("rangegate " + k.Kind + " " + purpose + "\n" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Equal compares in constant time.
func Equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}

// HasCookie reports whether the request has the screen's cookie.
func (k Key) HasCookie(r *http.Request) bool {
	cookie, err := r.Cookie(k.cookieName())
	return err == nil && Equal(cookie.Value, k.cookieValue())
}

// Exchange compares the key in the address of the request. If it is the screen's, Exchange sets the cookie,
// redirects to the address without the key, and returns 303. Otherwise it writes no more than Retry-After,
// and returns the status of the refusal: 401, also if there is no such screen, or 429. configured is whether
// there is. The right key is taken whatever others of that network have sent: in production it has 128 random
// bits, which no number of guesses finds.
func (k Key) Exchange(
	w http.ResponseWriter, r *http.Request, configured bool, wrong *AttemptLimiter[netip.Prefix],
) (status int) {
	if match := Equal(r.URL.Query().Get("key"), k.Secret); !match || !configured {
		wait, ok := wrong.Reserve(request.ClientNetwork(r))
		if !ok {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			return http.StatusTooManyRequests
		}
		return http.StatusUnauthorized
	}
	http.SetCookie(w, &http.Cookie{
		Name: k.cookieName(), Value: k.cookieValue(), Path: k.path(), MaxAge: cookieMaxAge,
		HttpOnly: true, Secure: request.OverTLS(r), SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, k.path(), http.StatusSeeOther)
	return http.StatusSeeOther
}
