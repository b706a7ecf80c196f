package actors

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/board"
	"rangegate/actors/hardware"
	"rangegate/actors/holds"
	"rangegate/actors/loglevel"
	"rangegate/lanes"
	"rangegate/lanes/link"
)

// errRenewed is no failure: the hardware is reached in another way from now on.
var errRenewed = errors.New("the link is made anew, as the configuration has changed")

// laneLink is how a lane reaches its hardware: the connection that it supervises, and the timers. What is known of
// the hardware, and what follows, its line decides. The connection fails, the lane restarts it at once and tells
// it to dial after a back-off. Each dial has a number; what comes of an older one is stale.
type laneLink struct {
	r     *Range
	lane  uuid.UUID
	self  *actor.PID // the lane's actor, which alone calls the methods
	shown func()     // called when the state of the link, or whether it makes the lane usable, is another than before

	line       hardware.Line
	connection *actor.PID
	newest     uint64            // number of the newest dial
	made       link.Connection   // nil while the link is down
	controller link.Hello        // of which it was up to last: firmware, capabilities and address
	retry      *time.Timer       // of the next dial
	grace      *time.Timer       // of the time that a lane stays usable without its link
	contest    *time.Timer       // of the time that a refused second controller is shown
	unfinished []*holds.Progress // that wait for a confirmation of the hardware

	cause       *request   // whose state is being sent, nil for any other
	unconfirmed *stateSent // the newest one that a request has caused, until the hardware confirms it
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
	renewLink   struct{ reason error }    // of the range: the link is to be made anew
	holdDecided struct{}                  // of the range: whether a controller that came up locked may be released
	reconcile   struct{ life *laneActor } // the lane could not save the end of a hold
)

// linkFailure is the reason with which a connection fails. Any other reason is a panic of the driver.
type linkFailure struct {
	dial uint64
	err  error
}

// start spawns the connection and lets it dial.
func (k *laneLink) start(ctx actor.Context, now lanes.Instant) {
	k.connection = ctx.SpawnPrefix(k.r.connectionProps, connectionKind)
	k.carryOut(k.line.Start(now), now)
}

// carryOut carries out what follows from what has happened to the hardware, in the order of the fields.
func (k *laneLink) carryOut(fx hardware.Effects, now lanes.Instant) {
	if fx.Lock { // only then: all lanes of the range share the board's lock
		k.r.board.PublishLocked(k.lane, k.line.Locked())
	}
	if fx.HangUp != nil {
		k.r.tree.Send(k.connection, &disconnect{k.newest, fx.HangUp})
	}
	if fx.Down != nil {
		k.redialLater(fx.Down, now)
	}
	if fx.Dial {
		k.dial()
	}
	if fx.Ask {
		k.r.addresses.sendRoot(&controllerHolds{k.lane})
	}
	if fx.Send != nil {
		k.sendState(*fx.Send)
	}
	if fx.BeginGrace {
		over := &graceOver{k.line.DownSince()}
		k.grace = time.AfterFunc(k.r.settings().Grace, func() { k.r.tree.Send(k.self, over) })
	}
	if fx.Shown {
		if k.line.IsUp() {
			stopTimer(&k.grace)
		}
		k.shown()
	}
	if fx.Released {
		k.forgetEnd()
	}
	if fx.Confirmed {
		k.confirmHolds()
	}
	if fx.Known {
		k.r.board.PublishHardware(k.lane, k.line.Hardware())
	}
}

func stopTimer(timer **time.Timer) {
	if *timer != nil {
		(*timer).Stop()
		*timer = nil
	}
}

// moment is now, as the hardware is told of it.
func (k *laneLink) moment(now lanes.Instant) hardware.Moment {
	return hardware.Moment{Instant: now, Fenced: k.r.committer.IsFenced()}
}

// waitsForDial reports whether the lane's controller dials, and the gateway waits for it.
func (k *laneLink) waitsForDial() bool {
	_, awaits := k.r.settings().awaiter(k.lane)
	return awaits
}

func (k *laneLink) dial() {
	stopTimer(&k.retry)
	k.newest = k.r.dialNumber.Add(1)
	k.r.tree.Send(k.connection, &dial{number: k.newest, lane: k.lane})
}

