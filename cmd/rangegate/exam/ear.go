package exam

import (
	"context"
	"slices"
	"sync"
	"time"

	"rangegate/lanes"
)

// ear hears of one connection.
type ear struct {
	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, when something is heard
	applied uint64
	reports []lanes.Report
	down    error
}

func newEar() *ear { return &ear{changed: make(chan struct{})} }

// Applied implements link.Receiver.
func (e *ear) Applied(revision uint64) { e.hear(func() { e.applied = max(e.applied, revision) }) }

// Reported implements link.Receiver.
func (e *ear) Reported(r lanes.Report) { e.hear(func() { e.reports = append(e.reports, r) }) }

// Down implements link.Receiver.
func (e *ear) Down(err error) { e.hear(func() { e.down = err }) }

// reported is what has been reported so far.
func (e *ear) reported() []lanes.Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.reports)
}

func (e *ear) hear(note func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	note()
	close(e.changed)
	e.changed = make(chan struct{})
}

// wait is until what is asked for has been heard; false when it was not in time. It is asked with the ear locked.
func (e *ear) wait(ctx context.Context, within time.Duration, is func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		e.mu.Lock()
		so, changed := is(), e.changed
		e.mu.Unlock()
		if so {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
