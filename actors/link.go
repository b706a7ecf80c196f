package actors

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Back-off before the next dial: full jitter below a ceiling that doubles with each failure (LINK.md, liveness).
const (
	firstBackoff = 250 * time.Millisecond
	lastBackoff  = 15 * time.Second
	settledAfter = 30 * time.Second // a link that was up for so long starts again from firstBackoff

	firstFaultyBackoff = 15 * time.Second // likewise for a controller that is there and not in order
	lastFaultyBackoff  = 5 * time.Minute
)

var (
	errDriver = errors.New("the link's driver panicked")
	// errRenewed is no failure: the hardware is reached in another way from now on.
	errRenewed = errors.New("the link is made anew, as the configuration has changed")
)

// laneLink is what a lane knows of the connection to its hardware, which it supervises: the connection fails,
// the lane restarts it at once and tells it to dial after a back-off. Each dial has a number; what comes of
// an older one is stale.
type laneLink struct {
	connection *actor.PID
	dial       uint64          // number of the newest dial
	made       link.Connection // nil while the link is down
	upSince    time.Duration   // on the monotonic clock
	failures   int32           // in a row, of a controller that could not be reached
	faults     int32           // in a row, of a controller that was not in order
	retry      *time.Timer     // of the next dial, nil while one is under way or the link is up
	revision   uint64          // of the newest state sent on this connection
	sent       *link.State     // that state

	state     lanes.LinkState
	since     time.Time     // of that state
	downSince time.Duration // on the monotonic clock; failed dials do not restart it
	grace     *time.Timer   // of the time that a lane stays usable without its link
	contest   *time.Timer   // of the time that a refused second controller is shown
	notUsable string        // why the link makes the lane unusable, empty while it does not
}

// The messages about a lane's link.
type (
	linkUp struct { // of the connection
		dial  uint64
		made  link.Connection
		hello link.Hello
	}
	applied struct { // of the connection: the state of that revision is in force
		dial     uint64
		revision uint64
	}
	reported struct { // of the connection
		dial   uint64
		report lanes.Report
	}
	contested struct { // of the connection: a second controller was refused
		dial            uint64
		refused, linked string // their addresses
	}
	redial      struct{ dial uint64 } // of the back-off timer
	graceOver   struct{ downSince time.Duration }
	contestOver struct{}
	renewLink   struct{} // of the range: the hardware is reached in another way
)

// linkFailure is the reason with which a connection fails. Any other reason is a panic of the driver.
type linkFailure struct {
	dial uint64
	err  error
}

// startLink spawns the connection and lets it dial.
func (l *laneActor) startLink(ctx actor.Context) {
	l.link.connection = ctx.SpawnPrefix(l.r.connectionProps, connectionKind)
	l.linkChanged(lanes.LinkDown)
	l.dialNow()
}

func (l *laneActor) dialNow() {
	l.link.dial = l.r.dialNumber.Add(1)
	l.link.retry, l.link.revision, l.link.sent = nil, 0, nil
	l.r.tree.Send(l.link.connection, &dial{number: l.link.dial, lane: l.id})
}

// redial is the end of a back-off that was not cut short.
func (l *laneActor) redial(m *redial) {
	if m.dial == l.link.dial && l.link.retry != nil {
		l.dialNow()
	}
}

// ChildFailed is the supervision of the connection. It is restarted at once, which closes what the old one
// held; only the dial waits.
func (l *laneActor) ChildFailed(supervisor actor.Supervisor, child *actor.PID, reason, _ any) {
	if l.ended { // the connection is being stopped
		return
	}
	l.now = l.r.clock.Now()
	supervisor.RestartChildren(child)
	failure, clean := reason.(*linkFailure)
	switch {
	case !clean:
		l.linkDown(errDriver)
	case failure.dial == l.link.dial: // else hangUp has dealt with it
		l.linkDown(failure.err)
	}
}

