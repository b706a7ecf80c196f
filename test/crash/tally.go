package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// tally counts what a trial has gone through.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *tally) count(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what]++
}

func (t *tally) of(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[what]
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&lines, "%8d %s\n", t.counts[what], what)
	}
	return lines.String()
}
