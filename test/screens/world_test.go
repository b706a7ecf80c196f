package screens

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"rangegate/lanes"
)

// world is a server that does what a story asks for and no screen can do. It answers when that is done. It
// also has a page of another site.
func (f *fixture) world() (url string) {
	var mu sync.Mutex // request at a time
	mux := http.NewServeMux()
	on := func(path string, do func(r *http.Request)) {
		mux.HandleFunc("POST "+path, func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			do(r)
		})
	}
	on("/gateway/kill", func(*http.Request) { f.gateway.Kill() })
	on("/gateway/freeze", func(*http.Request) { f.gateway.Signal(syscall.SIGSTOP) })
	on("/gateway/thaw", func(*http.Request) { f.gateway.Signal(syscall.SIGCONT) })
	on("/gateway/stop", func(*http.Request) { f.gateway.Terminate() })
	on("/gateway/start", func(*http.Request) { f.serve() })
	mux.HandleFunc("GET /operations", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(w, f.gateway.Operations)
	})
	on("/purchases", func(r *http.Request) {
		var answer purchaseAnswer
		assert.NoError(f.t, json.NewDecoder(r.Body).Decode(&answer))
		f.integrator.answerPurchases(answer)
	})
	reload := func(setting, changed string) {
		f.gateway.Configure(strings.Replace(f.config.String(), setting, changed, 1))
		assert.Equal(f.t, http.StatusOK, f.gateway.Operate("POST", "/reload", "").Status)
	}
	// A reload gives the wall board another key, and shows customers' names on it; or the screen of a lane another key.
	on("/board/{key}", func(r *http.Request) {
		reload(boardSetting, "board: {key: "+r.PathValue("key")+", names: true}")
	})
	on("/lane/{n}/key/{key}", func(r *http.Request) { reload(screenKey(laneNumber(r)), r.PathValue("key")) })
	// The controller misses everything, while its connection stays open; and it comes back on another one.
	on("/lane/{n}/out-of-reach", func(r *http.Request) { f.controllers.Controller(laneNumber(r)).HalfOpen(true) })
	on("/lane/{n}/within-reach", func(r *http.Request) {
		f.controllers.Controller(laneNumber(r)).HalfOpen(false)
		f.controllers.Controller(laneNumber(r)).Drop()
	})
	// The customer buys minutes at the lane's hardware.
	on("/lane/{n}/buys/{minutes}", func(r *http.Request) {
		minutes, err := strconv.Atoi(r.PathValue("minutes"))
		assert.NoError(f.t, err)
		assert.NoError(f.t, f.controllers.Controller(laneNumber(r)).Buy(uuid.New(),
			lanes.Item{ID: lanes.TimeItem, Qty: minutes}))
	})
	on("/lane/{n}/left", func(r *http.Request) { f.controllers.Controller(laneNumber(r)).Leave() })
	on("/lane/{n}/off", func(r *http.Request) {
		f.controllers.Controller(laneNumber(r)).Refuse(true)
		f.controllers.Controller(laneNumber(r)).Drop()
	})
	on("/lane/{n}/on", func(r *http.Request) { f.controllers.Controller(laneNumber(r)).Refuse(false) })
	// The store of a story that has one in Redis takes nothing and answers nothing, and then goes on.
	on("/store/hang", func(*http.Request) { f.redis.Hang() })
	on("/store/wake", func(*http.Request) { f.redis.Wake() })
	mux.HandleFunc("GET /lane/{n}", func(w http.ResponseWriter, r *http.Request) {
		shown := f.controllers.Controller(laneNumber(r)).Shown()
		_ = json.NewEncoder(w).Encode(map[string]any{"open": shown.Open, "session": shown.Session})
	})
	mux.HandleFunc("GET /arrived", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(f.integrator.bodies())
	})
	mux.HandleFunc("GET /elsewhere", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!DOCTYPE html><title>Somebody else's page</title>")
	})
	server := httptest.NewServer(mux)
	f.t.Cleanup(server.Close)
	return server.URL
}

func laneNumber(r *http.Request) int {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		return 0
	}
	return n
}
