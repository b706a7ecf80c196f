package screens

import (
	"net/http"
	"os"
	"syscall"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// runDemoIntegrator starts the demo integrator at that address, which follows the gateway, and returns the
// URL of its page.
func runDemoIntegrator(f *fixture, address string) (page string) {
	command := support.Command("integrator", "--address", address, "--secret", support.Secret,
		"--gateway", f.gateway.API+support.V2, "--range-id", support.RangeID, "--token", support.Token)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Stderr = os.Stderr
	require.NoError(f.t, command.Start())
	f.t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	page = "http://" + address
	support.Eventually(f.t, "the demo integrator listens", func() bool {
		response, err := http.Get(page)
		return err == nil && response.Body.Close() == nil
	})
	return page
}
