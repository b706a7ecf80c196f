package crash

import (
	"errors"
	"fmt"
	"slices"
)

// picture is what the gateway shows of the range, all of it read one after the other while no client is at work.
type picture struct {
	asked   span // when the active sessions were read
	active  map[string]sessionView
	phases  map[string]phase // of the active ones
	history map[string]endedView
	log     []event
	events  map[string][]event // of the log, by session
}

// retakes bounds how often a picture is spoilt by a session that runs out while it is taken.
const retakes = 5

// takePicture reads everything, and says what contradicts itself.
func takePicture(from pos) (p *picture, err error) {
	for range retakes {
		if p, err = readAll(from); err != nil {
			return p, err
		}
		if err = p.oneStateEach(); err == nil {
			return p, nil
		}
	}
	return p, err
}

func readAll(from pos) (*picture, error) {
	p := &picture{}
	var views []sessionView
	var statuses []laneStatus
	var err error
	if p.asked, err = from.must("/sessions", &views); err != nil {
		return p, err
	}
	if p.active, err = onePlaceEach(views); err != nil {
		return p, err
	}
	if _, err = from.must("/lanes/status", &statuses); err != nil {
		return p, err
	}
	p.phases = map[string]phase{}
	for _, lane := range statuses {
		if lane.Session != nil {
			p.phases[*lane.Session] = lane.Phase
		}
	}
	if p.log, err = from.events(0); err != nil {
		return p, err
	}
	if p.events, err = sorted(p.log); err != nil {
		return p, err
	}
	over, err := from.history()
	p.history = map[string]endedView{}
	for _, view := range over {
		if _, twice := p.history[view.ID]; twice {
			return p, fmt.Errorf("session %s is in the history twice", view.ID)
		}
		p.history[view.ID] = view
	}
	return p, err
}

// oneStateEach: a session is active or has ended. One that ran out between two readings is both, once.
func (p *picture) oneStateEach() error {
	for id := range p.active {
		if _, over := p.history[id]; over {
			return fmt.Errorf("session %s is active, and is in the history", id)
		}
		if _, has := p.phases[id]; !has {
			return fmt.Errorf("session %s is active, and on no lane's status", id)
		}
	}
	if len(p.phases) != len(p.active) {
		return fmt.Errorf("%d lanes have a session, and %d sessions are active", len(p.phases), len(p.active))
	}
	return nil
}

// shows tells whether there is a session with that id.
func (p *picture) shows(id string) bool {
	_, active := p.active[id]
	_, over := p.history[id]
	return active || over
}

// onePlaceEach: no lane has two sessions, and no session is on two lanes.
func onePlaceEach(views []sessionView) (map[string]sessionView, error) {
	active, taken := map[string]sessionView{}, map[string]string{}
	for _, view := range views {
		if other, twice := active[view.ID]; twice {
			return active, fmt.Errorf("session %s is on lane %s and on lane %s", view.ID, other.Lane, view.Lane)
		}
		if other, twice := taken[view.Lane]; twice {
			return active, fmt.Errorf("lane %s has session %s and session %s", view.Lane, other, view.ID)
		}
		active[view.ID], taken[view.Lane] = view, view.ID
	}
	return active, nil
}

// sorted is the events of each session. In the log cursors ascend and no event is there twice.
func sorted(log []event) (map[string][]event, error) {
	bySession, ids := map[string][]event{}, map[string]bool{}
	for i, e := range log {
		if i > 0 && e.Cursor <= log[i-1].Cursor {
			return nil, fmt.Errorf("in the event log cursor %d comes after %d", e.Cursor, log[i-1].Cursor)
		}
		if ids[e.ID] {
			return nil, fmt.Errorf("event %s is in the log twice", e.ID)
		}
		ids[e.ID] = true
		bySession[e.Payload.Session] = append(bySession[e.Payload.Session], e)
	}
	return bySession, nil
}

var errVanished = errors.New("the event log begins differently than it was read before")

// continues: the log is what was read of it before, and perhaps more.
func continues(log, before []event) error {
	if len(log) < len(before) {
		return fmt.Errorf("%w: %d events, and there were %d", errVanished, len(log), len(before))
	}
	if slices.Equal(log[:len(before)], before) {
		return nil
	}
	for i, e := range before {
		if log[i] != e {
			return fmt.Errorf("%w: %+v, and there was %+v", errVanished, log[i], e)
		}
	}
	return nil
}
