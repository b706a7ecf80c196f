package actors

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// rollcall hears from every lane under a hold what became of it there: whether it is in force on the hardware, and
// whether it is saved. The lanes speak up from their actors; somebody waits for them.
type rollcall struct {
	hold    bool   // what is called for: held, or released
	reaches func() // nil, or called once: every lane that could be reached has confirmed, and there is one

	mu      sync.Mutex
	lanes   []uuid.UUID
	reached map[uuid.UUID]reach
	anyone  bool // has confirmed
	awaited int  // lanes that may still confirm
	unsaved int  // writes that are not durable yet
	failed  bool // one never will be
	over    chan struct{}
}

// reach is how far a hold has come on a lane.
type reach int

const (
	unheard reach = iota
	notReached
	sent
	confirmed
)

// final: nothing more is waited for. A link that is down may take long to come back.
func final(how reach) bool { return how == confirmed || how == notReached }

// call begins a rollcall of those lanes. So many writes are to be saved beside one of each lane.
func call(hold bool, over []uuid.UUID, writes int) *rollcall {
	r := &rollcall{
		hold: hold, lanes: over, reached: make(map[uuid.UUID]reach, len(over)), awaited: len(over),
		unsaved: len(over) + writes, over: make(chan struct{}),
	}
	r.look()
	return r
}

// hears is a lane saying how far it has come.
func (r *rollcall) hears(lane uuid.UUID, how reach) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.reached[lane]
	r.reached[lane] = how
	switch {
	case final(how) && !final(before):
		r.awaited--
	case final(before) && !final(how):
		r.awaited++
	}
	r.anyone = r.anyone || how == confirmed
	if r.awaited == 0 && r.anyone && r.reaches != nil {
		r.reaches()
		r.reaches = nil
	}
	r.look()
}

// saves is a write that has ended.
func (r *rollcall) saves(saved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsaved--
	r.failed = r.failed || !saved
	r.look()
}

// look ends the call once there is nothing more to wait for. mu is held, or nobody else knows of the call.
func (r *rollcall) look() {
	if r.unsaved > 0 || r.awaited > 0 {
		return
	}
	select {
	case <-r.over:
	default:
		close(r.over)
	}
}

// answer waits until the call is over, or ctx ends, and says how far it has come.
func (r *rollcall) answer(ctx context.Context) lanes.Reached {
	select {
	case <-r.over:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := lanes.Reached{Saved: r.unsaved == 0 && !r.failed}
	for _, lane := range r.lanes {
		switch r.reached[lane] {
		case confirmed:
			answer.Confirmed = append(answer.Confirmed, lane)
		case sent:
			answer.Sent = append(answer.Sent, lane)
		default:
			answer.NotReached = append(answer.NotReached, lane)
		}
	}
	return answer
}
