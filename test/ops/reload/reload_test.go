package reload

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/api/control"
	"rangegate/test/process"
)

func TestMain(m *testing.M) { process.Run(m) }

// A range of 1,000 lanes on real sockets, 500 of them sold. A lane comes, one gets another name, one another address, and one
// that is free goes. Of all others no connection is made anew and no deadline moves, and nor does that of the ones changed.
func TestAReloadOfAThousandLanesWhile500SessionsRun(t *testing.T) {
	hardware := controllers(t, 1001)
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}}
	address := func(n int) string { return hardware.Controller(uuid.MustParse(laneID(n))).Address() }
	for n := 1; n <= 1000; n++ {
		h.lanes = append(h.lanes, wired(n, "Lane", address(n)))
	}
	g := h.open()
	const up, down, notMade = `rangegate_links_total{what="up"}`, `rangegate_links_total{what="down"}`, `rangegate_links_total{what="not_made"}`
	g.eventually("every link is up", func() bool { return g.metric(up) == 1000 })
	g.sell(oldToken, 1, 500)
	before := g.deadlines(oldToken)
	require.Len(t, before, 500)

	moved := strings.Replace(address(2), "127.0.0.1", "localhost", 1)
	h.lanes[0] = wired(1, "Lane one", address(1))
	h.lanes[1] = wired(2, "Lane", moved)
	h.lanes[999] = wired(1001, "A new lane", address(1001))
	g.Configure(h.configuration())
	g.Signal(syscall.SIGHUP)
	g.eventually("the new lane and the one at another address are connected", func() bool { return g.metric(up) == 1002 })

	require.EqualValues(t, 1, g.metric(down), "of the lane at another address")
	require.Zero(t, g.metric(notMade))
	after := g.deadlines(oldToken)
	require.Len(t, after, 500)
	for id, was := range before {
		require.True(t, was.meets(after[id]), "session %s: %v, %v", id, was, after[id])
	}
	answer, err := g.client(oldToken).Do("GET", "/lanes", "")
	require.NoError(t, err)
	require.Contains(t, answer.Body, "Lane one")
	require.Contains(t, answer.Body, "A new lane")
	require.NotContains(t, answer.Body, laneID(1000))
	g.sell(oldToken, 1001, 1001)
	require.Eventually(t, func() bool {
		return hardware.Controller(uuid.MustParse(laneID(1001))).Shown().Open
	}, patience, 1e6)

	g.Kill() // what was changed is what comes back
	again := &gateway{process.Serve(t, h.configuration()).Ready(), t}
	restarted := again.deadlines(oldToken)
	require.Len(t, restarted, 501)
	for id, was := range before {
		require.True(t, was.meets(restarted[id]))
	}
}

func TestAFileThatIsWrongChangesNothingAndSaysWhy(t *testing.T) {
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}, lanes: []string{simulated(1), simulated(2)}}
	g := h.open()
	right := h.configuration()
	for _, wrong := range []struct {
		configuration, code, says string
		status                    int
	}{
		{strings.Replace(right, "name: Lane 2", "nam: Lane 2", 1), "configuration_invalid", `lanes[1].nam: unknown key`, 422},
		{"[", "configuration_invalid", "", 422},
		{strings.Replace(right, "range.db", "other.db", 1), "needs_restart", "store.sqlite", 409},
	} {
		g.Configure(wrong.configuration)
		status, answer := g.reload("")
		require.Equal(t, wrong.status, status, answer)
		require.Equal(t, wrong.code, answer["code"])
		require.Contains(t, answer["error"], wrong.says)
		require.Zero(t, g.metric("rangegate_config_last_reload_successful"))
		g.sell(oldToken, 1, 1)
		_, err := g.client(oldToken).Do("POST", "/sessions/"+theSession(g)+"/stop", "")
		require.NoError(t, err)
	}
	g.Configure(right)
	status, answer := g.reload("")
	require.Equal(t, http.StatusOK, status, answer)
	require.Empty(t, answer["ranges"])
	require.EqualValues(t, 1, g.metric("rangegate_config_last_reload_successful"))
}

func theSession(g *gateway) string {
	for id := range g.deadlines(oldToken) {
		return id
	}
	return ""
}

func TestALaneWithASessionIsRemovedOnlyByForce(t *testing.T) {
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}, lanes: []string{simulated(1), simulated(2)}}
	g := h.open()
	g.sell(oldToken, 2, 2)
	session := theSession(g)
	h.lanes = h.lanes[:1]
	g.Configure(h.configuration())
	status, answer := g.reload("")
	require.Equal(t, http.StatusConflict, status)
	require.Equal(t, "in_use", answer["code"])
	require.Contains(t, answer["error"], session)
	require.Equal(t, session, theSession(g))

	status, answer = g.reload(`{"force": true}`)
	require.Equal(t, http.StatusOK, status, answer)
	require.Equal(t, []any{laneID(2)}, answer["ranges"].([]any)[0].(map[string]any)["lanes_removed"])
	require.Empty(t, g.deadlines(oldToken))
	history, err := g.client(oldToken).Do("GET", "/history", "")
	require.NoError(t, err)
	require.Contains(t, history.Body, session)
	require.Contains(t, history.Body, `"staff"`)
}

