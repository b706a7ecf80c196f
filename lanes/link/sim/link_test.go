package sim_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/linktest"
	"rangegate/lanes/link/sim"
)

func TestLink(t *testing.T) {
	linktest.Run(t, bench)
}

// In a bubble the tests take no real time, and a deadlock is found at once.
func TestLinkInABubble(t *testing.T) {
	for _, test := range linktest.Tests() {
		t.Run(test.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test.Run(t, bench(t)) })
		})
	}
}

func bench(*testing.T) linktest.Bench {
	now := clock()
	driver := sim.New(now)
	lane := link.Lane{Range: uuid.New(), ID: uuid.New(), Epoch: 7}
	return linktest.Bench{
		Driver: driver, Lane: lane, Now: now,
		Controller: controller{driver.Controller(lane.ID)},
	}
}

type controller struct{ *sim.Controller }

func (c controller) Shown() linktest.Shown { return linktest.Shown(c.Controller.Shown()) }
func (c controller) Cut()                  { c.Controller.Cut(errors.New("cut by the test")) }

// clock returns a clock; in a bubble, the bubble's.
func clock() func() lanes.Instant {
	start := time.Now()
	return func() lanes.Instant {
		now := time.Now()
		return lanes.Instant{Wall: now.UTC(), Mono: now.Sub(start)}
	}
}
