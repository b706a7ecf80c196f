package screens

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"

	"github.com/stretchr/testify/assert"
)

// stage does what a story asks for that no screen can do: it answers once that is done. It is also where a page of
// somebody else comes from.
func (h *house) stage() (url string) {
	var one sync.Mutex // request at a time
	mux := http.NewServeMux()
	on := func(path string, do func(r *http.Request)) {
		mux.HandleFunc("POST "+path, func(_ http.ResponseWriter, r *http.Request) {
			one.Lock()
			defer one.Unlock()
			do(r)
		})
	}
	on("/gateway/kill", func(*http.Request) { h.gateway.Kill() })
	on("/gateway/stop", func(*http.Request) { h.gateway.Terminate() })
	on("/gateway/start", func(*http.Request) { h.serve() })
	on("/till", func(r *http.Request) {
		var decided answer
		assert.NoError(h.t, json.NewDecoder(r.Body).Decode(&decided))
		h.till.mu.Lock()
		defer h.till.mu.Unlock()
		h.till.answer = decided
	})
	// The controller misses everything, while its connection stays open; and it comes back on another one.
	on("/lane/{n}/out-of-reach", func(r *http.Request) { h.controller(number(r)).HalfOpen(true) })
	on("/lane/{n}/within-reach", func(r *http.Request) {
		h.controller(number(r)).HalfOpen(false)
		h.controller(number(r)).Drop()
	})
	on("/lane/{n}/off", func(r *http.Request) {
		h.controller(number(r)).Refuse(true)
		h.controller(number(r)).Drop()
	})
	mux.HandleFunc("GET /lane/{n}", func(w http.ResponseWriter, r *http.Request) {
		shown := h.controller(number(r)).Shown()
		_ = json.NewEncoder(w).Encode(map[string]any{"open": shown.Open, "session": shown.Session})
	})
	mux.HandleFunc("GET /arrived", func(w http.ResponseWriter, _ *http.Request) {
		h.till.mu.Lock()
		defer h.till.mu.Unlock()
		_ = json.NewEncoder(w).Encode(append([]json.RawMessage{}, h.till.arrived...))
	})
	mux.HandleFunc("GET /elsewhere", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>Somebody else's page</title>")
	})
	server := httptest.NewServer(mux)
	h.t.Cleanup(server.Close)
	return server.URL
}

func number(r *http.Request) int {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		return 0
	}
	return n
}
