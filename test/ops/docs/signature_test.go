package docs

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

const (
	ours  = "whsec_b3VycyBpcyB0aGUgc2VjcmV0IG9mIHRoaXMgdGVzdA=="
	next  = "whsec_YW5kIHRoaXMgb25lIGlzIHRoZSBuZXh0LCBpbiByb3RhdGlvbg=="
	other = "whsec_YSBzZWNyZXQgdGhhdCBub2JvZHkgaGFzIGFncmVlZCBvbiE="
)

// The receivers that the page shows take what the gateway sends, under either secret of a rotation, and nothing else.
func TestTheReceiversOfThePage(t *testing.T) {
	text := page(t, "docs/integrators.md")
	dir := t.TempDir()
	t.Run("Go", func(t *testing.T) {
		support.Program(t, "go")
		source := filepath.Join("testdata", "receiver", "main.go") // in the module, so that it finds its library
		require.NoError(t, os.MkdirAll(filepath.Dir(source), 0o700))
		t.Cleanup(func() { _ = os.RemoveAll("testdata") })
		require.NoError(t, os.WriteFile(source, []byte(blocks(text, "go")[0]), 0o600))
		binary := filepath.Join(dir, "receiver")
		output, err := support.Build(binary, "./testdata/receiver")
		require.NoError(t, err, string(output))
		receives(t, func() *exec.Cmd { return exec.Command(binary) })
	})
	t.Run("Node.js", func(t *testing.T) {
		support.Program(t, "node")
		modules, err := filepath.Abs("../../contract/node_modules")
		require.NoError(t, err)
		if _, err := os.Stat(filepath.Join(modules, "standardwebhooks")); err != nil {
			support.Missing(t, "the npm packages of test/contract are not installed")
		}
		require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
		source := filepath.Join(dir, "receiver.mjs")
		require.NoError(t, os.WriteFile(source, []byte(blocks(text, "js")[0]), 0o600))
		receives(t, func() *exec.Cmd { return exec.Command("node", source) })
	})
}

func receives(t *testing.T, receiver func() *exec.Cmd) {
	for secret, status := range map[string]int{ours: 204, next: 204, other: 401} {
		address := support.FreeAddress(t) // the receivers take a number, and cannot say which one they were given
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		cmd := receiver()
		cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret, "ADDRESS="+address, "PORT="+port)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		support.Eventually(t, "the receiver listens", func() bool {
			connection, err := net.Dial("tcp", address)
			if err != nil {
				return false
			}
			return connection.Close() == nil
		})
		require.Equal(t, status, simulated(t, "http://"+address+"/webhook"))
	}
}

// simulated sends one event from a gateway that signs with both secrets, and gives the receiver's status.
func simulated(t *testing.T, webhook string) int {
	gateway := support.NewConfig(t, support.Lanes(1, 1), fmt.Sprintf("webhook: {url: %q, secrets: [%s, %s]}", webhook,
		ours, next)).Serve(t)
	defer gateway.Kill()
	answer := gateway.POS().Expect(201, "POST", "/simulate/help", "")
	status, err := strconv.Atoi(answer.Header.Get("webhook-status"))
	require.NoError(t, err)
	return status
}

// What the page shows drops every event that is not newer than what is known of its session: after retries,
// when one comes twice, and also after the operator has gone back to a backup, whose count is lower and whose
// events are new.
func TestTheReceiverDropsWhatIsOlder(t *testing.T) {
	support.Program(t, "node")
	var shown string
	for _, block := range blocks(page(t, "docs/integrators.md"), "js") {
		if strings.Contains(block, "function isOlder(") {
			shown = block
		}
	}
	require.NotEmpty(t, shown)
	source := filepath.Join(t.TempDir(), "older.mjs")
	require.NoError(t, os.WriteFile(source, []byte(shown+`
const known = new Map();
const at = (seconds) => new Date(Date.UTC(2026, 4, 1, 10, 0, seconds)).toISOString();
for (const [session, sequence, seconds] of [
  ["one", 7, 1], ["one", 9, 3], ["one", 8, 2], ["one", 9, 3], ["two", 2, 2],
  ["one", 10, 3], ["one", 9007199254740993n, 4], ["one", 9007199254740992n, 4], // within a millisecond, and beyond double precision
  ["one", 4, 60], ["one", 5, 59], // from a backup, whose clock may be stepped
]) console.log(isOlder(known, session, { "event-sequence": String(sequence), "event-occurred-at": at(seconds) }));
`), 0o600))
	output, err := exec.Command("node", source).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Equal(t, strings.Fields("false false true true false false false true false false"),
		strings.Fields(string(output)))
}
