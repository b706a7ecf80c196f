package webhook

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"rangegate/webhook/egress"
)

const notAllowed = "unreachable: the address is not allowed"

// privateHosts are names of hosts that are not public.
var privateHosts = map[string]string{
	"loopback.test":  "127.0.0.1",
	"metadata.test":  "169.254.169.254",
	"mapped.test":    "::ffff:10.0.0.1",
	"loopback6.test": "::1",
}

func TestAGuardedTransportConnectsToPublicAddressesOnly(t *testing.T) {
	useResolver(t, privateHosts)
	here := startReceiver(t, status(http.StatusOK))
	_, port, err := net.SplitHostPort(here.Listener.Addr().String())
	require.NoError(t, err)

	hosts := []string{
		"localhost", "127.0.0.1", "127.0.0.2", "10.0.0.1", "169.254.169.254", "0.0.0.0", "[::1]", "[::]",
		"[::ffff:10.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:169.254.169.254]", "[64:ff9b::7f00:1]",
	}
	for name := range privateHosts {
		hosts = append(hosts, name)
	}
	for _, scheme := range []string{"http", "https"} {
		for _, host := range hosts {
			t.Run(scheme+" "+host, func(t *testing.T) {
				made := attempt(t, newClient(t, scheme+"://"+host+":"+port, withTransport(egress.Transport(true, 1))))
				require.Zero(t, made.Status)
				require.Equal(t, notAllowed, made.Error)
			})
		}
	}
	require.Empty(t, here.requests())
}

func TestATransportWithoutGuardConnectsAnywhere(t *testing.T) {
	useResolver(t, privateHosts)
	here := startReceiver(t, status(http.StatusOK))
	_, port, err := net.SplitHostPort(here.Listener.Addr().String())
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "loopback.test", "[::ffff:127.0.0.1]"} {
		require.Empty(t, attempt(t, newClient(t, "http://"+host+":"+port)).Error, host)
	}
}

func TestAHostNameThatDoesNotResolve(t *testing.T) {
	useResolver(t, map[string]string{"broken.test": ""})
	for host, reason := range map[string]string{
		"nowhere.test": "unreachable: the host name is not known",
		"broken.test":  "unreachable: the host name could not be looked up",
	} {
		made := attempt(t, newClient(t, "https://"+host+"/planted", withTransport(egress.Transport(true, 1))))
		require.Equal(t, reason, made.Error)
	}
}
