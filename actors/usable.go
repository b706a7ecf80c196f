package actors

import (
	"time"

	"rangegate/lanes"
)

const parkedFor = time.Minute // before a lane that panicked too often is tried again

// usability is whether the lane's hardware is in working order: its link is up, or has been down for less than the
// grace (WIRE.md, Views).
type usability struct {
	state lanes.LinkState
	since lanes.Instant
	why   string // empty while the lane is usable
	grace *time.Timer
}

func (u usability) now() bool { return u.why == "" }

// linkStands is what the link says of itself, graceOver that it has been down for long enough.
type (
	linkStands struct {
		state lanes.LinkState
		since lanes.Instant
	}
	graceOver struct{ since lanes.Instant }
)

// linkStands takes in that the link went up, or down. Down it stays since the first time, however often it is tried.
// Each time that it comes up, the hardware is told anew what is wanted, if that is known yet: hardware that runs is
// left alone till then.
func (l *laneActor) linkStands(m *linkStands) {
	if m.state == lanes.LinkUp && l.wanted != nil {
		l.of.send(l.link, &want{*l.wanted})
	}
	if m.state == l.usable.state {
		return
	}
	l.usable.stopGrace()
	l.usable = usability{state: m.state, since: m.since}
	if m.state == lanes.LinkDown {
		l.usable.grace = time.AfterFunc(l.of.grace, func() { l.of.send(l.self, &graceOver{m.since}) })
	}
	l.publishLink()
}

func (u usability) stopGrace() {
	if u.grace != nil {
		u.grace.Stop()
	}
}

func (l *laneActor) graceOver(m *graceOver) {
	if l.usable.state == lanes.LinkDown && l.usable.since == m.since {
		l.usable.why = "its link is down"
		l.publishLink()
	}
}

func (l *laneActor) publishLink() {
	why := l.usable.why
	if l.parked {
		why = "it is held after repeated defects of the gateway"
	}
	l.lane.Usable = why == ""
	l.of.board.publishLink(l.id, l.usable.state, l.usable.since.Wall, why)
}

// park holds the hardware of a lane that panics again and again, until it is tried once more. The others do not wait
// for it.
func (l *laneActor) park() {
	l.parked = true
	l.of.broughtBack(l.id)
	l.tell(lanes.Lane{ID: l.id, Held: true})
	l.publishLink()
	l.log.Error().Dur("for", parkedFor).Msg("lane parked: it panicked too often, its hardware is held")
	time.AfterFunc(parkedFor, func() { l.of.send(l.self, &unpark{l}) })
}

// goOn takes up the lane as it was last saved. If it was parked, that is over.
func (l *laneActor) goOn(lane lanes.Lane) {
	l.recalled = true
	l.swap(lane, nil)
	if l.parked {
		l.parked = false
		l.publishLink()
	}
}
