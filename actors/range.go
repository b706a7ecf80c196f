package actors

import (
	"context"
	"errors"
	"slices"
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
	leaving         atomic.Bool // the configuration has lost the range: it stops for good
	dropped         bool        // another process owns it; guarded by the gateway's lock

	holds        atomic.Pointer[lanes.Holds]
	holdsVersion atomic.Uint64 // of the newest record, saved or not
	dials        dialQueue
	dialNumber   atomic.Uint64 // of the newest dial of any lane: never used twice
	taps         link.Taps     // of its links
	reopening    reopenings
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
				traced(r.log.Warn(), id).Err(outcome.Err()).Str("who", act.Who).Str("what", act.What).
					Msg("an act of staff was not saved")
			}
		},
	})
}

// KeyReused reports whether another request has the idempotency key.
func (r *Range) KeyReused(name, fingerprint string) bool { return r.keys.Reused(name, fingerprint) }

// Create sells time on a lane for the POS. Errors: ErrGroupNotFound, ErrLaneNotFound, those of lanes.Create,
// and with a key those of idempotency.Once: *lanes.Repeat is the reply to the request that used the key
// before.
func (r *Range) Create(
	ctx context.Context, lane uuid.UUID, command lanes.Create, key *lanes.Key,
) (*lanes.SessionView, error) {
	return r.create(ctx, posRequester(ctx), lane, command, key)
}

// StaffCreate is Create by staff, also on a lane that is closed for sale.
func (r *Range) StaffCreate(
	ctx context.Context, staff string, lane uuid.UUID, command lanes.Create,
) (*lanes.SessionView, error) {
	command.ByStaff = true
	return r.create(ctx, requester{lanes.ByStaff, staff}, lane, command, nil)
}

// On gives a command of the POS to the lane that the session is on. Errors: ErrSessionNotFound,
// ErrSessionEnded, those of the command, and those of Create with a key. A stop whose session's end is not
// durable yet returns ErrNotSaved again.
func (r *Range) On(
	ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key,
) (*lanes.SessionView, error) {
	return r.on(ctx, posRequester(ctx), session, command, key)
}

// StaffOn is On by staff.
func (r *Range) StaffOn(
	ctx context.Context, staff string, session uuid.UUID, command lanes.Command,
) (*lanes.SessionView, error) {
	return r.on(ctx, requester{lanes.ByStaff, staff}, session, command, nil)
}

// Move moves the session to another lane of the range for the POS. Errors: ErrLaneNotFound, ErrLaneOccupied,
// those of On.
func (r *Range) Move(ctx context.Context, session, to uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return r.move(ctx, posRequester(ctx), lanes.Move{Session: session}, to, key)
}

// StaffMove is Move by staff, also to a lane that is closed for sale; with afterClosing to one that closes too early
// for the session, as staff have decided.
func (r *Range) StaffMove(
	ctx context.Context, staff string, session, to uuid.UUID, afterClosing bool,
) (*lanes.SessionView, error) {
	return r.move(ctx, requester{lanes.ByStaff, staff}, lanes.Move{Session: session, AfterClosing: afterClosing}, to,
		nil)
}

// StaffReopen goes on with an ended session on a free lane. Errors: ErrNotReopenable, ErrSessionNotFound,
// ErrLaneNotFound, those of lanes.Create.
func (r *Range) StaffReopen(ctx context.Context, staff string, session, lane uuid.UUID) (*lanes.SessionView, error) {
	r.reopening.mu.Lock()
	defer r.reopening.mu.Unlock()
	if asked, underWay := r.reopening.laneFor(session); r.board.Session(session) != nil || underWay && asked != lane {
		return nil, r.confirmed(ctx, nil, lanes.ErrNotReopenable)
	}
	ended, err := r.EndedSession(ctx, session)
	if !errors.Is(err, lanes.ErrSessionEnded) {
		return nil, err
	}
	switch _, err := r.Session(ctx, lanes.ReopenedAs(session)); {
	case err == nil, errors.Is(err, lanes.ErrSessionEnded):
		return nil, r.confirmed(ctx, nil, lanes.ErrNotReopenable)
	case !errors.Is(err, lanes.ErrSessionNotFound):
		return nil, err
	}
	return r.askLane(ctx, lane, &request{
		ctx: ctx, command: lanes.Reopen{Ended: ended}, by: lanes.ByStaff, who: staff,
		done: r.reopening.begin(session, lane),
	})
}

// reopenings sees to it that a session is reopened once.
type reopenings struct {
	mu sync.Mutex // held while one is

	counting sync.Mutex // guards what follows; nobody waits while holding it
	underWay map[uuid.UUID]reopening
}

// reopening is the lane that a session may be on, or may come to be: it is reopened on no other.
type reopening struct {
	lane     uuid.UUID
	requests int // whose outcome is not known yet
}

