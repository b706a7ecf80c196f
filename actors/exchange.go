package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/lanes"
)

// exchange puts other settings in the place of a range's. The reply is the lanes that leave:
// they have vacated, and nothing reaches them any more.
type exchange struct {
	to    *settings
	renew []uuid.UUID
	who   string // asks for it
	reply chan []*actor.PID
}

// What lanes hear of it, those that it is about.
type (
	replaced  struct{} // the lane's place, or what its range sells, is another
	renewLink struct{} // the lane's hardware is reached in another way
)

// take has the range take its new settings, and waits until the lanes that leave are gone.
func (r *Range) take(ctx context.Context, c Changed, who string) error {
	m := &exchange{to: settingsOf(c.Settings), renew: c.Renew, who: who, reply: make(chan []*actor.PID, 1)}
	r.send(r.root(), m)
	select {
	case gone := <-m.reply:
		var leaving []*actor.Future
		for _, lane := range gone { // after everything that was sent to it
			leaving = append(leaving, r.system.Root.PoisonFuture(lane))
		}
		for _, lane := range leaving {
			if err := ended(ctx, lane); err != nil {
				return err
			}
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.background.Done():
		return context.Cause(r.background)
	}
}

func (r *rangeActor) exchange(ctx actor.Context, m *exchange) (gone []*actor.PID) {
	of, was := r.of, r.of.settings()
	of.configured.Store(m.to)
	of.board.Arrange(m.to.Layout, m.to.at)
	for id, lane := range r.lanes {
		if !m.to.has(id) {
			of.addresses.drop(id)
			of.forget(id)
			gone = append(gone, lane)
		}
	}
	r.holding.exchanged(ctx, was, m, r.lanes)
	for _, place := range m.to.Layout.Lanes {
		before, had := was.place(place.ID)
		switch {
		case !had:
			of.unready.Add(1)
			r.spawn(ctx, place.ID)
		case before != place, was.Layout.Purchasing != m.to.Layout.Purchasing:
			ctx.Send(r.lanes[place.ID], &replaced{})
		}
	}
	for _, lane := range m.renew {
		ctx.Send(r.lanes[lane], &renewLink{})
	}
	of.send(of.events, &announced{}) // there may be more slots
	return gone
}

// exchanged sees to holds that were set after the reload had looked at them (keepsHolds): a lane that slips out from under
// one is held by itself, and one that lies over nothing any more has ended.
func (h *holding) exchanged(ctx actor.Context, was *settings, m *exchange, lanesOf map[uuid.UUID]*actor.PID) {
	is, bays := m.to, map[uuid.UUID]bool{}
	for _, bay := range is.Layout.Bays {
		bays[bay.ID] = true
	}
	for _, hold := range h.record.InForce {
		for _, place := range is.Layout.Lanes {
			if old, had := was.place(place.ID); had && hold.Covers(old) && !h.record.Over(place) {
				h.set(ctx, &setHold{over: lanes.Scope{Kind: lanes.OverLane, ID: place.ID}, who: hold.Who, asked: h.of.clock.Now()}, lanesOf)
			}
		}
		if hold.Kind != lanes.OverRange && !is.has(hold.ID) && !bays[hold.ID] {
			h.lift(&liftHold{over: hold.Scope, who: m.who, reply: make(chan lifting, 1)})
		}
	}
}

// nobody answers what was sent to a lane that has left.
func nobody(message any) {
	switch m := message.(type) {
	case *ask:
		m.claim.Settle(nil)
		if m.ticket != nil {
			m.ticket.drop()
		}
		if m.then != nil {
			m.then(false)
		}
		m.answer(nil, lanes.ErrLaneNotFound)
	case *reserve:
		m.reply <- reservation{nil, lanes.ErrLaneNotFound}
	case *vacate:
		m.reply <- reservation{nil, lanes.ErrLaneNotFound}
	}
}

// replaced shows the lane as it is offered now, and minds the holds over where it is now. One that is not known yet, or
// parked, does so when it is taken up.
func (l *laneActor) replaced() {
	if !l.recalled {
		return
	}
	l.swap(l.lane, nil)
	l.heedHolds()
}
