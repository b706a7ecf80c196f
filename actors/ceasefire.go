package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// A hold belongs to the range: its record says which are in force and which have ended, and is saved with
// every lane that a hold closes, so that neither is ever there without the other. Setting one is sent to
// every link first; lifting one is saved first. Of two that cross, the hold wins.

const (
	// holdPatience is how long the reply waits for lanes to confirm and for the store.
	holdPatience = 1900 * time.Millisecond

	// forgetAfter is how long the confirmations of released lanes are collected, for one write of the record
	// that forgets the end of the hold over them.
	forgetAfter = 100 * time.Millisecond
)

// holdKeeper is the part of the range's actor that sets and lifts holds.
type holdKeeper struct {
	r       *Range
	record  commit.HoldRecord
	lastSet map[lanes.Scope]uint64 // scope → version of the record in which a hold was last set
	lifting map[lanes.Scope]int    // lifts that are being saved

	lastLift  lanes.Instant      // when the last lift was put in force
	confirmed map[uuid.UUID]bool // lanes whose hardware has confirmed its release, and whose end is not forgotten yet
}

// The messages of holds.
type (
	setHold struct {
		scope lanes.Scope
		who   string
		trace string // of the request, empty for a controller
		asked lanes.Instant
		reply chan *holdProgress // of one
	}
	liftHold struct {
		scope lanes.Scope
		who   string
		trace string         // of the request
		reply chan liftReply // of one
		saved atomic.Bool    // its end is durable
	}
	liftReply struct {
		progress *holdProgress
		err      error
	}
	holdLifted struct {
		lift    *liftHold
		version uint64 // of the record that was saved
		outcome commit.Outcome
	}

	controllerHolds  struct{ lane uuid.UUID } // its controller came up locked, and the lane knows of no hold
	releaseConfirmed struct{ lane uuid.UUID } // its controller has confirmed a state without a hold, after the end of one
	forgetEnds       struct{}
)

// Hold sets a hold over the scope: what it covers is closed at once, and stays so until it is lifted. It
// returns how far the hold has come within holdPatience.
func (r *Range) Hold(ctx context.Context, scope lanes.Scope, who string) (lanes.Reached, error) {
	if err := context.Cause(r.life); err != nil {
		return lanes.Reached{}, err
	}
	m := &setHold{scope: scope, who: who, trace: trace.ID(ctx), asked: r.clock.Now(), reply: make(chan *holdProgress, 1)}
	ctx, cancel := r.withPatience(ctx)
	defer cancel()
	r.addresses.sendRoot(m)
	var reached lanes.Reached
	select {
	case progress := <-m.reply:
		reached = progress.await(ctx)
	case <-ctx.Done():
		return lanes.Reached{}, r.outOfPatience(lanes.ErrNotOwnerClosed)
	}
	if !reached.Saved && r.committer.IsFenced() { // the new owner does not know of the hold
		return lanes.Reached{}, lanes.ErrNotOwnerClosed
	}
	r.metrics.Held(reached)
	return reached, nil
}

// withPatience returns a context that ends with ctx, after holdPatience, and when the range stops.
func (r *Range) withPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, holdPatience)
	unregister := context.AfterFunc(r.life, cancel)
	return ctx, func() {
		unregister()
		cancel()
	}
}

// outOfPatience is the error when withPatience's context has ended: notOwner if another process has the
// range.
func (r *Range) outOfPatience(notOwner error) error {
	switch err := context.Cause(r.life); {
	case errors.Is(err, lanes.ErrNotOwner):
		return notOwner
	case err != nil:
		return err
	}
	return lanes.ErrTimeout
}

// Lift ends the hold over the scope. Lanes under another one stay closed. Errors: ErrCeasefire if a hold was
// set meanwhile.
func (r *Range) Lift(ctx context.Context, scope lanes.Scope, who string) (lanes.Reached, error) {
	m := &liftHold{scope: scope, who: who, trace: trace.ID(ctx), reply: make(chan liftReply, 1)}
	ctx, cancel := r.withPatience(ctx)
	defer cancel()
	r.addresses.sendRoot(m)
	select {
	case lifted := <-m.reply:
		return lifted.await(ctx)
	case <-ctx.Done():
	}
	select {
	case lifted := <-m.reply: // before the range stopped
		return lifted.await(ctx)
	default:
	}
	if m.saved.Load() {
		return lanes.Reached{}, lanes.ErrTimeout
	}
	return lanes.Reached{}, r.outOfPatience(lanes.ErrNotOwner)
}

