// Package board is the read model of a range: the state of every lane, with what changed since a version and
// with statistics. It owns the picture and no lane: lane actors publish, everyone else reads, and no reader
// messages an actor.
package board

import (
	"cmp"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// View is every lane of a range as it is now. Its methods may be called from any goroutine, and wait for no
// actor. What it shows of a session is saved, or was answered as not saved.
type View struct {
	now func() lanes.Instant // of the clock of the range

	mu       sync.RWMutex
	lanes    []lanes.LaneStatus  // in display order
	places   map[uuid.UUID]int32 // lane → its place in lanes; nobody changes it
	sessions map[uuid.UUID]int32 // session → the place of its lane
	version  uint64              // of the newest change
	changed  []uint64            // likewise of each lane, by its place
	wake     chan struct{}       // closed at the next change; nil while nobody waits for one

	laneWakes map[int32]chan struct{} // likewise of one lane, by its place; of those that somebody waits for
	failures  map[uuid.UUID]linkFailures
	// the newest changes of each lane's link, at most lanes.MaxLinkChanges, oldest first
	linkChanges map[uuid.UUID][]lanes.LinkChange
}

// Board is the View, and what those call who publish something there.
type Board struct{ View }

// New is the board of a layout with nothing on its lanes. places has each lane's place in the layout; it is
// kept, and must not be changed. now reads the clock of the range.
func New(layout lanes.Layout, places map[uuid.UUID]int32, now func() lanes.Instant) *Board {
	b := &Board{View{
		now:      now,
		lanes:    make([]lanes.LaneStatus, len(layout.Lanes)),
		places:   places,
		sessions: map[uuid.UUID]int32{},
		version:  1,
		changed:  make([]uint64, len(layout.Lanes)),
		failures: map[uuid.UUID]linkFailures{},

		linkChanges: map[uuid.UUID][]lanes.LinkChange{},

		laneWakes: map[int32]chan struct{}{},
	}}
	for i, place := range layout.Lanes {
		b.lanes[i] = lanes.LaneStatus{Place: place, Lane: lanes.Lane{ID: place.ID, Accessible: place.Accessible}}
		b.changed[i] = b.version
	}
	return b
}

// Arrange makes the board that of another layout. Lanes that stay are as they were.
func (b *Board) Arrange(layout lanes.Layout, places map[uuid.UUID]int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := New(layout, places, b.now)
	for i := range next.lanes {
		status := &next.lanes[i]
		if was, stays := b.places[status.ID]; stays {
			place := status.Place
			*status = b.lanes[was]
			status.Place = place
		}
		if s := status.Lane.Session; s != nil {
			next.sessions[s.ID] = int32(i)
		}
		if failures, found := b.failures[status.ID]; found {
			next.failures[status.ID] = failures
		}
		if changes, found := b.linkChanges[status.ID]; found {
			next.linkChanges[status.ID] = changes
		}
		next.changed[i] = b.version + 1
	}
	for _, wake := range b.laneWakes {
		close(wake)
	}
	b.lanes, b.places, b.sessions, b.changed, b.failures = next.lanes, next.places, next.sessions,
		next.changed, next.failures
	b.laneWakes, b.linkChanges = next.laneWakes, next.linkChanges
	b.raiseVersion()
}

// Publish shows the lanes as they are now. Lanes given together change together: no reader sees one without the
// other. A lane that is shown so already is no change.
func (b *Board) Publish(changed ...lanes.Lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.publish(changed)
}

// PublishSaved shows the lanes as they were saved. What is not saved of a lane, such as whether its hardware
// is in working order, stays as it is shown: the lane publishes that.
func (b *Board) PublishSaved(saved ...lanes.Lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var two [2]lanes.Lane // those of a move
	shown := two[:0]
	for _, lane := range saved {
		if i, found := b.places[lane.ID]; found {
			shown = append(shown, lane.WithUnsaved(b.lanes[i].Lane))
		}
	}
	b.publish(shown)
}

// PublishUnsaved shows what is not saved of the lane. The rest stays as it is shown: it may have been saved after the
// lane's own value was.
func (b *Board) PublishUnsaved(lane lanes.Lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i, found := b.places[lane.ID]; found {
		b.publish([]lanes.Lane{b.lanes[i].Lane.WithUnsaved(lane)})
	}
}

// publish is Publish. b.mu is held.
func (b *Board) publish(changed []lanes.Lane) {
	different := false
	for _, lane := range changed {
		i, found := b.places[lane.ID]
		if !found || lane.Equal(b.lanes[i].Lane) { // it has left, or is shown already
			continue
		}
		if s := b.lanes[i].Lane.Session; s != nil && b.sessions[s.ID] == i {
			delete(b.sessions, s.ID)
		}
		b.lanes[i].Lane = lane
		b.noteChange(i)
		different = true
	}
	if different {
		b.raiseVersion()
	}
	for _, lane := range changed { // also one that is shown already: another lane may have had its session until now
		if i, found := b.places[lane.ID]; found && lane.Session != nil {
			b.sessions[lane.Session.ID] = i
		}
	}
}

// Hardware is what the lane knows of its hardware.
type Hardware struct {
	NotUsable string         // why it is not, empty when it is
	Parked    bool           // for repeated defects of the gateway
	Unproven  *lanes.Instant // that of the lane
	Heard     []lanes.Heard  // likewise
	Firmware  string         // of the controller, empty where that does not say
	// Capabilities and Address are those of a LinkChange.
	Capabilities []string
	Address      string
}

// PublishLink shows the state of the lane's link, and what follows of it.
func (b *Board) PublishLink(lane uuid.UUID, state lanes.LinkState, since time.Time, hardware Hardware) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, found := b.places[lane]
	if !found {
		return
	}
	status := &b.lanes[i]
	if cmp.Or(status.Link, lanes.LinkDown) != state {
		b.noteLink(lane, lanes.LinkChange{
			At: since, Link: state,
			Firmware: hardware.Firmware, Capabilities: hardware.Capabilities, Address: hardware.Address,
		})
	}
	status.Link, status.LinkSince, status.NotUsable, status.Parked = state, since, hardware.NotUsable, hardware.Parked
	status.Lane.Usable = hardware.NotUsable == ""
	status.Lane.Unproven, status.Lane.Heard = hardware.Unproven, hardware.Heard
	b.noteChange(i)
	b.raiseVersion()
}

