package holds

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

// Progress hears from every lane under a hold how far it, or its end, has come there: on the hardware, and in the
// store. Lanes report from their actors; one goroutine waits for them.
type Progress struct {
	hold    bool   // held, or released
	reached func() // nil, or called once all lanes that could be reached have confirmed, if there is one

	mu        sync.Mutex
	lanes     []uuid.UUID
	reach     map[uuid.UUID]Reach
	confirmed bool // by at least one lane
	awaited   int  // lanes that may still confirm
	unsaved   int  // writes that are not durable yet
	failed    bool // one never will be
	complete  chan struct{}

	timed bool     // moments are noted
	last  []Moment // the newest MaxMoments
}

// MaxMoments is how many confirmations of a hold are remembered with their time: those that came last. Most ranges have
// fewer lanes.
const MaxMoments = 32

// Moment is when the hardware of a lane has confirmed the hold, or its end.
type Moment struct {
	Lane uuid.UUID
	At   time.Time
}

// Reach is how far a hold has come on a lane's hardware. The zero value is that nothing is known of it.
type Reach int

// How far a hold can come.
const (
	NotReached Reach = iota + 1 // the link is down
	Sent                        // the hardware has not confirmed it yet
	Confirmed
)

// final reports whether nothing more is waited for: a link that is down may take long to come back.
func (r Reach) final() bool { return r == Confirmed || r == NotReached }

// NewProgress waits for one write of each lane, and for that many of the range's record. hold says that the lanes
// are to be held, else they are to be released. reached is nil, or called once all lanes that could be reached
// have confirmed, if there is one.
func NewProgress(hold bool, covered []uuid.UUID, records int, reached func()) *Progress {
	p := &Progress{
		hold: hold, lanes: covered, reach: make(map[uuid.UUID]Reach, len(covered)), awaited: len(covered),
		unsaved: len(covered) + records, complete: make(chan struct{}), reached: reached,
	}
	p.closeIfComplete()
	return p
}

// Hold reports whether the lanes are to be held, or released.
func (p *Progress) Hold() bool { return p.hold }

// NoteMoments has the last confirmations remembered. It is called before any lane reports.
func (p *Progress) NoteMoments() { p.timed = true }

// Moments are the last confirmations, oldest first. A lane that has confirmed again, after a newer state, is there
// twice.
func (p *Progress) Moments() []Moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.last)
}

// Report records how far the hold has come on the lane.
func (p *Progress) Report(lane uuid.UUID, now Reach) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.reach[lane]
	p.reach[lane] = now
	switch {
	case now.final() && !before.final():
		p.awaited--
	case before.final() && !now.final():
		p.awaited++
	}
	p.confirmed = p.confirmed || now == Confirmed
	if p.timed && now == Confirmed && before != Confirmed {
		if len(p.last) == MaxMoments {
			p.last = slices.Delete(p.last, 0, 1)
		}
		p.last = append(p.last, Moment{lane, time.Now()})
	}
	if p.awaited == 0 && p.confirmed && p.reached != nil {
		p.reached()
		p.reached = nil
	}
	p.closeIfComplete()
}

// SaveEnded records that the write of a lane has ended.
func (p *Progress) SaveEnded(saved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsaved--
	p.failed = p.failed || !saved
	p.closeIfComplete()
}

// RecordSaved is SaveEnded for a write of the range's record. One that is unresolved has another outcome later.
func (p *Progress) RecordSaved(outcome commit.Outcome) {
	if outcome != commit.Unresolved {
		p.SaveEnded(outcome == commit.Saved)
	}
}

// closeIfComplete ends the wait once there is nothing more to wait for. p.mu is held, or nobody else knows of p.
func (p *Progress) closeIfComplete() {
	if p.unsaved > 0 || p.awaited > 0 {
		return
	}
	select {
	case <-p.complete:
	default:
		close(p.complete)
	}
}

// Await waits until the hold has come as far as it will, or ctx ends, and returns how far that is.
func (p *Progress) Await(ctx context.Context) lanes.Reached {
	select {
	case <-p.complete:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	reached := lanes.Reached{Saved: p.unsaved == 0 && !p.failed}
	for _, lane := range p.lanes {
		switch p.reach[lane] {
		case Confirmed:
			reached.Confirmed = append(reached.Confirmed, lane)
		case Sent:
			reached.Sent = append(reached.Sent, lane)
		default:
			reached.NotReached = append(reached.NotReached, lane)
		}
	}
	return reached
}
