package websocket_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket"
)

func TestTrust(t *testing.T) {
	example := httptest.NewTLSServer(nil) // for its certificate
	example.Close()
	lane := uuid.New()
	hardware, err := lanesim.New(lanesim.Settings{Now: clock()}, lanesim.Lane{
		ID: lane, Listen: "127.0.0.1:0", TLS: &tls.Config{Certificates: example.TLS.Certificates},
	})
	require.NoError(t, err)
	defer hardware.Close()
	address := hardware.Controller(lane).Address()
	assert.Contains(t, address, "wss://")

	pool := x509.NewCertPool()
	pool.AddCert(example.Certificate())
	right, wrong := sha256.Sum256(example.Certificate().Raw), [sha256.Size]byte{1}
	for _, c := range []struct {
		name    string
		trust   []websocket.TLS
		trusted bool
	}{
		{"as any web server", nil, false},
		{"signed by the CA", []websocket.TLS{{CA: pool}}, true},
		{"signed by another CA", []websocket.TLS{{CA: x509.NewCertPool()}}, false},
		{"by its fingerprint", []websocket.TLS{{Fingerprint: &right}}, true},
		{"by another fingerprint", []websocket.TLS{{Fingerprint: &wrong}}, false},
	} {
		r := newFixture(t, address, "", c.trust...)
		r.driver = websocket.New(websocket.Settings{
			Now: clock(), Lanes: map[uuid.UUID]websocket.Target{lane: {Address: address}},
			TLS: map[uuid.UUID]websocket.TLS{r.lane.Range: first(c.trust)},
		})
		r.lane.ID = lane
		conn, _, err := r.dial()
		if c.trusted {
			require.NoError(t, err, c.name)
			conn.Send(link.State{Revision: 1})
			continue
		}
		assert.ErrorIs(t, err, link.ErrFaulty, c.name)
	}
}

func first(trust []websocket.TLS) websocket.TLS {
	if len(trust) == 0 {
		return websocket.TLS{}
	}
	return trust[0]
}