// PublishContest shows that a second controller was refused, or no longer with nil.
func (b *Board) PublishContest(lane uuid.UUID, contest *lanes.Contest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, found := b.places[lane]
	if !found {
		return
	}
	b.lanes[i].Contest = contest
	b.noteChange(i)
	b.raiseVersion()
}

// PublishLocked shows whether the lane's hardware has confirmed that its fire line is locked.
func (b *Board) PublishLocked(lane uuid.UUID, locked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, found := b.places[lane]
	if !found || b.lanes[i].Locked == locked {
		return
	}
	b.lanes[i].Locked = locked
	b.noteChange(i)
	b.raiseVersion()
}

// PublishHardware shows what is wanted of the lane's hardware, and what its controller has said last. It is no change
// of the lane: nobody waits for it.
func (b *Board) PublishHardware(lane uuid.UUID, hardware lanes.Hardware) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i, found := b.places[lane]; found {
		b.lanes[i].Hardware = hardware
	}
}

// Has reports whether the range has the lane.
func (v *View) Has(lane uuid.UUID) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	_, found := v.places[lane]
	return found
}

// Find is the lane that the session is on.
func (v *View) Find(session uuid.UUID) (lane lanes.Lane, found bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	i, found := v.sessions[session]
	if !found {
		return lanes.Lane{}, false
	}
	return v.lanes[i].Lane, true
}

// SessionStatus is the lane that the session is on, as it is now.
func (v *View) SessionStatus(session uuid.UUID) (status lanes.LaneStatus, found bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	i, found := v.sessions[session]
	if !found {
		return lanes.LaneStatus{}, false
	}
	return v.lanes[i], true
}

// FindPurchase is the lane that has the purchase, pending or unresolved, and the purchase as it is there: nil
// if none has.
func (v *View) FindPurchase(p *lanes.Purchase) (lane uuid.UUID, found *lanes.Purchase) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for i := range v.lanes {
		if found := v.lanes[i].Lane.OpenPurchase(p.Session, p.ID); found != nil {
			return v.lanes[i].ID, found
		}
	}
	return uuid.Nil, nil
}

// Session is an active session as it is now, nil when it is on no lane.
func (v *View) Session(id uuid.UUID) *lanes.SessionView {
	v.mu.RLock()
	defer v.mu.RUnlock()
	i, found := v.sessions[id]
	if !found {
		return nil
	}
	return v.lanes[i].Lane.View(v.now())
}

