package screens

import "net/http"

// policy lets a page load what it is made of from this gateway, and nothing from anywhere else. There is no inline
// script and no inline style, so that a customer's name can never become one.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Guard puts the headers on every answer of a screen, and refuses what another site's page asks for in the browser of
// somebody who is signed in here. Nothing is kept by a browser unless its handler says otherwise.
func Guard(fail Fail) func(http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fail(w, r, crossSite{}) }))
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

// crossSite is the refusal of a request that another site's page made.
type crossSite struct{}

func (crossSite) Error() string { return "the request comes from a page of another site" }

// Code is cross_site.
func (crossSite) Code() string { return "cross_site" }
