// Package needs says what becomes of a test that needs something that is not installed.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Program is the path of a program, which make tools installs.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed (make tools)")
	}
	return path
}

// Missing skips the test for that reason, or fails it when the environment has CI or RANGEGATE_NO_SKIP: there, a proof
// that was not made is none.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" || os.Getenv("RANGEGATE_NO_SKIP") != "" {
		t.Fatal(why + ", and this run may not skip what needs it")
	}
	t.Skip(why)
}
