package linktest

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"rangegate/lanes"
)

// ear is the receiver of one connection. It remembers what it hears, and what it should not have heard: anything
// after Down, or after it was covered. That is looked at when the story ends.
type ear struct {
	mu      sync.Mutex
	applied []uint64
	reports []lanes.Report
	down    bool
	covered bool
	wrong   []any
}

func newEar(t *testing.T) *ear {
	e := &ear{}
	t.Cleanup(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		assert.Empty(t, e.wrong, "heard from a connection that had failed or was closed")
	})
	return e
}

func (e *ear) Applied(revision uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.applied = append(e.applied, revision)
	e.judge(revision)
}

func (e *ear) Reported(r lanes.Report) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reports = append(e.reports, r)
	e.judge(r)
}

func (e *ear) Down(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.judge(err)
	if err == nil {
		e.wrong = append(e.wrong, "down without a reason")
	}
	e.down = true
}

func (e *ear) judge(what any) {
	if e.down || e.covered {
		e.wrong = append(e.wrong, what)
	}
}

// cover says that the connection is closed: nothing may come from now on.
func (e *ear) cover() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.covered = true
}

func (e *ear) isDown() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.down
}

func (e *ear) hasApplied(revision uint64) bool { return slices.Contains(e.revisions(), revision) }

func (e *ear) revisions() []uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.applied)
}

func (e *ear) reported() []lanes.Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.reports)
}