// redialLater arms the back-off, with full jitter. Whatever the failed connection still says is stale.
func (k *laneLink) redialLater(down *hardware.Down, now lanes.Instant) {
	k.recordApplied(0, "link_down")
	k.made, k.newest = nil, k.r.dialNumber.Add(1)
	for _, progress := range k.unfinished { // the next link may still bring them
		progress.Report(k.lane, holds.NotReached)
	}
	backoff, next := rand.N(down.Within), &redial{k.newest}
	stopTimer(&k.retry)
	k.retry = time.AfterFunc(backoff, func() { k.r.tree.Send(k.self, next) })

	k.r.metrics.Links.WithLabelValues(down.What).Inc()
	k.r.metrics.LinkFailures.WithLabelValues(linkCause(down.Err)).Inc()
	level := zerolog.WarnLevel
	if down.What != "down" && down.Failures > 1 { // as it was at the last dial
		level = zerolog.DebugLevel
	}
	k.r.named.Of(loglevel.OfLane(&k.r.log, k.lane).WithLevel(level), k.lane).Err(down.Err).
		Int32("failures", down.Failures).
		Dur("retry_in", backoff).Msg("link down")
	k.r.board.LinkFailed(k.lane, board.LinkFailure{
		Err: down.Err, InRow: int(down.Failures),
		RetryAt: now.Wall.Add(backoff),
	}, now)
}

// redial is the end of a back-off that was not cut short.
func (k *laneLink) redial(m *redial, now lanes.Instant) {
	if m.dial == k.newest {
		k.carryOut(k.line.RetryOver(), now)
	}
}

// failed is the supervision of the connection. It is restarted at once, which closes what the old one held; only
// the dial waits.
func (k *laneLink) failed(supervisor actor.Supervisor, child *actor.PID, reason any, now lanes.Instant) {
	supervisor.RestartChildren(child)
	failure, clean := reason.(*linkFailure)
	switch {
	case !clean:
		k.carryOut(k.line.Failed(hardware.ErrDriver, k.waitsForDial(), now), now)
	case failure.dial == k.newest: // else hangUp has dealt with it
		k.carryOut(k.line.Failed(failure.err, k.waitsForDial(), now), now)
	}
}

// up sends the hardware what is wanted, if the lane is loaded: hardware that runs is left alone until then. It
// returns false for a link that is stale.
func (k *laneLink) up(m *linkUp, lane lanes.Lane, now lanes.Instant) bool {
	if m.dial != k.newest {
		return false
	}
	k.made = m.made
	k.controller = link.Hello{
		Firmware: m.hello.Firmware, Capabilities: m.hello.Capabilities, Address: m.hello.Address,
	}
	k.r.metrics.Links.WithLabelValues("up").Inc()
	k.r.named.Of(k.r.log.Info(), k.lane).Msg("link up")
	k.observeClockSkew(&m.hello, lane.Session, now)
	k.carryOut(k.line.Up(&m.hello, lane.Held, k.r.settings().HoldOnLoss, k.moment(now)), now)
	return true
}

// hearAgain hangs up, so that the controller sends the reports again that were dropped.
func (k *laneLink) hearAgain(now lanes.Instant) {
	k.carryOut(k.line.HearAgain(errUnheard, k.waitsForDial(), now), now)
}

// renew dials anew, as the configuration now says, or because an operator wants it.
func (k *laneLink) renew(m *renewLink, now lanes.Instant) {
	k.carryOut(k.line.Renew(m.reason, k.waitsForDial(), now), now)
}

// stop ends the timers of the link with the lane's life. The library stops the connection.
func (k *laneLink) stop() {
	stopTimer(&k.retry)
	stopTimer(&k.grace)
	if k.contest != nil {
		k.contestOver()
	}
	k.connection, k.made = nil, nil
}

// want makes the state the one that is wanted of the hardware.
func (k *laneLink) want(state link.State, now lanes.Instant) {
	k.carryOut(k.line.Want(state, k.moment(now)), now)
}

// sendState gives the driver the state, in the lane's own turn: a message to the connection would make the end of a
// session 0.7 ms later at the 99th percentile.
func (k *laneLink) sendState(state link.State) {
	defer func() {
		if defect := recover(); defect != nil { // it costs the connection, and nothing of the lane
			k.r.tree.Panicked(k.connection, connectionKind, "sendState", defect)
			k.r.tree.Send(k.connection, &broken{k.newest, hardware.ErrDriver})
		}
	}()
	k.noteSent(state.Revision)
	k.made.Send(state)
}

// applied handles the hardware's confirmation of a state.
func (k *laneLink) applied(m *applied, now lanes.Instant) {
	if m.dial == k.newest {
		k.recordApplied(m.revision, "")
		k.carryOut(k.line.Applied(m.revision, now), now)
	}
}

// ack tells the controller that its report is saved. One of an earlier life sends it again.
func (k *laneLink) ack(log lanes.Log) {
	if k.connection != nil {
		k.r.tree.Send(k.connection, &ack{log})
	}
}

// holdDecided is the range's decision about a controller that came up locked.
func (k *laneLink) holdDecided(now lanes.Instant) { k.carryOut(k.line.Decided(k.moment(now)), now) }

