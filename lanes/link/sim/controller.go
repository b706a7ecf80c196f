package sim

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Why a dial fails, a connection fails, or a report is not made.
var (
	errRefused  = errors.New("the controller refuses connections")
	errOldEpoch = fmt.Errorf("%w: it has seen a gateway with a higher epoch", link.ErrFaulty)
	errPoses    = fmt.Errorf("%w: it is another lane's", link.ErrFaulty)
	errReplaced = errors.New("a newer connection has replaced this one")
	errPowerCut = errors.New("the controller lost power")
	errNotNow   = errors.New("the controller has no session that this could be about")
)

// lostAfter is how long the gateway may be silent before the controller does what the hello's on_loss says (LINK.md).
const lostAfter = 15 * time.Second

// Controller is a lane's simulated hardware. Its methods never block and may be called at any time, also by a receiver;
// none of them calls a receiver.
type Controller struct {
	driver *Driver

	mu       sync.Mutex
	line     fireLine
	log      reportLog
	epoch    uint64      // the highest one since power-up
	newest   *connection // nil: the link is down
	liveness liveness
	faults   []string // in force, each once
	refusing bool
	posing   bool
	stalled  bool
	older    bool // it locks at zero, whatever it is told
}

// liveness is what the controller knows of the gateway. A connection in the process counts as a sign of life
// while it is up; over a wire, each message and ping does (WireConnection.Heard).
type liveness struct {
	holdOnLoss bool          // as in the hello
	heard      time.Duration // of the last sign of life, on the controller's own clock
}

// Shown is the visible state of a controller at one instant.
type Shown struct {
	Open      bool // the fire line: anyone can shoot
	Session   uuid.UUID
	Phase     lanes.Phase // as the gateway sent it: a session that ran out is Running with nothing remaining
	Remaining time.Duration
	Beyond    time.Duration // for so long it stays open when that is used up
	Hold      bool
	Revision  uint64 // of the state in force, in its connection; 0: none since power-up

	Purchasing bool
	Purchase   *lanes.Purchase // the latest of the session, nil before the first
	Warns      bool            // the customer is told that the time will soon be used up
}

// Shown returns the present state of the controller.
func (c *Controller) Shown() Shown {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line.shownAt(c.update())
}

// Unacked returns how many reports the controller stores.
func (c *Controller) Unacked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.log.unacked)
}

// Enter reports that the customer enters the lane. It is an error when no session is waiting.
func (c *Controller) Enter() error {
	return c.report(lanes.Report{Kind: lanes.ReportEntered}, func(f fireLine, _ lanes.Instant) bool {
		return f.Phase == lanes.Waiting
	})
}

// Help reports that the customer calls for help. It is an error when the lane has no session.
func (c *Controller) Help() error { return c.report(lanes.Report{Kind: lanes.ReportHelp}, isOccupied) }

// HitCarrier reports a shot at the target carrier. It is an error when the lane has no session.
func (c *Controller) HitCarrier() error {
	return c.report(lanes.Report{Kind: lanes.ReportCarrierHit}, isOccupied)
}

// Buy reports a purchase at the lane, whose result is in Shown.Purchase. The same id is the same purchase. It
// is an error when the lane has no session.
func (c *Controller) Buy(purchase uuid.UUID, items ...lanes.Item) error {
	return c.report(lanes.Report{Kind: lanes.ReportPurchase, Purchase: purchase, Items: items}, isOccupied)
}

func isOccupied(f fireLine, _ lanes.Instant) bool { return f.Session != uuid.Nil }

// report makes a report about the present session.
func (c *Controller) report(r lanes.Report, allowed func(fireLine, lanes.Instant) bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.update()
	if !allowed(c.line, now) {
		return errNotNow
	}
	r.Session = c.line.Session
	c.addReport(r, now)
	return nil
}

// Fault reports a fault of the hardware, which is in force until ClearFaults.
func (c *Controller) Fault(detail string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.faults, detail) {
		c.faults = append(c.faults, detail)
	}
	c.addReport(lanes.Report{Kind: lanes.ReportFault, Detail: detail}, c.update())
}

// ClearFaults reports that no fault is in force any more, if there was one.
func (c *Controller) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) == 0 {
		return
	}
	c.faults = nil
	c.addReport(lanes.Report{Kind: lanes.ReportFaultCleared}, c.update())
}

// Leave reports that the customer has left the lane, and that it is clear.
func (c *Controller) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addReport(lanes.Report{Kind: lanes.ReportCleared}, c.update())
}

