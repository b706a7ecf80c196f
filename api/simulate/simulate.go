// Package simulate is the playground's simulation API (SPEC.md 4.6, WIRE.md, Simulate): it sends events to the
// integrator's webhook, fetches the integrator's products, and lets a session's clock jump.
package simulate

import (
	"context"

	"github.com/google/uuid"

	"rangegate/catalog"
	"rangegate/lanes"
)

// Range is what the simulation needs of a running range.
type Range interface {
	// On gives a command to an active session.
	On(ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key) (*lanes.SessionView, error)
	// Simulate sends an event to the webhook at once and records it as simulated. Of an active session the event has
	// the lane; of none (uuid.Nil, or unknown) both ids are made up. Of the errors lanes.ErrWebhookFailed is that nobody
	// answered, and lanes.ErrDurationOutOfRange is time for an active session beyond lanes.MaxMinutes.
	Simulate(ctx context.Context, kind lanes.Kind, session uuid.UUID, items []lanes.Item) (lanes.Logged, error)
}

// Products is the integrator's products API. The session goes out as the header session-id; empty, none does.
type Products interface {
	Fetch(ctx context.Context, t catalog.Type, session string) ([]catalog.Product, error)
	All(ctx context.Context, session string) (catalog.Catalogue, error)
}

// Handlers answer for the range that the request was authenticated for.
type Handlers struct {
	// RangeOf is the running range of the request, or lanes.ErrStarting, or lanes.ErrNotOwner.
	RangeOf func(ctx context.Context) (Range, error)
	// ProductsOf is the products API of its integrator, or lanes.ErrProductsNotConfigured.
	ProductsOf func(ctx context.Context) (Products, error)
}
