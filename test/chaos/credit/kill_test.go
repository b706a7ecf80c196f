package credit_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/test/chaos/credit"

	"rangegate/test/support"
)

// 1,000 purchases of time, the gateway killed all the while.
func TestAcceptedMinutesAreCreditedOnceOrLeftToStaff(t *testing.T) {
	const purchases = 1000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	integrator := &integrator{chance: rand.New(rand.NewPCG(seed, 2)), purchases: map[string]decision{}}
	receiver := support.NewUnverifiedReceiver(t)
	receiver.Respond(integrator.respond)
	dir := t.TempDir()
	binary := filepath.Join(dir, "shooters")
	output, err := support.Build(binary, "./shooters")
	require.NoError(t, err, string(output))
	start := func() *exec.Cmd {
		return exec.Command(binary, "-store", filepath.Join(dir, "range.db"), "-webhook", receiver.URL+"/webhook")
	}

	kills := 0
	for ; integrator.count() < purchases; kills++ {
		require.Less(t, kills, 1000, "purchases get on")
		gateway := start()
		gateway.Stderr = os.Stderr
		gateway.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		hold, err := gateway.StdinPipe()
		require.NoError(t, err)
		// Counted, so that a fast machine is killed as often; anywhere in a purchase.
		killed := integrator.count() + 1 + chance.IntN(80)
		require.NoError(t, gateway.Start())
		support.Eventually(t, "a purchase", func() bool { return integrator.count() >= killed },
			func() any { return integrator.count() })
		require.NoError(t, gateway.Process.Kill())
		_ = gateway.Wait()
		_ = hold.Close()
	}
	require.Greater(t, kills, 5)

	last := start() // its input ends at once: what is pending comes to its end
	last.Stderr = os.Stderr
	out, err := last.Output()
	require.NoError(t, err)
	var result credit.Result
	require.NoError(t, json.Unmarshal(out, &result))
	judge(t, integrator, result, kills)
}

func judge(t *testing.T, integrator *integrator, result credit.Result, kills int) {
	require.Empty(t, integrator.repeated, "nothing is asked twice")
	unresolved := map[string]bool{}
	for _, event := range result.Unresolved {
		unresolved["msg_"+event.String()] = true
	}
	accepted, left := map[uuid.UUID]int{}, 0
	for id, d := range integrator.purchases {
		switch {
		case !d.accepted:
		case unresolved[id]:
			left++
		default:
			accepted[d.session] += d.minutes
		}
	}
	require.Len(t, result.Sessions, len(credit.Lanes()))
	credited := 0
	for _, session := range result.Sessions {
		require.Equal(t, credit.Sold+accepted[session.ID], session.Minutes, "session %s", session.ID)
		credited += accepted[session.ID]
	}
	require.Positive(t, credited)
	require.Positive(t, left)
	t.Logf("%d purchases, %d kills: %d minutes credited, %d accepted purchases left to staff, %d unresolved in all",
		len(integrator.purchases), kills, credited, left, len(unresolved))
}
