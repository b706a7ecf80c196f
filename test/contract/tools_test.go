package contract

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// patience bounds how long a tool may take, so that one that hangs ends with its output shown.
const patience = 8 * time.Minute

// module is the path of a file of an npm package. Where that is not installed, see support.Missing.
func module(t testing.TB, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("node_modules", file))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		support.Missing(t, "the npm packages of test/contract are not installed (make tools)")
	}
	return path
}

// tool is a program that runs in a directory of its own, which its files stay in.
type tool struct {
	dir   string
	stdin []byte
	args  []string
}

// run gives what the tool printed, on stdout and on stderr, and whether it exited with success.
func (c tool) run(t testing.TB) (out, log string, success bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Stdin = c.dir, bytes.NewReader(c.stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// Nothing is reported to the makers of the tools, and nobody asks for newer versions.
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "REDOCLY_TELEMETRY=off",
		"REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "%v took too long:\n%s%s", c.args, &stdout, &stderr)
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return stdout.String(), stderr.String(), err == nil
}
