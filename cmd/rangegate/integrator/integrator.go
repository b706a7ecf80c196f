// Package integrator is a demo of what an integrator hosts (SPEC.md parts 4.4, 4.5 and 6): a products API with pictures,
// a webhook, and a page that shows what arrived and chooses how it is answered. It knows of the gateway only what is on
// the wire, and keeps everything in memory.
package integrator

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

//go:embed page pictures
var files embed.FS

// Settings is what an Integrator needs to know.
type Settings struct {
	Secrets []string // whsec_<base64>; an event is right when it is signed with one of them. None: nothing is checked
	Log     zerolog.Logger
	Now     func() time.Time // nil: time.Now. It stamps what arrives; a signature's age is told by the machine's clock
}

// Integrator answers for all paths. Close it before the server that it is in is shut down.
type Integrator struct {
	settings Settings
	keys     []*standardwebhooks.Webhook
	desk     *desk
	handler  http.Handler
	closed   chan struct{}
	close    sync.Once
}

// New is an Integrator that accepts everything until it is told otherwise. The error is a secret that is none; it does not
// quote it.
func New(s Settings) (*Integrator, error) {
	if s.Now == nil {
		s.Now = time.Now
	}
	in := &Integrator{settings: s, desk: newDesk(), closed: make(chan struct{})}
	for i, secret := range s.Secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil || !strings.HasPrefix(secret, "whsec_") {
			return nil, fmt.Errorf("integrator: secret %d is not whsec_ and base64", i+1)
		}
		in.keys = append(in.keys, key)
	}
	in.handler = in.routes()
	return in, nil
}

func (in *Integrator) ServeHTTP(w http.ResponseWriter, r *http.Request) { in.handler.ServeHTTP(w, r) }

// Close ends the open streams, and the answers that are held back, so that the server can shut down. It may be called
// again.
func (in *Integrator) Close() { in.close.Do(func() { close(in.closed) }) }

func (in *Integrator) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /products", in.products)
	mux.Handle("GET /pictures/{picture}", cached(http.FileServerFS(files)))
	mux.HandleFunc("POST /webhook", in.webhook)
	mux.HandleFunc("POST /answer", in.choose)
	mux.HandleFunc("GET /arrived", in.arrived)
	mux.HandleFunc("GET /stream", in.stream)
	page, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // only a name that is no path would be one
	}
	mux.Handle("GET /", http.FileServerFS(page))
	// Nobody else's page may choose the answer. The gateway, which is no browser, passes.
	return guarded(http.NewCrossOriginProtection().Handler(mux))
}

// guarded forbids the page everything that it does not need: what it shows comes from outside.
func guarded(next http.Handler) http.Handler {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache")
		next.ServeHTTP(w, r)
	})
}

// cached lets pictures be kept for an hour.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		next.ServeHTTP(w, r)
	})
}

// arrived is the list as the page has it, oldest first.
func (in *Integrator) arrived(w http.ResponseWriter, _ *http.Request) {
	list, _, _ := in.desk.since(0)
	answer(w, http.StatusOK, list)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who went away needs no answer
}

// fault answers a request that is not what its path takes.
func fault(w http.ResponseWriter, status int, sentence string) {
	answer(w, status, map[string]string{"error": sentence})
}
