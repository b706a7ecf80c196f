package reload

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

func TestMain(m *testing.M) { support.Run(m) }

// A range of 1,000 lanes on real sockets, 500 of them sold. A lane comes, one gets another name, one another
// address, and one that is free goes. No connection of the other lanes is made anew, and no deadline moves.
func TestAReloadOfAThousandLanesWhile500SessionsRun(t *testing.T) {
	hardware := support.NewControllers(t, 1, 1001)
	g := newFixture(t, hardware.Lanes()[:1000]).serve()
	links := func(what string) float64 { return g.metric("rangegate_links_total", `what="`+what+`"`) }
	still := g.Stillness(t.Context())
	g.POS().WaitLinked() // on a slow machine, some at a second attempt
	up, down, notMade := links("up"), links("down"), links("not_made")
	g.sell(1, 500)
	before := g.deadlines()
	require.Len(t, before, 500)

	lanes := g.first().Lanes
	lanes[0] = strings.Replace(lanes[0], "name: Lane 1,", "name: Lane one,", 1)
	lanes[1] = strings.Replace(lanes[1], "127.0.0.1", "localhost", 1)
	lanes[999] = strings.Replace(hardware.Lane(1001), "name: Lane 1001", "name: A new lane", 1)
	g.Configure(g.config.String())
	g.Signal(syscall.SIGHUP)
	support.Eventually(t, "the new lane and the one at another address are connected", func() bool {
		return links("up") >= up+2
	})

	if still() < support.Standstill {
		require.Equal(t, down+1, links("down"), "of the lane at another address")
		require.Equal(t, up+2, links("up"))
		require.Equal(t, notMade, links("not_made"))
	}
	after := g.deadlines()
	require.Len(t, after, 500)
	for id, deadline := range before {
		require.True(t, deadline.overlaps(after[id]), "session %s: %v, %v", id, deadline, after[id])
	}
	shown := g.POS().Expect(200, "GET", "/lanes", "").Body
	require.Contains(t, shown, "Lane one")
	require.Contains(t, shown, "A new lane")
	require.NotContains(t, shown, support.LaneID(1000))
	g.sell(1001, 1001)
	support.Eventually(t, "the new lane opens", func() bool { return hardware.Controller(1001).Shown().Open })

	g.Kill() // a start has to find what was changed
	restarted := g.serve().deadlines()
	require.Len(t, restarted, 501)
	for id, deadline := range before {
		require.True(t, deadline.overlaps(restarted[id]))
	}
}

func TestAFileThatIsWrongChangesNothingAndSaysWhy(t *testing.T) {
	g := newFixture(t, support.Lanes(1, 2)).serve()
	right := g.config.String()
	for _, wrong := range []struct {
		configuration, code, says string
		status                    int
	}{
		{
			strings.Replace(right, "name: Lane 2", "nam: Lane 2", 1), "configuration_invalid",
			`lanes\[1\]\.nam: unknown key.* \(/.*/rangegate\.yaml:\d+:\d+\)`, 422,
		},
		{"[", "configuration_invalid", `\(/.*/rangegate\.yaml:2:1\)$`, 422},
		{strings.Replace(right, "rangegate.db", "other.db", 1), "needs_restart", `store\.sqlite`, 409},
	} {
		require.NotEqual(t, right, wrong.configuration)
		g.Configure(wrong.configuration)
		status, answer := g.reloadFile("")
		require.Equal(t, wrong.status, status, answer)
		require.Equal(t, wrong.code, answer["code"])
		require.Regexp(t, wrong.says, answer["error"])
		require.Zero(t, g.metric("rangegate_config_last_reload_successful"))
		g.sell(1, 1)
		g.POS().Command(g.session(), "/stop")
	}
	status, answer := g.reload("")
	require.Equal(t, http.StatusOK, status, answer)
	require.Empty(t, answer["ranges"])
	require.EqualValues(t, 1, g.metric("rangegate_config_last_reload_successful"))
}

func TestALaneWithASessionIsRemovedOnlyByForce(t *testing.T) {
	g := newFixture(t, support.Lanes(1, 2)).serve()
	session := g.POS().Sell(2, 30)
	g.first().Lanes = support.Lanes(1, 1)
	status, answer := g.reload("")
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "in_use", answer["code"])
	require.Contains(t, answer["error"], session)
	require.Equal(t, session, g.session())

	status, answer = g.reload(`{"force": true}`)
	require.Equal(t, http.StatusOK, status, answer)
	require.Equal(t, []any{support.LaneID(2)}, answer["ranges"].([]any)[0].(map[string]any)["lanes_removed"])
	require.Empty(t, g.deadlines())
	require.Equal(t, "staff", g.POS().Ended(session).Reason)
}

func TestTokensAreReplacedInTwoSteps(t *testing.T) {
	g := newFixture(t, support.Lanes(1, 1)).serve()
	accepted := func(token string) bool {
		pos := support.NewPOS(t, support.Client{API: g.API, Range: support.RangeID, Token: token})
		answer := pos.Send("GET", "/lanes", "")
		require.Contains(t, []int{200, 401}, answer.Status)
		return answer.Status == 200
	}
	for _, step := range []struct {
		tokens        []string
		first, second bool
	}{
		{[]string{support.Token, newToken}, true, true},
		{[]string{newToken}, false, true},
	} {
		g.first().Tokens = step.tokens
		status, answer := g.reload("")
		require.Equal(t, http.StatusOK, status, answer)
		require.Equal(t, []any{"tokens"}, answer["ranges"].([]any)[0].(map[string]any)["keys"])
		require.Equal(t, step.first, accepted(support.Token))
		require.Equal(t, step.second, accepted(newToken))
	}
	require.NotContains(t, g.Log(), newToken)
}