// addReport adds a report to the log, and sends it if the link is up. mu is held.
func (c *Controller) addReport(r lanes.Report, now lanes.Instant) {
	added := c.log.add(r, now)
	if c.newest != nil {
		c.newest.report(added)
	}
}

// update reads the clock, and applies what the controller has done by itself until now. mu is held.
func (c *Controller) update() lanes.Instant {
	now := c.driver.now()
	if c.newest == nil {
		c.line.starts = nil // nobody could hold it
	}
	if begun := c.line.begunBy(now.Mono); begun.Phase != c.line.Phase {
		c.line = begun
		c.observe()
	}
	connected := c.newest != nil && !c.newest.wired
	if lost := c.liveness.heard + lostAfter; c.liveness.holdOnLoss && !connected && !c.line.Hold && now.Mono >= lost {
		c.line = c.line.heldAt(lost)
	}
	return now
}

// observe tells the observer of the state that is in force now. mu is held.
func (c *Controller) observe() {
	if c.driver.observe != nil {
		c.driver.observe(c.epoch, c.line.shownAt(c.driver.now()))
	}
}

// Cut fails the connection, if there is one. The state in force remains, and the countdown continues.
func (c *Controller) Cut(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(err)
}

func (c *Controller) cut(err error) {
	now := c.update()
	if c.newest != nil {
		c.newest.fail(err)
		c.newest.left(now)
		c.newest = nil
	}
}

// PowerCut turns the controller off and on: the connection fails, and the fire line is locked until a state comes. The
// report log survives, or is lost and replaced by a new one. Faults of the hardware remain.
func (c *Controller) PowerCut(logLost bool) {
	c.mu.Lock()
	c.cut(errPowerCut)
	c.line, c.epoch, c.liveness = fireLine{}, 0, liveness{}
	if logLost {
		c.log = newReportLog()
	}
	c.mu.Unlock()
	c.driver.stateChanged(c)
}

// Refuse makes dials fail while it is on. A connection that is up stays up.
func (c *Controller) Refuse(refusing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusing = refusing
}

// Pose makes the controller answer as another lane's while it is on. A connection that is up stays up.
func (c *Controller) Pose(posing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posing = posing
}

// CloseAtZero makes the controller one without the capability of an open end while it is on: it does not declare it,
// and locks when the remaining time of the next states is used up.
func (c *Controller) CloseAtZero(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.older = on
}

// Stall stops the controller from applying states while it is on; afterwards it applies the newest one.
// Reports and acks continue.
func (c *Controller) Stall(stalled bool) {
	c.mu.Lock()
	c.stalled = stalled
	applied := c.newest != nil && c.newest.apply()
	c.mu.Unlock()
	if applied {
		c.driver.stateChanged(c)
	}
}

// greet returns the hello for that gateway, or why it is refused.
func (c *Controller) greet(lane link.Lane) (link.Hello, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refusal(lane); err != nil {
		return link.Hello{}, err
	}
	return c.hello(c.update()), nil
}

// refusal returns why the controller refuses that gateway, or nil. mu is held.
func (c *Controller) refusal(lane link.Lane) error {
	switch {
	case c.refusing:
		return errRefused
	case c.posing:
		return errPoses
	case lane.Epoch < c.epoch:
		return errOldEpoch
	}
	return nil
}

var capabilities = []string{"open_end"}

// hello says what is in force. mu is held.
func (c *Controller) hello(now lanes.Instant) link.Hello {
	hello := link.Hello{
		LogID: c.log.last.ID, Firmware: "sim", Hold: c.line.Hold, Faults: slices.Clone(c.faults),
		OpenEnd: !c.older,
	}
	if hello.OpenEnd {
		hello.Capabilities = capabilities
	}
	if c.line.Session != uuid.Nil {
		hello.Session, hello.Phase = c.line.Session, c.line.Phase
		hello.Left, hello.Beyond = c.line.left(now)
	}
	return hello
}

// connect makes the newest connection, which replaces an older one, and sends all unacked reports.
func (c *Controller) connect(lane link.Lane, receiver link.Receiver, wired bool) (*connection, link.Hello, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refusal(lane); err != nil {
		return nil, link.Hello{}, err
	}
	c.epoch = lane.Epoch
	c.cut(errReplaced)
	now := c.update()
	c.liveness = liveness{holdOnLoss: lane.HoldOnLoss, heard: now.Mono}
	c.newest = &connection{
		controller: c, receiver: receiver, wired: wired,
		tap: tap{c.driver, lane.Taps, lane.ID},
	}
	hello := c.hello(now)
	c.newest.tap.hello(hello)
	for _, r := range c.log.unacked {
		c.newest.report(r)
	}
	return c.newest, hello, nil
}

