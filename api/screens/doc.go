// Package screens is what the control screen and the lane screen have in common on the gateway's side: the headers that
// keep a page to itself, the files it is made of, the live stream, and the bound on wrong guesses.
package screens

import (
	"net/http"
	"time"
)

// Fail answers what a handler refuses, in the API's one shape.
type Fail func(http.ResponseWriter, *http.Request, error)

// Stamp is ISO 8601 in UTC, to the millisecond, as everywhere on the wire.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
