// Package integrator is a demo of an integrator's servers (SPEC.md parts 4.4, 4.5 and 6): a products API with
// pictures, a webhook, and a page that shows the events and chooses the answers. It pulls the events of a
// gateway as well, and has them sent again. It uses nothing of the gateway but its API and its requests, and
// keeps everything in memory.
package integrator

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

//go:embed page pictures
var files embed.FS

// Settings configures an Integrator.
type Settings struct {
	Secrets []string // whsec_<base64>; an event needs a signature of one of them. Empty: signatures are not checked
	Log     zerolog.Logger
	Now     func() time.Time // time of the arrivals. The age of a signature always depends on time.Now
}

// Integrator is the handler of all paths. Close it before its server shuts down.
type Integrator struct {
	http.Handler
	settings Settings
	keys     []*standardwebhooks.Webhook
	inbox    *inbox
	pulled   *eventLog
	ctx      context.Context // ends with Close
	close    context.CancelFunc
}

// New returns an Integrator that accepts every event at first. It fails for an invalid secret, which it does not quote.
func New(s Settings) (*Integrator, error) {
	ctx, cancel := context.WithCancel(context.Background())
	in := &Integrator{settings: s, inbox: newInbox(), pulled: newEventLog(), ctx: ctx, close: cancel}
	for i, secret := range s.Secrets {
		key, err := standardwebhooks.NewWebhook(secret)
		if err != nil || !strings.HasPrefix(secret, "whsec_") {
			return nil, fmt.Errorf("integrator: secret %d is not whsec_ and base64", i+1)
		}
		in.keys = append(in.keys, key)
	}
	in.Handler = in.routes()
	return in, nil
}

// Close ends open streams, hanging requests and Follow, so that the server can shut down. It may be called again.
func (in *Integrator) Close() { in.close() }

func (in *Integrator) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /products", in.products)
	mux.HandleFunc("GET /pictures/{picture}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		http.ServeFileFS(w, r, files, r.URL.Path)
	})
	mux.HandleFunc("POST /webhook", in.webhook)
	mux.HandleFunc("POST /answer", in.choose)
	mux.HandleFunc("POST /redeliver", in.sendAgain)
	mux.HandleFunc("GET /arrived", in.arrived)
	mux.HandleFunc("GET /stream", in.stream)
	page, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // "page" is a valid path
	}
	mux.Handle("GET /", http.FileServerFS(page))
	// Pages of other origins must not choose the answer. The gateway passes, as it is no browser.
	return secureHeaders(http.NewCrossOriginProtection().Handler(mux))
}

// secureHeaders forbids the page everything that it does not need, as it shows texts of others.
func secureHeaders(next http.Handler) http.Handler {
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

// arrived returns the page's list, oldest first.
func (in *Integrator) arrived(w http.ResponseWriter, _ *http.Request) {
	list, _, _ := in.inbox.since(0)
	answer(w, http.StatusOK, list)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails when the client is gone
}

// fault answers an invalid request.
func fault(w http.ResponseWriter, status int, sentence string) {
	answer(w, status, map[string]string{"error": sentence})
}

// product is a product of SPEC.md part 2. Only time has a minimum and a step.
type product struct {
	ID          string      `json:"id"`
	DisplayName string      `json:"display_name"`
	Price       json.Number `json:"price"` // per unit; of time, per minute
	MaxQty      int         `json:"max_qty"`
	MinQty      int         `json:"min_qty,omitempty"`
	IncrementBy int         `json:"increment_by,omitempty"`
	PictureURL  string      `json:"picture_url"`
}

// onSale are the products by type. The name of a product's picture is its id.
var onSale = map[string][]product{
	"time": {
		{ID: "time", DisplayName: "Lane time", Price: "0.40", MinQty: 15, MaxQty: 120, IncrementBy: 15},
	},
	"targets": {
		{ID: "bullseye", DisplayName: "Bull's-eye, 50 cm", Price: "1.20", MaxQty: 20},
		{ID: "silhouette", DisplayName: "Silhouette, life size", Price: "1.95", MaxQty: 20},
		{ID: "steel-plates", DisplayName: "Falling plates, one lane hour", Price: "9.50", MaxQty: 1},
	},
	"ammo": {
		{ID: "9mm-box-50", DisplayName: "9 mm, box of 50", Price: "18.90", MaxQty: 10},
		{ID: "22lr-box-100", DisplayName: ".22 LR, box of 100", Price: "12.50", MaxQty: 10},
		{ID: "12-gauge-box-25", DisplayName: "12 gauge, box of 25", Price: "14.75", MaxQty: 6},
	},
	"rentals": {
		{ID: "ear-muffs", DisplayName: "Ear muffs", Price: "3.00", MaxQty: 4},
		{ID: "safety-glasses", DisplayName: "Safety glasses", Price: "2.50", MaxQty: 4},
		{ID: "pistol", DisplayName: "Pistol, 9 mm", Price: "15.00", MaxQty: 1},
	},
}

// products is the products API. The addresses of the pictures have the host of the request.
func (in *Integrator) products(w http.ResponseWriter, r *http.Request) {
	sold, ok := onSale[r.URL.Query().Get("type")]
	if !ok {
		fault(w, http.StatusBadRequest, "type must be time, targets, ammo or rentals")
		return
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	list := make([]product, len(sold))
	for i, p := range sold {
		p.PictureURL = scheme + "://" + r.Host + "/pictures/" + p.ID + ".jpg"
		list[i] = p
	}
	answer(w, http.StatusOK, list)
}
