package crash

import (
	"net/http"
	"slices"
)

// look reads one session of the client. It returns false when the gateway has ended.
func (c *client) look(gateway posClient, s *session) bool {
	var view sessionView
	answer, at, err := gateway.read("/sessions/"+s.id, &view)
	switch {
	case err != nil:
		return false
	case c.unanswered(s) != nil:
	case answer.Status == http.StatusOK:
		c.compare(s, view, at)
	case answer.Code() == "session_ended":
		c.missing(s, at)
	case !answer.IsForNow():
		c.fixture.fault("GET of session %s was answered %d %s", s.id, answer.Status, answer.Body)
	}
	return true
}

// list reads all sessions, and compares those of the client. It returns false when the gateway has ended.
func (c *client) list(gateway posClient) bool {
	var views []sessionView
	answer, at, err := gateway.read("/sessions", &views)
	if err != nil {
		return false
	}
	if answer.Status != http.StatusOK {
		if !answer.IsForNow() {
			c.fixture.fault("GET /sessions was answered %d %s", answer.Status, answer.Body)
		}
		return true
	}
	active, err := onePlaceEach(views)
	if err != nil {
		c.fixture.fault("%v", err)
	}
	c.free = slices.DeleteFunc(allLanes(), func(lane string) bool {
		return slices.ContainsFunc(views, func(v sessionView) bool { return v.Lane == lane })
	})
	for id := range active {
		c.seen[id] = true
	}
	for _, s := range []*session{c.current, c.quiet} {
		if s == nil || c.unanswered(s) != nil {
			continue
		}
		if view, listed := active[s.id]; listed {
			c.compare(s, view, at)
		} else {
			c.missing(s, at)
		}
	}
	return true
}

// compare compares the view of an active session with the record.
func (c *client) compare(s *session, view sessionView, at span) {
	c.fixture.counters.count("readings of time left")
	expected := *s
	if view.Began != nil {
		expected = c.entered(expected)
	}
	agreed, err := expected.listed(view, at)
	if err != nil {
		c.fixture.fault("session %s %v", s.id, err)
		return
	}
	*s = agreed
}

// entered is the session after its customer has entered the lane, if that has happened since.
func (c *client) entered(s session) session {
	if at, entered := c.fixture.hardware.enteredAt(s.id); entered && s.phase == waiting {
		return s.entered(at)
	}
	return s
}

// missing records that the session is not active any more. The client did not end it, so its time must be used up.
func (c *client) missing(s *session, at span) {
	*s = c.entered(*s)
	if possible, _ := s.due(at); !possible {
		c.fixture.fault("session %s is not active any more, and should be %s until %s", s.id, s.phase, s.deadline.lo)
		return
	}
	*s = s.expired()
	c.forgetEnded()
}
