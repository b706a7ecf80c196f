package actors

import (
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Back-off between tries to connect: full jitter under a ceiling that doubles (LINK.md, liveness).
const (
	firstBackOff = 250 * time.Millisecond
	lastBackOff  = 15 * time.Second
	settledAfter = 30 * time.Second // a link that was up for so long starts again from the first

	firstFaulty = 15 * time.Second // likewise of a controller that is there and not in order
	lastFaulty  = 5 * time.Minute
)

// laneLink supervises the connection to a lane's hardware: there is one, or one is being made, or the next try waits. It says
// so whenever one is up; the lane answers with the state that is wanted, so that its hardware is right again as soon as it is
// reached.
//
// It belongs to the lane's actor, and all of it happens there. A panic of the lane ends the connection, and the lane's next
// life makes another; one of the driver costs the connection, and nothing of the lane.
type laneLink struct {
	lane     *laneActor
	line     *line         // of the connection that is up or being made, nil between two tries
	up       bool          //
	since    time.Duration // that it is, by the clock that nobody sets
	failures int32         // in a row, of a controller that could not be reached
	faults   int32         // likewise, of one that was not in order
	tries    uint32        // the one that the timer is for
	retry    *time.Timer
	revision uint64      // of the newest state sent on this connection
	told     *link.State // that state
	acked    *lanes.Log  // the newest, nil before the first: it may come before the dial has come back
}

// connect is the time for that try.
type connect struct {
	of  *laneActor
	try uint32
}

// connect begins to make a connection.
func (l *laneLink) connect() {
	l.line, l.revision, l.told, l.acked = &line{}, 0, nil, nil
	l.lane.of.dial(l.lane.self, l.lane.id, l.line)
}

// tryAgain is the end of the wait for the next try, unless that was cut short.
func (l *laneLink) tryAgain(m *connect) {
	if m.of == l.lane && m.try == l.tries && l.line == nil {
		l.connect()
	}
}

// dialled takes in what came of a dial.
func (l *laneLink) dialled(m *dialled) {
	switch {
	case m.line != l.line: // nobody wants it any more
	case m.err != nil:
		l.isDown(m.err)
	default:
		l.isUp(m.hello)
	}
}

// broke takes in that the connection has failed.
func (l *laneLink) broke(m *broken) {
	if m.line == l.line && l.line != nil {
		l.isDown(m.err)
	}
}

func (l *laneLink) isUp(hello link.Hello) {
	of, now := l.lane.of, l.lane.of.clock.Now()
	l.up, l.since = true, now.Mono
	of.metrics.Links.WithLabelValues("up").Inc()
	of.log.Info().Stringer("lane", l.lane.id).Msg("link up")
	l.sendAck()
	l.lane.linkStands(&linkStands{state: lanes.LinkUp, since: now, hello: &hello})
}

// isDown ends the connection, and waits before the next try.
func (l *laneLink) isDown(err error) {
	of, now := l.lane.of, l.lane.of.clock.Now()
	l.whole(l.line.hangUp)
	what := "not_made"
	if l.up {
		what = "down"
		if now.Mono-l.since >= settledAfter {
			l.failures, l.faults = 0, 0
		}
	}
	state, ceiling := lanes.LinkDown, min(firstBackOff<<min(l.failures, 6), lastBackOff)
	if errors.Is(err, link.ErrFaulty) {
		state, what = lanes.LinkFaulty, "faulty"
		ceiling = min(firstFaulty<<min(l.faults, 5), lastFaulty)
		l.faults, l.failures = l.faults+1, 0
	} else {
		l.failures, l.faults = l.failures+1, 0
	}
	l.line, l.up = nil, false // whatever the old one still says is stale
	l.tries++
	next, wait := &connect{l.lane, l.tries}, rand.N(ceiling)
	l.retry = time.AfterFunc(wait, func() { of.send(next.of.self, next) })
	of.metrics.Links.WithLabelValues(what).Inc()
	level := zerolog.WarnLevel
	if what != "down" && l.failures+l.faults > 1 { // as it was at the last try
		level = zerolog.DebugLevel
	}
	of.log.WithLevel(level).Stringer("lane", l.lane.id).Err(err).Int32("failures", l.failures+l.faults).Dur("retry_in", wait).Msg("link down")
	of.metrics.LinkFailures.WithLabelValues(cause(err)).Inc()
	l.lane.linkStands(&linkStands{state: state, since: now, err: err})
}

var (
	errDriver = errors.New("the link's driver panicked")
	// errRenewed is no failure: the lane's hardware is reached in another way from now on.
	errRenewed = errors.New("the link is made anew, as the configuration has changed")
)

// hangUp ends the connection, so that it is made anew.
func (l *laneLink) hangUp(why error) {
	if l.line != nil {
		l.isDown(why)
	}
}

// renew has the hardware be reached in its new way, at once where the next try was waited for.
func (l *laneLink) renew() {
	l.failures, l.faults = 0, 0
	if l.line != nil {
		l.isDown(errRenewed)
		return
	}
	l.retry.Stop()
	l.connect()
}

// end ends the connection, or the tries to make one, with the lane's life.
func (l *laneLink) end() {
	if l.line != nil {
		l.whole(l.line.hangUp)
		l.line, l.up = nil, false
	}
	if l.retry != nil {
		l.retry.Stop()
	}
	l.tries++
}

// tell gives the hardware the state that is wanted. Before there is a connection nobody needs to: see linkStands.
// Nobody changes what it points to.
func (l *laneLink) tell(wanted *link.State) {
	if l.up {
		l.revision++
		l.told = wanted
		state := *wanted
		state.Revision = l.revision
		l.drive(func(c link.Connection) { c.Send(state) })
	}
}

// applied takes in that the newest state is in force.
func (l *laneLink) applied(m *appliedAt) {
	if m.line == l.line && l.up && m.revision == l.revision && l.told != nil {
		l.lane.inForce(*l.told)
	}
}

// report hands the lane what its hardware says, and the hardware the acknowledgement once that is saved.
func (l *laneLink) report(m *arrived) {
	if m.line != l.line { // the controller tells it again
		return
	}
	log := m.report.Log
	l.lane.arrive(&ask{
		ctx: l.lane.of.background, command: m.report, by: lanes.ByLane,
		then: func(taken bool) {
			if taken {
				l.saved(log)
			}
		},
	})
}

// saved takes in that the report is saved. One that was told again comes behind those that came after it when it was told first.
func (l *laneLink) saved(log lanes.Log) {
	if l.acked == nil || l.acked.ID != log.ID || l.acked.Seq < log.Seq {
		l.acked = &log
	}
	l.sendAck()
}

// sendAck tells the hardware which reports are saved.
func (l *laneLink) sendAck() {
	if l.up && l.acked != nil {
		log := *l.acked
		l.drive(func(c link.Connection) { c.Ack(log) })
	}
}

// drive does something with the connection. A driver that panics on it has lost it.
func (l *laneLink) drive(do func(link.Connection)) {
	if !l.whole(func() { do(l.line.connection()) }) {
		l.lane.of.send(l.lane.self, &broken{l.line, errDriver})
	}
}

// whole does something with the driver, and tells whether that did not panic.
func (l *laneLink) whole(do func()) (whole bool) {
	defer func() {
		if defect := recover(); defect != nil {
			l.lane.of.driverPanicked(l.lane.id, defect, debug.Stack())
		}
	}()
	do()
	return true
}
