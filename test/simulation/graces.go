package simulation

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// grace is how long a session stays on its lane once its time is used up. One range gives it to who is sold it, the
// other one to everybody.
const grace = 15 * time.Second

// judgeGrace checks what is saved of a session whose time is used up, and of one whose time was until now:
//
//   - it was sold a grace, has nothing left, and stays for the grace from its deadline on;
//   - nothing changes that while it lasts, whichever machine goes on with it;
//   - it runs again with what was added, from then on and to the millisecond.
//
// mu is held.
func (j *judge) judgeGrace(l *laneRecord, now lanes.Snapshot) {
	s := *now.Session
	before, stayed := j.graces[s.ID]
	switch {
	case s.InGrace() && stayed:
		if had := before.Session; s.Sold != had.Sold || !s.Since.Wall.Equal(had.Since.Wall) ||
			!s.StaysUntil.Wall.Equal(had.StaysUntil.Wall) ||
			now.Boot == before.Boot && (s.Since != had.Since || *s.StaysUntil != *had.StaysUntil) {
			j.world.fail("the grace of %s has changed, from %v to %v", brief(&s), had.StaysUntil, s.StaysUntil)
		}
	case s.InGrace():
		if !j.hasGrace(l, s) || s.Left != 0 || s.StaysUntil.Since(s.Since) != grace {
			j.world.fail("%s is in a grace that it was not sold: %v until %v", brief(&s), s.Since, s.StaysUntil)
		}
		j.figures["graces"]++
	case stayed:
		had := before.Session
		if added := s.Sold - had.Sold; added <= 0 || s.Left != added ||
			now.Boot == before.Boot && s.Since.Mono <= had.Since.Mono {
			j.world.fail("after its grace, from %v on, with %v added, it is %s", had.Since, added, brief(&s))
		}
		j.figures["graces with time added"]++
	}
	if delete(j.graces, s.ID); s.InGrace() {
		j.graces[s.ID] = now
	}
}

// judgeGraceSent checks that a gateway opens no lane in a grace that is saved. mu is held.
func (j *judge) judgeGraceSent(from *machine, state link.State) {
	stay, found := j.graces[state.Session.ID]
	if !found || state.Session.Phase != lanes.Running || state.Hold {
		return
	}
	left := state.Session.Remaining(from.clk.Now())
	if left > clocksDiffer || left > 0 && stay.Boot == from.clk.Boot() {
		j.world.fail("a lane is opened in the grace of %s: %s", brief(stay.Session), brief(state.Session))
	}
}

func (j *judge) hasGrace(l *laneRecord, s lanes.Session) bool {
	return s.Grace || l.of == j.world.ranges[forAll].id
}

// forAll is the number of the range whose every session has a grace.
const forAll = 1

// judgeGraceEnd checks the end of a session that had a grace, as a machine saves it: it ends with its deadline on
// record, and by itself only once its grace is over. mu is held.
func (j *judge) judgeGraceEnd(from *machine, e lanes.Ended) {
	before, stayed := j.graces[e.Session.ID]
	delete(j.graces, e.Session.ID)
	if stayed && (!e.At.Equal(before.Session.Since.Wall) || e.Used != e.Session.Sold) {
		j.world.fail("%s was in a grace, and ended at %v with %v used", brief(before.Session), e.At, e.Used)
	}
	if e.Reason != lanes.Expired || !j.hasGrace(j.lane(e.Lane), e.Session) {
		return
	}
	tooEarly := time.Now().Before(e.At.Add(grace - clocksDiffer))
	if now := from.clk.Now(); stayed && before.Boot == from.clk.Boot() {
		tooEarly = now.Mono < before.Session.StaysUntil.Mono
	}
	if tooEarly {
		j.world.fail("%s had a grace, and ended %v behind its deadline", brief(&e.Session), time.Since(e.At))
	}
}

// overdue names a session that is still on its lane behind the end of its grace, or waits behind its start.
func (w *world) overdue() string {
	for _, r := range w.ranges {
		var sessions []struct {
			ID     string     `json:"session_id"`
			Ends   *time.Time `json:"grace_ends_at"`
			Starts *time.Time `json:"starts_at"`
		}
		if err := w.get(r, "/sessions", &sessions); err != nil {
			return err.Error()
		}
		for _, s := range sessions {
			if s.Ends != nil && time.Since(*s.Ends) > 0 || s.Starts != nil && time.Since(*s.Starts) > 0 {
				return fmt.Sprintf("range %d: session %s, until %v or from %v", r.number, s.ID, s.Ends, s.Starts)
			}
		}
	}
	return ""
}

// judgeExpiries checks that the end of a session's time is told once for each deadline, and that what is told last is
// when the session has ended.
func (w *world) judgeExpiries(log []lanes.Logged, history []lanes.Ended) {
	expired := map[uuid.UUID]*lanes.Event{}
	for _, entry := range log {
		switch event := entry.Event; event.Kind {
		case lanes.SessionModified:
			if event.Decision == nil || event.Decision.Command != (lanes.Move{}).Name() {
				delete(expired, event.Session)
			}
		case lanes.SessionExpired:
			if before := expired[event.Session]; before != nil {
				w.fail("the end of session %s was told at %v, and again at %v", event.Session, before.At, event.At)
			}
			if ends := event.GraceEndsAt; ends != nil && ends.Sub(event.At) != grace {
				w.fail("the grace of session %s begins at %v, and ends at %v", event.Session, event.At, ends)
			}
			expired[event.Session] = &event
		}
	}
	for _, e := range history {
		if before := expired[e.Session.ID]; before != nil && !before.At.Equal(e.At) ||
			before == nil && e.Reason == lanes.Expired {
			w.fail("session %s ended at %v, and was told to end: %+v", e.Session.ID, e.At, before)
		}
	}
}
