package damage

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// room says how far the gateway's files may reach from now on: the kernel refuses what is beyond, as a full disk does.
func (g *gateway) room(bytes uint64) {
	g.t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	require.NoError(g.t, unix.Prlimit(g.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil))
}

func (g *gateway) eventually(what string, is func() bool) {
	g.t.Helper()
	require.Eventually(g.t, is, 30*time.Second, 10*time.Millisecond, what)
}

func code(t *testing.T, body string) string {
	t.Helper()
	var answer struct{ Code string }
	require.NoError(t, json.Unmarshal([]byte(body), &answer), body)
	return answer.Code
}

// stopped are the sessions in the history.
func (g *gateway) stopped() (ids []string) {
	g.t.Helper()
	answer := g.ask("GET", "/history?limit=1000", "")
	require.Equal(g.t, http.StatusOK, answer.Status, answer.Body)
	var page struct {
		Sessions []session `json:"sessions"`
	}
	require.NoError(g.t, json.Unmarshal([]byte(answer.Body), &page))
	for _, s := range page.Sessions {
		ids = append(ids, s.ID)
	}
	return ids
}

// Nothing can be written any more. The lanes keep their time and can be closed, nothing is sold that could be lost, and
// once there is room all of it is saved.
func TestADiskWithoutAnyRoom(t *testing.T) {
	t.Parallel()
	config := configured(t, sqliteAt(filepath.Join(t.TempDir(), "rangegate.db")))
	g := serve(t, config)
	runs, pauses, stops := g.sold(0), g.sold(1), g.sold(2)
	g.room(1)
	for _, path := range []string{"/sessions/" + pauses + "/pause", "/sessions/" + stops + "/stop"} {
		answer := g.ask("POST", path, "")
		require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Body)
		require.Equal(t, "not_saved", code(t, answer.Body))
	}
	for range 3 {
		answer, _ := g.sell(3)
		require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Body)
		require.Equal(t, "store_unavailable", code(t, answer.Body))
	}
	require.False(t, g.ready())
	force := map[string]string{runs: "running", pauses: "paused"}
	require.Equal(t, force, g.phases(), "what was closed is closed")
	before := g.sessions()
	g.eventually("the clock of what runs goes on", func() bool { return g.sessions()[runs].Left < before[runs].Left })
	require.Equal(t, before[pauses].Left, g.sessions()[pauses].Left)
	require.Contains(t, g.said(), "the store is away")
	require.Contains(t, g.said(), "file too large")

	g.room(unix.RLIM_INFINITY)
	g.eventually("it is saved again", g.ready)
	sold := g.sold(3) // which is saved behind all that waited
	require.Equal(t, []string{stops}, g.stopped())
	left := g.sessions()[pauses].Left
	g.kill()

	g = serve(t, config)
	force[sold] = "running"
	require.Equal(t, force, g.phases())
	require.Equal(t, []string{stops}, g.stopped())
	require.Equal(t, left, g.sessions()[pauses].Left)
}

// The file cannot grow any more: some things still fit, others do not. What was acknowledged is there in the end, and so
// is what was answered as not saved; what was refused never happened.
func TestADiskWithoutRoomToGrow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rangegate.db")
	config := configured(t, sqliteAt(path))
	g := serve(t, config)
	info, err := os.Stat(path)
	require.NoError(t, err)
	g.room(uint64(info.Size()))
	active, ended, unknown := "", []string{}, 0
	refusals := 0
	for round := 0; refusals < 5; round++ {
		require.Less(t, round, 5000, "it takes everything")
		if active == "" {
			answer, id := g.sell(0)
			switch answer.Status {
			case http.StatusCreated:
				active = id
			case http.StatusServiceUnavailable:
				refusals++
			case http.StatusGatewayTimeout: // it may be saved yet
				unknown++
			case http.StatusConflict: // and so it was
				require.Positive(t, unknown, answer.Body)
				for active = range g.sessions() {
				}
			default:
				require.Fail(t, answer.Body)
			}
			continue
		}
		answer := g.ask("POST", "/sessions/"+active+"/stop", "")
		if answer.Status != http.StatusNoContent {
			require.Equal(t, http.StatusServiceUnavailable, answer.Status, answer.Body)
			require.Equal(t, "not_saved", code(t, answer.Body))
			refusals++
		}
		ended, active = append(ended, active), ""
	}
	t.Logf("%d sessions, unknown outcomes: %d", len(ended), unknown)
	g.room(unix.RLIM_INFINITY)
	g.eventually("it is saved again", g.ready)
	g.sold(1) // which is saved behind all that waited
	check := func() {
		t.Helper()
		over, running := g.stopped(), g.sessions()
		for _, id := range ended {
			require.Equal(t, 1, count(over, id), "a stop is saved, once")
			require.NotContains(t, running, id)
		}
		most := len(ended) + 1 + unknown
		if active != "" {
			require.Contains(t, running, active)
			most++
		}
		require.LessOrEqual(t, len(over)+len(running), most, "what was refused never happened")
	}
	check()
	g.kill()
	g = serve(t, config)
	check()
	require.NotContains(t, strings.ToLower(g.said()), "damaged")
}

func count(list []string, wanted string) (n int) {
	for _, one := range list {
		if one == wanted {
			n++
		}
	}
	return n
}
