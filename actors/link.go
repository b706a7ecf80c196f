package actors

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"rangegate/actors/hardware"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

// errRenewed is no failure: the hardware is reached in another way from now on.
var errRenewed = errors.New("the link is made anew, as the configuration has changed")

// laneLink is how a lane reaches its hardware: the connection that it supervises, and the timers. What it knows of
// the hardware is a hardware.Line. The connection fails, the lane restarts it at once and tells it to dial after a
// back-off. Each dial has a number; what comes of an older one is stale.
type laneLink struct {
	connection *actor.PID
	dial       uint64          // number of the newest dial
	made       link.Connection // nil while the link is down
	retry      *time.Timer     // of the next dial
	grace      *time.Timer     // of the time that a lane stays usable without its link
	contest    *time.Timer     // of the time that a refused second controller is shown
	unfinished []*holdProgress // that wait for a confirmation of the hardware
}

// The messages about a lane's link and its fire line.
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
	renewLink   struct{}                  // of the range: the hardware is reached in another way
	holdDecided struct{}                  // of the range: whether a controller that came up locked may be released
	reconcile   struct{ life *laneActor } // the lane could not save the end of a hold
)

// linkFailure is the reason with which a connection fails. Any other reason is a panic of the driver.
type linkFailure struct {
	dial uint64
	err  error
}

// startLink spawns the connection and lets it dial.
func (l *laneActor) startLink(ctx actor.Context) {
	l.link.connection = ctx.SpawnPrefix(l.r.connectionProps, connectionKind)
	l.carryOut(l.hardware.Start(l.now))
}

// carryOut carries out what follows from what has happened to the hardware, in the order of the fields.
func (l *laneActor) carryOut(fx hardware.Effects) {
	if fx.Lock { // only then: all lanes of the range share the board's lock
		l.r.board.PublishLocked(l.id, l.hardware.Locked())
	}
	if fx.HangUp != nil {
		l.r.tree.Send(l.link.connection, &disconnect{l.link.dial, fx.HangUp})
	}
	if fx.Down != nil {
		l.redialLater(fx.Down)
	}
	if fx.Dial {
		l.dial()
	}
	if fx.Ask {
		l.r.addresses.sendRoot(&controllerHolds{l.id})
	}
	if fx.Send != nil {
		l.sendState(*fx.Send)
	}
	if fx.BeginGrace {
		over := &graceOver{l.hardware.DownSince()}
		l.link.grace = time.AfterFunc(l.r.settings().Grace, func() { l.r.tree.Send(l.self, over) })
	}
	if fx.Shown {
		if l.hardware.IsUp() {
			stopTimer(&l.link.grace)
		}
		l.publishLink()
	}
	if fx.Released {
		l.forgetEnd()
	}
	if fx.Confirmed {
		l.confirmHolds()
	}
}

func stopTimer(timer **time.Timer) {
	if *timer != nil {
		(*timer).Stop()
		*timer = nil
	}
}

// moment is now, as the hardware is told of it.
func (l *laneActor) moment() hardware.Moment {
	return hardware.Moment{Instant: l.now, Fenced: l.r.committer.IsFenced()}
}

// waitsForDial reports whether the lane's controller dials, and the gateway waits for it.
func (l *laneActor) waitsForDial() bool {
	_, awaits := l.r.settings().awaiter(l.id)
	return awaits
}

func (l *laneActor) dial() {
	stopTimer(&l.link.retry)
	l.link.dial = l.r.dialNumber.Add(1)
	l.r.tree.Send(l.link.connection, &dial{number: l.link.dial, lane: l.id})
}

// redialLater arms the back-off, with full jitter. Whatever the failed connection still says is stale.
func (l *laneActor) redialLater(down *hardware.Down) {
	k := &l.link
	k.made, k.dial = nil, l.r.dialNumber.Add(1)
	backoff, next := rand.N(down.Within), &redial{k.dial}
	stopTimer(&k.retry)
	k.retry = time.AfterFunc(backoff, func() { l.r.tree.Send(l.self, next) })

	l.r.metrics.Links.WithLabelValues(down.What).Inc()
	l.r.metrics.LinkFailures.WithLabelValues(linkCause(down.Err)).Inc()
	level := zerolog.WarnLevel
	if down.What != "down" && down.Failures > 1 { // as it was at the last dial
		level = zerolog.DebugLevel
	}
	l.r.log.WithLevel(level).Stringer("lane_id", l.id).Err(down.Err).Int32("failures", down.Failures).Dur("retry_in", backoff).Msg("link down")
	l.r.board.LinkFailed(l.id, down.Err, l.now)
}

// redial is the end of a back-off that was not cut short.
func (l *laneActor) redial(m *redial) {
	if m.dial == l.link.dial {
		l.carryOut(l.hardware.RetryOver())
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
		l.linkDown(hardware.ErrDriver)
	case failure.dial == l.link.dial: // else hangUp has dealt with it
		l.linkDown(failure.err)
	}
}

// linkUp sends the hardware what is wanted, if the lane is loaded: hardware that runs is left alone until then.
func (l *laneActor) linkUp(m *linkUp) {
	if m.dial != l.link.dial {
		return
	}
	l.link.made = m.made
	l.r.metrics.Links.WithLabelValues("up").Inc()
	l.r.log.Info().Stringer("lane_id", l.id).Msg("link up")
	l.observeClockSkew(&m.hello)
	l.carryOut(l.hardware.Up(&m.hello, l.lane.Held, l.r.settings().HoldOnLoss, l.moment()))
	l.enqueue(&request{ctx: context.Background(), command: lanes.Inspect{Faults: m.hello.Faults}, by: lanes.ByLane})
}