// fireLine is the state in force on a lane, with its countdown (LINK.md, Safety table). The zero value is a controller
// without a state since power-up: locked.
type fireLine struct {
	Shown                  // Remaining and Beyond are those at since, and Open and Warns are not set
	since  time.Duration   // when the state was applied, on the controller's own clock
	warnAt []time.Duration // left
	starts *time.Duration  // when it begins by itself, on the controller's own clock; nil: it does not
}

// newFireLine returns the fire line after the controller has applied the state.
func newFireLine(s link.State, now lanes.Instant, older bool) fireLine {
	f := fireLine{Shown: Shown{Revision: s.Revision, Hold: s.Hold}, since: now.Mono, warnAt: s.WarnAt}
	if s.Session != nil {
		f.Session, f.Phase, f.Remaining = s.Session.ID, s.Session.Phase, s.Session.Remaining(now)
		if !older {
			f.Beyond = s.Session.RunsFor(now) - f.Remaining
		}
		f.Purchasing, f.Purchase = s.Purchasing, s.Session.Purchase
		if start := s.Session.Start; start != nil && f.Phase == lanes.Waiting {
			f.starts = &start.At.Mono
		}
	}
	return f
}

// begunBy returns the fire line at that time, on the controller's own clock, after a session that was to begin by
// then has begun.
func (f fireLine) begunBy(now time.Duration) fireLine {
	if f.starts != nil && !f.Hold && now >= *f.starts {
		f.Phase, f.since, f.starts = lanes.Running, *f.starts, nil
	}
	return f
}

// shownAt returns what is visible of the fire line at that instant.
func (f fireLine) shownAt(now lanes.Instant) Shown {
	shown := f.Shown
	shown.Open = f.open(now)
	shown.Remaining, shown.Beyond = f.left(now)
	shown.Warns = shown.Open && shown.Remaining > 0 &&
		slices.ContainsFunc(f.warnAt, func(left time.Duration) bool { return shown.Remaining <= left })
	return shown
}

// countsDown reports whether the countdown runs.
func (f fireLine) countsDown() bool { return !f.Hold && f.Phase == lanes.Running }

// left returns what remains, and for how long the line stays open beyond that.
func (f fireLine) left(now lanes.Instant) (remaining, beyond time.Duration) {
	if !f.countsDown() {
		return f.Remaining, f.Beyond
	}
	passed := now.Mono - f.since
	return max(0, f.Remaining-passed), max(0, f.Beyond-max(0, passed-f.Remaining))
}

// open reports whether anyone can shoot. When the time is used up the line is locked without a message of the gateway.
func (f fireLine) open(now lanes.Instant) bool {
	remaining, beyond := f.left(now)
	return f.countsDown() && remaining+beyond > 0
}

// heldAt returns the fire line after the controller has locked it by itself at that time, on its own clock.
func (f fireLine) heldAt(at time.Duration) fireLine {
	f.Remaining, f.Beyond = f.left(lanes.Instant{Mono: at})
	f.since = at
	f.Hold = true
	return f
}

// reportLog stores a controller's reports, numbered from 1 within the log's id, until they are acked.
type reportLog struct {
	last    lanes.Log // the log, and the number of the newest report
	unacked []report
}

type report struct {
	lanes.Report               // without its age
	at           time.Duration // on the controller's own clock
}

func newReportLog() reportLog { return reportLog{last: lanes.Log{ID: uuid.NewString()}} }

// add numbers the report and stores it.
func (l *reportLog) add(r lanes.Report, now lanes.Instant) report {
	l.last.Seq++
	r.Log = l.last
	added := report{r, now.Mono}
	l.unacked = append(l.unacked, added)
	return added
}

// ack removes the report with that number and all before it. It ignores an ack for another log.
func (l *reportLog) ack(saved lanes.Log) {
	if saved.ID != l.last.ID {
		return
	}
	for len(l.unacked) > 0 && l.unacked[0].Log.Seq <= saved.Seq {
		l.unacked = l.unacked[1:]
	}
	if len(l.unacked) == 0 {
		l.unacked = nil // an idle lane has no buffer
	}
}
