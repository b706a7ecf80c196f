package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"rangegate/actors/board"
	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// Range is a running range, as everyone sees it: reads are answered from the board, commands go to the actors.
type Range struct {
	*Gateway
	id           uuid.UUID
	configured   atomic.Pointer[settings]
	board        *board.Board
	holds        atomic.Pointer[lanes.Holds]
	holdsVersion atomic.Uint64 // the newest version of the record that there is, saved or not
	keys         *idempotency.Keys
	committer    *committer
	log          zerolog.Logger

	pid         *actor.PID
	addresses   addresses
	events      *actor.PID
	unready     atomic.Int64            // lanes that are not brought back yet
	background  context.Context         // of the range's life
	end         context.CancelCauseFunc // with what a request hears that comes afterwards
	dials       dials
	slots       *semaphore.Weighted // of deliveries under way
	simulations *semaphore.Weighted // under way
	tills       *semaphore.Weighted // of purchases being sent
	courses     sync.Map            // purchase → struct{}, while it takes its course
	errands     sync.WaitGroup      // what goes on beside the actors: courses, credits, look-ups
	leaves      atomic.Bool         // the configuration has lost it: it stops for good

	// For its health.
	eventsWaiting atomic.Int64
	oldestEvent   atomic.Pointer[time.Time] // of those that wait: when it happened; nil: none waits
	late          lateness
	restarts      tally // of its actors, after a panic
	live          tally // its actors
	panicLog      panicLog
	commands      commandLogs
}

// Layout is what the range is made of, until it is reloaded.
func (r *Range) Layout() lanes.Layout { return r.settings().Layout }

// Now reads the range's clock, for pictures that change with time.
func (r *Range) Now() lanes.Instant { return r.clock.Now() }

// Ready tells whether every lane is brought back and the store takes writes.
func (r *Range) Ready() bool { return r.unready.Load() == 0 && r.committer.writable() }

// Sessions is the active sessions in the display order of their lanes.
func (r *Range) Sessions() []*lanes.SessionView { return r.board.Sessions(r.clock.Now()) }

// Changes are the lanes that changed after that version of the board, and the version that they are of: see board.Since. wake is
// closed at the next change, of a lane or of the holds.
func (r *Range) Changes(after uint64) (changed []lanes.LaneStatus, version uint64, wake <-chan struct{}) {
	return r.board.Since(after)
}

// Lanes is how every lane stands, in display order.
func (r *Range) Lanes() []lanes.LaneStatus { return r.board.Lanes() }

// Session is an active session; one that has ended is lanes.ErrSessionEnded as far back as the history reaches. So is
// one whose record in the history cannot be read: nobody could ever learn more of it.
func (r *Range) Session(ctx context.Context, id uuid.UUID) (*lanes.SessionView, error) {
	if view := r.board.Session(id, r.clock.Now()); view != nil {
		return view, nil
	}
	if r.committer.ending(id) {
		return nil, lanes.ErrSessionEnded
	}
	_, err := r.store.Ended(ctx, r.id, id)
	var corrupt *store.CorruptError
	switch {
	case err == nil:
		return nil, lanes.ErrSessionEnded
	case errors.As(err, &corrupt):
		r.log.Error().Stringer("session", id).Err(err).Msg("the record of an ended session cannot be read")
		return nil, lanes.ErrSessionEnded
	case errors.Is(err, store.ErrNotFound):
		return nil, lanes.ErrSessionNotFound
	}
	return nil, r.unreadable(err)
}

// Events reads the event log behind the cursor, oldest first.
func (r *Range) Events(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error) {
	events, err := r.store.Events(ctx, r.id, after, limit)
	if err != nil {
		return nil, r.unreadable(err)
	}
	return events, nil
}

// History reads the ended sessions behind the cursor, oldest first.
func (r *Range) History(ctx context.Context, after uint64, limit int) ([]lanes.Ended, error) {
	ended, err := r.store.History(ctx, r.id, after, limit)
	if err != nil {
		return nil, r.unreadable(err)
	}
	return ended, nil
}

func (r *Range) unreadable(err error) error {
	r.log.Error().Err(err).Msg("the store could not be read")
	if errors.Is(err, context.DeadlineExceeded) {
		return lanes.ErrTimeout
	}
	return lanes.ErrStoreUnavailable
}

// root is the range's actor. A lane is brought back, and asks for it, while StartRange still has to say who it is.
func (r *Range) root() *actor.PID {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.pid
}

// send gives an actor of the tree a message. It never blocks and may be called from anywhere.
func (r *Range) send(to *actor.PID, message any) { r.system.Root.Send(to, message) }

// announce hands saved events to the events actor, but for those whose attempt somebody else has begun.
func (r *Range) announce(events []lanes.Logged) {
	theirs := slices.DeleteFunc(slices.Clone(events), func(e lanes.Logged) bool {
		return e.Attempt != nil && e.Attempt.Error == lanes.Interrupted
	})
	if len(theirs) > 0 {
		r.send(r.events, &announced{theirs})
	}
}

// rangeActor is the root of a range's tree: it spawns its lanes, and sets and lifts its holds. A lane that panics starts again
// by itself, however often, and sees to it that it is parked: nothing sent to it is lost.
type rangeActor struct {
	of      *Range
	lanes   map[uuid.UUID]*actor.PID // see addresses
	holding holding
}

type (
	toLane struct {
		lane    uuid.UUID
		message any
	}
	toAllLanes struct{ message any }
)

// Receive takes a message. A panic will stop the lanes: nobody sends them anything from then on.
func (r *rangeActor) Receive(ctx actor.Context) {
	whole := false
	defer func() {
		if !whole {
			r.of.addresses.begin(0)
		}
	}()
	r.receive(ctx)
	whole = true
}

func (r *rangeActor) receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		r.start(ctx)
	case *toLane:
		if lane, has := r.lanes[m.lane]; has {
			ctx.Send(lane, m.message)
		} else {
			nobody(m.message)
		}
	case *toAllLanes:
		for _, lane := range r.lanes {
			ctx.Send(lane, m.message)
		}
	case *probe:
		m.left.Add(int64(len(r.lanes)))
		for _, lane := range r.lanes {
			ctx.Send(lane, m)
		}
		m.answer()
	case *setHold:
		m.reply <- r.holding.set(ctx, m, r.lanes)
	case *liftHold:
		r.holding.lift(m)
	case *holdLifted:
		r.holding.lifted(ctx, m, r.lanes)
	case *controllerHolds:
		r.holding.foundHolding(ctx, m.lane, r.lanes)
	case *exchange:
		m.reply <- r.exchange(ctx, m)
	}
}

func (r *rangeActor) start(ctx actor.Context) {
	r.holding = holding{of: r.of, lastSet: map[lanes.Scope]uint64{}, lifts: map[lanes.Scope]int{}, record: holdsRecord{version: r.of.holdsVersion.Load(), Holds: r.of.Holds()}}
	places := r.of.Layout().Lanes
	r.lanes = r.of.addresses.begin(len(places))
	r.of.unready.Store(int64(len(places))) // after a panic they are brought back once more
	for _, place := range places {
		r.spawn(ctx, place.ID)
	}
	r.of.committer.mark()
}

func (r *rangeActor) parent() {}

func (r *rangeActor) spawn(ctx actor.Context, lane uuid.UUID) {
	past := &past{}
	props := r.of.propsOfMany("lane", func() actor.Actor { return &laneActor{of: r.of, id: lane, past: past} })
	r.of.addresses.put(lane, ctx.SpawnPrefix(props, "lane")) // every letter of a name is kept a hundred thousand times
}
