package deploy

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

// evening is what a gateway shows while a bit of everything goes on: TLS, a session, a hold that not every
// lane has confirmed, a webhook that hangs, a report that comes twice. Besides, the document of the API,
// which has the codes of all errors.
func evening(t testing.TB) (metrics support.Metrics, document string) {
	receiver := support.NewReceiver(t)
	receiver.Respond(support.Hang)
	controllers := support.NewControllers(t, 1, 1)
	certificate, key, client := newCertificate(t)
	config := support.NewConfig(t,
		[]string{controllers.Lane(1), support.Lane(2, support.Link("ws://127.0.0.1:1/nobody", ""))},
		receiver.Setting("timeout: 1m"))
	config.HTTP = fmt.Sprintf("tls: {certificate: %q, key: %q}", certificate, key)
	gateway := config.Serve(t)

	pos := support.NewPOS(t, support.Client{
		API: gateway.API, Range: support.RangeID,
		Token: support.Token, HTTP: client,
	})
	support.Eventually(t, "the lane's hardware is in order, and it is sold", func() bool {
		return pos.Send("POST", "/sessions", support.Order(1, 60)).Status == http.StatusCreated
	})
	support.Eventually(t, "the webhook has sessionCreated, and sessionStarted waits for it", func() bool {
		return len(receiver.Arrived()) > 0
	})
	gateway.HoldRange(true)
	lane := controllers.Controller(1)
	lane.Duplicate(true)
	support.Eventually(t, "the session is at the lane", func() bool { return lane.Help() == nil })
	support.Eventually(t, "a report is ignored", func() bool {
		metrics = gateway.Metrics()
		return strings.Contains(metrics.Text, `reason="reported before"`)
	})
	support.Eventually(t, "an actor is timed while it takes a message, as one message in 64 is", func() bool {
		pos.Send("POST", "/sessions", support.Order(1, 60)) // is refused: the lane is occupied
		metrics = gateway.Metrics()
		return strings.Contains(metrics.Text, "\nrangegate_actor_receive_seconds_count{")
	})
	return metrics, pos.Expect(200, "GET", "/openapi.json", "").Body
}

// node is a gateway that is one of several nodes. Alone it has metrics that other gateways have not.
func node(t testing.TB) *support.Gateway {
	config := support.NewConfig(t, []string{support.Lane(1)})
	config.Store = support.Redis("redis://" + redistest.Start(t).Addr() + "/0")
	config.Sections = append(config.Sections,
		`nodes: {name: one, address: "127.0.0.1:0", advertise: "127.0.0.1:1", ttl: 1s}`)
	return config.Serve(t)
}

// addMissing adds the metrics that only the other gateway has.
func addMissing(metrics, other support.Metrics) {
	for series, value := range other.Series {
		if _, known := metrics.Kind[other.Metric(series)]; !known {
			metrics.Series[series] = value
		}
	}
	for name, kind := range other.Kind {
		if _, known := metrics.Kind[name]; !known {
			metrics.Kind[name], metrics.Help[name] = kind, other.Help[name]
		}
	}
}

// newCertificate is for 127.0.0.1, in the two files of a configuration, with a client that trusts it.
func newCertificate(t testing.TB) (certificate, key string, client *http.Client) {
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	pair := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	certificate = support.WriteFile(t, "tls.crt",
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	key = support.WriteFile(t, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return certificate, key, server.Client()
}
