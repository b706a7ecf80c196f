package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// counters count what a fixture has gone through.
type counters struct {
	mu     sync.Mutex
	counts map[string]int
	worst  time.Duration // that an instant has strayed
}

func (t *counters) count(what string) { t.add(what, 1) }

func (t *counters) add(what string, many int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what] += many
}

// merge adds the counters of another fixture.
func (t *counters) merge(other *counters) {
	other.mu.Lock()
	defer other.mu.Unlock()
	for what, many := range other.counts {
		t.add(what, many)
	}
	t.recordError(other.worst)
}

func (t *counters) get(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[what]
}

// recordError keeps the largest error of an instant.
func (t *counters) recordError(size time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.worst = max(t.worst, size)
}

func (t *counters) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&lines, "%8d %s\n", t.counts[what], what)
	}
	fmt.Fprintf(&lines, "%8s worst error of time", t.worst.Round(time.Microsecond))
	return lines.String()
}
