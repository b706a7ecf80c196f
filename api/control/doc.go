// Package control is the control screen: where staff sign in with name and PIN, see every lane of their range, and steer
// it. Handlers only; the page is in web/.
//
// Who is signed in is in a cookie that this gateway has signed, and nowhere else: see session.go. So a store that is away
// keeps nobody from declaring a ceasefire, also on a gateway that was just started.
package control

import (
	"context"

	"github.com/google/uuid"

	"rangegate/api/desk"
	"rangegate/lanes"
)

// Range is what the control screen needs of a running range. who is the name of who asks, for the record.
type Range interface {
	desk.Holder
	Now() lanes.Instant
	// Changes is the lanes that have changed since that version, in display order, the version they make up, and a
	// channel that is closed when a lane or the holds change next. Since version 0 every lane has changed.
	Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{})
	Holds() lanes.Holds
	Health() lanes.Health

	StaffCreate(ctx context.Context, who string, lane uuid.UUID, c lanes.Create) (*lanes.SessionView, error)
	StaffOn(ctx context.Context, who string, session uuid.UUID, c lanes.Command) (*lanes.SessionView, error)
	StaffMove(ctx context.Context, who string, session, to uuid.UUID) (*lanes.SessionView, error)
	StaffLane(ctx context.Context, who string, lane uuid.UUID, c lanes.Command) error

	// Unresolved is the purchases that wait for staff, by lane in display order.
	Unresolved() []lanes.OpenPurchase
	// Clear settles one by hand. With credit its minutes are added to the session, which must be active.
	Clear(ctx context.Context, who string, purchase uuid.UUID, credit bool) error

	// What is on record, each read behind a cursor, oldest first; 0 is before the first.
	Events(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error)
	History(ctx context.Context, after uint64, limit int) ([]lanes.Ended, error)
	Acts(ctx context.Context, after uint64, limit int) ([]lanes.Act, error)
	// Latest is the highest cursors there are.
	Latest(ctx context.Context) (lastEvent, lastEnded, lastAct uint64)
}
