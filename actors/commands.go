package actors

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/uuid"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// Commands are what a POS, staff and the lanes' own screens ask of lanes and of the sessions on them. Each goes to the
// lane's actor as a request and waits for its reply. Its methods may be called from any goroutine. Their errors are
// those that every method of Range may return, and those that they name.
type Commands struct {
	r         *Range
	reopening reopenings
}

// Create sells time on a lane for the POS. Errors: ErrGroupNotFound, ErrLaneNotFound, those of lanes.Create,
// and with a key those of idempotency.Once: *lanes.Repeat is the reply to the request that used the key
// before.
func (c *Commands) Create(
	ctx context.Context, lane uuid.UUID, command lanes.Create, key *lanes.Key,
) (*lanes.SessionView, error) {
	return c.create(ctx, posRequester(ctx), lane, command, key)
}

// StaffCreate is Create by staff, also on a lane that is closed for sale.
func (c *Commands) StaffCreate(
	ctx context.Context, staff string, lane uuid.UUID, command lanes.Create,
) (*lanes.SessionView, error) {
	command.ByStaff = true
	return c.create(ctx, requester{lanes.ByStaff, staff}, lane, command, nil)
}

// On gives a command of the POS to the lane that the session is on. Errors: ErrSessionNotFound,
// ErrSessionEnded, those of the command, and those of Create with a key. A stop whose session's end is not
// durable yet returns ErrNotSaved again.
func (c *Commands) On(
	ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key,
) (*lanes.SessionView, error) {
	return c.on(ctx, posRequester(ctx), session, command, key)
}

// StaffOn is On by staff.
func (c *Commands) StaffOn(
	ctx context.Context, staff string, session uuid.UUID, command lanes.Command,
) (*lanes.SessionView, error) {
	return c.on(ctx, requester{lanes.ByStaff, staff}, session, command, nil)
}

// Move moves the session to another lane of the range for the POS. Errors: ErrLaneNotFound, ErrLaneOccupied,
// those of On.
func (c *Commands) Move(ctx context.Context, session, to uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	return c.move(ctx, posRequester(ctx), lanes.Move{Session: session}, to, key)
}

// StaffMove is Move by staff, also to a lane that is closed for sale; with afterClosing to one that closes too early
// for the session, as staff have decided.
func (c *Commands) StaffMove(
	ctx context.Context, staff string, session, to uuid.UUID, afterClosing bool,
) (*lanes.SessionView, error) {
	return c.move(ctx, requester{lanes.ByStaff, staff}, lanes.Move{Session: session, AfterClosing: afterClosing}, to,
		nil)
}