func (l liftReply) await(ctx context.Context) (lanes.Reached, error) {
	if l.err != nil {
		return lanes.Reached{}, l.err
	}
	return l.progress.await(ctx), nil
}

// answer sends the reply, unless there was one.
func (m *liftHold) answer(reply liftReply) {
	select {
	case m.reply <- reply:
	default:
	}
}

// Holds is the range's record of its holds.
func (r *Range) Holds() lanes.Holds { return *r.holds.Load() }

func newHoldKeeper(r *Range) holdKeeper {
	return holdKeeper{
		r: r, lastSet: map[lanes.Scope]uint64{}, lifting: map[lanes.Scope]int{}, confirmed: map[uuid.UUID]bool{},
		record: commit.HoldRecord{Version: r.holdsVersion.Load(), Holds: r.Holds()},
	}
}

// change puts the record in force, with a version of its own, and shows it.
func (h *holdKeeper) change(holds lanes.Holds) *commit.HoldRecord {
	h.record = commit.HoldRecord{Version: h.r.holdsVersion.Add(1), Holds: holds}
	h.r.holds.Store(&holds)
	h.r.board.Touch()
	record := h.record
	return &record
}

// set closes everything that the scope covers: the lanes tell their links before anything waits for the
// store.
func (h *holdKeeper) set(m *setHold) *holdProgress {
	now := h.r.clock.Now()
	acts := h.acts(lanes.DidHold, m.scope, m.who, now, !h.record.Has(m.scope) || h.lifting[m.scope] > 0)
	record := h.change(h.record.Set(m.scope, m.who, now.Wall))
	h.lastSet[m.scope] = record.Version
	covered := h.covered(m.scope, func(lanes.Place) bool { return true })
	progress := newHoldProgress(true, covered, 1)
	progress.reached = func() { h.r.metrics.HoldFanOut.Observe(h.r.clock.Now().Since(m.asked).Seconds()) }
	for _, lane := range covered {
		h.r.addresses.sendListed(lane, &request{
			ctx: trace.With(context.Background(), m.trace), command: lanes.Hold{}, by: lanes.ByStaff, holder: m.who,
			progress: progress, holds: record, done: progress.saveEnded,
		})
	}
	h.r.committer.Save(&commit.Write{
		Holds: record, Acts: acts, MustSave: true, Trace: m.trace, Done: progress.recordSaved,
	})
	traced(h.r.log.Warn(), m.trace).Str("scope", m.scope.Kind).Stringer("id", m.scope.ID).Str("who", m.who).
		Int("lanes", len(covered)).Msg("hold set")
	return progress
}

// lift saves that the hold has ended; the lanes hear of it when that is durable.
func (h *holdKeeper) lift(m *liftHold) {
	now := h.r.clock.Now()
	record := commit.HoldRecord{Version: h.r.holdsVersion.Add(1), Holds: h.record.Lift(m.scope, now.Wall)}
	acts := h.acts(lanes.DidLift, m.scope, m.who, now, h.record.Has(m.scope))
	h.lifting[m.scope]++
	r := h.r
	r.committer.Save(&commit.Write{Holds: &record, Acts: acts, Trace: m.trace, Done: func(outcome commit.Outcome) {
		switch outcome {
		case commit.Saved:
			m.saved.Store(true)
		case commit.Fenced, commit.Lost: // the tree is about to be stopped
			m.answer(liftReply{nil, outcome.Err()})
		}
		r.addresses.sendRoot(&holdLifted{m, record.Version, outcome})
	}})
}