func TestTokensAreReplacedInTwoSteps(t *testing.T) {
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}, lanes: []string{simulated(1)}}
	g := h.open()
	can := func(token string) bool {
		answer, err := g.client(token).Do("GET", "/lanes", "")
		require.NoError(t, err)
		require.Contains(t, []int{200, 401}, answer.Status)
		return answer.Status == 200
	}
	for _, step := range []struct {
		tokens   []string
		old, new bool
	}{
		{[]string{oldToken, newToken}, true, true},
		{[]string{newToken}, false, true},
	} {
		h.tokens = step.tokens
		g.Configure(h.configuration())
		status, answer := g.reload("")
		require.Equal(t, http.StatusOK, status, answer)
		require.Equal(t, []any{"tokens"}, answer["ranges"].([]any)[0].(map[string]any)["keys"])
		require.Equal(t, step.old, can(oldToken))
		require.Equal(t, step.new, can(newToken))
	}
	require.NotContains(t, g.Log(), newToken)
}

func TestRangesComeAndGoWhileAnotherRuns(t *testing.T) {
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}, lanes: []string{simulated(1)}}
	g := h.open()
	g.sell(oldToken, 1, 1)
	before := g.deadlines(oldToken)
	second := process.Client{API: g.API + "/api/v2/pos", Range: secondRange, Token: "22222222-2222-4222-8222-999999999999"}
	for range 2 {
		h.second = []string{simulated(7)}
		g.Configure(h.configuration())
		status, answer := g.reload("")
		require.Equal(t, http.StatusOK, status, answer)
		g.Ready()
		sold, err := second.Do("POST", "/sessions", sale(7), "Content-Type", "application/json")
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, sold.Status, sold.Body)

		h.second = nil
		g.Configure(h.configuration())
		status, answer = g.reload("")
		require.Equal(t, "in_use", answer["code"], status)
		status, answer = g.reload(`{"force": true}`)
		require.Equal(t, http.StatusOK, status, answer)
		gone, err := second.Do("GET", "/lanes", "")
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, gone.Status)
		g.Ready()
	}
	for id, was := range g.deadlines(oldToken) {
		require.True(t, was.meets(before[id]))
	}
}

func TestAPlaygroundHasNoFileToReadAgain(t *testing.T) {
	g := &gateway{process.Playground(t, "--data", t.TempDir()).Ready(), t}
	request, err := http.NewRequest("POST", g.Operations+"/reload", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer operator")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusConflict, response.StatusCode)
}

// Nobody would see to what was sold at a range that is in the file and not in the configuration.
func TestARangeThatIsInUseIsNotForgottenAtTheStart(t *testing.T) {
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}, lanes: []string{simulated(1)}}
	g := h.open()
	g.sell(oldToken, 1, 1)
	g.Kill()
	h.lanes, h.second = nil, []string{simulated(7)}
	file := filepath.Join(h.dir, "rangegate.yaml")
	require.NoError(t, os.WriteFile(file, []byte(h.configuration()), 0o600))
	started := process.Command("serve", "--config", file)
	said, err := started.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, started.ProcessState.ExitCode())
	require.Contains(t, string(said), "range "+firstRange+" is not configured, and the store has 1 sessions")

	h.lanes = []string{simulated(1)}
	again := h.open()
	h.lanes = nil
	again.Configure(h.configuration())
	status, answer := again.reload(`{"force": true}`)
	require.Equal(t, http.StatusOK, status, answer)
	require.Zero(t, again.Terminate())
	(&house{t: t, dir: h.dir, second: h.second}).open()
}

// Who leaves the staff is signed out, and their open screen with them. Who stays is not; and who had signed out stays so.
func TestStaffComeAndGo(t *testing.T) {
	pin, err := control.HashPIN("123456")
	require.NoError(t, err)
	member := func(name string) string { return fmt.Sprintf("{name: %s, pin_hash: %q}", name, pin) }
	staff := func(members ...string) string { return "    staff: [" + strings.Join(members, ", ") + "]\n" }
	h := &house{t: t, dir: t.TempDir(), tokens: []string{oldToken}, lanes: []string{simulated(1)}}
	h.extra = staff(member("sam"), member("kim"), member("lou"))
	g := h.open()
	sam, kim, lou := g.signIn("sam"), g.signIn("kim"), g.signIn("lou")
	require.Equal(t, http.StatusNoContent, lou.do("POST", "/control/sign-out"))
	screen := sam.watch()

	h.extra = staff(member("kim"), member("lou"))
	g.Configure(h.configuration())
	status, answer := g.reload("")
	require.Equal(t, http.StatusOK, status, answer)
	<-screen // it ends
	require.Equal(t, http.StatusUnauthorized, sam.do("GET", "/control/api/health"))
	require.Equal(t, http.StatusOK, kim.do("GET", "/control/api/health"))
	require.Equal(t, http.StatusUnauthorized, lou.do("GET", "/control/api/health"))
}
