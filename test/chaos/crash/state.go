package crash

import (
	"errors"
	"fmt"
)

// shownState is what the gateway shows of the range, read endpoint by endpoint while no client is at work.
type shownState struct {
	asked   span // when the active sessions were read
	active  map[string]sessionView
	phases  map[string]phase  // of the active ones
	lanes   map[string]string // likewise, by the lanes' statuses
	history map[string]endedView
	log     []event
	events  map[string][]event // of the log, by session
	reports map[string][]event // likewise, those that lanes have reported, by lane
}

// rereads bounds how often a session may run out while the state is read.
const rereads = 5

// readState reads everything, and reports what contradicts itself.
func readState(from posClient) (p *shownState, err error) {
	for range rereads {
		if p, err = readAll(from); err != nil {
			return p, err
		}
		if err = p.oneStateEach(); err == nil {
			return p, nil
		}
	}
	return p, err
}

func readAll(from posClient) (*shownState, error) {
	p := &shownState{}
	var views []sessionView
	var statuses []laneStatus
	var err error
	if p.asked, err = from.mustRead("/sessions", &views); err != nil {
		return p, err
	}
	if p.active, err = onePlaceEach(views); err != nil {
		return p, err
	}
	if _, err = from.mustRead("/lanes/status", &statuses); err != nil {
		return p, err
	}
	p.phases, p.lanes = map[string]phase{}, map[string]string{}
	for _, lane := range statuses {
		if lane.Session != nil {
			p.phases[*lane.Session], p.lanes[*lane.Session] = lane.Phase, lane.Lane
		}
	}
	if p.log, err = from.events(0); err != nil {
		return p, err
	}
	if err = p.sort(); err != nil {
		return p, err
	}
	history, err := from.history()
	p.history = map[string]endedView{}
	for _, view := range history {
		if _, twice := p.history[view.ID]; twice {
			return p, fmt.Errorf("session %s is in the history twice", view.ID)
		}
		p.history[view.ID] = view
	}
	return p, err
}

// oneStateEach checks that a session is active or has ended. One that expires while the state is read may be
// both, once.
func (p *shownState) oneStateEach() error {
	for id, view := range p.active {
		if _, inHistory := p.history[id]; inHistory {
			return fmt.Errorf("session %s is active, and is in the history", id)
		}
		if _, has := p.phases[id]; !has {
			return fmt.Errorf("session %s is active, and on no lane's status", id)
		}
		if view.Lane != p.lanes[id] {
			return fmt.Errorf("session %s is on lane %s, and by the statuses on %s", id, view.Lane, p.lanes[id])
		}
	}
	if len(p.phases) != len(p.active) {
		return fmt.Errorf("%d lanes have a session, and %d sessions are active", len(p.phases), len(p.active))
	}
	return nil
}

// shows tells whether there is a session with that id.
func (p *shownState) shows(id string) bool {
	_, active := p.active[id]
	_, inHistory := p.history[id]
	return active || inHistory
}

// onePlaceEach checks that no lane has two sessions and no session is on two lanes.
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

// sort groups the log by session and lane. It checks that cursors ascend and that no event is there twice.
func (p *shownState) sort() error {
	p.events, p.reports = map[string][]event{}, map[string][]event{}
	ids := map[string]bool{}
	for i, e := range p.log {
		if i > 0 && e.Cursor <= p.log[i-1].Cursor {
			return fmt.Errorf("in the event log cursor %d comes after %d", e.Cursor, p.log[i-1].Cursor)
		}
		if ids[e.ID] {
			return fmt.Errorf("event %s is in the log twice", e.ID)
		}
		ids[e.ID] = true
		switch e.Payload.Event {
		case "help", "carrierHit":
			p.reports[e.Payload.Lane] = append(p.reports[e.Payload.Lane], e)
		default:
			p.events[e.Payload.Session] = append(p.events[e.Payload.Session], e)
		}
	}
	return nil
}

var errVanished = errors.New("the event log begins differently than it was read before")

// continues checks that the log begins with what was read of it before. The outcome of an attempt may become known, and
// never changes after that.
func continues(log, before []event) error {
	if len(log) < len(before) {
		return fmt.Errorf("%w: %d events, and there were %d", errVanished, len(log), len(before))
	}
	for i, earlier := range before {
		current := log[i]
		settled := earlier.Attempt != nil && !earlier.Attempt.interrupted()
		if earlier.Attempt != nil && current.Attempt == nil || settled && *current.Attempt != *earlier.Attempt {
			return fmt.Errorf("%w: %+v was %s", errVanished, current, earlier.Attempt)
		}
		if current.Attempt, earlier.Attempt = nil, nil; current != earlier {
			return fmt.Errorf("%w: %+v, and there was %+v", errVanished, current, earlier)
		}
	}
	return nil
}
