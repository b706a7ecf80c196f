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

// Controller is a lane's simulated hardware. Its methods never block and may be called at any time, also by a
// receiver; none of them calls one.
type Controller struct {
	driver *Driver

	mu       sync.Mutex
	line     fireLine
	log      reportLog
	epoch    uint64      // the highest seen since power-up
	newest   *connection // nil: the link is down
	watch    watch
	faults   []string // in force, each once
	refusing bool
	posing   bool
	stalled  bool
}

// Shown is what can be seen of a controller at one instant.
type Shown struct {
	Open      bool // the fire line: anyone can shoot
	Session   uuid.UUID
	Phase     lanes.Phase // as the gateway said: a session that ran out stays Running with nothing remaining
	Remaining time.Duration
	Hold      bool
	Revision  uint64 // of the state in force, in the connection that it came by; 0: none since power-up

	Purchasing bool
	Purchase   *lanes.Purchase // the latest of the session, nil before the first
}

// Shown looks at the controller now.
func (c *Controller) Shown() Shown {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.look()
	return Shown{
		Open: c.line.open(now), Session: c.line.session, Phase: c.line.phase,
		Remaining: c.line.remaining(now), Hold: c.line.hold, Revision: c.line.revision,
		Purchasing: c.line.purchasing, Purchase: c.line.purchase,
	}
}

// Unacked is how many reports the controller keeps.
func (c *Controller) Unacked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.log.unacked)
}

// Enter is the customer entering the lane. It is an error when no session is waiting there.
func (c *Controller) Enter() error {
	return c.report(lanes.ReportEntered, basket{}, func(f fireLine, _ lanes.Instant) bool { return f.phase == lanes.Waiting })
}

// Help is the customer calling for help. It is an error when no session is on the lane.
func (c *Controller) Help() error {
	return c.report(lanes.ReportHelp, basket{}, occupied)
}

// HitCarrier is a shot at the target carrier. It is an error when no session is on the lane.
func (c *Controller) HitCarrier() error {
	return c.report(lanes.ReportCarrierHit, basket{}, occupied)
}

// Buy is the customer buying the items at the lane. What becomes of it shows as Shown.Purchase. The same id again is
// the same purchase. It is an error when no session is on the lane.
func (c *Controller) Buy(purchase uuid.UUID, items ...lanes.Item) error {
	return c.report(lanes.ReportPurchase, basket{purchase, items}, occupied)
}

func occupied(f fireLine, _ lanes.Instant) bool { return f.session != uuid.Nil }

// report keeps a report about the session now on the controller, and tells it if the link is up.
func (c *Controller) report(kind string, buy basket, fits func(fireLine, lanes.Instant) bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.look()
	if !fits(c.line, now) {
		return errNotNow
	}
	h := happening{kind: kind, session: c.line.session, buy: buy}
	c.keep(h, now)
	return nil
}

// keep notes what happened, and tells it if the link is up. mu is held.
func (c *Controller) keep(h happening, now lanes.Instant) {
	h = c.log.keep(h, now)
	if c.newest != nil {
		c.newest.report(c.log.id, h)
	}
}

// Cut fails the connection, if there is one. What is in force stays so, and the countdown goes on.
func (c *Controller) Cut(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(err)
}

func (c *Controller) cut(err error) {
	now := c.look()
	if c.newest != nil {
		c.newest.fail(err)
		c.newest.left(now)
		c.newest = nil
	}
}

// PowerCut turns the controller off and on again: the connection fails and the fire line is locked until a state
// comes. The report log survives, or is lost and a new one begun. Faults of the hardware stay.
func (c *Controller) PowerCut(logLost bool) {
	c.mu.Lock()
	c.cut(errPowerCut)
	c.line, c.epoch, c.watch = fireLine{}, 0, watch{}
	if logLost {
		c.log = newReportLog()
	}
	c.mu.Unlock()
	c.driver.noticed(c)
}

// Refuse makes dials fail until it is taken back. A connection that is up stays up.
func (c *Controller) Refuse(refusing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusing = refusing
}

// Pose makes the controller answer as another lane's until it is taken back. A connection that is up stays up.
func (c *Controller) Pose(posing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posing = posing
}

// Stall keeps the controller from applying states until it is taken back; then the newest one is applied. Reports
// and acks go on.
func (c *Controller) Stall(stalled bool) {
	c.mu.Lock()
	c.stalled = stalled
	applied := c.newest != nil && c.newest.apply()
	c.mu.Unlock()
	if applied {
		c.driver.noticed(c)
	}
}

// connect makes the newest connection, which replaces an older one, and tells all that was not acked. Over a real wire
// only what comes over it shows that the gateway is there.
func (c *Controller) connect(lane link.Lane, to link.Receiver, wired bool) (*connection, link.Hello, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.refusing:
		return nil, link.Hello{}, errRefused
	case c.posing:
		return nil, link.Hello{}, errPoses
	case lane.Epoch < c.epoch:
		return nil, link.Hello{}, errOldEpoch
	}
	c.epoch = lane.Epoch
	c.cut(errReplaced)
	now := c.look()
	c.watch = watch{hold: lane.HoldOnLoss, heard: now.Mono}
	c.newest = &connection{controller: c, to: to, wired: wired}
	for _, h := range c.log.unacked {
		c.newest.report(c.log.id, h)
	}
	hello := link.Hello{LogID: c.log.id, Firmware: "sim", Hold: c.line.hold, Faults: slices.Clone(c.faults)}
	if c.line.session != uuid.Nil {
		hello.Session, hello.Phase, hello.Left = c.line.session, c.line.phase, c.line.remaining(now)
	}
	return c.newest, hello, nil
}