// Sessions are all active sessions as they are now, in the display order of their lanes.
func (v *View) Sessions() []*lanes.SessionView {
	now := v.now()
	v.mu.RLock()
	defer v.mu.RUnlock()
	views := make([]*lanes.SessionView, 0, len(v.sessions))
	// One piece of memory instead of as many as there are sessions.
	together := make([]lanes.SessionView, 0, len(v.sessions))
	for i := range v.lanes {
		if view := v.lanes[i].Lane.View(now); view != nil {
			together = append(together, *view)
			views = append(views, &together[len(together)-1])
		}
	}
	return views
}

// Lanes are all lanes as they are, in display order.
func (v *View) Lanes() []lanes.LaneStatus {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return append([]lanes.LaneStatus(nil), v.lanes...)
}

// Unresolved returns the purchases that wait for staff, by lane in display order.
func (v *View) Unresolved() []lanes.OpenPurchase {
	var open []lanes.OpenPurchase
	all := v.Lanes()
	for _, status := range all {
		for _, p := range status.Lane.Open {
			if p.Phase != lanes.Unresolved {
				continue
			}
			kept := lanes.OpenPurchase{Purchase: *p, Lane: status.ID}
			for _, on := range all {
				if s := on.Lane.Session; s != nil && s.Continues(p.Session) {
					kept.CreditSession, kept.CreditLane = s.ID, on.ID
				}
			}
			open = append(open, kept)
		}
	}
	return open
}

// LaneStatus is the lane as it is now. found is false for a lane of another range.
func (v *View) LaneStatus(lane uuid.UUID) (status lanes.LaneStatus, found bool) {
	status, _, found = v.Lane(lane)
	return status, found
}

// Changes are the lanes that changed after that version of the board, all of them after 0, in display order,
// and the version that they are of. wake is closed at the next change: whoever was slow meanwhile is given
// what there is then, and nothing in between.
func (v *View) Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if after < v.version {
		for i, at := range v.changed {
			if at > after {
				changed = append(changed, v.lanes[i])
			}
		}
	}
	if v.wake == nil {
		v.wake = make(chan struct{})
	}
	return changed, v.version, v.wake
}

// LaneChange is the lane with that id, the version of its newest change, and a channel that is closed at its
// next one: whoever follows one lane waits for no other. found is false for a lane of another range; then
// there is nothing to wait for.
func (v *View) LaneChange(lane uuid.UUID) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, found := v.places[lane]
	if !found {
		return lanes.LaneStatus{}, 0, nil, false
	}
	return v.lanes[i], v.changed[i], v.wakeOf(i), true
}

// SessionChange is LaneChange of the lane that the session is on. When the session moves, that lane changes.
// found is false for a session that is on no lane.
func (v *View) SessionChange(
	session uuid.UUID,
) (status lanes.LaneStatus, version uint64, wake <-chan struct{}, found bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	i, found := v.sessions[session]
	if !found {
		return lanes.LaneStatus{}, 0, nil, false
	}
	return v.lanes[i], v.changed[i], v.wakeOf(i), true
}

// wakeOf is the channel that is closed when the lane at that place changes next. b.mu is held.
func (v *View) wakeOf(i int32) chan struct{} {
	waiting := v.laneWakes[i]
	if waiting == nil {
		waiting = make(chan struct{})
		v.laneWakes[i] = waiting
	}
	return waiting
}

// Refresh is a change of what is seen of a lane as time goes by.
func (b *Board) Refresh(lane uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i, found := b.places[lane]; found {
		b.noteChange(i)
		b.raiseVersion()
	}
}

// Touch is a change of something that is shown beside the lanes.
func (b *Board) Touch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.raiseVersion()
}

// noteChange says that the lane at that place has changed. raiseVersion follows. b.mu is held.
func (b *Board) noteChange(i int32) {
	b.changed[i] = b.version + 1
	if wake := b.laneWakes[i]; wake != nil {
		close(wake)
		delete(b.laneWakes, i)
	}
}

// raiseVersion makes the next version of what has just been changed. b.mu is held.
func (b *Board) raiseVersion() {
	b.version++
	if b.wake != nil {
		close(b.wake)
		b.wake = nil
	}
}