// laneFor returns the lane that the session may come to be on.
func (r *reopenings) laneFor(session uuid.UUID) (lane uuid.UUID, underWay bool) {
	r.counting.Lock()
	defer r.counting.Unlock()
	asked, underWay := r.underWay[session]
	return asked.lane, underWay
}

// begin notes that the lane is asked for the session, until done is called: the board shows by then what came of it.
func (r *reopenings) begin(session, lane uuid.UUID) (done func(saved bool)) {
	add := func(requests int) {
		r.counting.Lock()
		defer r.counting.Unlock()
		asked := reopening{lane, r.underWay[session].requests + requests}
		if asked.requests == 0 {
			delete(r.underWay, session)
			return
		}
		r.underWay[session] = asked
	}
	add(1)
	return func(bool) { add(-1) }
}

// StaffLane gives a command of staff to a lane, whatever session is on it. Errors: ErrLaneNotFound, those of
// the command.
func (r *Range) StaffLane(ctx context.Context, staff string, lane uuid.UUID, command lanes.Command) error {
	_, err := r.onLane(ctx, requester{lanes.ByStaff, staff}, lane, command)
	return err
}

// LaneOn gives a command of the lane's own screen to the lane. It returns the session on it, nil when there
// is none. Errors: ErrLaneNotFound, those of the command.
func (r *Range) LaneOn(ctx context.Context, lane uuid.UUID, command lanes.Command) (*lanes.SessionView, error) {
	return r.onLane(ctx, requester{by: lanes.ByLane}, lane, command)
}

// LaneBuy starts a purchase at the lane's own screen. The session on the board shows what becomes of it. The
// same id is the same purchase, however often it is asked for. Errors: those of LaneOn.
func (r *Range) LaneBuy(ctx context.Context, lane, session, purchase uuid.UUID, items []lanes.Item) error {
	_, err := r.LaneOn(ctx, lane, lanes.Buy{Session: session, Purchase: purchase, Items: items, Trace: trace.ID(ctx)})
	return err
}

// Clear settles an unresolved purchase by hand; with credit its minutes are added to the session, or to the one that
// goes on with it on whichever lane. Without the session the purchase is known by its id alone, which is the lane's: if
// those of several sessions have it, none is settled. Errors: ErrPurchaseNotFound, ErrPurchaseNotUnique,
// ErrSessionEnded if no lane has the session that is to be credited, ErrDurationOutOfRange.
func (r *Range) Clear(ctx context.Context, staff string, command lanes.Clear) error {
	for {
		err := r.clearWhereItIs(ctx, requester{lanes.ByStaff, staff}, command)
		switch {
		case !errors.Is(err, errLeft):
			return err
		case ctx.Err() != nil: // nobody has looked where to
			return lanes.ErrTimeout
		}
	}
}

// clearWhereItIs is Clear on the lanes that have the purchase, and the session that goes on, by now. Errors: errLeft if
// one of them has left its lane meanwhile.
func (r *Range) clearWhereItIs(ctx context.Context, from requester, command lanes.Clear) error {
	found := slices.DeleteFunc(r.Unresolved(), func(p lanes.OpenPurchase) bool {
		return p.ID != command.Purchase || command.Session != uuid.Nil && command.Session != p.Session
	})
	if len(found) == 0 {
		return r.confirmed(ctx, nil, lanes.ErrPurchaseNotFound)
	}
	open := found[0]
	if slices.ContainsFunc(found, func(p lanes.OpenPurchase) bool { return p.Session != open.Session }) {
		return r.confirmed(ctx, nil, lanes.ErrPurchaseNotUnique)
	}
	command.Session = open.Session
	if !command.Credit || open.Minutes() == 0 || open.CreditLane == uuid.Nil || open.CreditLane == open.Lane {
		_, err := r.ask(ctx, open.Lane, &request{ctx: ctx, command: command, by: from.by, who: from.who})
		if errors.Is(err, lanes.ErrPurchaseNotFound) {
			return errLeft // or somebody has settled it meanwhile, which the board shows
		}
		return r.confirmed(ctx, nil, err)
	}
	command.Elsewhere = true
	_, err := r.together(ctx, from, []lanes.Operation{
		{Lane: open.Lane, Command: command, By: from.by},
		{Lane: open.CreditLane, Session: open.CreditSession, By: from.by, Command: lanes.Modify{
			Session: open.CreditSession, Minutes: open.Minutes(), AfterClosing: true,
		}},
	}, nil, func([]lanes.Decided) {})
	if refused, ok := errors.AsType[lanes.Refusals](err); ok {
		err = refused.First()
	}
	if errors.Is(err, lanes.ErrPurchaseNotFound) || errors.Is(err, lanes.ErrSessionNotFound) {
		return errLeft
	}
	return r.confirmed(ctx, nil, err)
}

