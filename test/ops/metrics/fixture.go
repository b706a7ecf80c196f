// Package metrics has the real gateway do a bit of everything, and compares its metrics with what was done and with the
// conventions of Prometheus.
package metrics

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// fixture is a gateway with three lanes, their controllers, and an integrator whose webhook may hang.
type fixture struct {
	*support.Gateway
	t           *testing.T
	controllers *support.Controllers
	hangs       atomic.Bool
}

func screenKey(lane int) string { return fmt.Sprintf("the-key-of-screen-%d", lane) }

// start powers up the controllers and the integrator, which has nothing to sell, and starts the gateway.
func start(t *testing.T) *fixture {
	f := &fixture{t: t, controllers: support.NewControllers(t, 1, 3)}
	integrator := support.NewReceiver(t)
	integrator.HandleFunc("GET /products", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("[]"))
	})
	integrator.Respond(func(a support.Arrival, w http.ResponseWriter, r *http.Request) {
		if f.hangs.Load() {
			support.Hang(a, w, r)
		} else {
			support.Accept(a, w, r)
		}
	})
	var lanes []string
	for n := 1; n <= 3; n++ {
		lanes = append(lanes, f.controllers.Lane(n, "screen_key: "+screenKey(n)))
	}
	config := support.NewConfig(t, lanes,
		"purchasing: true", "link_grace: 100ms", integrator.Setting("timeout: 1h"), integrator.ProductsSetting())
	config.Ranges[0].Tokens = []string{"{token: " + support.Token + ", name: till 1}"}
	f.Gateway = config.Serve(t)
	return f
}

// openScreen opens the lane's screen until the test ends, and calls for help there.
func (f *fixture) openScreen(lane int) {
	f.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(f.t, err)
	browser := &http.Client{Jar: jar}
	page := f.API + "/lane/" + support.LaneID(lane)
	for _, address := range []string{page + "/?key=" + screenKey(lane), page + "/stream"} {
		response, err := browser.Get(address)
		require.NoError(f.t, err)
		require.Equal(f.t, http.StatusOK, response.StatusCode, address)
		f.t.Cleanup(func() { _ = response.Body.Close() })
	}
	response, err := browser.Post(page+"/help", "application/json", nil)
	require.NoError(f.t, err)
	require.Equal(f.t, http.StatusNoContent, response.StatusCode)
	require.NoError(f.t, response.Body.Close())
}

// waitMetrics scrapes until the condition holds, and returns that scrape.
func (f *fixture) waitMetrics(what string, condition func(support.Metrics) bool) (scraped support.Metrics) {
	f.t.Helper()
	support.Eventually(f.t, what, func() bool {
		scraped = f.Metrics()
		return condition(scraped)
	})
	return scraped
}
