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

// fixture is a demo integrator on loopback.
type fixture struct {
	t      *testing.T
	in     *Integrator
	server *httptest.Server
}

func newFixture(t *testing.T, secrets ...string) *fixture {
	in, err := New(Settings{Secrets: secrets, Log: zerolog.Nop(), Now: func() time.Time { return noon }})
	require.NoError(t, err)
	r := &fixture{t, in, httptest.NewServer(in)}
	t.Cleanup(r.server.Close)
	t.Cleanup(in.Close)
	return r
}

// signed returns a request of the gateway with an event, signed at that time with the secrets.
func (r *fixture) signed(body string, at time.Time, secrets ...string) *http.Request {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.server.URL+"/webhook",
		bytes.NewBufferString(body))
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

// send sends the request and returns the status and the body of the answer.
func (r *fixture) send(request *http.Request) (int, string) {
	response, err := r.server.Client().Do(request)
	require.NoError(r.t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return response.StatusCode, string(body)
}

// event sends an unsigned event.
func (r *fixture) event(body string) (int, string) { return r.send(r.signed(body, time.Now())) }

func (r *fixture) choose(body string) (int, string) {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.server.URL+"/answer",
		bytes.NewBufferString(body))
	require.NoError(r.t, err)
	return r.send(request)
}

// page is an answer that has been read to its end.
type page struct {
	status int
	header http.Header
	body   []byte
}

func (r *fixture) get(path string) page {
	response, err := r.server.Client().Get(r.server.URL + path)
	require.NoError(r.t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	return page{response.StatusCode, response.Header, body}
}

func (r *fixture) arrived() []Arrival {
	var list []Arrival
	require.NoError(r.t, json.Unmarshal(r.get("/arrived").body, &list))
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
