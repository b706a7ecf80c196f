package actors

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/actors/holds"
	"rangegate/actors/logline"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// forgetAfter is how long the confirmations of released lanes are collected, for one write of the record that
// forgets the end of the hold over them.
const forgetAfter = 100 * time.Millisecond

// The messages of holds.
type (
	setHold struct {
		scope lanes.Scope
		press uuid.UUID
		who   string
		trace string // of the request, empty for a controller
		span  lanes.Span
		noted *tracedHold // nil: nothing is traced
		asked lanes.Instant
		reply chan *holds.Progress // of one
	}
	liftHold struct {
		scope lanes.Scope
		press uuid.UUID // the newest one that its end was decided after; uuid.Nil: any
		who   string
		trace string // of the request
		span  lanes.Span
		noted *tracedHold    // nil: nothing is traced
		reply chan liftReply // of one
		given atomic.Bool    // the store has its end, or is about to get it
	}
	liftReply struct {
		progress *holds.Progress
		err      error
	}
	holdLifted struct {
		lift    *liftHold
		version uint64 // of the record that was saved
		outcome commit.Outcome
	}

	controllerHolds struct{ lane uuid.UUID } // its controller came up locked, and the lane knows of no hold
	// its controller has confirmed a state without a hold, after the end of one
	releaseConfirmed struct{ lane uuid.UUID }
	forgetEnds       struct{}
)

// Ceasefires sets and lifts the holds of the range. Its methods may be called from any goroutine. Their errors are
// those that every method of Range may return, and those that they name.
type Ceasefires struct{ r *Range }

// Hold sets a hold over the scope: what it covers is closed at once, and stays so until it is lifted. It
// returns how far the hold has come within holds.Patience.
func (c *Ceasefires) Hold(ctx context.Context, scope lanes.Scope, who string) (lanes.Reached, error) {
	if err := context.Cause(c.r.life); err != nil {
		return lanes.Reached{}, err
	}
	m := &setHold{
		scope: scope, press: uuid.New(), who: who, trace: trace.ID(ctx), span: trace.Span(ctx),
		noted: c.traceHold(ctx, lanes.Hold{}, scope), asked: c.r.clock.Now(), reply: make(chan *holds.Progress, 1),
	}
	ctx, cancel := c.withPatience(ctx)
	defer cancel()
	c.r.addresses.sendRoot(m)
	var progress *holds.Progress
	select {
	case progress = <-m.reply:
	case <-ctx.Done():
		select {
		case progress = <-m.reply: // before the range stopped
		default:
			err := c.outOfPatience(lanes.ErrNotOwnerClosed)
			if errors.Is(err, lanes.ErrStarting) { // it may be set, and what closes needs no answer
				err = lanes.ErrTimeout
			}
			m.noted.recordFailed(err)
			return lanes.Reached{}, err
		}
	}
	reached := progress.Await(ctx)
	m.noted.recordReached(reached, progress)
	if !reached.Saved && c.r.committer.IsFenced() { // the new owner does not know of the hold
		return lanes.Reached{}, lanes.ErrNotOwnerClosed
	}
	c.r.metrics.Held(reached)
	return reached, nil
}

// withPatience returns a context that ends with ctx, after holds.Patience, and when the range stops.
func (c *Ceasefires) withPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, holds.Patience)
	unregister := context.AfterFunc(c.r.life, cancel)
	return ctx, func() {
		unregister()
		cancel()
	}
}

// outOfPatience is the error when withPatience's context has ended: notOwner if another process has the
// range.
func (c *Ceasefires) outOfPatience(notOwner error) error {
	switch err := context.Cause(c.r.life); {
	case errors.Is(err, lanes.ErrNotOwner):
		return notOwner
	case err != nil:
		return err
	}
	return lanes.ErrTimeout
}

