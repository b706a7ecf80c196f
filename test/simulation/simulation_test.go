package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1) // a seed gives the same run more often
	os.Exit(m.Run())
}

// seeds are those that a run of the tests simulates; SEED simulates one, SEEDS so many from 1. REPEATS is how
// often one that has failed is repeated.
func seeds(t *testing.T, usual int) (all []uint64) {
	if one := os.Getenv("SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			t.Fatal("SEED: ", err)
		}
		return []uint64{seed}
	}
	if many := os.Getenv("SEEDS"); many != "" {
		n, err := strconv.Atoi(many)
		if err != nil {
			t.Fatal("SEEDS: ", err)
		}
		usual = n
	}
	for n := range usual {
		all = append(all, uint64(n+1))
	}
	return all
}

// Whatever happens to machines, store, network, controllers and the webhook: nothing that was acknowledged is
// lost, the hardware is shown what is saved or what closes, a hold ends by its release, no event comes twice,
// and when the faults end everything is served.
func TestAnInstallationKeepsItsPromises(t *testing.T) {
	for _, seed := range seeds(t, usualSeeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			p := plan{seed: seed, nodes: 3, load: 2 * time.Minute}
			if seed%3 == 0 {
				p.nodes = 1
			}
			if trail := simulate(t, p); trail != nil {
				explain(t, p, trail)
			}
		})
	}
}

const (
	usualSeeds   = 40
	usualRepeats = 20 // of a run that has failed: a seed gives nearly the same run each time
	shownLines   = 40 // before the first line that says what was found
)

// explain fails the test with what was found, and writes down everything that has happened.
func explain(t *testing.T, p plan, trail []string) {
	isFound := func(line string) bool { return strings.Contains(line, "FOUND:") }
	first := slices.IndexFunc(trail, isFound)
	for _, line := range slices.DeleteFunc(slices.Clone(trail), func(line string) bool { return !isFound(line) }) {
		t.Error(line)
	}
	t.Log("before that:\n" + strings.Join(trail[max(0, first-shownLines):first], "\n"))
	file := filepath.Join(os.TempDir(), fmt.Sprintf("rangegate-simulation-%d.txt", p.seed))
	if err := os.WriteFile(file, []byte(strings.Join(trail, "\n")), 0o600); err != nil {
		t.Log(err)
	}
	repeats, again := usualRepeats, 0
	if text := os.Getenv("REPEATS"); text != "" {
		repeats, _ = strconv.Atoi(text)
	}
	for range repeats {
		if simulate(t, p) != nil {
			again++
		}
	}
	t.Logf("%d of %d repeats of this seed fail; all that has happened is in %s; make simulate SEED=%d runs it", again,
		repeats, file, p.seed)
}
