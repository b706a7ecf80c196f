package api

import (
	"fmt"
	"net/http"
	"path"
	"strconv"

	"rangegate/api/endpoint"
	"rangegate/api/request"
)

// maxProfileSeconds bounds how long a profile is taken: it makes everything slower for as long.
const maxProfileSeconds = 30

// recorded logs who downloads a profile of the process, and refuses one that takes longer than maxProfileSeconds. A CPU
// profile without seconds takes the 30 s of the library.
func recorded(profile http.HandlerFunc, fail endpoint.FailFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		seconds := r.URL.Query().Get("seconds")
		if n, err := strconv.Atoi(seconds); seconds != "" && (err != nil || n < 1 || n > maxProfileSeconds) {
			rule := fmt.Sprintf("must be a whole number from 1 to %d", maxProfileSeconds)
			fail(w, r, endpoint.Faults{"seconds": rule})
			return
		}
		line := request.Log(r.Context()).Info().Str("who", operatorOf(r.Context())).
			Str("from", request.Of(r.Context()).Client).Str("profile", path.Base(r.URL.Path))
		if seconds != "" {
			line = line.Str("seconds", seconds)
		}
		line.Msg("an operator downloads a profile of the process")
		profile(w, r)
	}
}