// requester is who a request comes from.
type requester struct {
	by  lanes.By
	who string // name of the staff member, or of the POS's token
}

// posRequester is the POS that ctx has a request of. Its token may have a name.
func posRequester(ctx context.Context) requester { return requester{lanes.ByPOS, trace.Who(ctx)} }

func (r *Range) create(
	ctx context.Context, from requester, lane uuid.UUID, command lanes.Create, key *lanes.Key,
) (view *lanes.SessionView, err error) {
	err = r.once.Do(ctx, key, func(claim *idempotency.Claim) (err error) {
		q := &request{ctx: ctx, command: command, by: from.by, who: from.who, claim: claim}
		switch {
		case !r.Layout().HasGroup(command.Group):
			return freeKey(q, lanes.ErrGroupNotFound)
		case !r.board.Has(lane):
			return freeKey(q, lanes.ErrLaneNotFound)
		}
		view, err = r.ask(ctx, lane, q)
		return r.confirmed(ctx, key, err)
	})
	return view, err
}

func (r *Range) on(
	ctx context.Context, from requester, session uuid.UUID, command lanes.Command, key *lanes.Key,
) (*lanes.SessionView, error) {
	view, err := r.follow(ctx, from, session, key, func(lane uuid.UUID, q *request) (*lanes.SessionView, error) {
		q.command = command
		return r.ask(ctx, lane, q)
	})
	if _, stop := command.(lanes.Stop); stop && errors.Is(err, lanes.ErrSessionEnded) {
		if _, ending := r.committer.Ending(session); ending {
			return nil, lanes.ErrNotSaved
		}
	}
	return view, r.confirmedEnd(ctx, session, key, err)
}

// confirmedEnd is confirmed for a session that has ended as far as this process knows, and whose end is not
// durable: it was not read from the store.
func (r *Range) confirmedEnd(ctx context.Context, session uuid.UUID, key *lanes.Key, err error) error {
	if _, ending := r.committer.Ending(session); !ending || !errors.Is(err, lanes.ErrSessionEnded) {
		return err
	}
	return r.confirmed(ctx, key, err)
}

func (r *Range) move(
	ctx context.Context, from requester, move lanes.Move, to uuid.UUID, key *lanes.Key,
) (*lanes.SessionView, error) {
	view, err := r.follow(ctx, from, move.Session, key, func(lane uuid.UUID, q *request) (*lanes.SessionView, error) {
		switch {
		case !r.board.Has(to):
			return nil, freeKey(q, lanes.ErrLaneNotFound)
		case lane == to:
			return nil, freeKey(q, lanes.ErrLaneOccupied)
		}
		ticket, err := r.askTicket(ctx, from.by, to)
		if err != nil {
			return nil, freeKey(q, err)
		}
		move.To = ticket.lane
		q.command, q.ticket = move, ticket
		return r.ask(ctx, lane, q)
	})
	return view, r.confirmedEnd(ctx, move.Session, key, err)
}

func (r *Range) onLane(
	ctx context.Context, from requester, lane uuid.UUID, command lanes.Command,
) (*lanes.SessionView, error) {
	return r.askLane(ctx, lane, &request{ctx: ctx, command: command, by: from.by, who: from.who})
}

// askLane is ask for a lane that may not be there, without a key.
func (r *Range) askLane(ctx context.Context, lane uuid.UUID, q *request) (*lanes.SessionView, error) {
	err := context.Cause(r.life)
	if err == nil && !r.board.Has(lane) {
		err = lanes.ErrLaneNotFound
	}
	if err != nil {
		q.Refuse(err)
		return nil, err
	}
	view, err := r.ask(ctx, lane, q)
	return view, r.confirmed(ctx, nil, err)
}

// passing are the errors that do not say how the range stands. All others are refusals.
var passing = []error{
	lanes.ErrTimeout, lanes.ErrNotOwner, lanes.ErrNotOwnerClosed, lanes.ErrStarting, lanes.ErrStoreUnavailable,
	lanes.ErrNotSaved, lanes.ErrOverloaded,
	lanes.ErrInternal,
}

func isPassing(err error) bool {
	return slices.ContainsFunc(passing, func(p error) bool { return errors.Is(err, p) })
}

// confirmed returns the error of a request. A refusal stands once the store has confirmed that nobody has
// claimed the range since: a process that has lost it without knowing, as one that was suspended, would
// refuse by what was. While the store does not answer, the refusal says what this process knows. One with an
// idempotency key is answered ErrStoreUnavailable then: it may be a repeat of what another owner has done.
func (r *Range) confirmed(ctx context.Context, key *lanes.Key, err error) error {
	if err == nil || isPassing(err) {
		return err
	}
	switch owns := r.stillOwns(ctx); {
	case errors.Is(owns, lanes.ErrNotOwner):
		return lanes.ErrNotOwner
	case owns != nil && key != nil:
		return lanes.ErrStoreUnavailable
	}
	return err
}