// Lift ends the hold over the scope, as it was after that press; uuid.Nil: as it is. Lanes under another one stay
// closed. Errors: ErrCeasefire if it was pressed again since, or meanwhile.
func (c *Ceasefires) Lift(ctx context.Context, scope lanes.Scope, press uuid.UUID, who string) (lanes.Reached, error) {
	m := &liftHold{
		scope: scope, press: press, who: who, trace: trace.ID(ctx), span: trace.Span(ctx),
		noted: c.traceHold(ctx, lanes.Release{}, scope), reply: make(chan liftReply, 1),
	}
	ctx, cancel := c.withPatience(ctx)
	defer cancel()
	c.r.addresses.sendRoot(m)
	select {
	case lifted := <-m.reply:
		return lifted.await(ctx, m.noted)
	case <-ctx.Done():
	}
	select {
	case lifted := <-m.reply: // before the range stopped
		return lifted.await(ctx, m.noted)
	default:
	}
	err := error(lanes.ErrTimeout)
	if !m.given.Load() {
		err = c.outOfPatience(lanes.ErrNotOwner)
	}
	m.noted.recordFailed(err)
	return lanes.Reached{}, err
}

func (l liftReply) await(ctx context.Context, noted *tracedHold) (lanes.Reached, error) {
	if l.err != nil {
		noted.recordFailed(l.err)
		return lanes.Reached{}, l.err
	}
	reached := l.progress.Await(ctx)
	noted.recordReached(reached, l.progress)
	return reached, nil
}

// answer sends the reply, unless there was one.
func (m *liftHold) answer(reply liftReply) {
	select {
	case m.reply <- reply:
	default:
	}
}

// showHolds makes the record in force the one that everybody reads.
func (a *rangeActor) showHolds() {
	inForce := a.holds.InForce()
	a.r.holdsVersion.Store(a.holds.Newest())
	a.r.holds.Store(&inForce)
	a.r.board.Touch()
}

// setHold closes everything that the scope covers: the lanes tell their links before anything waits for the
// store.
func (a *rangeActor) setHold(m *setHold) *holds.Progress {
	r := a.r
	m.noted.noteTaken()
	change := a.holds.Set(m.scope, m.press, m.who, &r.settings().Layout, r.clock.Now())
	a.showHolds()
	progress := holds.NewProgress(true, change.Lanes, 1, func() {
		r.metrics.Tracer.Observe(r.metrics.HoldFanOut, r.clock.Now().Since(m.asked).Seconds(), m.trace, m.span)
	})
	m.noted.noteToLanes(progress)
	a.tellLanes(change, &request{
		ctx: trace.WithSpan(context.Background(), m.trace, m.span), command: lanes.Hold{}, holder: m.who,
		progress: progress, holds: &change.Record,
	})
	m.noted.noteDecided()
	w := &commit.Write{Holds: &change.Record, Acts: change.Acts, MustSave: true, Trace: m.trace, Span: m.span}
	w.Done = func(outcome commit.Outcome) {
		m.noted.noteFlush(w)
		progress.RecordSaved(outcome)
	}
	r.committer.Save(w)
	logline.Traced(r.log.Warn(), m.trace).Str("scope", m.scope.Kind).Stringer("id", m.scope.ID).Str("who", m.who).
		Int("lanes", len(change.Lanes)).Msg("hold set")
	return progress
}

// tellLanes sends each lane that the change concerns a request of its own.
func (a *rangeActor) tellLanes(change holds.Change, like *request) {
	for _, lane := range change.Lanes {
		a.r.addresses.sendListed(lane, &request{
			ctx: like.ctx, command: like.command, by: lanes.ByStaff, holder: like.holder,
			progress: like.progress, holds: like.holds, done: like.progress.SaveEnded,
		})
	}
}

