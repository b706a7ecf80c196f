package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// leaving is lanes that the configuration no longer has.
type leaving []departure

type departure struct {
	of   *Range
	lane uuid.UUID
}

func leavingOf(to Reload, change, end []*Range) (all leaving) {
	for i, r := range change {
		next := settingsOf(to.Change[i].Settings)
		for _, place := range r.Layout().Lanes {
			if !next.has(place.ID) {
				all = append(all, departure{r, place.ID})
			}
		}
	}
	for _, r := range end {
		if r.background.Err() != nil { // another process has it
			continue
		}
		for _, place := range r.Layout().Lanes {
			all = append(all, departure{r, place.ID})
		}
	}
	return all
}

// endSessions stops what is sold on the lanes, and drops the purchases that wait for staff there.
func (all leaving) endSessions(ctx context.Context, who string) error {
	for _, d := range all {
		status, _, _ := d.of.board.Lane(d.lane)
		if s := status.Lane.Session; s != nil {
			_, err := d.of.StaffOn(ctx, who, s.ID, lanes.Stop{Session: s.ID, By: lanes.ByStaff})
			if err != nil && err != lanes.ErrSessionEnded {
				return fmt.Errorf("stopping session %s on lane %s: %w", s.ID, d.lane, err)
			}
			status, _, _ = d.of.board.Lane(d.lane)
		}
		for _, open := range status.Lane.Open {
			if err := d.of.Clear(ctx, who, open.ID, false); err != nil && err != lanes.ErrPurchaseNotFound {
				return fmt.Errorf("dropping purchase %s of lane %s: %w", open.ID, d.lane, err)
			}
		}
	}
	return nil
}

// tickets are of lanes that keep themselves free.
type tickets []*ticket

func (all tickets) drop() {
	for _, t := range all {
		t.drop()
	}
}

// vacate has every lane keep itself free, or none.
func (all leaving) vacate(ctx context.Context) (tickets, error) {
	ctx, cancel := context.WithTimeout(ctx, vacatesWithin)
	defer cancel()
	var given tickets
	var errs []error
	for _, d := range all {
		ticket, err := d.vacate(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		given = append(given, ticket)
	}
	for _, t := range given {
		if len(errs) == 0 && !t.take() {
			errs = append(errs, fmt.Errorf("%w: it took too long", ErrInUse))
		}
	}
	if len(errs) == 0 {
		return given, nil
	}
	given.drop()
	const told = 20
	if more := len(errs) - told; more > 0 {
		errs = append(errs[:told], fmt.Errorf("and %d more", more))
	}
	return nil, errors.Join(errs...)
}

// vacate asks again while the lane is busy, which passes.
func (d departure) vacate(ctx context.Context) (*ticket, error) {
	for {
		m := &vacate{ctx: ctx, reply: make(chan reservation, 1)}
		d.of.send(d.of.root(), &toLane{d.lane, m})
		var answer reservation
		select {
		case answer = <-m.reply:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: lane %s does not answer", ErrInUse, d.lane)
		}
		if answer.err != errBusy {
			return answer.ticket, answer.err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: lane %s is busy", ErrInUse, d.lane)
		}
	}
}

// vacate asks a lane to keep itself free: it is about to leave. Unless the ticket is taken before ctx ends, the lane is free
// again.
type vacate struct {
	ctx   context.Context
	reply chan reservation
}

var errBusy = errors.New("the lane is busy")

// vacate keeps the lane free, as for a session that moves here, if there is nothing on it.
func (l *laneActor) vacate(m *vacate) {
	var err error
	switch s := l.lane.Session; {
	case s != nil:
		err = fmt.Errorf("%w: lane %s has session %s with %s left; end it, or reload with force", ErrInUse, l.id, s.ID,
			s.Remaining(l.of.clock.Now()).Round(time.Second))
	case len(l.lane.Open) > 0:
		err = fmt.Errorf("%w: lane %s has %d purchases that wait for staff; settle them, or reload with force", ErrInUse, l.id, len(l.lane.Open))
	case l.busy() || !l.ready:
		err = errBusy
	}
	if err != nil {
		m.reply <- reservation{nil, err}
		return
	}
	l.ticket = &ticket{lane: l.lane, pid: l.self, of: l.of}
	m.reply <- reservation{l.ticket, nil}
	context.AfterFunc(m.ctx, l.ticket.expire)
}

// deliveredOf waits until no event of the ranges waits for its delivery: their lanes, being free, make none any more.
func deliveredOf(ctx context.Context, end []*Range) error {
	ctx, cancel := context.WithTimeout(ctx, vacatesWithin)
	defer cancel()
	for _, r := range end {
		for r.background.Err() == nil && len(r.committer.unattempted()) > 0 {
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return aboutRange(r.id, fmt.Errorf("%w: %d events wait for their delivery", ErrInUse, len(r.committer.unattempted())))
			}
		}
	}
	return nil
}

// abandon makes the events final that the range has not delivered and never will. Their record stays in the store.
func (r *Range) abandon() {
	for _, event := range r.committer.unattempted() {
		r.record(event, lanes.Attempt{At: r.clock.Now().Wall, Error: lanes.Dropped + ": the range was taken out of the configuration"})
	}
}
