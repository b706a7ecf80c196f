// Package stories has a test for each way in which products of this kind have failed, told on the outside of the real
// binary, with a real receiver and with controllers on real sockets.
//
//	fixture.go        the gateway with its controllers, its receiver and its POS
//	device.go         a controller that reports whatever a test tells it
//	restart_test.go   power cuts, kills and reconnects      lane_test.go      who has the lane
//	reports_test.go   what controllers report               receiver_test.go  events and who gets them
//	time_test.go      a session's time
package stories

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store/redis/redistest"
	"rangegate/test/support"
)

// How long the gateway waits for the receiver: so long that a busy machine answers in time, and in a story about
// a receiver that does not, while an attempt has to time out.
const (
	webhookTimeout = time.Minute
	shortTimeout   = 500 * time.Millisecond
)

// fixture is a range: its controllers, the integrator's receiver, and the configuration of the gateway between them.
type fixture struct {
	*support.Controllers // nil: devices instead
	t                    testing.TB
	receiver             *support.Receiver
	config               support.Config
}

// newFixture has controllers for that many lanes, numbered from 0.
func newFixture(t testing.TB, lanes int) *fixture {
	controllers := support.NewControllers(t, 0, lanes-1)
	f := newFixtureOf(t, controllers.Lanes())
	f.Controllers = controllers
	return f
}

// newFixtureOf has the lanes of a configuration.
func newFixtureOf(t testing.TB, lanes []string) *fixture {
	f := &fixture{t: t, receiver: support.NewReceiver(t), config: support.NewConfig(t, lanes)}
	f.config.HTTP = support.NoLimit
	f.setWebhookTimeout(webhookTimeout)
	return f
}

// setWebhookTimeout changes the configuration.
func (f *fixture) setWebhookTimeout(timeout time.Duration) {
	f.config.Ranges[0].Settings = []string{
		"purchasing: true", f.receiver.Setting("timeout: " + timeout.String()),
	}
}

// waitForReceiver has a gateway that runs wait that long for the receiver from now on.
func (f *fixture) waitForReceiver(gateway *support.Gateway, timeout time.Duration) {
	f.t.Helper()
	f.setWebhookTimeout(timeout)
	gateway.Configure(f.config.String())
	reloaded := gateway.Operate("POST", "/reload", "")
	require.Equal(f.t, 200, reloaded.Status, reloaded.Body)
}

// onEachStore plays the story on a range of two lanes, with its store in a file and in Redis.
func onEachStore(t *testing.T, story func(t *testing.T, f *fixture)) {
	t.Run("a file", func(t *testing.T) { story(t, newFixture(t, 2)) })
	t.Run("Redis", func(t *testing.T) {
		f := newFixture(t, 2)
		f.config.Store = support.Redis(redistest.Start(t).URL())
		story(t, f)
	})
}

// serve starts a gateway. The test's end kills it, if nothing has before.
func (f *fixture) serve() (*support.Gateway, posClient) {
	f.t.Helper()
	gateway := f.config.Serve(f.t)
	transport := &http.Transport{MaxIdleConnsPerHost: 32} // so that simultaneous requests arrive simultaneously
	f.t.Cleanup(transport.CloseIdleConnections)
	return gateway, posClient{support.NewPOS(f.t, support.Client{
		API: gateway.API, Range: support.RangeID, Token: support.Token, HTTP: &http.Client{Transport: transport},
	}), f.t, gateway}
}

// serveLinked starts a gateway, and waits until it has reached every controller.
func (f *fixture) serveLinked() (*support.Gateway, posClient) {
	f.t.Helper()
	gateway, pos := f.serve()
	pos.WaitLinked()
	return gateway, pos
}

// posClient is a POS at a gateway.
type posClient struct {
	support.POS
	t       testing.TB
	gateway *support.Gateway
}

// book sells a session that waits for its customer.
func (p posClient) book(lane, minutes int) (session string) {
	p.t.Helper()
	return p.Sell(lane, minutes, `,"auto_start":false`)
}

// command gives the session a command that is taken, and returns when that was.
func (p posClient) command(session, command string) moment {
	p.t.Helper()
	return measure(func() { p.Command(session, command) })
}

// refused gives the session a command that is not taken, for the reason that the code names.
func (p posClient) refused(session, command string, status int, code string) {
	p.t.Helper()
	require.Equal(p.t, code, p.Expect(status, "POST", "/sessions/"+session+command, "").Code())
}

// left is how much of the session's time is left.
func (p posClient) left(session string) time.Duration {
	p.t.Helper()
	return p.Session(session).Left.Duration
}

// waitEnded waits until the session has ended by itself.
func (p posClient) waitEnded(session string) support.Session {
	p.t.Helper()
	support.Eventually(p.t, "the session ends", func() bool {
		return p.Send("GET", "/sessions/"+session, "").Status == 404
	})
	return p.Ended(session)
}

// advance lets the session's time pass until only that much is left.
func (p posClient) advance(session string, left time.Duration) {
	p.t.Helper()
	jump := (p.left(session) - left).Minutes()
	p.Expect(204, "POST", "/simulate/advance", fmt.Sprintf(`{"session_id":%q,"minutes":%f}`, session, jump))
}

// moment is when something was done: after the one instant and before the other.
type moment struct{ after, before time.Time }

// measure does something and returns when that was.
func measure(do func()) moment {
	after := time.Now()
	do()
	return moment{after, time.Now()}
}

// rounding is how much a time may differ because it, and the instant that it counts from, are rounded to the
// millisecond.
const rounding = 2 * time.Millisecond

// requireBetween compares a length of time with what lay between two moments.
func requireBetween(t testing.TB, length time.Duration, from, to moment, what string) {
	t.Helper()
	require.GreaterOrEqual(t, length, to.after.Sub(from.before)-rounding, what)
	require.LessOrEqual(t, length, to.before.Sub(from.after)+rounding, what)
}
