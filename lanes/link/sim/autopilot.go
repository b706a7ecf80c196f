package sim

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Autopilot plays the shooters on a driver's lanes, for the playground. It hears from the controllers when something
// else is in force; a lane without a session costs it nothing.
type Autopilot struct {
	driver *Driver
	seed   uint64

	mu       sync.Mutex // held while a shooter acts: once Close has had it, nobody does
	closed   bool
	shooters map[*Controller]*shooter // where a session is
}

// NewAutopilot puts shooters on the driver's lanes, in place of an earlier autopilot's. With the same seed, the same
// session has the same shooter.
func NewAutopilot(driver *Driver, seed uint64) *Autopilot {
	a := &Autopilot{driver: driver, seed: seed, shooters: make(map[*Controller]*shooter)}
	if earlier := driver.autopilot.Swap(a); earlier != nil {
		earlier.Close()
	}
	for _, c := range driver.all() {
		a.look(c)
	}
	return a
}

// Close sends the shooters home. Once it has returned none of them does anything more. It may be called again.
func (a *Autopilot) Close() {
	a.driver.autopilot.CompareAndSwap(a, nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, s := range a.shooters {
		s.rest()
	}
	clear(a.shooters)
}

// look brings the lane's shooter in line with what is in force there. States that change neither the session nor
// what its shooter does leave the plans alone.
func (a *Autopilot) look(c *Controller) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	next, before := newShooter(c.Shown(), a.seed), a.shooters[c]
	if before != nil {
		if before.session == next.session {
			if before.doing == next.doing {
				return
			}
			next.chance = before.chance
		}
		before.rest()
		delete(a.shooters, c)
	}
	if next.session == uuid.Nil {
		return
	}
	a.shooters[c] = next
	for _, kind := range next.habits() {
		a.plan(c, next, kind)
	}
}

// plan lets the shooter do something after a while; a mishap, again and again. mu is held.
func (a *Autopilot) plan(c *Controller, s *shooter, kind string) {
	var timer *time.Timer
	timer = time.AfterFunc(s.until(kind), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.shooters[c] != s {
			return // sent home while the timer fired
		}
		_ = c.report(kind, s.basket(kind), s.able) // locked meanwhile, or another session: let it be
		if kind != lanes.ReportEntered {
			timer.Reset(s.until(kind))
		}
	})
	s.timers = append(s.timers, timer)
}
