package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// A hold belongs to the range: its record says which are in force and which have ended, and is saved with every lane
// that a hold closes, so that neither is ever there without the other. Setting one tells every link first; lifting one
// is saved first. Of two that cross, the hold wins.

// holdPatience is how long the answer waits for lanes to confirm and for the store.
const holdPatience = 1900 * time.Millisecond

// holdsRecord is the range's record of its holds as it is to be saved. The highest version counts.
type holdsRecord struct {
	version uint64
	lanes.Holds
}

// holding is the range actor's part in it.
type holding struct {
	of      *Range
	record  holdsRecord
	lastSet map[lanes.Scope]uint64 // the version of the record that a hold was last set in
	lifts   map[lanes.Scope]int    // under way
}

// The messages of holds.
type (
	setHold struct {
		over  lanes.Scope
		who   string
		trace string // of the request, empty for a controller
		asked lanes.Instant
		reply chan *rollcall // of one
	}
	liftHold struct {
		over  lanes.Scope
		who   string
		trace string       // of the request
		reply chan lifting // of one
	}
	holdLifted struct {
		lift    *liftHold
		version uint64 // of the record that was saved
		became  outcome
	}
	// controllerHolds: a lane's controller came back holding, and its lane knows of no hold.
	controllerHolds struct{ lane uuid.UUID }
)

type lifting struct {
	call *rollcall
	err  error
}

// Hold sets a hold over the scope: what it covers is closed at once, and stays so until it is lifted.
func (r *Range) Hold(ctx context.Context, over lanes.Scope, who string) (lanes.Reached, error) {
	m := &setHold{over: over, who: who, trace: trace.ID(ctx), asked: r.clock.Now(), reply: make(chan *rollcall, 1)}
	ctx, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	r.send(r.root(), m)
	select {
	case call := <-m.reply:
		answer := call.answer(ctx)
		r.metrics.Held(answer)
		return answer, nil
	case <-ctx.Done():
		return lanes.Reached{}, lanes.ErrTimeout
	case <-r.background.Done():
		return lanes.Reached{}, context.Cause(r.background)
	}
}

// Lift ends the hold over the scope. Lanes under another one stay closed.
func (r *Range) Lift(ctx context.Context, over lanes.Scope, who string) (lanes.Reached, error) {
	m := &liftHold{over: over, who: who, trace: trace.ID(ctx), reply: make(chan lifting, 1)}
	ctx, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	r.send(r.root(), m)
	select {
	case lifted := <-m.reply:
		if lifted.err != nil {
			return lanes.Reached{}, lifted.err
		}
		return lifted.call.answer(ctx), nil
	case <-ctx.Done():
		return lanes.Reached{}, lanes.ErrTimeout
	case <-r.background.Done():
		return lanes.Reached{}, context.Cause(r.background)
	}
}

// Holds is the range's record of its holds.
func (r *Range) Holds() lanes.Holds { return *r.holds.Load() }

// next is the record after a change, with a version of its own.
func (h *holding) next(holds lanes.Holds) *holdsRecord {
	h.record = holdsRecord{version: h.of.holdsVersion.Add(1), Holds: holds}
	h.of.holds.Store(&holds)
	h.of.board.Touch()
	record := h.record
	return &record
}

// set closes everything that the scope covers: the links are told by the lanes before anything waits for the store.
func (h *holding) set(ctx actor.Context, m *setHold, lanesOf map[uuid.UUID]*actor.PID) *rollcall {
	now, over, who := h.of.clock.Now(), m.over, m.who
	request := m.trace
	acts := h.acts(lanes.DidHold, over, who, now, !h.record.Has(over) || h.lifts[over] > 0)
	record := h.next(h.record.Set(over, who, now.Wall))
	h.lastSet[over] = record.version
	covered := h.covered(over, func(lanes.Place) bool { return true })
	roll := call(true, covered, 1)
	roll.reaches = func() { h.of.metrics.HoldFanOut.Observe(h.of.clock.Now().Since(m.asked).Seconds()) }
	for _, lane := range covered {
		ctx.Send(lanesOf[lane], &ask{
			ctx: trace.With(context.Background(), request), command: lanes.Hold{}, by: lanes.ByStaff, holder: who,
			roll: roll, holds: record, then: roll.saves,
		})
	}
	h.of.committer.save(&write{holds: record, acts: acts, stands: true, trace: request, told: func(became outcome) {
		if became != standing {
			roll.saves(became == saved)
		}
	}})
	traced(h.of.log.Warn(), request).Str("scope", over.Kind).Stringer("id", over.ID).Str("who", who).Int("lanes", len(covered)).Msg("hold set")
	return roll
}

