package link

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Frame is one frame of a link, as it was sent or received: it may have secrets and names in it.
type Frame struct {
	At   time.Time
	Sent bool // by the gateway; otherwise it has received it
	Kind FrameKind
	// Payload is that of a message or a close frame, and never modified. nil: it was not read.
	Payload []byte
	Size    int64  // of the payload on the wire
	Address string // of the controller, as the gateway sees it; empty for one in the process
}

// FrameKind is what a frame is on the wire.
type FrameKind byte

// The kinds. A message in several fragments is one frame.
const (
	FrameMessage FrameKind = iota
	FrameBinary
	FramePing
	FramePong
	FrameClose
)

// What is kept for a follower. More is dropped, the oldest first.
const (
	MaxFollowers = 4   // of one lane
	maxWaiting   = 256 // frames
	maxBytes     = 256 << 10
)

// Taps are where drivers leave the frames of a range's links for those who follow them. A driver never waits for a
// follower. While nobody follows a link of the range, a frame costs the load of one pointer, and is not copied. The
// zero value is ready; nil is followed by nobody. The methods may be called from any goroutine.
type Taps struct {
	followed  atomic.Pointer[map[uuid.UUID]Followers] // replaced, never changed; nil: nobody follows a link
	replacing sync.Mutex
}

// Followers are those of one lane's link.
type Followers []*Follower

// Of returns the followers of the lane's link. A driver that finds any copies the frame and calls Add.
func (t *Taps) Of(lane uuid.UUID) Followers {
	if t == nil {
		return nil
	}
	followed := t.followed.Load()
	if followed == nil {
		return nil
	}
	return (*followed)[lane]
}

// Add gives all of them the frame.
func (f Followers) Add(frame Frame) {
	for _, follower := range f {
		follower.add(frame)
	}
}

// Follow begins to keep the frames of the lane's link until Stop. Errors: lanes.ErrTooManyFollowers.
func (t *Taps) Follow(lane uuid.UUID) (*Follower, error) {
	t.replacing.Lock()
	defer t.replacing.Unlock()
	if len(t.Of(lane)) >= MaxFollowers {
		return nil, lanes.ErrTooManyFollowers
	}
	added := &Follower{taps: t, lane: lane, wake: make(chan struct{}, 1)}
	t.replace(lane, append(slices.Clone(t.Of(lane)), added))
	return added, nil
}

// replace makes these the followers of the lane's link. replacing is held.
func (t *Taps) replace(lane uuid.UUID, followers Followers) {
	next := map[uuid.UUID]Followers{}
	if before := t.followed.Load(); before != nil {
		maps.Copy(next, *before)
	}
	if next[lane] = followers; len(followers) == 0 {
		delete(next, lane)
	}
	if len(next) == 0 {
		t.followed.Store(nil)
		return
	}
	t.followed.Store(&next)
}

// Follower keeps the frames of a lane's link that were not taken yet.
type Follower struct {
	taps *Taps
	lane uuid.UUID
	wake chan struct{} // of capacity 1

	mu      sync.Mutex
	stopped bool
	waiting []Frame // the oldest first
	bytes   int     // of their payloads
	dropped uint64
}

func (f *Follower) add(frame Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	f.waiting, f.bytes = append(f.waiting, frame), f.bytes+len(frame.Payload)
	for len(f.waiting) > maxWaiting || f.bytes > maxBytes {
		f.bytes -= len(f.waiting[0].Payload)
		f.waiting[0] = Frame{}
		f.waiting = f.waiting[1:]
		f.dropped++
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Wake gets a value when there are frames.
func (f *Follower) Wake() <-chan struct{} { return f.wake }

// Next returns the frames since the call before, and how many before them were dropped. It does not wait.
func (f *Follower) Next() (frames []Frame, dropped uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	frames, dropped = f.waiting, f.dropped
	f.waiting, f.bytes, f.dropped = nil, 0, 0
	return frames, dropped
}

// Stop ends it, and forgets what was not taken. It may be called again.
func (f *Follower) Stop() {
	f.taps.replacing.Lock()
	defer f.taps.replacing.Unlock()
	f.taps.replace(f.lane, slices.DeleteFunc(slices.Clone(f.taps.Of(f.lane)), func(other *Follower) bool {
		return other == f
	}))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped, f.waiting = true, nil
}
