package gateway_test

import (
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/cmd/rangegate/gateway"
	"rangegate/cmd/rangegate/gateway/gatewaytest"
	"rangegate/config"
)

// A reload that is refused while the ranges are still being started shows in the metric after the start too.
func TestAReloadThatIsRefusedDuringTheStartStaysRefused(t *testing.T) {
	cfg := config.Playground(2, t.TempDir(), "127.0.0.1:0", "http://127.0.0.1:1")
	cfg.Operations.Address, cfg.Operations.Token = "127.0.0.1:0", operationsSecret
	operations := ""
	g := gatewaytest.Serve(t, gateway.Settings{
		Config: cfg, Version: "test", Log: zerolog.Nop(),
		Read: func() (config.Config, error) { return config.Config{}, errors.New("a file that is wrong") },
		Outside: gateway.Outside{Listen: func(address string) (net.Listener, error) {
			listener, err := net.Listen("tcp", address)
			require.NoError(t, err)
			if operations == "" { // is served first
				operations = "http://" + listener.Addr().String()
				return listener, nil
			}
			request, err := http.NewRequest("POST", operations+"/reload", http.NoBody)
			require.NoError(t, err)
			request.Header.Set("Authorization", "Bearer "+operationsSecret)
			answer, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, http.StatusUnprocessableEntity, answer.StatusCode)
			return listener, nil
		}},
	})
	require.Contains(t, g.Metrics(), "rangegate_config_last_reload_successful 0\n")
	g.Stop()
}