// linkUp sends the hardware what is wanted, if the lane is loaded: hardware that runs is left alone until then.
func (l *laneActor) linkUp(m *linkUp) {
	if m.dial != l.link.dial {
		return
	}
	l.link.made, l.link.upSince = m.made, l.now.Mono
	l.r.metrics.Links.WithLabelValues("up").Inc()
	l.r.log.Info().Stringer("lane_id", l.id).Msg("link up")
	l.fireLine.linkChanged(true)
	l.setLocked(false)
	l.observeClockSkew(&m.hello)
	l.askWhyHeld(&m.hello)
	l.sendWanted()
	l.enqueue(&request{ctx: context.Background(), command: lanes.Inspect{Faults: m.hello.Faults}, by: lanes.ByLane})
	l.linkChanged(lanes.LinkUp)
}

// linkDown shows that the connection has failed or could not be made, and arms the back-off before the next dial.
func (l *laneActor) linkDown(err error) {
	k := &l.link
	what := "not_made"
	if k.made != nil {
		what = "down"
		if l.now.Mono-k.upSince >= settledAfter {
			k.failures, k.faults = 0, 0
		}
	}
	state, ceiling := lanes.LinkDown, min(firstBackoff<<min(k.failures, 6), lastBackoff)
	if errors.Is(err, link.ErrFaulty) {
		state, what = lanes.LinkFaulty, "faulty"
		ceiling = min(firstFaultyBackoff<<min(k.faults, 5), lastFaultyBackoff)
		k.faults, k.failures = k.faults+1, 0
	} else {
		k.failures, k.faults = k.failures+1, 0
	}
	if _, awaits := l.r.awaiter(l.id); awaits && !errors.Is(err, errDriver) {
		ceiling = 1 // nobody is dialled too often: the controller dials
	}
	k.made = nil
	k.dial = l.r.dialNumber.Add(1) // whatever the failed connection still says is stale
	backoff, next := rand.N(ceiling), &redial{k.dial}
	l.stopRetry()
	k.retry = time.AfterFunc(backoff, func() { l.r.tree.Send(l.self, next) })

	l.r.metrics.Links.WithLabelValues(what).Inc()
	l.r.metrics.LinkFailures.WithLabelValues(linkCause(err)).Inc()
	level := zerolog.WarnLevel
	if what != "down" && k.failures+k.faults > 1 { // as it was at the last dial
		level = zerolog.DebugLevel
	}
	l.r.log.WithLevel(level).Stringer("lane_id", l.id).Err(err).Int32("failures", k.failures+k.faults).Dur("retry_in", backoff).Msg("link down")
	l.fireLine.linkChanged(false)
	l.setLocked(false)
	l.r.board.LinkFailed(l.id, err, l.now)
	l.linkChanged(state)
}

// hangUp ends the connection, or the dial under way; the next dial follows after a back-off.
func (l *laneActor) hangUp(reason error) {
	l.r.tree.Send(l.link.connection, &disconnect{l.link.dial, reason})
	l.linkDown(reason)
}

// renewLink dials anew, as the configuration now says: at once where the next dial was waited for.
func (l *laneActor) renewLink() {
	l.link.failures, l.link.faults = 0, 0
	if l.link.retry == nil {
		l.hangUp(errRenewed)
		return
	}
	l.stopRetry()
	l.dialNow()
}

func (l *laneActor) stopRetry() {
	if l.link.retry != nil {
		l.link.retry.Stop()
	}
}

// stopLink ends the timers of the link with the lane's life. The library stops the connection.
func (l *laneActor) stopLink() {
	l.stopRetry()
	l.stopGrace()
	if l.link.contest != nil {
		l.contestOver()
	}
	l.link.connection, l.link.made = nil, nil
}

// sendState gives the driver the state that is wanted, in the lane's own turn: a message to the connection
// would make the end of a session 0.7 ms later at the 99th percentile. While the link is down nobody needs
// to: linkUp does.
func (l *laneActor) sendState(wanted *link.State) {
	if l.link.made == nil {
		return
	}
	l.link.revision++
	l.link.sent = wanted
	state := *wanted
	state.Revision = l.link.revision
	defer func() {
		if defect := recover(); defect != nil { // it costs the connection, and nothing of the lane
			l.r.tree.Panicked(l.link.connection, connectionKind, "sendState", defect)
			l.r.tree.Send(l.link.connection, &broken{l.link.dial, errDriver})
		}
	}()
	l.link.made.Send(state)
}

