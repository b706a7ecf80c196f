package crash

import (
	"fmt"
	"time"

	"rangegate/cmd/rangegate/lanesim"
	"rangegate/test/support"
)

// These are how much the two ends of a lane's link may differ.
const (
	transit      = 500 * time.Millisecond // that nine of ten reports take to the gateway at most, on a busy machine
	maxTransit   = 2 * time.Second        // that any report takes while nothing stands still
	maxClockSkew = time.Second            // of a countdown (LINK.md: more is logged and counted)
	converges    = support.Patience       // for a lane to converge: more than the longest back-off and a connect
)

// reported compares what happened on the lanes with the event log, which has all of it, once, in its order,
// with its session and at its instant.
func (v *verdict) reported(h *hardware, p *shownState) {
	compared, slow := 0, 0
	for _, s := range h.shooters {
		logged := p.reports[s.lane]
		if len(logged) != len(s.reports) {
			v.fault("lane %s has reported %d times, and the log has %d of it", s.lane, len(s.reports), len(logged))
		}
		for i := range min(len(logged), len(s.reports)) {
			off, err := s.reports[i].agrees(logged[i], h.stillness())
			if err != nil {
				v.fault("report %d of lane %s: %v", i+1, s.lane, err)
				break // all later ones would differ too
			}
			compared++
			if off > tolerance+transit {
				slow++
			}
		}
	}
	// An age that is not worked out anew at each sending would do this, and so would a standstill.
	if compared > 50 && slow*10 > compared && h.stillness() < maxTransit {
		v.fault("the instants of %d of %d reports are off by more than %s", slow, compared, tolerance+transit)
	}
}

// agrees returns by how much the instant in the log is off, or what else differs.
func (r report) agrees(e event, stillness time.Duration) (off time.Duration, err error) {
	switch {
	case e.Payload.Event != r.event:
		return 0, fmt.Errorf("the log has %s, and it was %s", e.Payload.Event, r.event)
	case e.Payload.Session != r.sessions[0].String() && e.Payload.Session != r.sessions[1].String():
		return 0, fmt.Errorf("the log has it of session %s, and it was of %s", e.Payload.Session, r.sessions)
	}
	logged := rounded(sinceStart(e.OccurredAt))
	off = r.at.apart(logged)
	// A report is late on its way, and never early.
	if off > tolerance+maxTransit+stillness || r.at.lo-logged.hi > tolerance {
		return off, fmt.Errorf("it happened at %s, and the log is %s off", r.at.lo, off)
	}
	return off, nil
}

// converge waits until every controller has the state that the gateway shows of its lane, and returns what
// still differs after the time that a link which has just gone down may take.
func (x *fixture) converge() (faults []string) {
	for limit := now() + converges; ; support.Wait(x.t.Context(), 20*time.Millisecond) {
		if faults = x.laneDifferences(); len(faults) == 0 || now() > limit {
			return faults
		}
	}
}

func (x *fixture) laneDifferences() (faults []string) {
	var statuses []laneStatus
	var views []sessionView
	if _, err := x.gateway.mustRead("/lanes/status", &statuses); err != nil {
		return []string{err.Error()}
	}
	at, err := x.gateway.mustRead("/sessions", &views)
	if err != nil {
		return []string{err.Error()}
	}
	byLane := map[string]sessionView{}
	for _, view := range views {
		byLane[view.Lane] = view
	}
	for n, s := range x.hardware.shooters {
		if err := statuses[n].agrees(s.controller, byLane[s.lane], at); err != nil {
			faults = append(faults, fmt.Sprintf("lane %s: %v", s.lane, err))
		}
	}
	return faults
}

// agrees compares what is in force on the lane with what the gateway shows. The view is that of the lane's session.
func (l laneStatus) agrees(controller *lanesim.Controller, view sessionView, at span) error {
	shown, after := controller.Shown(), now()
	if l.Link != "up" {
		return fmt.Errorf("its link is %s", l.Link)
	}
	if l.Session == nil && shown.Session != [16]byte{} || l.Session != nil && shown.Session.String() != *l.Session {
		return fmt.Errorf("its controller has session %s, and should be as %s", shown.Session, show(l))
	}
	if shown.Hold != l.Hold {
		return fmt.Errorf("it is held: %v, and should be as %s", shown.Hold, show(l))
	}
	if l.Session == nil {
		return nil
	}
	if phase(shown.Phase) != l.Phase || view.ID != *l.Session {
		return fmt.Errorf("its controller's session is %s, and should be as %s %s", shown.Phase, show(l), show(view))
	}
	left, allowed := rounded(time.Duration(view.Duration)*time.Minute), time.Millisecond
	if view.Remaining != nil {
		left = rounded(minutes(*view.Remaining))
	}
	if l.Phase == running {
		left, allowed = left.minus(span{0, after - at.lo}), maxClockSkew
	}
	if off := left.apart(span{shown.Remaining, shown.Remaining}); off > allowed {
		return fmt.Errorf("its controller counts %s, and is %s off: %s", shown.Remaining, off, show(view))
	}
	return nil
}
