package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
)

// addresses are the actors of a range's lanes, for whoever has a command for one of them: commands go straight there, and do
// not queue at the range's own actor. That one alone changes the list.
type addresses struct {
	mu    sync.RWMutex
	lanes map[uuid.UUID]*actor.PID
}

// sendTo gives the actor of a lane a message. It never blocks, and a lane that has been dropped is sent nothing any more, so
// that whatever stops it then comes behind all that it was sent. A lane that is not listed has left, or the range is about to
// spawn it, be it once more after a panic: the range's actor takes the message then, and knows which it is.
func (r *Range) sendTo(lane uuid.UUID, message any) {
	r.addresses.mu.RLock()
	defer r.addresses.mu.RUnlock()
	if at, listed := r.addresses.lanes[lane]; listed {
		r.send(at, message)
		return
	}
	r.send(r.pid, &toLane{lane, message})
}

// begin begins an empty list with room for so many. The range's actor, being the only one who changes it, may read it as it
// likes.
func (a *addresses) begin(size int) map[uuid.UUID]*actor.PID {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lanes = make(map[uuid.UUID]*actor.PID, size)
	return a.lanes
}

func (a *addresses) put(lane uuid.UUID, at *actor.PID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lanes[lane] = at
}

func (a *addresses) drop(lane uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.lanes, lane)
}
