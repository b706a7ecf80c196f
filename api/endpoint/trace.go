package endpoint

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strings"
)

type traceKey struct{}

// TraceID answers the trace id of a request, 32 hex digits; empty outside of a router made by API.Router.
func TraceID(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}

// traceHeader is as net/http writes it, which spares it the rewriting.
const traceHeader = "Trace-Id"

// trace gives every request a trace id and its context, and every response the header `trace-id` (WIRE.md, Errors).
func (a *API) trace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := newTraceID()
		if given := r.Header["Traceparent"]; len(given) == 1 {
			if theirs, ok := parentTrace(given[0]); ok {
				id = theirs
			}
		}
		w.Header().Set(traceHeader, id)
		ctx := context.WithValue(r.Context(), traceKey{}, id)
		if a.Context != nil {
			ctx = a.Context(ctx, id)
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// newTraceID is random, as good as no two are alike. It is no secret.
func newTraceID() string {
	var id [16]byte
	binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	return hex.EncodeToString(id[:])
}

// parentTrace reads the trace id of a W3C traceparent, version-trace-parent-flags. Version 00 is just that long; a later
// one, ff excepted, may go on after another dash. Neither id may be all zeros.
func parentTrace(s string) (id string, ok bool) {
	const length = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if len(s) < length || len(s) > length && (s[:2] == "00" || s[length] != '-') {
		return "", false
	}
	parts := strings.Split(s[:length], "-")
	if len(parts) != 4 {
		return "", false
	}
	for i, size := range []int{2, 32, 16, 2} {
		if len(parts[i]) != size || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return "", false
		}
	}
	zeros := strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == ""
	return parts[1], !zeros && parts[0] != "ff"
}
