package integrator

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

const (
	secret  = "whsec_YSBzZWNyZXQgb2YgdGhlIHRlc3RzLCBubyBvdGhlcg=="
	another = "whsec_dGhlIHNlY3JldCB0aGF0IGNvbWVzIGFmdGVyIGl0"

	purchase = `{"event":"purchaseRequest","session_id":"7d1c8a9e-0000-4000-8000-000000000001",` +
		`"lane_id":"44444444-4444-4444-8444-000000000007","items":[{"id":"9mm-box-50","qty":2},{"id":"time","qty":30}]}`
	started = `{"event":"sessionStarted","session_id":"7d1c8a9e-0000-4000-8000-000000000001",` +
		`"lane_id":"44444444-4444-4444-8444-000000000007"}`
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// rig is a demo integrator on loopback.
type rig struct {
	t      *testing.T
	in     *Integrator
	server *httptest.Server
}

func newRig(t *testing.T, secrets ...string) *rig {
	in, err := New(Settings{Secrets: secrets, Log: zerolog.Nop(), Now: func() time.Time { return noon }})
	require.NoError(t, err)
	r := &rig{t, in, httptest.NewServer(in)}
	t.Cleanup(r.server.Close)
	t.Cleanup(in.Close)
	return r
}

// signed is an event as the gateway sends it, signed at that time with the secrets.
func (r *rig) signed(body string, at time.Time, secrets ...string) *http.Request {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.server.URL+"/webhook", bytes.NewBufferString(body))
	require.NoError(r.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("range-id", "11111111-1111-4111-8111-111111111111")
	request.Header.Set("webhook-id", "msg_1")
	request.Header.Set("webhook-timestamp", jsonOf(at.Unix()))
	signatures := ""
	for _, each := range secrets {
		key, err := standardwebhooks.NewWebhook(each)
		require.NoError(r.t, err)
		signature, err := key.Sign("msg_1", at, []byte(body))
		require.NoError(r.t, err)
		signatures += " " + signature
	}
	if signatures != "" {
		request.Header.Set("webhook-signature", signatures[1:])
	}
	return request
}

// sends is the status and the body of what the request is answered.
func (r *rig) sends(request *http.Request) (int, string) {
	response, err := r.server.Client().Do(request)
	require.NoError(r.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return response.StatusCode, string(body)
}

// event sends an event that is not signed.
func (r *rig) event(body string) (int, string) { return r.sends(r.signed(body, time.Now())) }

func (r *rig) choose(body string) (int, string) {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.server.URL+"/answer", bytes.NewBufferString(body))
	require.NoError(r.t, err)
	return r.sends(request)
}

func (r *rig) get(path string) *http.Response {
	response, err := r.server.Client().Get(r.server.URL + path)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func (r *rig) arrived() []Arrival {
	var list []Arrival
	require.NoError(r.t, json.NewDecoder(r.get("/arrived").Body).Decode(&list))
	require.NotNil(r.t, list)
	return list
}

func jsonOf(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}
