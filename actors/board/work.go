package board

import (
	"sync"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// WorkLog has what each lane's actor does and what waits for it, for operators. It outlives the panics of lanes and is
// read without messaging one. The zero value is empty; its methods may be called from any goroutine.
type WorkLog struct {
	mu    sync.Mutex
	lanes map[uuid.UUID]*Work
}

// Work is what the actor of one lane does. Its lane writes it.
type Work struct {
	mu  sync.Mutex
	now lanes.LaneWork
}

// Of returns the lane's, for its actor.
func (w *WorkLog) Of(lane uuid.UUID) *Work {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lanes == nil {
		w.lanes = map[uuid.UUID]*Work{}
	}
	work := w.lanes[lane]
	if work == nil {
		work = &Work{}
		w.lanes[lane] = work
	}
	return work
}

// Forget drops what is known of a lane that has left.
func (w *WorkLog) Forget(lane uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.lanes, lane)
}

// Set replaces what the lane does. How late its newest timer was stays, unless work says it.
func (w *Work) Set(work lanes.LaneWork) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if work.Late == nil {
		work.Late = w.now.Late
	}
	w.now = work
}

// Now is what the lane does.
func (w *Work) Now() lanes.LaneWork {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}
