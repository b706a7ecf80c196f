package damage

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"rangegate/test/support"
)

// limitFiles bounds the size of the gateway's files from now on: the kernel refuses what is beyond, as a full
// disk does.
func (g gateway) limitFiles(t *testing.T, bytes uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	require.NoError(t, unix.Prlimit(g.PID(), unix.RLIMIT_FSIZE, &limit, nil))
}

// ended are the sessions in the history.
func (g gateway) ended() (ids []string) {
	for _, session := range g.History() {
		ids = append(ids, session.ID)
	}
	return ids
}

// Nothing can be written any more. The lanes keep their time and can be closed, nothing is sold that could be lost, and
// once there is room all of it is saved.
func TestADiskWithoutAnyRoom(t *testing.T) {
	t.Parallel()
	config := configured(t, support.SQLite(newPath(t)))
	g := serve(t, config)
	runs, pauses, stops := g.Sell(0, 30), g.Sell(1, 30), g.Sell(2, 30)
	g.limitFiles(t, 1)
	for _, path := range []string{"/sessions/" + pauses + "/pause", "/sessions/" + stops + "/stop"} {
		answer := g.Send("POST", path, "")
		require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Body)
		require.Equal(t, "not_saved", answer.Code())
	}
	for range 3 {
		answer := g.Send("POST", "/sessions", support.Order(3, 30))
		require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Body)
		require.Equal(t, "store_unavailable", answer.Code())
	}
	require.False(t, g.IsReady())
	force := map[string]string{runs: "running", pauses: "paused"}
	require.Equal(t, force, g.Phases(), "what was closed is closed")
	before := g.Sessions()
	support.Eventually(t, "the clock of what runs goes on", func() bool {
		return g.Sessions()[runs].Left.Duration < before[runs].Left.Duration
	})
	require.Equal(t, before[pauses].Left, g.Sessions()[pauses].Left)
	require.Contains(t, g.Log(), "the store is away")
	require.Contains(t, g.Log(), "file too large")

	g.limitFiles(t, unix.RLIM_INFINITY)
	support.Eventually(t, "it is saved again", g.IsReady)
	sold := g.Sell(3, 30) // which is saved behind all that waited
	require.Equal(t, []string{stops}, g.ended())
	left := g.Sessions()[pauses].Left
	g.Kill()

	g = serve(t, config)
	force[sold] = "running"
	require.Equal(t, force, g.Phases())
	require.Equal(t, []string{stops}, g.ended())
	require.Equal(t, left, g.Sessions()[pauses].Left)
}

// The file cannot grow any more: some things still fit, others do not. What was acknowledged is there in the
// end, and so is what was answered as not saved; what was refused never happened.
func TestADiskWithoutRoomToGrow(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	config := configured(t, support.SQLite(path))
	g := serve(t, config)
	info, err := os.Stat(path)
	require.NoError(t, err)
	g.limitFiles(t, uint64(info.Size()))
	active, ended, unknown := "", []string{}, 0
	refusals := 0
	for round := 0; refusals < 5; round++ {
		require.Less(t, round, 5000, "it takes everything")
		if active == "" {
			answer := g.Send("POST", "/sessions", support.Order(0, 30))
			switch answer.Status {
			case http.StatusCreated:
				active = answer.SessionID(t)
			case http.StatusServiceUnavailable:
				refusals++
			case http.StatusGatewayTimeout: // it may be saved yet
				unknown++
			case http.StatusConflict: // and so it was
				require.Positive(t, unknown, answer.Body)
				for active = range g.Sessions() {
				}
			default:
				require.Fail(t, answer.Body)
			}
			continue
		}
		answer := g.Send("POST", "/sessions/"+active+"/stop", "")
		if answer.Status != http.StatusNoContent {
			require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Body)
			require.Equal(t, "not_saved", answer.Code())
			refusals++
		}
		ended, active = append(ended, active), ""
	}
	t.Logf("%d sessions, unknown outcomes: %d", len(ended), unknown)
	g.limitFiles(t, unix.RLIM_INFINITY)
	support.Eventually(t, "it is saved again", g.IsReady)
	g.Sell(1, 30) // which is saved behind all that waited
	check := func() {
		t.Helper()
		ended, running := g.ended(), g.Sessions()
		for _, id := range ended {
			require.Equal(t, 1, count(ended, id), "a stop is saved, once")
			require.NotContains(t, running, id)
		}
		most := len(ended) + 1 + unknown
		if active != "" {
			require.Contains(t, running, active)
			most++
		}
		require.LessOrEqual(t, len(ended)+len(running), most, "what was refused never happened")
	}
	check()
	g.Kill()
	g = serve(t, config)
	check()
	require.NotContains(t, strings.ToLower(g.Log()), "damaged")
}

func count(list []string, wanted string) (n int) {
	for _, one := range list {
		if one == wanted {
			n++
		}
	}
	return n
}
