package screens

import (
	"sync"
	"time"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// frameLifetime is how long encoded lanes are reused: a message has the instant of its times, so an older one
// stays correct.
const frameLifetime = 50 * time.Millisecond

// FrameCache encodes the lanes of a message once for all screens of one kind and range, as a ceasefire sends
// every lane to all of them at once. It is safe for concurrent use.
type FrameCache[View any] struct {
	view func(lanes.LaneStatus, lanes.Instant) View

	mu             sync.Mutex
	r              clock
	after, version uint64
	at             lanes.Instant
	encoded        []byte
}

// clock is a running range. Another one with the same id is another value.
type clock interface{ Now() lanes.Instant }

// NewFrameCache returns a cache of what view makes of each lane.
func NewFrameCache[View any](view func(lanes.LaneStatus, lanes.Instant) View) *FrameCache[View] {
	return &FrameCache[View]{view: view}
}

// Lanes returns the lanes that have changed between two versions, encoded, and the instant of their times.
func (f *FrameCache[View]) Lanes(
	r clock, after, version uint64, changed []lanes.LaneStatus,
) (now string, encoded []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := r.Now()
	if f.r != r || f.after != after || f.version != version || at.Since(f.at) > frameLifetime || at.Before(f.at) {
		f.r, f.after, f.version, f.at = r, after, version, at
		f.encoded = Encode(endpoint.Views(changed, func(s lanes.LaneStatus) View { return f.view(s, at) }))
	}
	return endpoint.Stamp(f.at.Wall), f.encoded
}

// AppendLanes returns a message with the encoded lanes as its last key.
func AppendLanes(rest any, encoded []byte) Encoded {
	text := Encode(rest)
	message := append(make([]byte, 0, len(text)+len(encoded)+len(`,"lanes":`)), text[:len(text)-1]...)
	return append(append(append(message, `,"lanes":`...), encoded...), '}')
}