// reportHold tells the progress of a hold what is known of this lane now, and later what is in force.
func (k *laneLink) reportHold(progress *holds.Progress) {
	switch {
	case !k.line.IsUp():
		progress.Report(k.lane, holds.NotReached)
	case k.line.HasInForce(progress.Hold()):
		progress.Report(k.lane, holds.Confirmed)
	default:
		progress.Report(k.lane, holds.Sent)
		k.unfinished = append(k.unfinished, progress)
	}
}

// confirmHolds tells those who wait for it that a hold, or its end, is in force on the hardware.
func (k *laneLink) confirmHolds() {
	unfinished := k.unfinished
	k.unfinished = nil
	for _, progress := range unfinished {
		if k.line.HasInForce(progress.Hold()) {
			progress.Report(k.lane, holds.Confirmed)
		} else {
			k.unfinished = append(k.unfinished, progress)
		}
	}
}

// forgetEnd tells the range that the hardware has confirmed its release, if a hold over it has ended.
func (k *laneLink) forgetEnd() {
	record := k.r.Holds()
	if len(record.Lifted) == 0 {
		return
	}
	if place, found := k.r.settings().place(k.lane); found && record.KnowsOfEnd(place) {
		k.r.addresses.sendRoot(&releaseConfirmed{k.lane})
	}
}

func (k *laneLink) graceOver(m *graceOver, now lanes.Instant) {
	k.carryOut(k.line.GraceOver(m.downSince), now)
}

// contestShownFor is how long staff see that a second controller was refused.
const contestShownFor = 10 * time.Minute

// contested tells staff that a second controller dials for the lane whose link is up: one of the two does not
// belong there.
func (k *laneLink) contested(m *contested, now lanes.Instant) {
	if m.dial != k.newest {
		return
	}
	k.r.named.Of(k.r.log.Error(), k.lane).Str("refused", m.refused).Str("linked", m.linked).
		Msg("a second controller dialled for the lane and was refused")
	stopTimer(&k.contest)
	k.contest = time.AfterFunc(contestShownFor, func() { k.r.tree.Send(k.self, &contestOver{}) })
	k.r.board.PublishContest(k.lane, &lanes.Contest{At: now.Wall, Refused: m.refused, Linked: m.linked})
}

func (k *laneLink) contestOver() {
	stopTimer(&k.contest)
	k.r.board.PublishContest(k.lane, nil)
}

// maxClockSkew is how far a controller's time may be off before it is counted and logged.
const maxClockSkew = time.Second

// observeClockSkew reports how far the controller's time of the session is off. The gateway's time counts.
func (k *laneLink) observeClockSkew(hello *link.Hello, session *lanes.Session, now lanes.Instant) {
	if session == nil || hello.Session != session.ID {
		return
	}
	skew := hello.Left + hello.Beyond - session.RunsFor(now)
	if !hello.OpenEnd {
		skew = hello.Left - session.Remaining(now)
	}
	if skew.Abs() > maxClockSkew {
		k.r.metrics.ClockSkew.Inc()
		k.r.named.Of(k.r.log.Warn(), k.lane).Stringer("session_id", session.ID).Dur("off", skew).
			Msg("the controller's time is off")
	}
}

// linkUp takes up what the controller says in its hello.
func (l *laneActor) linkUp(m *linkUp) {
	if !l.link.up(m, l.lane, l.now) {
		return
	}
	hello := m.hello
	if l.parked {
		l.explainLock(hello.Hold)
	}
	runsFor := hello.Left + hello.Beyond
	proof := lanes.Proof{
		OpenEnd: hello.OpenEnd, Session: hello.Session, RunsFor: runsFor,
		Open: !hello.Hold && hello.Phase == lanes.Running && runsFor > 0,
	}
	l.prove(lanes.Inspect{Faults: hello.Faults, Proof: proof}, proof)
}

// explainLock has the range decide about a controller that comes up locked while its lane is parked, as it does about
// any other, unless it is locked since the lane is parked. What the lane wants of it hides that it was before.
func (l *laneActor) explainLock(locked bool) {
	if _, toldBefore := l.r.parkLocks.LoadOrStore(l.id, true); locked && !toldBefore {
		l.r.addresses.sendRoot(&controllerHolds{l.id})
	}
}

// prove queues a command with what is proven of the line now. Until that is saved, the lane has heard it.
func (l *laneActor) prove(command lanes.Command, proof lanes.Proof) {
	q := &request{ctx: context.Background(), command: command, by: lanes.ByLane}
	if proof.OpenEnd && l.unproven != nil {
		l.setHeard(l.unproven, append(slices.Clone(l.heard), lanes.Heard{At: l.now, Proof: proof}))
		q.done = func(saved bool) {
			if saved && !l.ended { // the next life of the lane hears what is proven then
				l.setHeard(l.heard[0].Lost, l.heard[1:])
				l.publishLink()
			}
		}
	}
	l.enqueue(q)
}