// lift saves that the hold has ended; the lanes hear of it when that is durable.
func (h *holding) lift(m *liftHold) {
	now := h.of.clock.Now()
	record := holdsRecord{version: h.of.holdsVersion.Add(1), Holds: h.record.Lift(m.over, now.Wall)}
	acts := h.acts(lanes.DidLift, m.over, m.who, now, h.record.Has(m.over))
	h.lifts[m.over]++
	of := h.of
	of.committer.save(&write{holds: &record, acts: acts, trace: m.trace, told: func(became outcome) {
		of.send(of.root(), &holdLifted{m, record.version, became})
	}})
}

// lifted opens what no other hold covers. A hold that was set meanwhile was saved after it: it counts.
func (h *holding) lifted(ctx actor.Context, m *holdLifted, lanesOf map[uuid.UUID]*actor.PID) {
	if m.became == standing { // not known yet: it will be
		return
	}
	if h.lifts[m.lift.over]--; h.lifts[m.lift.over] <= 0 {
		delete(h.lifts, m.lift.over)
	}
	switch {
	case m.became != saved:
		m.lift.reply <- lifting{nil, m.became.err()}
		return
	case h.lastSet[m.lift.over] > m.version: // and saved after it
		m.lift.reply <- lifting{nil, lanes.ErrCeasefire}
		return
	}
	setMeanwhile := h.of.holdsVersion.Load() != m.version
	over := m.lift.over
	record := h.next(h.record.Lift(over, h.of.clock.Now().Wall))
	writes := 0
	if setMeanwhile { // what was saved since then still had the hold
		writes = 1
	}
	covered := h.covered(over, func(place lanes.Place) bool { return !record.Over(place) })
	roll := call(false, covered, writes)
	if setMeanwhile {
		h.of.committer.save(&write{holds: record, stands: true, trace: m.lift.trace, told: func(became outcome) {
			if became != standing {
				roll.saves(became == saved)
			}
		}})
	}
	for _, lane := range covered {
		ctx.Send(lanesOf[lane], &ask{
			ctx: trace.With(context.Background(), m.lift.trace), command: lanes.Release{}, by: lanes.ByStaff, holder: m.lift.who,
			roll: roll, then: roll.saves,
		})
	}
	traced(h.of.log.Warn(), m.lift.trace).Str("scope", over.Kind).Stringer("id", over.ID).Str("who", m.lift.who).Int("lanes", len(covered)).
		Msg("hold lifted")
	m.lift.reply <- lifting{roll, nil}
}

// covered is the lanes under the scope that are also wanted.
func (h *holding) covered(over lanes.Scope, wanted func(lanes.Place) bool) (covered []uuid.UUID) {
	for _, place := range h.of.Layout().Lanes {
		if over.Covers(place) && wanted(place) {
			covered = append(covered, place.ID)
		}
	}
	return covered
}

// foundHolding decides about a controller that holds although its lane is not held. It may be released when a hold over
// it is known to have ended; otherwise nobody knows why it holds, and it stays held until staff say so. One whose lane has left
// meanwhile is nobody's any more.
func (h *holding) foundHolding(ctx actor.Context, lane uuid.UUID, lanesOf map[uuid.UUID]*actor.PID) {
	if _, stays := lanesOf[lane]; !stays {
		return
	}
	place, _ := h.of.settings().place(lane)
	if !h.record.Over(place) && !h.record.KnowsOfEnd(place) {
		over := lanes.Scope{Kind: lanes.OverLane, ID: lane}
		h.set(ctx, &setHold{over: over, who: lanes.ByController, asked: h.of.clock.Now()}, lanesOf)
	}
	ctx.Send(lanesOf[lane], &holdDecided{})
}
