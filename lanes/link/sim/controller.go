package sim

import (
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Why a dial fails, a connection fails, or a report is not made.
var (
	errRefused  = errors.New("the controller refuses connections")
	errOldEpoch = errors.New("the controller has seen a gateway with a higher epoch")
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
	refusing bool
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
	now := c.driver.now()
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
	now := c.driver.now()
	if !fits(c.line, now) {
		return errNotNow
	}
	h := c.log.keep(kind, c.line.session, buy, now)
	if c.newest != nil {
		c.newest.report(c.log.report(h, now))
	}
	return nil
}

// Cut fails the connection, if there is one. What is in force stays so, and the countdown goes on.
func (c *Controller) Cut(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(err)
}

func (c *Controller) cut(err error) {
	if c.newest != nil {
		c.newest.fail(err)
		c.newest = nil
	}
}

// PowerCut turns the controller off and on again: the connection fails and the fire line is locked until a state
// comes. The report log survives, or is lost and a new one begun.
func (c *Controller) PowerCut(logLost bool) {
	c.mu.Lock()
	c.cut(errPowerCut)
	c.line, c.epoch = fireLine{}, 0
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

// connect makes the newest connection, which replaces an older one, and tells all that was not acked.
func (c *Controller) connect(epoch uint64, to link.Receiver) (*connection, link.Hello, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.refusing:
		return nil, link.Hello{}, errRefused
	case epoch < c.epoch:
		return nil, link.Hello{}, errOldEpoch
	}
	c.epoch = epoch
	c.cut(errReplaced)
	c.newest = &connection{controller: c, to: to}
	now := c.driver.now()
	for _, h := range c.log.unacked {
		c.newest.report(c.log.report(h, now))
	}
	return c.newest, link.Hello{
		LogID: c.log.id, Firmware: "sim",
		Hold: c.line.hold, Session: c.line.session, Left: c.line.remaining(now),
	}, nil
}
