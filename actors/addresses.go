package actors

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/actors/supervised"
	"rangegate/lanes"
)

// addresses are those of the range's actor and of its lanes, so that a message goes straight to the lane and does
// not queue at the range's actor. That one alone changes the list.
type addresses struct {
	send func(to *actor.PID, message any) // never blocks
	root atomic.Pointer[actor.PID]        // the range's actor

	mu    sync.RWMutex
	lanes map[uuid.UUID]*actor.PID
}

// sendRoot sends the range's actor a message. It has started by the time that anybody knows of the range.
func (a *addresses) sendRoot(message any) { a.send(a.root.Load(), message) }

// sendTo sends the message to the lane's actor. It never blocks. A lane that is not listed has left, or is
// about to be spawned: the range's actor takes the message then and knows which.
func (a *addresses) sendTo(lane uuid.UUID, message any) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if pid, found := a.lanes[lane]; found {
		a.send(pid, message)
		return
	}
	a.sendRoot(&toLane{lane, message})
}

// sendListed is sendTo for the range's actor, which may read the list without the lock: a lane that is not
// listed has left.
func (a *addresses) sendListed(lane uuid.UUID, message any) {
	if pid, found := a.lanes[lane]; found {
		a.send(pid, message)
	} else {
		supervised.Refuse(message, lanes.ErrLaneNotFound)
	}
}

// clear begins an empty list with room for so many lanes.
func (a *addresses) clear(size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lanes = make(map[uuid.UUID]*actor.PID, size)
}

// has reports whether the lane is listed, for the range's actor.
func (a *addresses) has(lane uuid.UUID) bool {
	_, found := a.lanes[lane]
	return found
}

func (a *addresses) put(lane uuid.UUID, pid *actor.PID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lanes[lane] = pid
}

func (a *addresses) drop(lane uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.lanes, lane)
}
