package controller

import (
	"bufio"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// awaitController runs check-controller for a controller that dials, which start gets the URL for.
func awaitController(t *testing.T, start func(url string)) (output string, err error) {
	command := support.Command("check-controller", "--listen", "127.0.0.1:0", "--lane", support.LaneID(1))
	command.Env = append(command.Env, "RANGEGATE_LINK_KEY="+key)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	url := strings.TrimPrefix(lines.Text(), "waiting for the controller to dial ")
	start(url)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
	}
	return said.String(), command.Wait()
}

func TestAControllerThatDialsKeepsEveryRule(t *testing.T) {
	t.Parallel()
	output, err := checkAgain(func() (string, error) {
		return awaitController(t, func(url string) { startDialling(t, url) })
	}, nothing)
	require.NoError(t, err, output)
	require.NotContains(t, output, "BROKEN")
	require.Equal(t, 17, strings.Count(output, "holds "), output)
}

func TestMistakesOfOneThatDialsAreFound(t *testing.T) {
	for mistake, rule := range map[string]string{
		"never gives up":     "gives a gateway up that is silent for 15 s, and dials again",
		"comes back at once": "waits as long as a busy gateway says (503, Retry-After)",
	} {
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			broken := "BROKEN  " + rule + ": "
			output, err := checkAgain(func() (string, error) {
				return awaitController(t, func(url string) { startDialling(t, url, mistake) })
			}, says(broken))
			require.Error(t, err)
			require.Contains(t, output, broken)
		})
	}
}

// A session from its sale to its end, on a lane whose controller dials the running gateway.
func TestASessionOnALaneWhoseControllerDials(t *testing.T) {
	t.Parallel()
	config := support.NewConfig(t, []string{support.Lane(1, `link: {driver: incoming, key: "`+key+`"}`)})
	config.Sections = []string{support.ListenForControllers}
	g := config.Serve(t)
	lane := startDialling(t, support.LinkURL(g.Dialled, 1))
	session := g.POS().Sell(1, 30)
	lane.waitShown("it opens", func(s shown) bool { return s.Open && s.Session != nil && *s.Session == session })
	lane.do("help")
	lane.waitShown("the report is acknowledged", func(s shown) bool { return s.Kept == 0 })
	lane.do("unplug")
	lane.do("hit")
	lane.waitShown("it dials again and the report is acknowledged", func(s shown) bool { return s.Kept == 0 })
	g.POS().Command(session, "/stop")
	lane.waitShown("it locks", func(s shown) bool { return !s.Open && s.Session == nil })
}
