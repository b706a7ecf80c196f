package sim

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Autopilot simulates shooters on a driver's lanes, for the playground. Controllers notify it of changes; a
// lane without a session has no cost.
type Autopilot struct {
	driver *Driver
	seed   uint64

	mu       sync.Mutex // held while a shooter acts: after Close none does
	closed   bool
	shooters map[*Controller]*shooter // of lanes with a session
}

// NewAutopilot adds shooters to the driver's lanes, and replaces an earlier autopilot. A session has the same shooter
// whenever the seed is the same.
func NewAutopilot(driver *Driver, seed uint64) *Autopilot {
	a := &Autopilot{driver: driver, seed: seed, shooters: make(map[*Controller]*shooter)}
	if earlier := driver.autopilot.Swap(a); earlier != nil {
		earlier.Close()
	}
	for _, c := range driver.allControllers() {
		a.update(c)
	}
	return a
}

// Close stops all shooters: none acts after it has returned. It may be called again.
func (a *Autopilot) Close() {
	a.driver.autopilot.CompareAndSwap(a, nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, s := range a.shooters {
		s.stop()
	}
	clear(a.shooters)
}

// update brings the lane's shooter in line with the state in force. A state with the same session and phase
// does not change what is scheduled.
func (a *Autopilot) update(c *Controller) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	next, previous := newShooter(c.Shown(), a.seed), a.shooters[c]
	if previous != nil {
		if previous.session == next.session {
			if previous.phase == next.phase {
				return
			}
			next.random = previous.random
		}
		previous.stop()
		delete(a.shooters, c)
	}
	if next.session == uuid.Nil {
		return
	}
	a.shooters[c] = next
	for _, kind := range next.reports() {
		a.schedule(c, next, kind)
	}
}

// schedule makes the shooter's report after a delay, and again and again unless it is of the entry. mu is held.
func (a *Autopilot) schedule(c *Controller, s *shooter, kind string) {
	var timer *time.Timer
	timer = time.AfterFunc(s.delay(kind), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.shooters[c] != s {
			return // stopped while the timer fired
		}
		_ = c.report(s.report(kind), s.canAct) // an error means that the lane is locked or has another session
		if kind != lanes.ReportEntered {
			timer.Reset(s.delay(kind))
		}
	})
	s.timers = append(s.timers, timer)
}

// A shooter enters some seconds after the sale. While shooting, a shooter now and then calls for help, hits
// the carrier and buys more time.
const (
	minEntryDelay  = 3 * time.Second
	maxEntryDelay  = 10 * time.Second
	reportInterval = 10 * time.Minute // on average between two reports of a kind
	boughtMinutes  = 15
)

// shooter is the customer of a session during one of its phases.
type shooter struct {
	session uuid.UUID
	buys    bool        // lane purchasing is in effect
	phase   lanes.Phase // Waiting: about to enter; Running: shooting, unless held; Paused: idle
	random  *rand.Rand
	timers  []*time.Timer
}

func newShooter(shown Shown, seed uint64) *shooter {
	s := &shooter{session: shown.Session, phase: shown.Phase, buys: shown.Purchasing}
	high, low := binary.BigEndian.Uint64(s.session[:8]), binary.BigEndian.Uint64(s.session[8:])
	s.random = rand.New(rand.NewPCG(high^seed, low))
	return s
}

// reports are the kinds of reports that the shooter causes.
func (s *shooter) reports() []string {
	switch s.phase {
	case lanes.Waiting:
		return []string{lanes.ReportEntered}
	case lanes.Running:
		if s.buys {
			return []string{lanes.ReportHelp, lanes.ReportCarrierHit, lanes.ReportPurchase}
		}
		return []string{lanes.ReportHelp, lanes.ReportCarrierHit}
	}
	return nil
}

// report returns a report of that kind: with its content, if it is a purchase.
func (s *shooter) report(kind string) lanes.Report {
	r := lanes.Report{Kind: kind}
	if kind == lanes.ReportPurchase {
		r.Purchase, r.Items = uuid.New(), []lanes.Item{{ID: lanes.TimeItem, Qty: boughtMinutes}}
	}
	return r
}

// delay returns the random time to the next report. It is exponentially distributed, so that drawing it again
// after a pause does not make reports rarer.
func (s *shooter) delay(kind string) time.Duration {
	if kind == lanes.ReportEntered {
		return minEntryDelay + time.Duration(s.random.Int64N(int64(maxEntryDelay-minEntryDelay)+1))
	}
	return time.Duration(s.random.ExpFloat64() * float64(reportInterval))
}

// canAct reports whether the state in force still allows the shooter's reports.
func (s *shooter) canAct(f fireLine, now lanes.Instant) bool {
	return f.Session == s.session && f.Phase == s.phase && (s.phase == lanes.Waiting || f.open(now))
}

// stop stops the timers. A timer that has fired finds the shooter gone.
func (s *shooter) stop() {
	for _, timer := range s.timers {
		timer.Stop()
	}
}
