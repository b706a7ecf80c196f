package incoming

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// A thousand controllers whose gateway is started anew, and lets in 100 a second: all are linked again, each
// session runs on with its time, and sales go on meanwhile. (rangebench links/redial has 10,000, and the time
// that they take.)
func TestAThousandControllersDialAgainAfterARestart(t *testing.T) {
	const controllers, free = 1000, 1001 // one lane is simulated, and sold meanwhile
	config, dialled := configure(t, append(support.IncomingLanes(1, controllers), support.Lane(free)))
	config.Sections[0] = "controllers: {admit: 100, address: " + dialled[len("http://"):] + "}"
	g := config.Serve(t)
	hardware := support.NewDialling(t, dialled, 1, controllers)
	waitLinked(t, g, controllers)
	session := g.POS().Sell(500, 60)
	hardware.WaitOpen(500, session)

	g.Kill()
	g = config.Serve(t)
	still := g.Stillness(t.Context())
	var sold atomic.Int64
	var selling sync.WaitGroup
	done := make(chan struct{})
	selling.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			sale := g.POS().Insist(http.StatusCreated, "POST", "/sessions", support.Order(free, 30)).SessionID(t)
			g.POS().Insist(http.StatusNoContent, "POST", "/sessions/"+sale+"/stop", "")
			sold.Add(1)
		}
	})
	support.Eventually(t, "sales go on", func() bool { return sold.Load() > 0 })
	waitLinked(t, g, controllers+1)
	close(done)
	selling.Wait()
	require.Positive(t, attempts(g, "over_admit"), "more dialled at a time than are let in")
	if still() < support.Standstill {
		require.EqualValues(t, controllers, attempts(g, "linked"), "each once")
		require.Zero(t, attempts(g, "contested")+attempts(g, "failed"))
	}
	require.Zero(t, attempts(g, "refused"))
	hardware.WaitOpen(500, session)
	left := hardware.Controller(500).Shown().Remaining
	require.InDelta(t, 60*time.Minute, left, float64(5*time.Minute))
	g.POS().Command(session, "/stop")
	hardware.WaitLocked(500)
}
