package actors

import (
	"context"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

const parkedFor = time.Minute // before a lane that panicked too often is tried again

// usability is whether the lane's hardware is in working order: its link is up, or has been away for less than the
// grace (WIRE.md, Views).
type usability struct {
	state lanes.LinkState
	since time.Time     // that it is in this state
	gone  time.Duration // since when it is not up, by the clock that nobody sets
	why   string        // empty while the lane is usable
	grace *time.Timer
}

func (u usability) now() bool { return u.why == "" }

// linkStands is what the link says of itself, graceOver that it has been away for long enough.
type (
	linkStands struct {
		state lanes.LinkState
		since lanes.Instant
		hello *link.Hello // of a link that came up
		err   error       // why it is not up
	}
	graceOver struct{ gone time.Duration }
)

// linkStands takes in how the link stands. Each time that it comes up, the hardware is told anew what is wanted, if
// that is known yet: hardware that runs is left alone till then. Away it is since it was up, however often it is tried.
func (l *laneActor) linkStands(m *linkStands) {
	l.fence.stands(m)
	l.isLocked(false)
	if m.err != nil {
		l.of.board.LinkFailed(l.id, m.err, m.since)
	}
	if m.state == lanes.LinkUp {
		l.compare(m.hello)
		l.askWhyItHolds(m.hello)
		l.want()
		l.arrive(&ask{ctx: context.Background(), command: lanes.Inspect{Faults: m.hello.Faults}, by: lanes.ByLane})
	}
	u := &l.usable
	was := u.state
	if m.state == was {
		return
	}
	u.state, u.since = m.state, m.since.Wall
	switch {
	case m.state == lanes.LinkUp:
		u.stopGrace()
		u.why = ""
	case was == lanes.LinkUp, was == "":
		u.gone = m.since.Mono
		u.grace = time.AfterFunc(l.of.settings().Grace, func() { l.of.send(l.self, &graceOver{m.since.Mono}) })
	case u.why != "":
		u.why = away[m.state]
	}
	l.publishLink()
}

// away is why a lane is not usable whose link is not up.
var away = map[lanes.LinkState]string{
	lanes.LinkDown: "its link is down", lanes.LinkFaulty: "its controller is faulty",
}

func (u *usability) stopGrace() {
	if u.grace != nil {
		u.grace.Stop()
		u.grace = nil
	}
}

func (l *laneActor) graceOver(m *graceOver) {
	if u := &l.usable; u.state != lanes.LinkUp && u.gone == m.gone {
		u.why = away[u.state]
		l.publishLink()
	}
}

func (l *laneActor) publishLink() {
	why := l.usable.why
	switch {
	case l.parked:
		why = "it is held after repeated defects of the gateway"
	case why == "" && l.lane.Fault != "":
		why = "its hardware reports: " + l.lane.Fault
	}
	l.lane.Usable = why == ""
	l.of.board.PublishLink(l.id, l.usable.state, l.usable.since, why, l.parked)
}

// park holds the hardware of a lane that panics again and again, until it is tried once more. The others do not wait
// for it.
func (l *laneActor) park() {
	l.parked = true
	l.past.broughtBack(l.of)
	l.tell(lanes.Lane{ID: l.id, Held: true})
	l.publishLink()
	l.of.log.Error().Stringer("lane", l.id).Dur("for", parkedFor).Msg("lane parked: it panicked too often, its hardware is held")
	time.AfterFunc(parkedFor, func() { l.of.send(l.self, &unpark{l}) })
}

// goOn takes up the lane as it was last saved. If it was parked, that is over.
func (l *laneActor) goOn(lane lanes.Lane) {
	l.recalled = true
	l.swap(lane, nil)
	l.heedHolds()
	if l.parked {
		l.parked = false
		l.publishLink()
	}
}