// liftHold saves that the hold has ended; the lanes hear of it when that is durable.
func (a *rangeActor) liftHold(m *liftHold) {
	r := a.r
	m.noted.noteTaken()
	change, err := a.holds.Lift(m.scope, m.press, m.who, &r.settings().Layout, r.clock.Now())
	m.noted.noteDecided()
	if err != nil {
		logline.Traced(r.log.Warn(), m.trace).Str("scope", m.scope.Kind).Stringer("id", m.scope.ID).Str("who", m.who).
			Msg("the end of a hold is refused: it was pressed again since")
		m.answer(liftReply{nil, err})
		return
	}
	r.holdsVersion.Store(a.holds.Newest())
	w := &commit.Write{Holds: &change.Record, Acts: change.Acts, Trace: m.trace, Span: m.span}
	w.Done = func(outcome commit.Outcome) {
		m.noted.noteFlush(w)
		if outcome == commit.Fenced || outcome == commit.Lost { // the tree is about to be stopped
			m.answer(liftReply{nil, outcome.Err()})
		}
		r.addresses.sendRoot(&holdLifted{m, change.Record.Version, outcome})
	}
	m.given.Store(true)
	r.committer.Save(w)
}

// holdLifted opens what no other hold covers, once the end of this one is saved.
func (a *rangeActor) holdLifted(m *holdLifted) {
	if m.outcome == commit.Unresolved {
		return // its outcome follows
	}
	r, lift := a.r, m.lift
	change, err := a.holds.Lifted(lift.scope, m.version, m.outcome, &r.settings().Layout, r.clock.Now())
	if err != nil {
		lift.answer(liftReply{nil, err})
		return
	}
	a.showHolds()
	records := 0
	if change.Save {
		records = 1
	}
	progress := holds.NewProgress(false, change.Lanes, records, nil)
	if change.Save {
		r.committer.Save(&commit.Write{
			Holds: &change.Record, MustSave: true, Trace: lift.trace, Span: lift.span,
			Done: progress.RecordSaved,
		})
	}
	lift.noted.noteToLanes(progress)
	a.tellLanes(change, &request{
		ctx: trace.WithSpan(context.Background(), lift.trace, lift.span), command: lanes.Release{}, holder: lift.who,
		progress: progress,
	})
	logline.Traced(r.log.Warn(), lift.trace).Str("scope", lift.scope.Kind).Stringer("id", lift.scope.ID).
		Str("who", lift.who).Int("lanes", len(change.Lanes)).Msg("hold lifted")
	lift.answer(liftReply{progress, nil})
}

// releaseConfirmed has the end of the hold forgotten, with those of other lanes that confirm soon.
func (a *rangeActor) releaseConfirmed(lane uuid.UUID) {
	if a.holds.Confirmed(lane) {
		a.forgetSoon()
	}
}

func (a *rangeActor) forgetSoon() {
	time.AfterFunc(forgetAfter, func() { a.r.addresses.sendRoot(&forgetEnds{}) })
}

// forgetEnds saves the record without the ends of holds that the hardware has confirmed.
func (a *rangeActor) forgetEnds() {
	change, later := a.holds.Forget(&a.r.settings().Layout, a.r.clock.Now())
	switch {
	case later:
		a.forgetSoon()
	case change.Save:
		a.showHolds()
		a.r.committer.Save(&commit.Write{Holds: &change.Record, MustSave: true, Done: func(commit.Outcome) {}})
	}
}

// decideFound decides about a controller that is locked although its lane is not held, and tells the lane.
func (a *rangeActor) decideFound(lane uuid.UUID) {
	if !a.r.addresses.has(lane) {
		return // the lane has left
	}
	place, _ := a.r.settings().place(lane)
	if scope, set := a.holds.Found(place); set {
		a.setHold(&setHold{scope: scope, press: uuid.New(), who: lanes.ByController, asked: a.r.clock.Now()})
	}
	a.r.addresses.sendListed(lane, &holdDecided{})
}

// rearrangeHolds mends the holds that were set after a reload had looked at them (holds.Broken).
func (a *rangeActor) rearrangeHolds(before *settings, m *exchange) {
	set, lift := a.holds.Rearranged(&before.Layout, &m.to.Layout)
	for _, hold := range set {
		a.setHold(&setHold{scope: hold.Scope, press: uuid.New(), who: hold.Who, asked: a.r.clock.Now()})
	}
	for _, scope := range lift {
		a.liftHold(&liftHold{scope: scope, who: m.who, reply: make(chan liftReply, 1)})
	}
}
