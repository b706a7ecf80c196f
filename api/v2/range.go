// Package v2 is version 2 of the range POS API (SPEC.md 4.1 and 4.2, WIRE.md): what each path reads, asks of the
// running range, and shows. What it exports beside its endpoints is what version 1 has in common with it.
package v2

import (
	"context"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// Range is what the API needs of a running range.
type Range interface {
	Layout() lanes.Layout
	// Lanes is how every lane stands, in display order.
	Lanes() []lanes.LaneStatus
	// Sessions is the active sessions, in the display order of their lanes.
	Sessions() []*lanes.SessionView
	// Session is an active session, or lanes.ErrSessionEnded or lanes.ErrSessionNotFound.
	Session(ctx context.Context, id uuid.UUID) (*lanes.SessionView, error)

	// Create, On and Move answer the session as it stands after the command. For a repeat of an earlier request with
	// the key the error is a *lanes.Repeat.
	Create(ctx context.Context, lane uuid.UUID, command lanes.Create, key *lanes.Key) (*lanes.SessionView, error)
	On(ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key) (*lanes.SessionView, error)
	Move(ctx context.Context, session, to uuid.UUID, key *lanes.Key) (*lanes.SessionView, error)

	// Events and History read behind the cursor, oldest first.
	Events(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error)
	History(ctx context.Context, after uint64, limit int) ([]lanes.Ended, error)
}

// Handlers answer for the range that the request was authenticated for.
type Handlers struct {
	// RangeOf is the running range of the request, or lanes.ErrStarting, or lanes.ErrNotOwner.
	RangeOf func(ctx context.Context) (Range, error)
}
