package actors

import "rangegate/lanes"

// Changes is the lanes that changed after that version of the board, all of them after 0, in display order, and the
// version that they are of. wake is closed at the next change, of a lane or of the holds: whoever was slow meanwhile is
// given what there is then, and nothing in between.
func (r *Range) Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{}) {
	return r.board.since(after)
}

func (b *Board) since(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if after < b.version {
		for i, at := range b.changed {
			if at > after {
				changed = append(changed, b.lanes[i])
			}
		}
	}
	if b.wake == nil {
		b.wake = make(chan struct{})
	}
	return changed, b.version, b.wake
}

// touch is a change of something that is shown beside the lanes.
func (b *Board) touch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes()
}

// changes makes the next version of what has just been changed. b.mu is held.
func (b *Board) changes() {
	b.version++
	if b.wake != nil {
		close(b.wake)
		b.wake = nil
	}
}
