package docs

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/needs"
	"rangegate/test/process"
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
		needs.Program(t, "go")
		source := filepath.Join("testdata", "receiver", "main.go") // in the module, so that it finds its library
		require.NoError(t, os.MkdirAll(filepath.Dir(source), 0o700))
		t.Cleanup(func() { _ = os.RemoveAll("testdata") })
		require.NoError(t, os.WriteFile(source, []byte(blocks(text, "go")[0]), 0o600))
		binary := filepath.Join(dir, "receiver")
		built, err := exec.Command("go", "build", "-o", binary, "./testdata/receiver").CombinedOutput()
		require.NoError(t, err, string(built))
		receives(t, func() *exec.Cmd { return exec.Command(binary) })
	})
	t.Run("Node.js", func(t *testing.T) {
		needs.Program(t, "node")
		modules, err := filepath.Abs("../../contract/node_modules")
		require.NoError(t, err)
		if _, err := os.Stat(filepath.Join(modules, "standardwebhooks")); err != nil {
			needs.Missing(t, "the npm packages of test/contract are not installed")
		}
		require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
		source := filepath.Join(dir, "receiver.mjs")
		require.NoError(t, os.WriteFile(source, []byte(blocks(text, "js")[0]), 0o600))
		receives(t, func() *exec.Cmd { return exec.Command("node", source) })
	})
}

func receives(t *testing.T, receiver func() *exec.Cmd) {
	for secret, status := range map[string]int{ours: 204, next: 204, other: 401} {
		port := freePort(t)
		cmd := receiver()
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret, "ADDRESS="+address, "PORT="+strconv.Itoa(port))
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		require.Eventually(t, func() bool {
			connection, err := net.Dial("tcp", address)
			if err != nil {
				return false
			}
			return connection.Close() == nil
		}, 30*time.Second, 10*time.Millisecond, "the receiver answers")
		require.Equal(t, status, simulated(t, "http://"+address+"/webhook"))
	}
}

// simulated sends one event from a gateway that signs with both secrets, and gives the receiver's status.
func simulated(t *testing.T, webhook string) int {
	gateway := process.Serve(t, fmt.Sprintf(`
environment: playground
http: {address: 127.0.0.1:0}
operations: {address: 127.0.0.1:0}
store: {sqlite: %s}
ranges:
  - id: 11111111-1111-4111-8111-111111111111
    name: Range
    token: 22222222-2222-4222-8222-222222222222
    webhook: {url: "%s", secrets: [%s, %s]}
    groups: [{id: 33333333-3333-4333-8333-000000000001, name: Public}]
    bays: [{id: 55555555-5555-4555-8555-000000000001, name: Bay A}]
    lanes: [{id: 44444444-4444-4444-8444-000000000001, name: Lane 1, bay: 55555555-5555-4555-8555-000000000001}]
`, filepath.Join(t.TempDir(), "rangegate.db"), webhook, ours, next)).Ready()
	defer gateway.Kill()
	pos := process.Client{
		API: gateway.API, Range: "11111111-1111-4111-8111-111111111111", Token: "22222222-2222-4222-8222-222222222222",
	}
	answer, err := pos.Do("POST", "/api/v2/pos/simulate/help", "")
	require.NoError(t, err)
	require.Equal(t, 201, answer.Status, answer.Body)
	status, err := strconv.Atoi(answer.Header.Get("webhook-status"))
	require.NoError(t, err)
	return status
}

// freePort is one that was free a moment ago: the receivers take a number, and cannot say which one they were given.
func freePort(t *testing.T) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
