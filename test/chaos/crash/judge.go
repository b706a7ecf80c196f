package crash

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// verdict is the result of comparing the clients' records with what the gateway shows. Only adopt changes the records.
type verdict struct {
	faults []string
	found  []finding
}

// finding is the actual state of one session, or the outcome of one request whose answer was lost.
type finding struct {
	client   *client
	recorded *session // as recorded; nil for a create whose answer was lost
	actual   *session // as the gateway shows it; nil for a create that did not happen
	request  *request // whose answer was lost, nil: none
	happened bool     // the request
}

func (v *verdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// judge compares every record with what the gateway shows, and what it shows with all records.
func judge(clients []*client, p *shownState) *verdict {
	v := &verdict{}
	sold, seen := map[string]bool{}, map[string]bool{}
	for _, c := range clients {
		maps.Copy(seen, c.seen)
		for id, s := range c.sessions {
			sold[id] = true
			v.settle(finding{client: c, recorded: s, request: c.unanswered(s)}, c.entered(*s), p)
		}
		for _, r := range c.lost {
			if r.kind == create {
				v.settleSale(c, r, p, sold)
			}
		}
	}
	for id := range seen {
		if !p.shows(id) && !sold[id] {
			v.fault("session %s was in a list, and there is no trace of it", id)
		}
	}
	for id := range p.active {
		if !sold[id] {
			v.fault("session %s is active, and nobody asked for it", id)
		}
	}
	for id := range p.history {
		if !sold[id] {
			v.fault("session %s has ended, and nobody asked for it", id)
		}
	}
	for id := range p.events {
		if !sold[id] {
			v.fault("session %s is in the event log, and nobody asked for it", id)
		}
	}
	return v
}

// settle finds the possibility that agrees with what the gateway shows.
func (v *verdict) settle(f finding, expected session, p *shownState) {
	var against []string
	for _, possibility := range possibilities(expected, f.request, p.asked) {
		actual, err := possibility.agrees(p)
		if err == nil {
			f.actual, f.happened = &actual, possibility.happened
			v.found = append(v.found, f)
			return
		}
		against = append(against, err.Error())
	}
	asked := ""
	if f.request != nil {
		asked = fmt.Sprintf(" (asked for and not answered: %s)", f.request)
	}
	v.fault("session %s %s%s", expected.id, strings.Join(against, "; or else: "), asked)
}

// settleSale looks for the session of a create whose answer was lost. The client asked for one only, and no other
// client sells to its group.
func (v *verdict) settleSale(c *client, r *request, p *shownState, found map[string]bool) {
	var ids []string
	for id, view := range p.active {
		if view.Group == c.group() && c.sessions[id] == nil {
			ids = append(ids, id)
		}
	}
	for id, view := range p.history {
		if view.Group == c.group() && c.sessions[id] == nil {
			ids = append(ids, id)
		}
	}
	switch len(ids) {
	case 0:
		v.found = append(v.found, finding{client: c, request: r})
	case 1:
		found[ids[0]] = true
		s := sold(r, ids[0])
		count := len(v.found)
		v.settle(finding{client: c}, s, p)
		for i := range v.found[count:] {
			v.found[count+i].request, v.found[count+i].happened = r, true
		}
	default:
		v.fault("%s was asked once, and has made %d sessions: %s", r, len(ids), strings.Join(ids, ", "))
	}
}

// possibility is a possible state of a session, and whether the request whose answer was lost has happened in it.
type possibility struct {
	session
	happened bool
}

// possibilities are all possible states of the session at that instant: the request whose answer was lost has
// happened as a whole or not at all, and after that its time may have run out.
func possibilities(s session, lost *request, at span) (all []possibility) {
	var before []possibility
	if lost == nil || !lost.inForce {
		before = append(before, possibility{s, false})
	}
	if lost != nil {
		before = append(before, possibility{s.after(lost), true})
	}
	for _, w := range before {
		possible, certain := w.due(at)
		if !certain {
			all = append(all, w)
		}
		if possible {
			all = append(all, possibility{w.expired(), w.happened})
		}
	}
	return all
}

// agrees returns the session as the gateway shows it, or an error that says in what the two differ.
func (s session) agrees(p *shownState) (session, error) {
	var err error
	view, active := p.active[s.id]
	past, inHistory := p.history[s.id]
	switch {
	case active:
		if s.phase != ended && p.phases[s.id] != s.phase {
			return s, fmt.Errorf("is %s, and should be %s", p.phases[s.id], s.phase)
		}
		s, err = s.listed(view, p.asked)
	case inHistory:
		s, err = s.recorded(past)
	default:
		err = errors.New("is neither active nor in the history, and should be " + string(s.phase))
	}
	if err == nil {
		err = s.logged(p.events[s.id])
	}
	return s, err
}