// What a POS reads of its range is what the configuration in force says.
func TestWhatARangeCanFollowsAReload(t *testing.T) {
	g := newFixture(t, support.Lanes(1, 1), "presets: [{minutes: 30}]").serve()
	shown := func() string { return g.POS().Insist(http.StatusOK, "GET", "/range", "").Body }
	before := shown()
	require.Contains(t, before,
		`"features":["warnings","open_end","simulation"],"presets":[{"minutes":30,"group_id":null}],"limits":{"requests_per_second":null,`)

	g.first().Settings = []string{"presets: [{minutes: 45}]", "sell_before_clear: false", "currency: CHF"}
	g.config.HTTP = "limits: {requests: 900}"
	status, answer := g.reload("")
	require.Equal(t, http.StatusOK, status, answer)
	after := shown()
	require.Contains(t, after, `"currency":"CHF"`)
	require.Contains(t, after,
		`"features":["clear_before_sale","warnings","open_end","simulation"],"presets":[{"minutes":45,"group_id":null}],"limits":{"requests_per_second":900,`)
}

// The lanes of a bay have the hours that a reload gives it, and no others.
func TestABayGetsHoursByAReload(t *testing.T) {
	g := newFixture(t, support.Lanes(1, 2)).serve()
	g.POS().Sell(1, 120)
	hours, _ := support.ClosingIn(60)
	g.first().Bays = []string{support.Entry(support.Bay, "Bay A", hours)}
	status, answer := g.reload("")
	require.Equal(t, http.StatusOK, status, answer)
	require.Equal(t, "after_closing", g.POS().Send("POST", "/sessions", support.Order(2, 120)).Code())
	g.POS().Sell(2, 30)
}

func TestRangesComeAndGoWhileAnotherRuns(t *testing.T) {
	g := newFixture(t, support.Lanes(1, 1)).serve()
	g.sell(1, 1)
	before := g.deadlines()
	pos := support.NewPOS(t, support.Client{API: g.API, Range: secondRange, Token: secondToken})
	alone := g.config.Ranges
	for range 2 {
		g.config.Ranges = append(alone, second())
		status, answer := g.reload("")
		require.Equal(t, http.StatusOK, status, answer)
		g.Ready()
		pos.Sell(7, 30)

		g.config.Ranges = alone
		status, answer = g.reload("")
		require.Equal(t, "in_use", answer["code"], status)
		status, answer = g.reload(`{"force": true}`)
		require.Equal(t, http.StatusOK, status, answer)
		pos.Expect(http.StatusUnauthorized, "GET", "/lanes", "")
		g.Ready()
	}
	for id, deadline := range g.deadlines() {
		require.True(t, deadline.overlaps(before[id]))
	}
}

func TestAPlaygroundHasNoFileToReadAgain(t *testing.T) {
	g := support.Playground(t).Ready()
	require.Equal(t, http.StatusConflict, g.Operate("POST", "/reload", "").Status)
}

// Nobody would see to what was sold at a range that is in the store and not in the configuration.
func TestARangeThatIsInUseIsNotForgottenAtTheStart(t *testing.T) {
	g := newFixture(t, support.Lanes(1, 1)).serve()
	g.sell(1, 1)
	g.Kill()
	first := g.config.Ranges
	g.config.Ranges = []support.Range{second()}
	start := support.ServeCommand(g.config.Write(t))
	output, err := start.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, start.ProcessState.ExitCode())
	require.Contains(t, string(output), "range "+support.RangeID+" is not configured, and the store has sessions: 1,")

	g.config.Ranges = append(first, second())
	g.serve()
	g.config.Ranges = []support.Range{second()}
	status, answer := g.reload(`{"force": true}`)
	require.Equal(t, http.StatusOK, status, answer)
	require.Zero(t, g.Terminate())
	g.serve()
}

// Who leaves the staff is signed out, and their open screen with them. Who stays is not; and who had signed
// out stays so.
func TestStaffComeAndGo(t *testing.T) {
	g := newFixture(t, support.Lanes(1, 1), staff(t, "sam", "kim", "lou")).serve()
	sam, kim, lou := g.signIn("sam"), g.signIn("kim"), g.signIn("lou")
	require.Equal(t, http.StatusNoContent, lou.status("POST", "/control/sign-out"))
	screen := sam.watch()

	g.first().Settings = []string{staff(t, "kim", "lou")}
	status, answer := g.reload("")
	require.Equal(t, http.StatusOK, status, answer)
	<-screen // it ends
	require.Equal(t, http.StatusUnauthorized, sam.status("GET", "/control/api/health"))
	require.Equal(t, http.StatusOK, kim.status("GET", "/control/api/health"))
	require.Equal(t, http.StatusUnauthorized, lou.status("GET", "/control/api/health"))
}
