// Package screens is what the pages of the gateway share: the security headers, the files, the live stream, and the limits
// on wrong attempts and on open streams. The browser's part is in web/.
package screens

import (
	"net/http"

	"rangegate/api/endpoint"
)

// policy lets a page load files from this gateway only. It allows no inline script and no inline style, so that a
// customer's name can never become one.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Guard sets the security headers on every response of a screen, and refuses requests that a page of another site makes in
// the browser of a signed-in user. Browsers cache nothing unless its handler sets another Cache-Control.
func Guard(fail endpoint.FailFunc) func(http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, endpoint.Refusal("cross_site"))
	}))
	return func(next http.Handler) http.Handler {
		next = crossOrigin.Handler(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Set("Content-Security-Policy", policy)
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Referrer-Policy", "no-referrer")
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
			h.Set("Cross-Origin-Opener-Policy", "same-origin")
			h.Set("Cache-Control", "no-store")
			next.ServeHTTP(w, r)
		})
	}
}
