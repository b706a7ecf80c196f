// Package ownership checks the rules by which nodes own ranges as a model (docs/ownership.md).
//
//	ownership.pml   claims, leases, releases, fences and fail-overs; promises 1 to 5 are its assertions
//	takeover.pml    promise 6: a range whose owner is lost is served again
//	spin.go         runs spin: an exhaustive search, or the trace of one random run
//
// Its own tests search the model, show that each planted defect is found, and do each step of random traces to a store
// too. The tests of actors/nodes hold what a node decides in such a trace against plan.go and lease.go.
package ownership

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// Found is what a search of a model has come to.
type Found struct {
	States, Depth     int
	Seconds, Megabyte float64
	// Broken is the promise or rule that the first trace breaks, empty if none does, and Trace that trace.
	Broken, Trace string
}

func (f Found) String() string {
	return fmt.Sprintf("%d states, depth %d, %.1f s, %.0f MB", f.States, f.Depth, f.Seconds, f.Megabyte)
}

//go:embed *.pml
var models embed.FS

// write puts a model into a folder of its own, and returns that and the text.
func write(t testing.TB, model string) (dir string, text []byte) {
	t.Helper()
	text, err := models.ReadFile(model)
	require.NoError(t, err)
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.pml"), text, 0o600))
	return dir, text
}

// Search looks at every state of a model that is defined so, or fails the test: a search that was cut short shows
// nothing. It stops at the first trace that breaks a promise.
func Search(t testing.TB, model string, live bool, defines ...string) (found Found) {
	t.Helper()
	spin, gcc := support.Program(t, "spin"), support.Program(t, "gcc")
	dir, text := write(t, model)
	run := func(name string, arguments ...string) string {
		command := exec.Command(name, arguments...)
		command.Dir = dir
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s %s\n%s", name, arguments, output)
		return string(output)
	}
	run(spin, append(defined(defines), "-a", "model.pml")...)
	kind, options := []string{"-DSAFETY", "-DNOFAIR"}, []string{"-n", "-m1000000"}
	if live {
		kind, options = []string{"-DNFAIR=3"}, append(options, "-a", "-f")
	}
	optimized := "-O0" // a small search is over before the compiler would be
	if soaking() {
		optimized = "-O2"
	}
	run(gcc, append(kind, "-w", optimized, "-DMEMLIM="+strconv.Itoa(mostMemory), "-o", "pan", "pan.c")...)
	output := run("./pan", options...)

	number := func(pattern string) float64 {
		match := regexp.MustCompile(pattern).FindStringSubmatch(output)
		require.NotNil(t, match, "%s\n%s", pattern, output)
		n, err := strconv.ParseFloat(match[1], 64)
		require.NoError(t, err)
		return n
	}
	found.States, found.Depth = int(number(`([\d.e+]+) states, stored`)), int(number(`depth reached (\d+)`))
	found.Seconds, found.Megabyte = number(`elapsed time ([\d.]+) seconds`),
		number(`([\d.]+)\s+total actual memory usage`)
	if number(`errors: (\d+)`) == 0 {
		require.NotContains(t, output, "Search not completed")
		require.NotContains(t, output, "max search depth too small")
		return found
	}
	found.Trace = run(spin, append(defined(defines), "-t", "-T", "model.pml")...)
	found.Broken = "promise 6"
	if at := regexp.MustCompile(`model\.pml:(\d+), Error: assertion violated`).
		FindStringSubmatch(found.Trace); at != nil {
		line, err := strconv.Atoi(at[1])
		require.NoError(t, err)
		named := regexp.MustCompile(`/\* (PROMISE \d|RULE)`).FindSubmatch(bytes.Split(text, []byte("\n"))[line-1])
		require.NotNil(t, named, "line %d asserts what has no name", line)
		found.Broken = strings.ToLower(string(named[1]))
	}
	return found
}

// soaking is true in make soak.
func soaking() bool { return os.Getenv("ROUNDS") != "" }

// mostMemory is how many megabytes a search may use.
const mostMemory = 4000

func defined(defines []string) []string {
	var options []string
	for _, define := range defines {
		options = append(options, "-D"+define)
	}
	return options
}

// Step is one step of a trace, as ownership.pml prints it: what is done, and the numbers that it says.
type Step struct {
	Kind    string
	Numbers []int
	Line    string
}

// WithLeases are the defines of a trace in which nodes claim what their leases let them claim.
func WithLeases(seed int) []string {
	return []string{
		"LEASES=1", "CLAIMS=6", "SLOWED=1", "FAILURES=1",
		budget(seed, "FAILOVERS", 1), budget(seed, "CRASHES", 4), budget(seed, "DRAINS", 2),
		budget(seed, "GIVES", 3),
	}
}

// WithoutLeases are those of a trace in which every node does at any time what it may ever do: most flushes are
// fenced.
func WithoutLeases(seed int) []string {
	return []string{"LEASES=0", "CLAIMS=6", "REFUSALS=1", budget(seed, "CRASHES", 4)}
}

// budget is how often something happens at most.
func budget(seed int, name string, most int) string { return fmt.Sprint(name, "=", seed%(most+1)) }

// Trace returns the steps of one random run of ownership.pml, in which more happens than a search has room for. In
// which order follows from the seed.
func Trace(t testing.TB, seed int, defines []string) (steps []Step) {
	t.Helper()
	dir, _ := write(t, "ownership.pml")
	defines = append([]string{"TRACE"}, defines...)
	arguments := append(defined(defines), "-T", "-n"+strconv.Itoa(seed), "-u12000", "model.pml")
	command := exec.Command(support.Program(t, "spin"), arguments...)
	command.Dir = dir
	output, err := command.CombinedOutput()
	if !bytes.Contains(output, []byte("assertion violated")) { // which ends the trace, and is for Search to find
		require.NoError(t, err, "%s", output)
	}
	for line := range strings.Lines(string(output)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "@" {
			continue
		}
		step := Step{Kind: words[1], Line: strings.TrimSpace(line)}
		for _, word := range words[2:] {
			if n, err := strconv.Atoi(word); err == nil {
				step.Numbers = append(step.Numbers, n)
			}
		}
		steps = append(steps, step)
	}
	require.NotEmpty(t, steps, "seed %d", seed)
	return steps
}
