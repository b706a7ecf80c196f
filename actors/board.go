package actors

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Board is the read model of a range: what every lane is like, for whoever wants to look. Readers never wait for an
// actor. What it shows of a session is saved, or was answered as not saved.
type Board struct {
	mu       sync.RWMutex
	lanes    []lanes.LaneStatus  // in display order
	place    map[uuid.UUID]int32 // lane → its place in lanes; nobody changes it
	sessions map[uuid.UUID]int32 // session → the place of its lane
	version  uint64              // of the newest change
	changed  []uint64            // likewise of each lane, by its place
	wake     chan struct{}       // closed at the next change; nil while nobody waits for one
	troubles map[uuid.UUID]trouble
}

func newBoard(s *settings) *Board {
	b := &Board{
		lanes:    make([]lanes.LaneStatus, len(s.Layout.Lanes)),
		place:    s.at,
		sessions: map[uuid.UUID]int32{},
		version:  1,
		changed:  make([]uint64, len(s.Layout.Lanes)),
		troubles: map[uuid.UUID]trouble{},
	}
	for i, place := range s.Layout.Lanes {
		b.lanes[i] = lanes.LaneStatus{Place: place, Lane: lanes.Lane{ID: place.ID, Accessible: place.Accessible}}
		b.changed[i] = b.version
	}
	return b
}

// arrange makes the board that of another layout. Lanes that stay are as they were.
func (b *Board) arrange(s *settings) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := newBoard(s)
	for i := range next.lanes {
		status := &next.lanes[i]
		if was, stays := b.place[status.ID]; stays {
			place := status.Place
			*status = b.lanes[was]
			status.Place = place
		}
		if s := status.Lane.Session; s != nil {
			next.sessions[s.ID] = int32(i)
		}
		if trouble, had := b.troubles[status.ID]; had {
			next.troubles[status.ID] = trouble
		}
		next.changed[i] = b.version + 1
	}
	b.lanes, b.place, b.sessions, b.changed, b.troubles = next.lanes, next.place, next.sessions, next.changed, next.troubles
	b.changes()
}

// publish shows the lanes as they are now. Lanes given together change together: no reader sees one without the
// other.
func (b *Board) publish(changed ...lanes.Lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, lane := range changed {
		i, has := b.place[lane.ID]
		if !has { // it has left
			continue
		}
		if s := b.lanes[i].Lane.Session; s != nil && b.sessions[s.ID] == i {
			delete(b.sessions, s.ID)
		}
		b.lanes[i].Lane = lane
		b.changed[i] = b.version + 1
	}
	b.changes()
	for _, lane := range changed {
		if i, has := b.place[lane.ID]; has && lane.Session != nil {
			b.sessions[lane.Session.ID] = i
		}
	}
}

// publishLink shows how the lane's link stands, why the lane is not usable (empty when it is), and whether it is parked.
func (b *Board) publishLink(lane uuid.UUID, state lanes.LinkState, since time.Time, notUsable string, parked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, has := b.place[lane]
	if !has {
		return
	}
	status := &b.lanes[i]
	status.Link, status.LinkSince, status.NotUsable, status.Parked = state, since, notUsable, parked
	status.Lane.Usable = notUsable == ""
	b.changed[i] = b.version + 1
	b.changes()
}

// publishLocked shows whether the lane's hardware has confirmed that its fire line is locked.
func (b *Board) publishLocked(lane uuid.UUID, locked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, has := b.place[lane]
	if !has || b.lanes[i].Locked == locked {
		return
	}
	b.lanes[i].Locked = locked
	b.changed[i] = b.version + 1
	b.changes()
}

// has tells whether the range has the lane.
func (b *Board) has(lane uuid.UUID) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	_, has := b.place[lane]
	return has
}

// find says which lane the session is on.
func (b *Board) find(session uuid.UUID) (lane uuid.UUID, found bool) {
	on, found := b.with(session)
	return on.ID, found
}

// with is the lane that the session is on.
func (b *Board) with(session uuid.UUID) (lane lanes.Lane, found bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	i, found := b.sessions[session]
	if !found {
		return lanes.Lane{}, false
	}
	return b.lanes[i].Lane, true
}

// holding says which lane has the purchase, pending or for staff to see to, and how it stands there: nil if none has.
func (b *Board) holding(p *lanes.Purchase) (lane uuid.UUID, held *lanes.Purchase) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for i := range b.lanes {
		if held := b.lanes[i].Lane.Holding(p.Session, p.ID); held != nil {
			return b.lanes[i].ID, held
		}
	}
	return uuid.Nil, nil
}

// session is the picture of an active session at now, nil when it is on no lane.
func (b *Board) session(id uuid.UUID, now lanes.Instant) *lanes.SessionView {
	b.mu.RLock()
	defer b.mu.RUnlock()
	i, found := b.sessions[id]
	if !found {
		return nil
	}
	return b.lanes[i].Lane.View(now)
}

// list is the pictures of all active sessions at now, in the display order of their lanes.
func (b *Board) list(now lanes.Instant) []*lanes.SessionView {
	b.mu.RLock()
	defer b.mu.RUnlock()
	views := make([]*lanes.SessionView, 0, len(b.sessions))
	together := make([]lanes.SessionView, 0, len(b.sessions)) // one piece of memory instead of as many as there are sessions
	for i := range b.lanes {
		if view := b.lanes[i].Lane.View(now); view != nil {
			together = append(together, *view)
			views = append(views, &together[len(together)-1])
		}
	}
	return views
}

// status is how every lane stands, in display order.
func (b *Board) status() []lanes.LaneStatus {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return append([]lanes.LaneStatus(nil), b.lanes...)
}
