package main

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rangegate": main})
}

// The scripts under testdata are the command line as operators and their scripts use it.
func TestCommandLine(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
	})
}

// exits runs a command and compares its exit code: exits 2 rangegate check --config FILE.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var exit *exec.ExitError
	got := 0
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// The version in the User-Agent has the characters of a product token only (RFC 9110).
func TestTheProductVersionIsAToken(t *testing.T) {
	for version, product := range map[string]string{
		"(devel)": "devel", "2.1.0": "2.1.0", "v0.0.0-20261122180000-0123456789ab+dirty": "v0.0.0-20261122180000-0123456789ab+dirty",
		"2.1.0 (a/b)": "2.1.0ab", "2.1.0~rc1": "2.1.0~rc1", "2·1é": "21",
	} {
		require.Equal(t, product, productVersion(version))
	}
}
