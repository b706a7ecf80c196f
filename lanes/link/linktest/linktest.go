// Package linktest is the suite of tests that every driver passes. Each test has one lane, its controller,
// and connections to it. It waits for conditions with a deadline, and does not depend on how soon they come
// true.
//
// To show that a message never comes, a test provokes a later one on the same connection, and then checks
// what came before.
package linktest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Bench is a driver with one lane. Each test has a new one.
type Bench struct {
	Driver     link.Driver
	Lane       link.Lane // not dialled before
	Controller Controller
	Now        func() lanes.Instant // the clock of the driver and the controller; in synctest, the bubble's
}

// Controller is the simulated hardware at the other end, just powered up. It behaves as LINK.md says, with on_loss
// run_out.
type Controller interface {
	Shown() Shown
	Unacked() int // how many reports it stores

	// Enter, Help, HitCarrier and Buy make a report about the controller's session, whether the link is up or not.
	Enter() error
	Help() error
	HitCarrier() error
	Buy(purchase uuid.UUID, items ...lanes.Item) error

	// Fault and ClearFaults report about the hardware, with or without a session.
	Fault(detail string)
	ClearFaults()
	// Leave reports that the lane was left and is clear, about no session.
	Leave()

	Cut()                  // fails the connection
	Refuse(refusing bool)  // makes dials fail; a connection that is up stays up
	Pose(posing bool)      // makes it answer as another lane's; a connection that is up stays up
	Stall(stalled bool)    // stops it from applying states; reports and acks continue
	PowerCut(logLost bool) // off and on again
}

// Shown is the visible state of the hardware.
type Shown struct {
	Open      bool // the fire line: anyone can shoot
	Session   uuid.UUID
	Phase     lanes.Phase
	Remaining time.Duration
	Beyond    time.Duration // for so long it stays open when that is used up
	Hold      bool
	Revision  uint64 // of the state in force, 0: none since power-up

	Purchasing bool
	Purchase   *lanes.Purchase // its id, phase and message for the customer; nil: none in this session
	Warns      bool            // the customer is told that the time will soon be used up
}

// Test checks one promise of a driver.
type Test struct {
	Name string
	Run  func(*testing.T, Bench)
}

// Run runs every test. A driver without sockets can also run each of Tests in a synctest bubble.
func Run(t *testing.T, bench func(t *testing.T) Bench) {
	for _, test := range Tests() {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, bench(t)) })
	}
}

// Tests returns the suite.
func Tests() []Test {
	var tests []Test
	for _, group := range [][]Test{states, fireLine, reports, faults, connecting, closing} {
		tests = append(tests, group...)
	}
	return tests
}
