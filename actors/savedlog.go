package actors

import (
	"cmp"

	"github.com/google/uuid"
)

// logSaved says that the write is durable: which lane and session it was about, the request that it follows from, and how far
// the event log has come with it. There is one line a write, for debugging; without that it costs nothing. c.mu is held.
func (c *committer) logSaved(w *write) {
	line := c.log.Debug()
	if line == nil {
		return
	}
	lane, session := w.about()
	if lane != uuid.Nil {
		line = line.Stringer("lane", lane)
	}
	if session != uuid.Nil {
		line = line.Stringer("session", session)
	}
	if len(w.lanes) > 1 {
		line = line.Stringer("other_lane", w.lanes[1].ID)
	}
	if len(w.events) > 0 {
		line = line.Uint64("cursor", w.events[len(w.events)-1].Cursor)
	}
	traced(line, w.trace).Int("events", len(w.events)).Uint64("n", c.n).Dur("took", c.clock.Now().Wall.Sub(w.came)).Msg("saved")
}

// about is the lane and the session of the write, as far as it is about one.
func (w *write) about() (lane, session uuid.UUID) {
	if len(w.events) > 0 {
		lane, session = w.events[0].Event.Lane, w.events[0].Event.Session
	}
	if w.ended != nil {
		session = w.ended.Session.ID
	}
	if len(w.lanes) > 0 {
		lane, session = w.lanes[0].ID, cmp.Or(session, sessionOn(w.lanes[0]))
	}
	return lane, session
}
