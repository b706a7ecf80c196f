package actors

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/board"
	"rangegate/actors/clock"
	"rangegate/actors/commit"
	"rangegate/actors/delivery"
	"rangegate/actors/history"
	"rangegate/actors/idempotency"
	"rangegate/actors/logline"
	"rangegate/actors/metrics"
	"rangegate/actors/purchases"
	"rangegate/actors/simulation"
	"rangegate/actors/supervised"
	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/trace"
)

// Range is a running range, as everyone sees it: reads are answered from the board and the store, commands go
// to the actors. Its methods may be called from any goroutine; those with a context wait, until it ends at
// the latest.
//
// Errors are of package lanes and carry a code. Each method with a context may return ErrTimeout, ErrNotOwner
// (another process has claimed the range) and ErrStarting (the range stops). A method that changes something
// may also return ErrStoreUnavailable (nothing was changed), ErrNotSaved (a closing command is in force and
// not durable yet), ErrOverloaded (too many requests wait) and ErrInternal (a defect; nothing was changed).
// Methods name what else they return.
type Range struct {
	*history.Reader // what it has saved
	*board.View     // how its lanes are
	*delivery.EventLog
	*simulation.Simulator
	*Commands
	*Ceasefires
	*Starts
	*Batches
	*Reservations
	*Observer

	id        uuid.UUID
	since     lanes.Instant // this process loads it
	clock     clock.Clock
	metrics   *metrics.Metrics
	log       zerolog.Logger
	named     logline.Lanes
	tree      *supervised.Tree
	inForce   atomic.Pointer[settings]
	board     *board.Board // of which that is the view
	keys      *idempotency.Keys
	once      *idempotency.Once
	committer *commit.Committer

	life            context.Context         // until the range stops
	endLife         context.CancelCauseFunc // with the error of requests that come later
	addresses       addresses               // of its actors
	spawned         chan struct{}           // closed once there is a root
	ending          sync.Once               // its lanes were given the time to take what they were sent
	delivery        *delivery.Delivery
	laneProps       *actor.Props
	connectionProps *actor.Props
	unready         unreadyLanes
	parkLocks       sync.Map    // lanes whose controller was told to lock as they are parked, and for no other reason
	leaving         atomic.Bool // the configuration has lost the range: it stops for good
	dropped         bool        // another process owns it; guarded by the gateway's lock

	holds        atomic.Pointer[lanes.Holds]
	holdsVersion atomic.Uint64 // of the newest record, saved or not
	dials        dialQueue
	dialNumber   atomic.Uint64 // of the newest dial of any lane: never used twice
	taps         link.Taps     // of its links
	purchases    *purchases.Purchases
	background   sync.WaitGroup // goroutines beside the actors: purchases, credits, lookups

	// For its health.
	lateness board.Lateness
	commands board.CommandLog
	works    board.WorkLog
}

// Layout is what the range is made of, until it is reloaded.
func (r *Range) Layout() lanes.Layout { return r.settings().Layout }

// Now reads the range's clock.
func (r *Range) Now() lanes.Instant { return r.clock.Now() }

// Ready reports whether every lane is loaded and the store takes writes.
func (r *Range) Ready() bool { return r.unready.count() == 0 && r.committer.Writable() }

// Epoch is that in which this process has claimed the range. Whoever claims it later has a higher one.
func (r *Range) Epoch() uint64 { return r.committer.Epoch }

// Ended is closed when the range stops here: what is read from it afterwards is outdated.
func (r *Range) Ended() <-chan struct{} { return r.life.Done() }

// Holds is the range's record of its holds.
func (r *Range) Holds() lanes.Holds { return *r.holds.Load() }

// Session returns an active session. Errors: ErrSessionEnded for one in the history, ErrSessionNotFound,
// ErrStoreUnavailable.
func (r *Range) Session(ctx context.Context, id uuid.UUID) (*lanes.SessionView, error) {
	if view := r.board.Session(id); view != nil {
		return view, nil
	}
	_, err := r.EndedSession(ctx, id)
	return nil, err
}

// Record saves an act of staff that changes nothing on the range, such as signing in. It does not block. What
// the store does not take is in the log alone: nobody waits for it, and it must not pile up while the store
// is down.
func (r *Range) Record(ctx context.Context, staff, what string) {
	r.record(ctx, lanes.Act{Who: staff, What: what})
}

// record is Record of an act as a whole but for its time.
func (r *Range) record(ctx context.Context, act lanes.Act) {
	id := trace.ID(ctx)
	act.At = r.clock.Now().Wall
	r.committer.Save(&commit.Write{
		Acts:  []lanes.Act{act},
		Trace: id,
		Span:  trace.Span(ctx),
		Done: func(outcome commit.Outcome) {
			if outcome != commit.Saved {
				logline.Traced(r.log.Warn(), id).Err(outcome.Err()).Str("who", act.Who).Str("what", act.What).
					Msg("an act of staff was not saved")
			}
		},
	})
}

// KeyReused reports whether another request has the idempotency key.
func (r *Range) KeyReused(name, fingerprint string) bool { return r.keys.Reused(name, fingerprint) }

// unreadyLanes are the lanes that are not loaded yet.
type unreadyLanes struct {
	mu    sync.Mutex
	lanes map[uuid.UUID]struct{}
}

func (u *unreadyLanes) reset(places []lanes.Place) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lanes = make(map[uuid.UUID]struct{}, len(places))
	for _, place := range places {
		u.lanes[place.ID] = struct{}{}
	}
}

func (u *unreadyLanes) add(lane uuid.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lanes[lane] = struct{}{}
}

func (u *unreadyLanes) remove(lane uuid.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if delete(u.lanes, lane); len(u.lanes) == 0 {
		u.lanes = map[uuid.UUID]struct{}{} // the large table is freed
	}
}

func (u *unreadyLanes) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.lanes)
}
