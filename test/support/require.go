package support

import (
	"os"
	"os/exec"
	"testing"
	"time"
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

// Eventually waits until the condition holds. The condition runs in the caller's goroutine, so it may end the test.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came: " + what)
		}
	}
}
