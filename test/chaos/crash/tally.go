package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// tally counts what a trial has gone through.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
	worst  time.Duration // that an instant has strayed
}

func (t *tally) count(what string) { t.add(what, 1) }

func (t *tally) add(what string, many int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what] += many
}

// include adds what another trial has gone through.
func (t *tally) include(other *tally) {
	other.mu.Lock()
	defer other.mu.Unlock()
	for what, many := range other.counts {
		t.add(what, many)
	}
	t.strays(other.worst)
}

func (t *tally) of(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[what]
}

// strays notes how far an instant has strayed.
func (t *tally) strays(by time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.worst = max(t.worst, by)
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&lines, "%8d %s\n", t.counts[what], what)
	}
	fmt.Fprintf(&lines, "%8s worst error of time", t.worst.Round(time.Microsecond))
	return lines.String()
}
