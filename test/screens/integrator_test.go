package screens

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"rangegate/test/support"
)

// integrator is a webhook and a catalog. The way it answers purchases can be changed.
type integrator struct{ *support.Receiver }

// purchaseAnswer is how purchases are answered: accept, refuse with a message, or hang up:
// the connection breaks without an answer.
type purchaseAnswer struct {
	How     string `json:"how"`
	Message string `json:"message"`
}

func newIntegrator(t testing.TB) *integrator {
	i := &integrator{support.NewReceiver(t)}
	i.HandleFunc("GET /products", i.products)
	i.HandleFunc("GET /target.png", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(picture) })
	i.HandleFunc("GET /broken.png", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "no picture")
	})
	return i
}

// answerPurchases has the webhook answer purchases like this from now on.
func (i *integrator) answerPurchases(answer purchaseAnswer) {
	i.Respond(func(a support.Arrival, w http.ResponseWriter, r *http.Request) {
		switch {
		case a.Event != "purchaseRequest" || answer.How == "accept":
			support.Accept(a, w, r)
		case answer.How == "refuse":
			w.WriteHeader(http.StatusPaymentRequired)
			_ = json.NewEncoder(w).Encode(map[string]string{
				"error": "card", "user_message": answer.Message,
				"trace_id": "t",
			})
		default:
			panic(http.ErrAbortHandler)
		}
	})
}

// bodies are the events that have arrived.
func (i *integrator) bodies() []json.RawMessage {
	bodies := []json.RawMessage{}
	for _, a := range i.Arrived() {
		bodies = append(bodies, json.RawMessage(a.Body))
	}
	return bodies
}

func (i *integrator) products(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, map[string]string{
		"time": `[{"id":"time","display_name":"Lane time","price":0.50,"min_qty":15,"max_qty":60,"increment_by":15}]`,
		"targets": fmt.Sprintf(`[{"id":"bullseye","display_name":"Bullseye","price":1.10,"max_qty":3,"picture_url":"%s/target.png"},
			{"id":"zombie","display_name":"Zombie","price":2,"max_qty":5,"picture_url":"%s/broken.png"}]`, i.URL, i.URL),
		"ammo":    `[{"id":"9mm","display_name":"9 mm, box of 50","price":24.50,"max_qty":10,"picture_url":""}]`,
		"rentals": `[]`,
	}[r.URL.Query().Get("type")])
}

// picture is a PNG of one pixel.
var picture = []byte(
	"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
		"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")
