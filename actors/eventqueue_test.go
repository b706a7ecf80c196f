package actors

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rangegate/lanes"
)

// queueModel is what an event queue is to do, in the plainest words: an event may go once all that were added before
// it on its lane, or of its session, are done.
type queueModel struct {
	added  []lanes.Logged
	gone   map[uint64]bool
	done   map[uint64]bool
	cursor uint64
}

func (m *queueModel) mayGo(i int) bool {
	for _, before := range m.added[:i] {
		related := before.Event.Lane == m.added[i].Event.Lane || before.Event.Session == m.added[i].Event.Session
		if related && !m.done[before.Cursor] {
			return false
		}
	}
	return !m.gone[m.added[i].Cursor]
}

// going is the events that may go now.
func (m *queueModel) going() (cursors []uint64) {
	for i, event := range m.added {
		if m.mayGo(i) {
			cursors = append(cursors, event.Cursor)
		}
	}
	return cursors
}

// oldest is the one that waits and was added first, -1 when none waits.
func (m *queueModel) oldest() int {
	return slices.IndexFunc(m.added, func(e lanes.Logged) bool { return !m.gone[e.Cursor] })
}

// waiting is how many wait, whatever for.
func (m *queueModel) waiting() (n int) {
	for _, event := range m.added {
		if !m.gone[event.Cursor] {
			n++
		}
	}
	return n
}

// under is the events that went and are not done.
func (m *queueModel) under() (cursors []uint64) {
	for _, event := range m.added {
		if m.gone[event.Cursor] && !m.done[event.Cursor] {
			cursors = append(cursors, event.Cursor)
		}
	}
	return cursors
}

func TestEventsGoInOrderPerLaneAndPerSession(t *testing.T) {
	ids := make([]uuid.UUID, 8)
	for i := range ids {
		ids[i] = uuid.New()
	}
	onLane, ofSession := rapid.SampledFrom(ids[:3]), rapid.SampledFrom(ids[3:])
	rapid.Check(t, func(t *rapid.T) {
		queue, model := newEventQueue(), queueModel{gone: map[uint64]bool{}, done: map[uint64]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				model.cursor++
				event := lanes.Logged{Cursor: model.cursor, Event: lanes.Event{
					Lane: onLane.Draw(t, "lane"), Session: ofSession.Draw(t, "session"),
				}}
				model.added = append(model.added, event)
				queue.add(event)
			},
			"add again": func(t *rapid.T) {
				if len(model.added) == 0 {
					return // nothing to do it with
				}
				if event := rapid.SampledFrom(model.added).Draw(t, "event"); !model.done[event.Cursor] {
					queue.add(event)
				}
			},
			"next": func(t *rapid.T) {
				may := model.going()
				event, any := queue.next()
				require.Equal(t, len(may) > 0, any, "what may go is not kept back")
				if any {
					require.Contains(t, may, event.Cursor)
					model.gone[event.Cursor] = true
				}
			},
			"drop the oldest": func(t *rapid.T) {
				i := model.oldest()
				event, any := queue.dropOldest()
				require.Equal(t, i >= 0, any)
				if any {
					require.Equal(t, model.added[i].Cursor, event.Cursor)
					model.gone[event.Cursor], model.done[event.Cursor] = true, true
				}
			},
			"done": func(t *rapid.T) {
				under := model.under()
				if len(under) == 0 {
					return // nothing to do it with
				}
				cursor := rapid.SampledFrom(under).Draw(t, "cursor")
				model.done[cursor] = true
				queue.done(cursor)
			},
			"": func(t *rapid.T) { require.Equal(t, model.waiting(), queue.waiting) },
		})
		for len(model.done) < len(model.added) { // and nothing gets stuck
			event, any := queue.next()
			if any {
				model.gone[event.Cursor] = true
			}
			require.NotEmpty(t, model.under())
			cursor := model.under()[0]
			model.done[cursor] = true
			queue.done(cursor)
		}
		require.Empty(t, queue.byCursor)
		require.Empty(t, queue.newest, "nothing is remembered of what is done")
	})
}