// StaffReopen goes on with an ended session on a free lane. Errors: ErrNotReopenable, ErrSessionNotFound,
// ErrLaneNotFound, those of lanes.Create.
func (c *Commands) StaffReopen(ctx context.Context, staff string, session, lane uuid.UUID) (*lanes.SessionView, error) {
	c.reopening.mu.Lock()
	defer c.reopening.mu.Unlock()
	if asked, underWay := c.reopening.laneFor(session); c.r.board.Session(session) != nil || underWay && asked != lane {
		return nil, c.confirmed(ctx, nil, lanes.ErrNotReopenable)
	}
	ended, err := c.r.EndedSession(ctx, session)
	if !errors.Is(err, lanes.ErrSessionEnded) {
		return nil, err
	}
	switch _, err := c.r.Session(ctx, lanes.ReopenedAs(session)); {
	case err == nil, errors.Is(err, lanes.ErrSessionEnded):
		return nil, c.confirmed(ctx, nil, lanes.ErrNotReopenable)
	case !errors.Is(err, lanes.ErrSessionNotFound):
		return nil, err
	}
	return c.askLane(ctx, lane, &request{
		ctx: ctx, command: lanes.Reopen{Ended: ended}, by: lanes.ByStaff, who: staff,
		done: c.reopening.begin(session, lane),
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
func (c *Commands) StaffLane(ctx context.Context, staff string, lane uuid.UUID, command lanes.Command) error {
	_, err := c.onLane(ctx, requester{lanes.ByStaff, staff}, lane, command)
	return err
}

// LaneOn gives a command of the lane's own screen to the lane. It returns the session on it, nil when there
// is none. Errors: ErrLaneNotFound, those of the command.
func (c *Commands) LaneOn(ctx context.Context, lane uuid.UUID, command lanes.Command) (*lanes.SessionView, error) {
	return c.onLane(ctx, requester{by: lanes.ByLane}, lane, command)
}

// LaneBuy starts a purchase at the lane's own screen. The session on the board shows what becomes of it. The
// same id is the same purchase, however often it is asked for. Errors: those of LaneOn.
func (c *Commands) LaneBuy(ctx context.Context, lane, session, purchase uuid.UUID, items []lanes.Item) error {
	_, err := c.LaneOn(ctx, lane, lanes.Buy{Session: session, Purchase: purchase, Items: items, Trace: trace.ID(ctx)})
	return err
}

// Clear settles an unresolved purchase by hand; with credit its minutes are added to the session, or to the one that
// goes on with it on whichever lane. Without the session the purchase is known by its id alone, which is the lane's: if
// those of several sessions have it, none is settled. Errors: ErrPurchaseNotFound, ErrPurchaseNotUnique,
// ErrSessionEnded if no lane has the session that is to be credited, ErrDurationOutOfRange.
func (c *Commands) Clear(ctx context.Context, staff string, command lanes.Clear) error {
	for {
		err := c.clearWhereItIs(ctx, requester{lanes.ByStaff, staff}, command)
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
func (c *Commands) clearWhereItIs(ctx context.Context, from requester, command lanes.Clear) error {
	found := slices.DeleteFunc(c.r.Unresolved(), func(p lanes.OpenPurchase) bool {
		return p.ID != command.Purchase || command.Session != uuid.Nil && command.Session != p.Session
	})
	if len(found) == 0 {
		return c.confirmed(ctx, nil, lanes.ErrPurchaseNotFound)
	}
	open := found[0]
	if slices.ContainsFunc(found, func(p lanes.OpenPurchase) bool { return p.Session != open.Session }) {
		return c.confirmed(ctx, nil, lanes.ErrPurchaseNotUnique)
	}
	command.Session = open.Session
	if !command.Credit || open.Minutes() == 0 || open.CreditLane == uuid.Nil || open.CreditLane == open.Lane {
		_, err := c.ask(ctx, open.Lane, &request{ctx: ctx, command: command, by: from.by, who: from.who})
		if errors.Is(err, lanes.ErrPurchaseNotFound) {
			return errLeft // or somebody has settled it meanwhile, which the board shows
		}
		return c.confirmed(ctx, nil, err)
	}
	command.Elsewhere = true
	_, err := c.r.together(ctx, from, []lanes.Operation{
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
	return c.confirmed(ctx, nil, err)
}

func (c *Commands) create(
	ctx context.Context, from requester, lane uuid.UUID, command lanes.Create, key *lanes.Key,
) (view *lanes.SessionView, err error) {
	err = c.r.once.Do(ctx, key, func(claim *idempotency.Claim) (err error) {
		q := &request{ctx: ctx, command: command, by: from.by, who: from.who, claim: claim}
		switch {
		case !c.r.Layout().HasGroup(command.Group):
			return freeKey(q, lanes.ErrGroupNotFound)
		case !c.r.board.Has(lane):
			return freeKey(q, lanes.ErrLaneNotFound)
		}
		view, err = c.ask(ctx, lane, q)
		return c.confirmed(ctx, key, err)
	})
	return view, err
}

func (c *Commands) on(
	ctx context.Context, from requester, session uuid.UUID, command lanes.Command, key *lanes.Key,
) (*lanes.SessionView, error) {
	view, err := c.follow(ctx, from, session, key, func(lane uuid.UUID, q *request) (*lanes.SessionView, error) {
		q.command = command
		return c.ask(ctx, lane, q)
	})
	if _, stop := command.(lanes.Stop); stop && errors.Is(err, lanes.ErrSessionEnded) {
		if _, ending := c.r.committer.Ending(session); ending {
			return nil, lanes.ErrNotSaved
		}
	}
	return view, c.confirmedEnd(ctx, session, key, err)
}

// confirmedEnd is confirmed for a session that has ended as far as this process knows, and whose end is not
// durable: it was not read from the store.
func (c *Commands) confirmedEnd(ctx context.Context, session uuid.UUID, key *lanes.Key, err error) error {
	if _, ending := c.r.committer.Ending(session); !ending || !errors.Is(err, lanes.ErrSessionEnded) {
		return err
	}
	return c.confirmed(ctx, key, err)
}

func (c *Commands) move(
	ctx context.Context, from requester, move lanes.Move, to uuid.UUID, key *lanes.Key,
) (*lanes.SessionView, error) {
	view, err := c.follow(ctx, from, move.Session, key, func(lane uuid.UUID, q *request) (*lanes.SessionView, error) {
		switch {
		case !c.r.board.Has(to):
			return nil, freeKey(q, lanes.ErrLaneNotFound)
		case lane == to:
			return nil, freeKey(q, lanes.ErrLaneOccupied)
		}
		ticket, err := c.r.askTicket(ctx, from.by, to)
		if err != nil {
			return nil, freeKey(q, err)
		}
		move.To = ticket.lane
		q.command, q.ticket = move, ticket
		return c.ask(ctx, lane, q)
	})
	return view, c.confirmedEnd(ctx, move.Session, key, err)
}

func (c *Commands) onLane(
	ctx context.Context, from requester, lane uuid.UUID, command lanes.Command,
) (*lanes.SessionView, error) {
	return c.askLane(ctx, lane, &request{ctx: ctx, command: command, by: from.by, who: from.who})
}

// askLane is ask for a lane that may not be there, without a key.
func (c *Commands) askLane(ctx context.Context, lane uuid.UUID, q *request) (*lanes.SessionView, error) {
	err := context.Cause(c.r.life)
	if err == nil && !c.r.board.Has(lane) {
		err = lanes.ErrLaneNotFound
	}
	if err != nil {
		q.Refuse(err)
		return nil, err
	}
	view, err := c.ask(ctx, lane, q)
	return view, c.confirmed(ctx, nil, err)
}

// onceTogether runs do once for the key. do tells whether operations were given to the store, whose outcome settles the
// claim. If they were not, the key is free again, also after a panic. Errors: those of idempotency.Once and of do.
func (c *Commands) onceTogether(
	ctx context.Context, key *lanes.Key, do func(*idempotency.Claim) (saving bool, err error),
) error {
	return c.r.once.Do(ctx, key, func(claim *idempotency.Claim) (err error) {
		saving := false
		defer func() {
			if !saving {
				claim.Settle(nil)
			}
		}()
		saving, err = do(claim)
		return c.confirmed(ctx, key, err)
	})
}

// confirmed returns the error of a request. A refusal stands once the store has confirmed that nobody has
// claimed the range since: a process that has lost it without knowing, as one that was suspended, would
// refuse by what was. While the store does not answer, the refusal says what this process knows. One with an
// idempotency key is answered ErrStoreUnavailable then: it may be a repeat of what another owner has done.
func (c *Commands) confirmed(ctx context.Context, key *lanes.Key, err error) error {
	if err == nil || isPassing(err) {
		return err
	}
	switch owns := c.stillOwns(ctx); {
	case errors.Is(owns, lanes.ErrNotOwner):
		return lanes.ErrNotOwner
	case owns != nil && key != nil:
		return lanes.ErrStoreUnavailable
	}
	return err
}

// stillOwns returns nil once the store has confirmed that nobody has claimed the range since. Errors: ErrNotOwner,
// ErrStoreUnavailable while it does not answer, ErrTimeout.
func (c *Commands) stillOwns(ctx context.Context) error {
	var err error = lanes.ErrStoreUnavailable
	if c.r.committer.Writable() {
		err = c.r.Confirm(ctx)
	}
	switch {
	case c.r.committer.IsFenced(), errors.Is(err, lanes.ErrNotOwner):
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
func (c *Commands) follow(
	ctx context.Context, from requester, session uuid.UUID, key *lanes.Key,
	do func(lane uuid.UUID, q *request) (*lanes.SessionView, error),
) (*lanes.SessionView, error) {
	for {
		var asked uuid.UUID
		var view *lanes.SessionView
		err := c.r.once.Do(ctx, key, func(claim *idempotency.Claim) (err error) {
			q := &request{ctx: ctx, by: from.by, who: from.who, claim: claim}
			lane, found := c.r.board.Find(session)
			if !found {
				_, err := c.r.Session(ctx, session)
				return freeKey(q, err)
			}
			asked = lane.ID
			view, err = do(lane.ID, q)
			return c.confirmed(ctx, key, err)
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
func (c *Commands) ask(ctx context.Context, lane uuid.UUID, q *request) (*lanes.SessionView, error) {
	q.reply = make(chan reply, 1)
	q.begin(c.r.metrics.Tracer)
	c.r.addresses.sendTo(lane, q)
	select {
	case answer := <-q.reply:
		if answer.err == nil && q.unchanged {
			if err := c.stillOwns(ctx); err != nil {
				return nil, err
			}
		}
		return answer.view, answer.err
	case <-ctx.Done():
		return nil, lanes.ErrTimeout
	case <-c.r.life.Done():
		return c.lastReply(q)
	}
}

// askAboutPurchase is purchases.Deps.Ask.
func (c *Commands) askAboutPurchase(
	ctx context.Context, lane uuid.UUID, command lanes.Command, outcome []lanes.Logged,
) ([]lanes.Logged, error) {
	q := &request{ctx: ctx, command: command, by: lanes.ByLane, events: outcome, reply: make(chan reply, 1)}
	q.begin(c.r.metrics.Tracer)
	c.r.addresses.sendTo(lane, q)
	select {
	case answer := <-q.reply:
		return answer.events, answer.err
	case <-c.r.life.Done():
		return nil, lanes.ErrStarting
	}
}

// addMinutes is simulation.Deps.AddMinutes.
func (c *Commands) addMinutes(ctx context.Context, event lanes.Logged, minutes int) error {
	session := event.Event.Session
	from := requester{by: lanes.ByPOS}
	_, err := c.follow(ctx, from, session, nil, func(lane uuid.UUID, q *request) (*lanes.SessionView, error) {
		q.command = lanes.Modify{Session: session, Minutes: minutes, AfterClosing: true} // they were accepted
		q.events = []lanes.Logged{event}
		return c.ask(ctx, lane, q)
	})
	return err
}

// lastReply returns, while the range stops: the reply if there is one, ErrNotOwner if another process has the
// range and nothing was saved, else ErrTimeout. Where the save is under way when the range is dropped, the
// committer has replied before.
func (c *Commands) lastReply(q *request) (*lanes.SessionView, error) {
	select {
	case answer := <-q.reply:
		if answer.err == nil && q.unchanged {
			return nil, context.Cause(c.r.life)
		}
		return answer.view, answer.err
	default:
	}
	switch err := context.Cause(c.r.life); {
	case q.saved.Load(), !errors.Is(err, lanes.ErrNotOwner):
		return nil, lanes.ErrTimeout
	case q.closes():
		return nil, lanes.ErrNotOwnerClosed
	default:
		return nil, err
	}
}
