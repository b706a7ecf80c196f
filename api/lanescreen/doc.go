// Package lanescreen is the lane screen: where a shooter sees their time, starts it, asks for help, and buys. Handlers
// only; the page is in web/.
//
// A lane's screen is let in by the lane's own key, which its address carries once: then a cookie made of it takes its
// place. It says what is on that one lane, and does nothing to another.
package lanescreen

import (
	"context"

	"github.com/google/uuid"

	"rangegate/catalog"
	"rangegate/lanes"
)

// Range is what a lane screen needs of the running range.
type Range interface {
	Layout() lanes.Layout
	Now() lanes.Instant
	// Changes is the lanes that have changed since that version, the version they make up, and a channel that is closed
	// when a lane or the holds change next. Since version 0 every lane has changed.
	Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{})
	// LaneOn gives a command of the shooter to the lane.
	LaneOn(ctx context.Context, lane uuid.UUID, c lanes.Command) (*lanes.SessionView, error)
	// LaneBuy begins a purchase, whose id the screen has chosen: repeating it is safe. What it comes to is told by the lane.
	LaneBuy(ctx context.Context, lane, session, purchase uuid.UUID, items []lanes.Item) error
}

// Shop is the integrator's products.
type Shop interface {
	// All is the products of every type, as that session's customer is offered them.
	All(ctx context.Context, session string) (catalog.Catalogue, error)
}