// linkDown is the end of the connection, or of a dial.
func (l *laneActor) linkDown(err error) {
	l.carryOut(l.hardware.Failed(err, l.waitsForDial(), l.now))
}

// hangUp ends the connection, or the dial under way; the next dial follows after a back-off.
func (l *laneActor) hangUp(reason error) {
	l.carryOut(l.hardware.HangUp(reason, l.waitsForDial(), l.now))
}

// renewLink dials anew, as the configuration now says.
func (l *laneActor) renewLink() {
	l.carryOut(l.hardware.Renew(errRenewed, l.waitsForDial(), l.now))
}

// stopLink ends the timers of the link with the lane's life. The library stops the connection.
func (l *laneActor) stopLink() {
	stopTimer(&l.link.retry)
	stopTimer(&l.link.grace)
	if l.link.contest != nil {
		l.contestOver()
	}
	l.link.connection, l.link.made = nil, nil
}

// sendState gives the driver the state, in the lane's own turn: a message to the connection would make the end of
// a session 0.7 ms later at the 99th percentile.
func (l *laneActor) sendState(state link.State) {
	defer func() {
		if defect := recover(); defect != nil { // it costs the connection, and nothing of the lane
			l.r.tree.Panicked(l.link.connection, connectionKind, "sendState", defect)
			l.r.tree.Send(l.link.connection, &broken{l.link.dial, hardware.ErrDriver})
		}
	}()
	l.link.made.Send(state)
}

// applied handles the hardware's confirmation of a state.
func (l *laneActor) applied(m *applied) {
	if m.dial == l.link.dial {
		l.carryOut(l.hardware.Applied(m.revision))
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

func (l *laneActor) holdDecided() { l.carryOut(l.hardware.Decided(l.moment())) }

// reconcileHolds brings a lane that was loaded in line with the range's holds: a crash may have come between
// their writes. A lane that is held although no hold is known stays held until staff lift it.
func (l *laneActor) reconcileHolds() {
	holds := l.r.Holds()
	place, _ := l.r.settings().place(l.id)
	request := func(command lanes.Command) *request {
		return &request{ctx: context.Background(), command: command, by: lanes.ByStaff}
	}
	switch held := holds.Over(place); {
	case held == l.lane.Held:
	case held:
		l.enqueue(request(lanes.Hold{}))
	case holds.KnowsOfEnd(place):
		l.enqueue(request(lanes.Release{}))
	default:
		l.r.addresses.sendRoot(&controllerHolds{l.id})
	}
}

// reportHold tells the progress of a hold what is known of this lane now, and later what is in force.
func (l *laneActor) reportHold(q *request) {
	switch {
	case q.progress == nil:
	case !l.hardware.IsUp():
		q.progress.report(l.id, notReached)
	case l.hardware.HasInForce(q.progress.hold):
		q.progress.report(l.id, confirmed)
	default:
		q.progress.report(l.id, sent)
		l.link.unfinished = append(l.link.unfinished, q.progress)
	}
}

// confirmHolds tells those who wait for it that a hold, or its end, is in force on the hardware.
func (l *laneActor) confirmHolds() {
	unfinished := l.link.unfinished
	l.link.unfinished = nil
	for _, progress := range unfinished {
		if l.hardware.HasInForce(progress.hold) {
			progress.report(l.id, confirmed)
		} else {
			l.link.unfinished = append(l.link.unfinished, progress)
		}
	}
}

// forgetEnd tells the range that the hardware has confirmed its release, if a hold over it has ended.
func (l *laneActor) forgetEnd() {
	holds := l.r.Holds()
	if len(holds.Lifted) == 0 {
		return
	}
	if place, found := l.r.settings().place(l.id); found && holds.KnowsOfEnd(place) {
		l.r.addresses.sendRoot(&releaseConfirmed{l.id})
	}
}

func (l *laneActor) graceOver(m *graceOver) { l.carryOut(l.hardware.GraceOver(m.downSince)) }

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
	stopTimer(&l.link.contest)
	l.link.contest = time.AfterFunc(contestShownFor, func() { l.r.tree.Send(l.self, &contestOver{}) })
	l.r.board.PublishContest(l.id, &lanes.Contest{At: l.now.Wall, Refused: m.refused, Linked: m.linked})
}

func (l *laneActor) contestOver() {
	stopTimer(&l.link.contest)
	l.r.board.PublishContest(l.id, nil)
}

// publishLink shows the link, and whether the lane is usable.
func (l *laneActor) publishLink() {
	notUsable := l.hardware.NotUsable()
	switch {
	case l.parked:
		notUsable = "it is held after repeated defects of the gateway"
	case notUsable == "" && l.lane.Fault != "":
		notUsable = "its hardware reports: " + l.lane.Fault
	}
	l.lane.Usable = notUsable == ""
	state, since := l.hardware.Link()
	l.r.board.PublishLink(l.id, state, since, notUsable, l.parked)
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
		l.r.log.Warn().Stringer("lane_id", l.id).Stringer("session_id", s.ID).Dur("off", skew).
			Msg("the controller's time is off")
	}
}
