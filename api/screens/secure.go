package screens

import (
	"context"
	"net/http"
)

type securedKey struct{}

// Secured marks a request that a trusted proxy was asked over TLS.
func Secured(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), securedKey{}, true))
}

// Secure tells whether the browser asks over TLS, so that its cookies are to go nowhere else.
func Secure(r *http.Request) bool {
	return r.TLS != nil || r.Context().Value(securedKey{}) != nil
}
