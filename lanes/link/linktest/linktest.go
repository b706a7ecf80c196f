// Package linktest is the suite that every driver passes. A story is told of one lane, its controller, and the
// connections to it; it waits for what must come, with a deadline, and assumes nothing about how soon.
//
// That something never comes is shown without waiting for nothing: the story lets something come afterwards, by the
// same way, and then looks back.
package linktest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Bench is what a story is told with. Each story has a new one.
type Bench struct {
	Driver     link.Driver
	Lane       link.Lane // to dial; nobody has dialled it before
	Controller Controller
	Now        func() lanes.Instant // the clock of the driver and the controller; in synctest, the bubble's
}

// Controller is the simulated hardware at the other end, just powered up. It behaves as LINK.md says, with on_loss
// run_out.
type Controller interface {
	Shown() Shown
	Unacked() int // how many reports it keeps

	// Enter, Help, HitCarrier and Buy make a report about the session now on the controller, whether the link is up or not.
	Enter() error
	Help() error
	HitCarrier() error
	Buy(purchase uuid.UUID, items ...lanes.Item) error

	// Fault and ClearFaults are about the hardware, whatever the session.
	Fault(detail string)
	ClearFaults()

	Cut()                  // fails the connection
	Refuse(refusing bool)  // makes dials fail; a connection that is up stays up
	Pose(posing bool)      // makes it answer as another lane's; a connection that is up stays up
	Stall(stalled bool)    // keeps states from being applied; reports and acks go on
	PowerCut(logLost bool) // off and on again
}

// Shown is what can be seen of the hardware.
type Shown struct {
	Open      bool // the fire line: anyone can shoot
	Session   uuid.UUID
	Phase     lanes.Phase
	Remaining time.Duration
	Hold      bool
	Revision  uint64 // of the state in force, 0: none since power-up

	Purchasing bool
	Purchase   *lanes.Purchase // its id, phase and message for the customer; nil: none in this session
}

// Story is one promise of a driver, shown.
type Story struct {
	Name string
	Tell func(*testing.T, Bench)
}

// Run tells every story. A driver without sockets can also tell each of Stories in a synctest bubble of its own.
func Run(t *testing.T, bench func(t *testing.T) Bench) {
	for _, story := range Stories() {
		t.Run(story.Name, func(t *testing.T) { story.Tell(t, bench(t)) })
	}
}

// Stories are the suite.
func Stories() []Story {
	var all []Story
	for _, chapter := range [][]Story{states, fireLine, reports, faults, connecting, closing} {
		all = append(all, chapter...)
	}
	return all
}