// lifted opens what no other hold covers. A hold that was set meanwhile was saved after it: it counts.
func (h *holdKeeper) lifted(m *holdLifted) {
	if m.outcome == commit.Unresolved {
		return // its outcome follows
	}
	scope := m.lift.scope
	if h.lifting[scope]--; h.lifting[scope] <= 0 {
		delete(h.lifting, scope)
	}
	switch {
	case m.outcome != commit.Saved:
		m.lift.answer(liftReply{nil, m.outcome.Err()})
		return
	case h.lastSet[scope] > m.version: // and saved after it
		m.lift.answer(liftReply{nil, lanes.ErrCeasefire})
		return
	}
	changedMeanwhile := h.r.holdsVersion.Load() != m.version
	h.lastLift = h.r.clock.Now()
	record := h.change(h.record.Lift(scope, h.lastLift.Wall))
	covered := h.covered(scope, func(place lanes.Place) bool { return !record.Over(place) })
	records := 0
	if changedMeanwhile { // what was saved since then still had the hold
		records = 1
	}
	progress := newHoldProgress(false, covered, records)
	if changedMeanwhile {
		h.r.committer.Save(&commit.Write{Holds: record, MustSave: true, Trace: m.lift.trace, Done: progress.recordSaved})
	}
	for _, lane := range covered {
		h.r.addresses.sendListed(lane, &request{
			ctx: trace.With(context.Background(), m.lift.trace), command: lanes.Release{}, by: lanes.ByStaff, holder: m.lift.who,
			progress: progress, done: progress.saveEnded,
		})
	}
	traced(h.r.log.Warn(), m.lift.trace).Str("scope", scope.Kind).Stringer("id", scope.ID).Str("who", m.lift.who).
		Int("lanes", len(covered)).Msg("hold lifted")
	m.lift.answer(liftReply{progress, nil})
}

// covered returns the lanes under the scope that are also wanted.
func (h *holdKeeper) covered(scope lanes.Scope, wanted func(lanes.Place) bool) (covered []uuid.UUID) {
	for _, place := range h.r.Layout().Lanes {
		if scope.Covers(place) && wanted(place) {
			covered = append(covered, place.ID)
		}
	}
	return covered
}

// releaseConfirmed remembers that the lane's hardware has confirmed its release: the end of that hold
// explains no later lock.
func (h *holdKeeper) releaseConfirmed(lane uuid.UUID) {
	h.confirmed[lane] = true
	if len(h.confirmed) == 1 {
		h.forgetSoon()
	}
}

func (h *holdKeeper) forgetSoon() {
	time.AfterFunc(forgetAfter, func() { h.r.addresses.sendRoot(&forgetEnds{}) })
}

// forgetEnds saves the record without the ends of holds that the hardware has confirmed. It waits for a lift
// that is being saved, as the record in force still has its hold; and for the other lanes, for holdPatience
// after the lift, before the record names lanes one by one.
func (h *holdKeeper) forgetEnds() {
	holds := h.record.Forget(h.r.Layout().Lanes, func(place lanes.Place) bool { return h.confirmed[place.ID] })
	namesLanes := len(holds.Lifted) > len(h.record.Lifted)
	if len(h.lifting) > 0 || namesLanes && h.r.clock.Now().Since(h.lastLift) < holdPatience {
		h.forgetSoon()
		return
	}
	clear(h.confirmed)
	if !slices.Equal(holds.Lifted, h.record.Lifted) {
		h.r.committer.Save(&commit.Write{Holds: h.change(holds), MustSave: true, Done: func(commit.Outcome) {}})
	}
}

// decideFound decides about a controller that is locked although its lane is not held. It may be released
// when a hold over it is known to have ended, and it has not confirmed that yet. Otherwise nobody knows why
// it is locked, and a hold over the lane keeps it so until staff lift it.
func (h *holdKeeper) decideFound(lane uuid.UUID) {
	if !h.r.addresses.has(lane) {
		return // the lane has left
	}
	place, _ := h.r.settings().place(lane)
	if !h.record.Over(place) && !h.record.KnowsOfEnd(place) {
		scope := lanes.Scope{Kind: lanes.OverLane, ID: lane}
		h.set(&setHold{scope: scope, who: lanes.ByController, asked: h.r.clock.Now()})
	}
	h.r.addresses.sendListed(lane, &holdDecided{})
}

// layoutChanged mends the holds that were set after a reload had looked at them (keepsHolds): a lane that
// leaves the scope of one is held by itself, and one whose scope is gone has ended.
func (h *holdKeeper) layoutChanged(before *settings, m *exchange) {
	after, bays := m.to, map[uuid.UUID]bool{}
	for _, bay := range after.Layout.Bays {
		bays[bay.ID] = true
	}
	for _, hold := range h.record.InForce {
		for _, place := range after.Layout.Lanes {
			if old, found := before.place(place.ID); found && hold.Covers(old) && !h.record.Over(place) {
				scope := lanes.Scope{Kind: lanes.OverLane, ID: place.ID}
				h.set(&setHold{scope: scope, who: hold.Who, asked: h.r.clock.Now()})
			}
		}
		if hold.Kind != lanes.OverRange && !after.has(hold.ID) && !bays[hold.ID] {
			h.lift(&liftHold{scope: hold.Scope, who: m.who, reply: make(chan liftReply, 1)})
		}
	}
}

