package deploy

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes"
	"rangegate/test/process"
)

const (
	rangeID  = "11111111-1111-4111-8111-111111111111"
	token    = "22222222-2222-4222-8222-222222222222"
	group    = "33333333-3333-4333-8333-000000000001"
	operator = "99999999-9999-4999-8999-999999999999" // the operations token

	patience = 30 * time.Second
)

func laneID(n int) string { return fmt.Sprintf("44444444-4444-4444-8444-%012d", n) }

// anEvening is what a gateway shows while a bit of everything goes on: TLS, a session, a hold that not every lane has
// confirmed, a webhook that hangs, a report that comes twice. Besides, the document of the API, which has the codes of all errors.
func anEvening(t testing.TB) (scrape, document string) {
	hangs, over := make(chan struct{}), make(chan struct{})
	integrator := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case hangs <- struct{}{}:
		case <-over:
		}
		<-over
	}))
	t.Cleanup(integrator.Close)
	t.Cleanup(func() { close(over) })

	began := time.Now()
	controllers, err := lanesim.New(lanesim.Settings{Now: func() lanes.Instant {
		now := time.Now()
		return lanes.Instant{Wall: now.UTC(), Mono: now.Sub(began)}
	}}, lanesim.Lane{ID: uuid.MustParse(laneID(1)), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(controllers.Close)
	lane := controllers.Controller(uuid.MustParse(laneID(1)))
	certificate, key, trusting := aCertificate(t)

	gateway := process.Serve(t, fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0, tls: {certificate: %q, key: %q}}
operations: {address: 127.0.0.1:0, token: %s}
store: {sqlite: %q}
ranges:
  - id: %s
    name: North range
    token: %s
    webhook: {url: %q, timeout: 1m}
    groups: [{id: %s, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes:
      - {id: %s, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001, link: {driver: websocket, address: %q}}
      - {id: %s, name: Lane 2, bay: 55555555-5555-4555-8555-000000000001, link: {driver: websocket, address: "ws://127.0.0.1:1/nobody"}}
`, certificate, key, operator, filepath.Join(t.TempDir(), "rangegate.db"), rangeID, token, integrator.URL, group,
		laneID(1), lane.Address(), laneID(2))).Ready()

	pos := process.Client{API: gateway.API, Range: rangeID, Token: token, HTTP: trusting}
	sold := func() bool {
		answer, err := pos.Do("POST", "/api/v2/pos/sessions", fmt.Sprintf(
			`{"customer_name": "Jo Smith", "lane_id": %q, "group_id": %q, "duration": 60}`, laneID(1), group))
		return err == nil && answer.Status == http.StatusCreated
	}
	require.Eventually(t, sold, patience, 10*time.Millisecond, "the lane's hardware is in order, and it is sold")
	<-hangs // the webhook has sessionCreated, and sessionStarted waits for it

	hold, err := http.NewRequest("PUT", gateway.Operations+"/ranges/"+rangeID+"/holds", strings.NewReader(`{"scope": "range", "id": null, "on": true}`))
	require.NoError(t, err)
	hold.Header.Set("Authorization", "Bearer "+operator)
	answer, err := http.DefaultClient.Do(hold)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)

	lane.Duplicate(true)
	require.Eventually(t, func() bool { return lane.Help() == nil }, patience, 10*time.Millisecond, "the session is at the lane")
	require.Eventually(t, func() bool {
		scrape = get(t, http.DefaultClient, gateway.Operations+"/metrics")
		return strings.Contains(scrape, `reason="reported before"`)
	}, patience, 10*time.Millisecond, "a report is ignored")
	return scrape, get(t, trusting, gateway.API+"/api/v2/pos/openapi.json")
}

func get(t testing.TB, client *http.Client, url string) string {
	t.Helper()
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(body))
	return string(body)
}

// aCertificate is for 127.0.0.1, in the two files of a configuration, with a client that trusts it.
func aCertificate(t testing.TB) (certificate, key string, trusting *http.Client) {
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	pair := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	certificate = written(t, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	key = written(t, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return certificate, key, server.Client()
}

func written(t testing.TB, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
