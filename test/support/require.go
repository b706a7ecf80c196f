package support

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Program returns the path of a program, which make tools installs. Without it the test is skipped or fails, as Missing
// says.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed (make tools)")
	}
	return path
}

// Missing skips the test for that reason. When the environment has CI or RANGEGATE_NO_SKIP it fails the test instead.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" || os.Getenv("RANGEGATE_NO_SKIP") != "" {
		t.Fatal(why + ", and this run may not skip what needs it")
	}
	t.Skip(why)
}

// Patience bounds how long a test waits for what has to come. It is long because the machine may be busy.
const Patience = time.Minute

// Eventually waits until the condition holds. The condition runs in the caller's goroutine, so it may end the
// test. The failure says what was last seen, if seen tells it.
func Eventually(t testing.TB, what string, condition func() bool, seen ...func() any) {
	t.Helper()
	EventuallyWithin(t, Patience, what, condition, seen...)
}

// EventuallyWithin is Eventually with another patience.
func EventuallyWithin(t testing.TB, patience time.Duration, what string, condition func() bool, seen ...func() any) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		failure := "it never came: " + what
		for _, last := range seen {
			failure += fmt.Sprintf("; last seen: %+v", last())
		}
		t.Fatal(failure)
	}
}

// EventuallyNone waits until none is missing any more. The failure says how many are, and the first of them.
func EventuallyNone[T any](t testing.TB, what string, missing func() []T) {
	t.Helper()
	var last []T
	Eventually(t, what, func() bool {
		last = missing()
		return len(last) == 0
	}, func() any { return fmt.Sprintf("%d missing, the first of them %+v", len(last), last[0]) })
}

// FreeAddress returns an address that no other test gets, of this process or another one, until t ends: its
// UDP port is the claim. It is below the kernel's ephemeral ports, so that no connection gets it while its
// server is down.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range 1_000 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(10_000+rand.IntN(10_000)))
		claim, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		if listener, err := net.Listen("tcp", address); err == nil {
			require.NoError(t, listener.Close())
			t.Cleanup(func() { _ = claim.Close() })
			return address
		}
		_ = claim.Close()
	}
	require.Fail(t, "no free port")
	return ""
}
