package screens

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// till is the integrator: a catalog, and a webhook that writes down what comes in.
type till struct {
	t   testing.TB
	url string

	mu      sync.Mutex
	arrived []json.RawMessage
	answer  answer // to purchases
}

// answer is how purchases are answered: accept, refuse with a message, or hang.
type answer struct {
	How     string `json:"how"`
	Message string `json:"message"`
}

func newTill(t testing.TB) *till {
	p := &till{t: t, answer: answer{How: "accept"}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhook", p.webhook)
	mux.HandleFunc("GET /products", p.products)
	mux.HandleFunc("GET /target.png", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(picture) })
	mux.HandleFunc("GET /broken.png", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "no picture") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	p.url = server.URL
	return p
}

func (p *till) webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway was killed in the middle of it
	}
	var event struct{ Event string }
	if !assert.NoError(p.t, json.Unmarshal(body, &event), string(body)) {
		return
	}
	p.mu.Lock()
	p.arrived = append(p.arrived, body)
	decided := p.answer
	p.mu.Unlock()
	switch {
	case event.Event != "purchaseRequest" || decided.How == "accept":
		_, _ = io.WriteString(w, `{"success":true,"trace_id":"of the till"}`)
	case decided.How == "refuse":
		w.WriteHeader(http.StatusPaymentRequired)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": "card", "user_message": decided.Message, "trace_id": "of the till"})
	default:
		<-r.Context().Done()
	}
}

func (p *till) products(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, map[string]string{
		"time": `[{"id":"time","display_name":"Lane time","price":0.50,"min_qty":15,"max_qty":60,"increment_by":15}]`,
		"targets": fmt.Sprintf(`[{"id":"bullseye","display_name":"Bullseye","price":1.10,"max_qty":3,"picture_url":"%s/target.png"},
			{"id":"zombie","display_name":"Zombie","price":2,"max_qty":5,"picture_url":"%s/broken.png"}]`, p.url, p.url),
		"ammo":    `[{"id":"9mm","display_name":"9 mm, box of 50","price":24.50,"max_qty":10,"picture_url":""}]`,
		"rentals": `[]`,
	}[r.URL.Query().Get("type")])
}

// picture is a PNG of one pixel.
var picture = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")
