package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/process"
)

// integrator is the other side of the demo range: it keeps the bodies that its webhook got, and offers products.
type integrator struct {
	*httptest.Server
	mu     sync.Mutex
	got    []string
	status int    // of every answer
	says   string // its body
}

func newIntegrator(t testing.TB) *integrator {
	i := &integrator{status: 200, says: `{"success":true,"trace_id":"t"}`}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhook", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		i.mu.Lock()
		defer i.mu.Unlock()
		i.got = append(i.got, string(body))
		w.WriteHeader(i.status)
		_, _ = io.WriteString(w, i.says)
	})
	mux.HandleFunc("GET /products", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, offered(r.URL.Query().Get("type"), r.Header.Get("session-id")))
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// offered is what is for sale. The name of the ammunition tells who asks.
func offered(kind, session string) string {
	switch kind {
	case "time":
		return `[{"id":"time","display_name":"Lane time","price":0.50,"max_qty":120,"min_qty":15,"increment_by":15}]`
	case "ammo":
		return `[{"id":"9mm","display_name":"9 mm for ` + session + `","price":24.50,"max_qty":4,"picture_url":"http://pos.example/9.jpg"}]`
	}
	return `[]`
}

// answers makes the integrator answer so from now on.
func (i *integrator) answers(status int, body string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status, i.says = status, body
}

// arrived is the bodies that the webhook got since the last time that somebody asked.
func (i *integrator) arrived() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	got := i.got
	i.got = nil
	return got
}

// openWith serves the demo range with the integrator beside it.
func openWith(t testing.TB, i *integrator) pos {
	cfg := configuration(t)
	with := "    purchasing: true\n    webhook: {url: \"" + i.URL + "/webhook\"}\n    products: {url: \"" + i.URL + "\"}\n"
	require.Contains(t, cfg, "    purchasing: true\n")
	p := process.Serve(t, strings.Replace(cfg, "    purchasing: true\n", with, 1)).Ready()
	return pos{t, process.Client{API: p.API, Range: rangeID, Token: token}}
}