func (l *laneActor) setHeard(unproven *lanes.Instant, heard []lanes.Heard) {
	l.unproven, l.heard = unproven, heard
	l.lane.Unproven, l.lane.Heard = unproven, heard
	if l.ticket != nil {
		l.ticket.line.Store(&knownLine{unproven, heard})
	}
}

// keepsOpen reports whether the hardware is reached and can keep a line open beyond what was sold, whether or not that
// is saved.
func (l *laneActor) keepsOpen() bool {
	newest := len(l.heard) - 1
	return l.unproven == nil || newest >= 0 && l.heard[newest].Lost == nil
}

// linkLost puts on record since when the hardware is not reached. A session with an open end may be on its way here.
func (l *laneActor) linkLost() {
	if since := l.now; l.unproven == nil {
		l.setHeard(&since, nil)
	} else {
		l.loseAgain(since)
	}
	l.r.tree.Send(l.self, &request{ctx: context.Background(), command: lanes.LinkLost{}, by: lanes.ByLane})
}

// loseAgain ends at since what the newest of what was heard proves.
func (l *laneActor) loseAgain(since lanes.Instant) {
	heard := slices.Clone(l.heard)
	heard[len(heard)-1].Lost = &since
	l.setHeard(l.unproven, heard)
}

// unprovenSince is since when nobody knows that the line is open for a session whose move was decided then; nil: it is
// known.
func (l *laneActor) unprovenSince(decided lanes.Instant) *lanes.Instant {
	if l.unproven == nil || !l.unproven.Before(decided) {
		return l.unproven
	}
	return &decided
}

// arrive proves the line from now on for a session that has moved here. lost is unprovenSince of the lane that it left.
func (l *laneActor) arrive(lost *lanes.Instant) {
	if s := l.lane.Session; lost == nil || s == nil || !s.HasOpenEnd() {
		return
	}
	keepsOpen := l.keepsOpen()
	if l.unproven == nil || lost.Before(*l.unproven) {
		l.setHeard(lost, l.heard)
	}
	if !keepsOpen { // the hello that is to come proves it
		return
	}
	if newest := len(l.heard) - 1; newest >= 0 { // it is of the time before the session was here
		l.loseAgain(l.heard[newest].At)
	}
	l.prove(lanes.Arrive{}, lanes.Arrived)
}

// reported queues what the hardware reports. The controller gets the ack once it is saved.
func (l *laneActor) reported(m *reported) {
	if m.dial != l.link.newest { // the controller sends it again
		return
	}
	log := m.report.Log
	l.enqueue(&request{
		ctx: l.r.life, command: m.report, by: lanes.ByLane,
		done: func(saved bool) {
			if saved {
				l.link.ack(log)
			}
		},
	})
}

// ChildFailed is the supervision of the connection.
func (l *laneActor) ChildFailed(supervisor actor.Supervisor, child *actor.PID, reason, _ any) {
	if l.ended { // the connection is being stopped
		return
	}
	l.now = l.r.clock.Now()
	l.link.failed(supervisor, child, reason, l.now)
}

// publishLink shows the link, and whether the lane is usable.
func (l *laneActor) publishLink() {
	if l.queue.unlinked = !l.link.line.IsUp(); l.queue.unlinked && l.keepsOpen() {
		l.linkLost()
	}
	notUsable := l.link.line.NotUsable()
	switch {
	case l.parked:
		notUsable = "it is held after repeated defects of the gateway"
	case notUsable == "" && l.lane.Fault != "":
		notUsable = "its hardware reports: " + l.lane.Fault
	}
	l.lane.Usable = notUsable == ""
	state, since := l.link.line.Link()
	l.r.board.PublishLink(l.id, state, since, board.Hardware{
		NotUsable: notUsable, Unproven: l.unproven, Heard: l.heard,
		Parked: l.parked, Firmware: l.link.controller.Firmware, Capabilities: l.link.controller.Capabilities,
		Address: l.link.controller.Address,
	})
}

// reconcileHolds brings a lane that was loaded in line with the range's holds: a crash may have come between
// their writes. A lane that is held although no hold is known stays held until staff lift it.
func (l *laneActor) reconcileHolds() {
	record := l.r.Holds()
	place, _ := l.r.settings().place(l.id)
	request := func(command lanes.Command) *request {
		return &request{ctx: context.Background(), command: command, by: lanes.ByStaff}
	}
	switch held := record.Over(place); {
	case held == l.lane.Held:
	case held:
		l.enqueue(request(lanes.Hold{}))
	case record.KnowsOfEnd(place):
		l.enqueue(request(lanes.Release{}))
	default:
		l.r.addresses.sendRoot(&controllerHolds{l.id})
	}
}