// acts is the record of staff having set or lifted the hold, empty if that changes nothing or a controller
// was found locked.
func (h *holdKeeper) acts(what string, scope lanes.Scope, who string, now lanes.Instant, changes bool) []lanes.Act {
	if who == lanes.ByController || !changes {
		return nil
	}
	act := lanes.Act{At: now.Wall, Who: who, What: what, Detail: scope.Kind}
	switch scope.Kind {
	case lanes.OverLane:
		act.Lane = scope.ID
	case lanes.OverBay:
		for _, bay := range h.r.Layout().Bays {
			if bay.ID == scope.ID {
				act.Detail += " " + bay.Name
			}
		}
	}
	return []lanes.Act{act}
}

// holdProgress hears from every lane under a hold how far it has come there: on the hardware, and in the
// store. Lanes report from their actors; one goroutine waits for them.
type holdProgress struct {
	hold    bool   // held, or released
	reached func() // nil, or called once all lanes that could be reached have confirmed, if there is one

	mu        sync.Mutex
	lanes     []uuid.UUID
	reach     map[uuid.UUID]reach
	confirmed bool // by at least one lane
	awaited   int  // lanes that may still confirm
	unsaved   int  // writes that are not durable yet
	failed    bool // one never will be
	complete  chan struct{}
}

// reach is how far a hold has come on a lane's hardware.
type reach int

const (
	unknown reach = iota
	notReached
	sent
	confirmed
)

// final reports whether nothing more is waited for: a link that is down may take long to come back.
func (r reach) final() bool { return r == confirmed || r == notReached }

// newHoldProgress waits for one write of each lane, and for that many of the range's record.
func newHoldProgress(hold bool, covered []uuid.UUID, records int) *holdProgress {
	p := &holdProgress{
		hold: hold, lanes: covered, reach: make(map[uuid.UUID]reach, len(covered)), awaited: len(covered),
		unsaved: len(covered) + records, complete: make(chan struct{}),
	}
	p.closeIfComplete()
	return p
}

// report records how far the hold has come on the lane.
func (p *holdProgress) report(lane uuid.UUID, now reach) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.reach[lane]
	p.reach[lane] = now
	switch {
	case now.final() && !before.final():
		p.awaited--
	case before.final() && !now.final():
		p.awaited++
	}
	p.confirmed = p.confirmed || now == confirmed
	if p.awaited == 0 && p.confirmed && p.reached != nil {
		p.reached()
		p.reached = nil
	}
	p.closeIfComplete()
}

// saveEnded records that a write has ended.
func (p *holdProgress) saveEnded(saved bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unsaved--
	p.failed = p.failed || !saved
	p.closeIfComplete()
}

// recordSaved is saveEnded for a write of the range's record.
func (p *holdProgress) recordSaved(outcome commit.Outcome) {
	if outcome != commit.Unresolved {
		p.saveEnded(outcome == commit.Saved)
	}
}

// closeIfComplete ends the wait once there is nothing more to wait for. p.mu is held, or nobody else knows of
// p.
func (p *holdProgress) closeIfComplete() {
	if p.unsaved > 0 || p.awaited > 0 {
		return
	}
	select {
	case <-p.complete:
	default:
		close(p.complete)
	}
}

// await waits until the hold has come as far as it will, or ctx ends, and returns how far that is.
func (p *holdProgress) await(ctx context.Context) lanes.Reached {
	select {
	case <-p.complete:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	reached := lanes.Reached{Saved: p.unsaved == 0 && !p.failed}
	for _, lane := range p.lanes {
		switch p.reach[lane] {
		case confirmed:
			reached.Confirmed = append(reached.Confirmed, lane)
		case sent:
			reached.Sent = append(reached.Sent, lane)
		default:
			reached.NotReached = append(reached.NotReached, lane)
		}
	}
	return reached
}