// applied handles the hardware's confirmation of a state, unless a newer one was sent since.
func (l *laneActor) applied(m *applied) {
	if m.dial == l.link.dial && m.revision == l.link.revision && l.link.sent != nil {
		l.stateApplied(*l.link.sent)
	}
}

// reported queues what the hardware reports. The controller gets the ack once it is saved.
func (l *laneActor) reported(m *reported) {
	if m.dial != l.link.dial { // the controller sends it again
		return
	}
	log := m.report.Log
	l.enqueue(&request{
		ctx: l.r.life, command: m.report, by: lanes.ByLane,
		done: func(saved bool) {
			if saved && l.link.connection != nil { // of an earlier life the controller sends it again
				l.r.tree.Send(l.link.connection, &ack{log})
			}
		},
	})
}

// linkChanged shows the state of the link. A lane whose link is down stays usable for the configured grace
// (WIRE.md, Views).
func (l *laneActor) linkChanged(state lanes.LinkState) {
	k, before := &l.link, l.link.state
	if state == before {
		return
	}
	k.state, k.since = state, l.now.Wall
	switch {
	case state == lanes.LinkUp:
		l.stopGrace()
		k.notUsable = ""
	case before == lanes.LinkUp, before == "":
		k.downSince = l.now.Mono
		over := &graceOver{k.downSince}
		k.grace = time.AfterFunc(l.r.settings().Grace, func() { l.r.tree.Send(l.self, over) })
	case k.notUsable != "":
		k.notUsable = linkProblems[state]
	}
	l.publishLink()
}

// linkProblems says why a lane is not usable whose link is not up.
var linkProblems = map[lanes.LinkState]string{
	lanes.LinkDown: "its link is down", lanes.LinkFaulty: "its controller is faulty",
}

// contestShownFor is how long staff see that a second controller was refused.
const contestShownFor = 10 * time.Minute

// contested tells staff that a second controller dials for the lane whose link is up: one of the two does not
// belong there.
func (l *laneActor) contested(m *contested) {
	if m.dial != l.link.dial {
		return
	}
	l.r.log.Error().Stringer("lane_id", l.id).Str("refused", m.refused).Str("linked", m.linked).
		Msg("a second controller dialled for the lane and was refused")
	l.stopContest()
	l.link.contest = time.AfterFunc(contestShownFor, func() { l.r.tree.Send(l.self, &contestOver{}) })
	l.r.board.PublishContest(l.id, &lanes.Contest{At: l.now.Wall, Refused: m.refused, Linked: m.linked})
}

func (l *laneActor) contestOver() {
	l.stopContest()
	l.r.board.PublishContest(l.id, nil)
}

func (l *laneActor) stopContest() {
	if l.link.contest != nil {
		l.link.contest.Stop()
		l.link.contest = nil
	}
}

func (l *laneActor) stopGrace() {
	if l.link.grace != nil {
		l.link.grace.Stop()
		l.link.grace = nil
	}
}

func (l *laneActor) graceOver(m *graceOver) {
	if k := &l.link; k.state != lanes.LinkUp && k.downSince == m.downSince {
		k.notUsable = linkProblems[k.state]
		l.publishLink()
	}
}

// publishLink shows the link, and whether the lane is usable.
func (l *laneActor) publishLink() {
	notUsable := l.link.notUsable
	switch {
	case l.parked:
		notUsable = "it is held after repeated defects of the gateway"
	case notUsable == "" && l.lane.Fault != "":
		notUsable = "its hardware reports: " + l.lane.Fault
	}
	l.lane.Usable = notUsable == ""
	l.r.board.PublishLink(l.id, l.link.state, l.link.since, notUsable, l.parked)
}

// maxClockSkew is how far a controller's time may be off before it is counted and logged.
const maxClockSkew = time.Second

// observeClockSkew reports how far the controller's time of the session is off. The gateway's time counts.
func (l *laneActor) observeClockSkew(hello *link.Hello) {
	s := l.lane.Session
	if s == nil || hello.Session != s.ID {
		return
	}
	skew := hello.Left - s.Remaining(l.now)
	if skew.Abs() > maxClockSkew {
		l.r.metrics.ClockSkew.Inc()
		l.r.log.Warn().Stringer("lane_id", l.id).Stringer("session_id", s.ID).Dur("off", skew).Msg("the controller's time is off")
	}
}
