package actors

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/supervised"
	"rangegate/lanes"
)

// A session moves in three steps. The destination keeps itself free and gives a ticket; the source decides the
// move and saves both lanes in one write; then the destination puts what was saved in force. A move that
// fails drops the ticket.

type (
	awaitMove struct {
		supervised.Taken
		ctx   context.Context
		by    lanes.By
		reply chan ticketReply // of one
	}
	ticketReply struct {
		ticket *ticket
		err    error
	}
	dropTicket struct{ ticket *ticket }
	movedIn    struct {
		supervised.Taken
		ticket  *ticket
		lane    lanes.Lane
		moved   *request        // that the source has decided
		sent    time.Time       // if that is traced
		closing []*request      // that arrived for the session at the lane it left
		ahead   []*closingAhead // likewise
		lost    *lanes.Instant  // unprovenSince of that
		locked  *lanes.Instant  // lockedSince of that
	}
)

// Refuse implements supervised.Awaited.
func (m *awaitMove) Refuse(reason error) { m.reply <- ticketReply{nil, reason} }

// Refuse implements supervised.Awaited.
func (m *movedIn) Refuse(reason error) {
	for _, q := range m.closing {
		q.Refuse(reason)
	}
}

// askTicket asks the lane to keep itself free for a session that is about to move there. Errors:
// ErrLaneNotUsable, ErrLaneOccupied, ErrStarting, those of lanes.Lane.AwaitMove.
func (r *Range) askTicket(ctx context.Context, by lanes.By, lane uuid.UUID) (given *ticket, err error) {
	if tracer := r.metrics.Tracer; tracer != nil {
		asked := time.Now()
		defer func() { r.recordTicket(ctx, by, lane, asked, err) }()
	}
	m := &awaitMove{ctx: ctx, by: by, reply: make(chan ticketReply, 1)}
	r.addresses.sendTo(lane, m)
	select {
	case answer := <-m.reply:
		return answer.ticket, answer.err
	case <-ctx.Done():
		return nil, lanes.ErrTimeout
	case <-r.life.Done():
		return nil, context.Cause(r.life)
	}
}

// awaitMove answers. A lane whose state is about to change is no destination.
func (l *laneActor) awaitMove(m *awaitMove) {
	lane, err := l.lane.AwaitMove(l.now, m.by)
	switch {
	case l.parked:
		err = lanes.ErrLaneNotUsable
	case !l.loaded:
		err = lanes.ErrStarting
	case l.isOver(): // the one that owns the range now knows
		err = l.stopReason()
	case err == nil && l.busy():
		err = lanes.ErrLaneOccupied
	}
	if err != nil {
		m.reply <- ticketReply{nil, err}
		return
	}
	l.lane = lane
	m.reply <- ticketReply{l.giveTicket(m.ctx), nil}
}

// giveTicket keeps the lane free until the ticket is dropped, at the end of ctx if nobody takes it.
func (l *laneActor) giveTicket(ctx context.Context) *ticket {
	l.ticket = &ticket{r: l.r, lane: l.lane, pid: l.self, void: new(atomic.Bool)}
	context.AfterFunc(ctx, l.ticket.expire)
	return l.ticket
}

func (l *laneActor) dropTicket(m *dropTicket) {
	if l.ticket == m.ticket {
		l.ticket, l.lane.AwaitsMove, l.storeStalled = nil, false, false
		l.r.board.PublishUnsaved(l.lane) // a reload may have shown it as kept for the move
	}
}

// handOver sends the destination of a move what was saved, with the closing requests for the session that wait here.
// The move may have been decided by an earlier life of the lane. It does nothing for any other change.
func (l *laneActor) handOver(p *pendingSave) {
	if p.request.ticket == nil {
		return
	}
	q, lane := p.request, *p.change.Other
	m := &movedIn{
		ticket: q.ticket, lane: lane, moved: q,
		closing: l.queue.takeFollowing(lane.Session.ID), ahead: l.queue.aheadOf(lane.Session.ID),
		locked: p.locked, lost: l.unprovenSince(q.at),
	}
	if q.traced != nil {
		m.sent = time.Now()
	}
	l.r.tree.Send(q.ticket.pid, m)
}

// movedIn puts the session in force here. The source has shown both lanes together, so that no reader sees
// the session twice or not at all; a hold that came meanwhile waits here and is next.
func (l *laneActor) movedIn(m *movedIn) {
	l.queue.closing = append(m.closing, l.queue.closing...)
	l.follow(m.ahead)
	if l.ticket != m.ticket {
		return // the lane panicked meanwhile and was loaded with the session
	}
	l.ticket = nil
	l.swap(m.lane.UnprovenSince(m.lost), nil)
	l.uncharge(m.locked)
	l.arrive(m.lost)
	m.moved.recordArrival(l.r, l.lane, m.sent)
	l.openFor(m.moved)
	l.r.purchases.Start(l.lane, lanes.Span{})
}

// vacate asks a lane that is about to leave to keep itself free, until ctx ends unless the ticket is taken.
type vacate struct {
	supervised.Taken
	ctx   context.Context
	reply chan ticketReply
}

// The reasons for which a lane does not vacate. Force ends what occupies it.
var (
	errBusy     = errors.New("the lane is busy")
	errOccupied = fmt.Errorf("%w", ErrInUse)
)

// Refuse implements supervised.Awaited.
func (m *vacate) Refuse(reason error) { m.reply <- ticketReply{nil, reason} }

// vacate keeps the lane free, as for a session that moves here, if there is nothing on it.
func (l *laneActor) vacate(m *vacate) {
	var err error
	switch s := l.lane.Session; {
	case s != nil:
		err = fmt.Errorf("%w: lane %s has session %s with %s left; end it, or reload with force",
			errOccupied, l.id, s.ID,
			s.Remaining(l.now).Round(time.Second))
	case len(l.lane.Open) > 0:
		err = fmt.Errorf("%w: lane %s has %d purchases that wait for staff; settle them, or reload with force",
			errOccupied, l.id, len(l.lane.Open))
	case l.lane.ReservedFor(l.now) > 0:
		err = fmt.Errorf("%w: lane %s is being sold, reserved for another %s; wait for that, or reload with force",
			errOccupied, l.id,
			l.lane.ReservedFor(l.now).Round(time.Second))
	case l.busy() || !l.ready:
		err = errBusy
	}
	if err != nil {
		m.reply <- ticketReply{nil, err}
		return
	}
	m.reply <- ticketReply{l.giveTicket(m.ctx), nil}
}
