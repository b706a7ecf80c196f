package wire

import (
	"io"
	"net/http"
	"testing"

	"rangegate/test/support"
)

// newIntegrator is a webhook that accepts everything, and offers products.
func newIntegrator(t testing.TB) *support.Receiver {
	r := support.NewReceiver(t)
	r.HandleFunc("GET /products", func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.WriteString(w, products(request.URL.Query().Get("type"), request.Header.Get("session-id")))
	})
	return r
}

// products is what is for sale. The name of the ammunition has the session that asks.
func products(kind, session string) string {
	switch kind {
	case "time":
		return `[{"id":"time","display_name":"Lane time","price":0.50,"max_qty":120,"min_qty":15,"increment_by":15}]`
	case "ammo":
		return `[{"id":"9mm","display_name":"9 mm for ` + session +
			`","price":24.50,"max_qty":4,"picture_url":"http://pos.example/9.jpg"}]`
	}
	return `[]`
}

// bodies are those that the webhook got.
func bodies(r *support.Receiver) (all []string) {
	for _, a := range r.Arrived() {
		all = append(all, a.Body)
	}
	return all
}

// serveWith serves the first range with the integrator beside it.
func serveWith(t testing.TB, r *support.Receiver) posClient {
	_, pos := serveConfig(t, newConfig(support.NewSQLite(t), r.Setting(), r.ProductsSetting()))
	return pos
}
