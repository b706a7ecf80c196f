package screens

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/needs"
)

// patience bounds how long a story may take, so that one that hangs ends with its output shown.
const patience = 3 * time.Minute

// A day at the range, from signing in to the last customer's time running out: what staff and shooters do at the screens
// is what the other screen shows, what the lanes' hardware does and what reaches the POS.
func TestADayAtTheRange(t *testing.T) {
	t.Parallel()
	play(t, "day")
}

// Two control screens and a lane screen: what is done at one, the others show within half a second. Nothing else of this
// package goes on meanwhile.
func TestScreensSeeTheSame(t *testing.T) { play(t, "together") }

// The gateway is killed, and stopped, under open screens: they recover by themselves, and show no wrong time meanwhile.
func TestTheGatewayIsStartedAnewUnderOpenScreens(t *testing.T) {
	t.Parallel()
	play(t, "restart")
}

// A tab that was frozen, and devices that slept, show the right time as soon as they are awake.
func TestScreensThatSlept(t *testing.T) {
	t.Parallel()
	play(t, "asleep")
}

// Every page and state, in light and dark, is one that axe has nothing to say against.
func TestScreensAreForEverybody(t *testing.T) {
	t.Parallel()
	play(t, "access")
}

// Staff and a shooter who have a keyboard alone: everything can be reached, and the focus is never lost.
func TestByKeyboardAlone(t *testing.T) {
	t.Parallel()
	play(t, "keyboard")
}

// Who may not see or do something: a wrong PIN, another range's cookie, another lane's key, a page of another site, a
// session that has ended.
func TestWhoMayNot(t *testing.T) {
	t.Parallel()
	play(t, "refused")
}

// How the actors are, as an operator sees it: the whole tree, what is not in order, one lane with its latest commands.
func TestThePageOfTheActors(t *testing.T) {
	t.Parallel()
	play(t, "actors")
}

// scene is what a story is told of the world.
type scene struct {
	API          string      `json:"api"`
	Operations   string      `json:"operations"`
	Operator     string      `json:"operator"` // the operations token
	Stage        string      `json:"stage"`
	Range        string      `json:"range"`
	Token        string      `json:"token"`
	PIN          string      `json:"pin"`
	Lanes        []sceneLane `json:"lanes"` // lanes[0] is Lane 1
	AnotherRange string      `json:"another_range"`
	AnotherLane  string      `json:"another_lane"`
	Chromium     string      `json:"chromium"`
	Kept         string      `json:"kept"` // the directory for pictures of what went wrong
}

type sceneLane struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

// play has the story played at a range of its own.
func play(t *testing.T, story string) {
	node, chromium := needs.Program(t, "node"), needs.Program(t, "chromium")
	for _, installed := range []string{"playwright-core", "@axe-core/playwright"} {
		if _, err := os.Stat("node_modules/" + installed); err != nil {
			needs.Missing(t, "the npm packages of test/screens are not installed (make tools)")
		}
	}
	h := build(t)
	h.serve()
	told := scene{
		API: h.gateway.API, Operations: h.gateway.Operations, Operator: operator, Stage: h.stage(), Range: rangeID, Token: token, PIN: pin,
		AnotherRange: anotherRange, AnotherLane: anotherLane, Chromium: chromium, Kept: kept(t),
	}
	for n := range many {
		told.Lanes = append(told.Lanes, sceneLane{laneID(n + 1), screenKey(n + 1)})
	}
	words, err := json.Marshal(told)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, story+".mjs", string(words))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // the browser too
	cmd.WaitDelay = 5 * time.Second
	output, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", story, output)
	if err != nil {
		log := filepath.Join(told.Kept, "gateway.log")
		require.NoError(t, os.WriteFile(log, []byte(h.gateway.Log()), 0o600))
		require.NoError(t, err, "%s; the gateway's log is %s", story, log)
	}
}

// kept is a directory that stays when the test fails.
func kept(t *testing.T) string {
	dir, err := os.MkdirTemp("", "rangegate-screens-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	return dir
}