// stillOwns returns nil once the store has confirmed that nobody has claimed the range since. Errors: ErrNotOwner,
// ErrStoreUnavailable while it does not answer, ErrTimeout.
func (r *Range) stillOwns(ctx context.Context) error {
	var err error = lanes.ErrStoreUnavailable
	if r.committer.Writable() {
		err = r.Confirm(ctx)
	}
	switch {
	case r.committer.IsFenced(), errors.Is(err, lanes.ErrNotOwner):
		return lanes.ErrNotOwner
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return lanes.ErrTimeout
	}
	return lanes.ErrStoreUnavailable
}

// follow prepares a request for the lane that the session is on, and another one for the next lane if it
// moved meanwhile.
func (r *Range) follow(
	ctx context.Context, from requester, session uuid.UUID, key *lanes.Key,
	do func(lane uuid.UUID, q *request) (*lanes.SessionView, error),
) (*lanes.SessionView, error) {
	for {
		var asked uuid.UUID
		var view *lanes.SessionView
		err := r.once.Do(ctx, key, func(claim *idempotency.Claim) (err error) {
			q := &request{ctx: ctx, by: from.by, who: from.who, claim: claim}
			lane, found := r.board.Find(session)
			if !found {
				_, err := r.Session(ctx, session)
				return freeKey(q, err)
			}
			asked = lane.ID
			view, err = do(lane.ID, q)
			return r.confirmed(ctx, key, err)
		})
		switch {
		case !errors.Is(err, lanes.ErrSessionNotFound) || asked == uuid.Nil:
			return view, err
		case ctx.Err() != nil: // it has left the lane, and nobody has looked where to
			return nil, lanes.ErrTimeout
		}
	}
}

// freeKey frees the key of a request that is refused before it reaches a lane.
func freeKey(q *request, err error) error {
	q.claim.Settle(nil)
	return err
}

// ask sends the request to the lane and waits for the reply. Where that has changed nothing, as the lane is so already,
// the store confirms that it is: what is saved needs no such read.
func (r *Range) ask(ctx context.Context, lane uuid.UUID, q *request) (*lanes.SessionView, error) {
	q.reply = make(chan reply, 1)
	q.begin(r.metrics.Tracer)
	r.addresses.sendTo(lane, q)
	select {
	case answer := <-q.reply:
		if answer.err == nil && q.unchanged {
			if err := r.stillOwns(ctx); err != nil {
				return nil, err
			}
		}
		return answer.view, answer.err
	case <-ctx.Done():
		return nil, lanes.ErrTimeout
	case <-r.life.Done():
		return r.lastReply(q)
	}
}

// askAboutPurchase is purchases.Deps.Ask.
func (r *Range) askAboutPurchase(
	ctx context.Context, lane uuid.UUID, command lanes.Command, outcome []lanes.Logged,
) ([]lanes.Logged, error) {
	q := &request{ctx: ctx, command: command, by: lanes.ByLane, events: outcome, reply: make(chan reply, 1)}
	q.begin(r.metrics.Tracer)
	r.addresses.sendTo(lane, q)
	select {
	case answer := <-q.reply:
		return answer.events, answer.err
	case <-r.life.Done():
		return nil, lanes.ErrStarting
	}
}

// addMinutes is simulation.Deps.AddMinutes.
func (r *Range) addMinutes(ctx context.Context, event lanes.Logged, minutes int) error {
	session := event.Event.Session
	from := requester{by: lanes.ByPOS}
	_, err := r.follow(ctx, from, session, nil, func(lane uuid.UUID, q *request) (*lanes.SessionView, error) {
		q.command, q.events = lanes.Modify{Session: session, Minutes: minutes}, []lanes.Logged{event}
		return r.ask(ctx, lane, q)
	})
	return err
}

// lastReply returns, while the range stops: the reply if there is one, ErrNotOwner if another process has the
// range and nothing was saved, else ErrTimeout. Where the save is under way when the range is dropped, the
// committer has replied before.
func (r *Range) lastReply(q *request) (*lanes.SessionView, error) {
	select {
	case answer := <-q.reply:
		if answer.err == nil && q.unchanged {
			return nil, context.Cause(r.life)
		}
		return answer.view, answer.err
	default:
	}
	switch err := context.Cause(r.life); {
	case q.saved.Load(), !errors.Is(err, lanes.ErrNotOwner):
		return nil, lanes.ErrTimeout
	case q.closes():
		return nil, lanes.ErrNotOwnerClosed
	default:
		return nil, err
	}
}
