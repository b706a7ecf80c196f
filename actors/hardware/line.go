package hardware

import (
	"errors"
	"time"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// The ceiling of the back-off before the next dial. It doubles with each failure in a row (LINK.md, liveness).
const (
	FirstBackoff = 250 * time.Millisecond
	LastBackoff  = 15 * time.Second
	SettledAfter = 30 * time.Second // a link that was up for so long starts again from FirstBackoff

	FirstFaultyBackoff = 15 * time.Second // likewise for a controller that is there and not in order
	LastFaultyBackoff  = 5 * time.Minute
)

// ErrDriver means that the link's driver has panicked.
var ErrDriver = errors.New("the link's driver panicked")

// Line is the hardware of one lane. The zero value is that of a lane that has not begun: see Start.
type Line struct {
	link      lanes.LinkState
	since     time.Time     // of that state
	upSince   time.Duration // on the monotonic clock, as the next one
	downSince time.Duration // failed dials do not restart it
	graceOver bool          // the link is down for longer than the configured grace
	failures  int32         // in a row, of a controller that could not be reached
	faults    int32         // in a row, of a controller that was not in order
	waits     bool          // for the next dial: none is under way, and the link is down

	wanted   *link.State // nil before the first Want
	sent     *link.State // the newest one on this connection, nil before it
	revision uint64      // of that state
	heldAt   bool        // what the controller was sent last is a held state; before that, it came up locked
	applied  bool        // that state is in force
	held     bool        // the state that was confirmed last is a held one
	locked   bool        // the hardware has confirmed that it is locked, and was sent nothing else since
	sawOpen  bool        // the state that was confirmed last is not a held one
	deciding bool        // the controller came up locked, and the range decides whether it may be released

	known lanes.Hardware // what operators are shown: nothing else here depends on it
}

// Moment is when something happens.
type Moment struct {
	lanes.Instant
	Fenced bool // another gateway may have the range
}

// Effects is what follows, to be carried out in the order of the fields.
type Effects struct {
	Lock       bool        // Locked is another than before: show it
	HangUp     error       // end the connection, or the dial under way, for this reason
	Down       *Down       // the link is down: dial again after the back-off
	Dial       bool        // dial now
	Ask        bool        // let the range decide whether a controller that came up locked may be released
	Send       *link.State // to the controller
	BeginGrace bool        // the link was up, or the lane begins
	Shown      bool        // Link or NotUsable is another than before: show it
	Released   bool        // the controller has confirmed that it is not held, as is wanted
	Confirmed  bool        // the newest state is in force: HasInForce tells which
	Known      bool        // Hardware is another than before: show it, last, as nobody waits for it
}

// Down is why and for how long the link is down.
type Down struct {
	Err      error
	What     string        // down, not_made or faulty: a value of metrics.Links
	Failures int32         // in a row
	Within   time.Duration // the next dial follows after a random time below it
}

// Start begins the life of a lane.
func (l *Line) Start(now lanes.Instant) Effects {
	fx := Effects{Dial: true}
	l.linkChanged(lanes.LinkDown, now, &fx)
	return fx
}

// Want makes state the one that is wanted. Its revision is not looked at.
func (l *Line) Want(state link.State, at Moment) (fx Effects) {
	state.Revision = 0
	if l.wanted == nil || !state.Same(*l.wanted) {
		l.wanted = &state
		l.known.Wanted = hardwareState(&state, at.Instant)
		l.send(at, &fx)
	}
	return fx
}

// Up is the hello of the controller. laneHeld says that the lane is held, holdOnLoss that controllers lock
// themselves when they lose the gateway. A controller that comes up locked is asked about, unless it was told so,
// or has locked itself: it was last seen open.
func (l *Line) Up(hello *link.Hello, laneHeld, holdOnLoss bool, at Moment) (fx Effects) {
	l.upSince, l.revision, l.sent, l.heldAt = at.Mono, 0, nil, hello.Hold
	lockedItself := holdOnLoss && l.sawOpen
	if hello.Hold && !laneHeld && !l.WantsHold() && !lockedItself {
		l.deciding = true
		fx.Ask = true
	}
	l.lock(false, &fx)
	l.linkChanged(lanes.LinkUp, at.Instant, &fx)
	l.known.InHello, l.known.Applied, fx.Known = true, &lanes.HardwareState{
		Since: at.Wall, Hold: hello.Hold, Session: hello.Session, Phase: hello.Phase, Left: hello.Left,
	}, true
	l.send(at, &fx)
	return fx
}

// Decided is the range's decision about a controller that came up locked. It has one of its own if that is to
// stay so: then a held state is wanted.
func (l *Line) Decided(at Moment) (fx Effects) {
	if l.deciding {
		l.deciding = false
		l.send(at, &fx)
	}
	return fx
}

// send sends the state that is wanted once the link is up, unless it would release a controller about which the range
// decides, or would open the fire line for a gateway that may have lost the range.
func (l *Line) send(at Moment, fx *Effects) {
	if l.wanted == nil {
		return
	}
	stage := lanes.Sent
	switch {
	case l.link != lanes.LinkUp:
		stage = lanes.Unlinked
	case l.deciding && !l.wanted.Hold:
		stage = lanes.Undecided
	case at.Fenced && l.opens(at.Instant):
		stage = lanes.MayBeLost
	}
	l.known.Stage, fx.Known = stage, true
	if stage != lanes.Sent {
		return
	}
	l.applied = false
	if !l.wanted.Hold { // the fire line may be open before the confirmation comes
		l.lock(false, fx)
	}
	l.revision++
	l.sent, l.heldAt = l.wanted, l.wanted.Hold
	state := *l.wanted
	state.Revision = l.revision
	fx.Send = &state
}

// opens reports whether what is wanted would open the fire line, now or at a start, or release the controller from a
// hold.
func (l *Line) opens(now lanes.Instant) bool {
	return l.wanted.Open(now) || l.wanted.BeginsByItself() || l.heldAt && !l.wanted.Hold
}

// Applied is the controller's confirmation of a state of this connection. It says nothing if a newer one was
// sent since.
func (l *Line) Applied(revision uint64, now lanes.Instant) (fx Effects) {
	if l.sent == nil || revision != l.revision {
		return fx
	}
	if !l.applied {
		l.known.Applied, l.known.InHello, fx.Known = hardwareState(l.sent, now), false, true
	}
	if l.known.Stage == lanes.Sent { // else a newer one is wanted, and not sent
		l.known.Stage = lanes.InForce
	}
	l.applied, l.held, l.sawOpen = true, l.sent.Hold, !l.sent.Hold
	l.lock(l.held, &fx)
	fx.Confirmed = true
	fx.Released = !l.held && !l.wanted.Hold
	return fx
}

// Failed is the end of the connection, or of a dial. waitsForDial says that the controller dials and the gateway
// waits for it: then nobody is dialled too often.
func (l *Line) Failed(err error, waitsForDial bool, now lanes.Instant) (fx Effects) {
	fx.Down = &Down{Err: err, What: "not_made"}
	if l.link == lanes.LinkUp {
		fx.Down.What = "down"
		if now.Mono-l.upSince >= SettledAfter {
			l.failures, l.faults = 0, 0
		}
	}
	state := lanes.LinkDown
	if errors.Is(err, link.ErrFaulty) {
		state, fx.Down.What = lanes.LinkFaulty, "faulty"
		fx.Down.Within = min(FirstFaultyBackoff<<min(l.faults, 5), LastFaultyBackoff)
		l.faults, l.failures = l.faults+1, 0
	} else {
		fx.Down.Within = min(FirstBackoff<<min(l.failures, 6), LastBackoff)
		l.failures, l.faults = l.failures+1, 0
	}
	if waitsForDial && !errors.Is(err, ErrDriver) {
		fx.Down.Within = 1
	}
	fx.Down.Failures = l.failures + l.faults
	l.waits, l.sent = true, nil
	l.applied, l.deciding = false, false
	if l.wanted != nil && l.known.Stage != lanes.Unlinked {
		l.known.Stage, fx.Known = lanes.Unlinked, true
	}
	l.lock(false, &fx)
	l.linkChanged(state, now, &fx)
	return fx
}

// hangUp ends the connection, or the dial under way. While the next dial is waited for there is nothing to end.
func (l *Line) hangUp(reason error, waitsForDial bool, now lanes.Instant) Effects {
	if l.waits {
		return Effects{}
	}
	fx := l.Failed(reason, waitsForDial, now)
	fx.HangUp = reason
	return fx
}

// HearAgain ends a connection that works, so that the controller says in the next one what was not heard. The link has
// not failed: however often that is, the next dial comes soon. Without a connection the next one does it anyway.
func (l *Line) HearAgain(reason error, waitsForDial bool, now lanes.Instant) Effects {
	if !l.IsUp() {
		return Effects{}
	}
	l.failures, l.faults = 0, 0
	return l.hangUp(reason, waitsForDial, now)
}

// Renew dials anew: at once where the next dial is waited for.
func (l *Line) Renew(reason error, waitsForDial bool, now lanes.Instant) Effects {
	l.failures, l.faults = 0, 0
	if l.waits {
		return l.RetryOver()
	}
	return l.hangUp(reason, waitsForDial, now)
}

// RetryOver is the end of the back-off.
func (l *Line) RetryOver() Effects {
	dial := l.waits
	l.waits = false
	return Effects{Dial: dial}
}

// GraceOver is the end of the grace of a link that went down at that time: see DownSince.
func (l *Line) GraceOver(downSince time.Duration) Effects {
	over := l.link != lanes.LinkUp && l.downSince == downSince
	l.graceOver = l.graceOver || over
	return Effects{Shown: over}
}

// linkChanged shows the state of the link. A lane whose link is down stays usable for the configured grace
// (WIRE.md, Views).
func (l *Line) linkChanged(state lanes.LinkState, now lanes.Instant, fx *Effects) {
	before := l.link
	if state == before {
		return
	}
	l.link, l.since, fx.Shown = state, now.Wall, true
	switch {
	case state == lanes.LinkUp:
		l.graceOver = false
	case before == lanes.LinkUp, before == "":
		l.downSince = now.Mono
		fx.BeginGrace = true
	}
}

// lock says whether the fire line is locked.
func (l *Line) lock(locked bool, fx *Effects) {
	fx.Lock = fx.Lock || locked != l.locked
	l.locked = locked
}

// Link returns the state of the link, and since when it has it.
func (l *Line) Link() (lanes.LinkState, time.Time) { return l.link, l.since }

// IsUp reports whether the link is up.
func (l *Line) IsUp() bool { return l.link == lanes.LinkUp }

// DownSince is when the link went down, on the monotonic clock.
func (l *Line) DownSince() time.Duration { return l.downSince }

// NotUsable says why the link makes the lane unusable, and is empty while it does not.
func (l *Line) NotUsable() string {
	switch {
	case !l.graceOver:
		return ""
	case l.link == lanes.LinkFaulty:
		return "its controller is faulty"
	}
	return "its link is down"
}

// WantsHold reports whether a held state is wanted.
func (l *Line) WantsHold() bool { return l.wanted != nil && l.wanted.Hold }

// Locked reports whether the hardware has confirmed that its fire line is locked, and was sent nothing else since.
func (l *Line) Locked() bool { return l.locked }

// Hardware returns what operators are shown.
func (l *Line) Hardware() lanes.Hardware { return l.known }

// hardwareState is what operators are shown of a state that is wanted, or known to be in force, from now on.
func hardwareState(state *link.State, now lanes.Instant) *lanes.HardwareState {
	shown := &lanes.HardwareState{Since: now.Wall, Hold: state.Hold}
	if s := state.Session; s != nil {
		shown.Session, shown.Phase, shown.Left = s.ID, s.Phase, s.Remaining(now)
	}
	return shown
}

// HasInForce reports whether the newest state is in force on the hardware, and is a held one or not, as hold says.
func (l *Line) HasInForce(hold bool) bool { return l.applied && l.held == hold }
