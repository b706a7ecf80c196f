package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/uuid"

	"rangegate/actors/holds"
	"rangegate/actors/supervised"
	"rangegate/lanes"
)

// A reload changes what ranges there are and how they are set up while they run. Whatever could refuse it comes first:
//
//	vacate    every lane that leaves keeps itself free from here on, or says what is on it
//	deliver   the ranges that end deliver their events
//	begin     the new ranges are started
//	exchange  each range takes its new settings: lanes come, go and change; all others notice nothing
//	stop      the ranges that end are stopped
//
// With force the ranges begin first; then the lanes that leave and are free vacate, the sessions of the
// others are stopped, and these vacate too.
//
// What is refused before exchange is taken back, so that the gateway is as it was, but for sessions that
// force has stopped: the error names them. From exchange on nothing turns back: neither what does not end in
// time, nor a caller that went away.

// Reload is what the ranges are to become. Those that are not named stay as they are.
type Reload struct {
	Begin  []Settings
	Change []Changed
	End    []uuid.UUID
	// lanes may leave with a session, which is stopped, or with purchases that wait for staff, which are dropped
	Force bool
	Who   string // on record for what ends by it
}

// Changed is a range with other settings.
type Changed struct {
	Settings
	Renew []uuid.UUID // lanes whose link is made anew, by the new driver
}

// ErrInUse means that what the configuration no longer has is in use, and nothing was changed.
var ErrInUse = errors.New("the reload is refused, what was in force stays")

// ErrEnded means that the reload was refused after force had stopped sessions or dropped purchases: the error
// names them, and they stay ended. Nothing else was changed.
var ErrEnded = errors.New("the reload is refused, and what it had ended by then stays ended")

// ErrUnfinished means that the ranges are what they were to become, and something that they no longer have
// has not ended in time.
var ErrUnfinished = errors.New("the reload took effect, and not everything that it took away has ended")

const (
	vacateWithin = 2 * time.Second       // for a lane that leaves and is busy with something that passes
	endWithin    = 20 * time.Second      // for what leaves to end
	vacateRetry  = 20 * time.Millisecond // before a busy lane is asked again
	endRounds    = 3                     // of stopping what was sold on a lane while its session was being stopped
)

// Reload makes the ranges what they are to become, or changes nothing and returns why: ErrInUse if lanes or
// holds are in use. A range that begins with a layout that is refused (Refusal) is not served, and keeps no
// other from what it is to become. With ErrEnded it has changed what the error names, and nothing else; with
// ErrUnfinished the ranges are what they were to become. The caller sees to it that one reload runs at a
// time.
func (g *Gateway) Reload(ctx context.Context, to Reload) error {
	begin, change, end, err := g.affected(to)
	if err != nil {
		return err
	}
	leaving := &departure{lanes: leavingLanes(change, end)}
	var begun []*Range
	takeBack := func(why error) error {
		leaving.takeBack()
		ctx, cancel := detached(ctx)
		defer cancel()
		for _, r := range begun {
			why = errors.Join(why, g.stopRange(ctx, r))
		}
		return leaving.withEnded(why)
	}
	if !to.Force { // before a range begins: that takes it from the gateway that serves it until then
		err := leaving.vacate(ctx)
		if err == nil {
			err = awaitDelivered(ctx, end)
		}
		if err != nil {
			return takeBack(err)
		}
	}
	for _, s := range begin {
		switch err := g.StartRange(ctx, s); {
		case errors.Is(err, ErrLayout):
			continue
		case err != nil:
			return takeBack(err)
		}
		r, err := g.Range(s.Layout.Range)
		if err != nil {
			return takeBack(err)
		}
		begun = append(begun, r)
	}
	if to.Force {
		if err := leaving.vacateByForce(ctx, to.Who); err != nil {
			return takeBack(err)
		}
		_ = awaitDelivered(ctx, end) // what is not delivered is dropped
	}
	if err := leaving.forgotten(); err != nil {
		return takeBack(err)
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	errs := make([]error, 0, len(change)+len(end))
	for _, c := range change {
		errs = append(errs, c.r.exchange(ctx, c.to, to.Who))
	}
	for _, id := range to.End {
		g.forgetAbsent(id)
	}
	for _, r := range end {
		r.leaving.Store(true)
		errs = append(errs, g.stopRange(ctx, r))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrUnfinished, err)
	}
	return nil
}

// detached is for what has to be finished whether or not the caller still waits.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), endWithin)
}

// changing is a running range with the settings that it is to have.
type changing struct {
	r  *Range
	to Changed
}

// affected returns the ranges that begin, the running ones that change and those that end, or what refuses
// the reload at first sight. A range whose layout is refused begins with its new one. Another process is
// responsible for what is on a range that it has claimed.
func (g *Gateway) affected(to Reload) (begin []Settings, change []changing, end []*Range, err error) {
	begin = slices.Clone(to.Begin)
	var errs []error
	for _, c := range to.Change {
		r, err := g.Range(c.Layout.Range)
		switch {
		case errors.Is(err, lanes.ErrNotOwner):
			continue
		case errors.Is(err, ErrLayout):
			begin = append(begin, c.Settings)
			continue
		case err == nil:
			if broken := holds.Broken(r.Holds(), &r.settings().Layout, &c.Layout); len(broken) > 0 {
				err = fmt.Errorf("%w: %s", ErrInUse, strings.Join(broken, "; "))
			}
		}
		change, errs = append(change, changing{r, c}), append(errs, aboutRange(c.Layout.Range, err))
	}
	for _, id := range to.End {
		r, err := g.Range(id)
		if errors.Is(err, lanes.ErrNotOwner) || errors.Is(err, ErrLayout) {
			continue
		}
		if err == nil && r.delivery.Waiting() > 0 && !to.Force {
			err = fmt.Errorf("%w: %d events wait for their delivery", ErrInUse, r.delivery.Waiting())
		}
		end, errs = append(end, r), append(errs, aboutRange(id, err))
	}
	return begin, change, end, errors.Join(errs...)
}

// stopRange ends a range that others do not depend on.
func (g *Gateway) stopRange(ctx context.Context, r *Range) error {
	err := r.stop(ctx)
	g.mu.Lock()
	delete(g.ranges, r.id)
	g.mu.Unlock()
	r.log.Info().Err(err).Msg("range stopped")
	return aboutRange(r.id, err)
}

func aboutRange(id uuid.UUID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("range %s: %w", id, err)
}

// leavingLane is a lane that the configuration no longer has.
type leavingLane struct {
	r    *Range
	lane uuid.UUID
}

func leavingLanes(change []changing, end []*Range) (leaving []leavingLane) {
	for _, c := range change {
		after := newSettings(c.to.Settings)
		for _, place := range c.r.Layout().Lanes {
			if !after.has(place.ID) {
				leaving = append(leaving, leavingLane{c.r, place.ID})
			}
		}
	}
	for _, r := range end {
		for _, place := range r.Layout().Lanes {
			leaving = append(leaving, leavingLane{r, place.ID})
		}
	}
	return leaving
}

// departure is how far the lanes that leave have come.
type departure struct {
	lanes   []leavingLane
	vacated []*ticket
	ended   []string // what force has ended, for the error of a reload that is refused all the same
}

// vacate lets every lane keep itself free. It fails if one does not.
func (d *departure) vacate(ctx context.Context) error {
	_, err := d.tryVacate(ctx, d.lanes, func(err error) bool { return err == nil })
	return err
}

// vacateByForce ends what is on the lanes before they vacate. Lanes without a session go first: one that does
// not answer refuses the reload before anything is ended.
func (d *departure) vacateByForce(ctx context.Context, who string) error {
	remaining := d.lanes
	for round := 1; ; round++ {
		endable := func(err error) bool { return errors.Is(err, errOccupied) && round <= endRounds }
		occupied, err := d.tryVacate(ctx, remaining, endable)
		if err != nil || len(occupied) == 0 {
			return err
		}
		for _, l := range occupied {
			if err := d.end(ctx, l, who); err != nil {
				return err
			}
		}
		remaining = occupied
	}
}

// tryVacate lets the lanes keep themselves free, and returns those that do not for a reason that is expected.
func (d *departure) tryVacate(
	ctx context.Context, from []leavingLane, expected func(error) bool,
) (occupied []leavingLane, err error) {
	ctx, cancel := context.WithTimeout(ctx, vacateWithin)
	defer cancel()
	var given []*ticket
	var errs []error
	for _, l := range from {
		t, err := l.vacate(ctx)
		switch {
		case err == nil:
			given = append(given, t)
		case expected(err):
			occupied = append(occupied, l)
		default:
			errs = append(errs, err)
		}
	}
	for _, t := range given {
		if len(errs) == 0 && !t.take() {
			errs = append(errs, fmt.Errorf("%w: it took too long", ErrInUse))
		}
	}
	d.vacated = append(d.vacated, given...)
	const maxListed = 20
	if more := len(errs) - maxListed; more > 0 {
		errs = append(errs[:maxListed], fmt.Errorf("and %d more", more))
	}
	return occupied, errors.Join(errs...)
}

// end stops the session on the lane, ends its reservation, and drops the purchases that wait for staff there.
func (d *departure) end(ctx context.Context, l leavingLane, who string) error {
	status, _, _ := l.r.board.Lane(l.lane)
	if s := status.Lane.Session; s != nil {
		_, err := l.r.StaffOn(ctx, who, s.ID, lanes.Stop{Session: s.ID, By: lanes.ByStaff})
		d.note(fmt.Sprintf("session %s on lane %s", s.ID, l.lane), err)
		if err != nil && !errors.Is(err, lanes.ErrSessionEnded) {
			return fmt.Errorf("stopping session %s on lane %s: %w", s.ID, l.lane, err)
		}
		status, _, _ = l.r.board.Lane(l.lane)
	}
	if status.Lane.ReservedFor(l.r.clock.Now()) > 0 {
		err := l.r.StaffLane(ctx, who, l.lane, lanes.EndReservation{Reservation: status.Lane.Reservation.ID})
		d.note(fmt.Sprintf("the reservation of lane %s", l.lane), err)
		if err != nil {
			return fmt.Errorf("ending the reservation of lane %s: %w", l.lane, err)
		}
	}
	for _, open := range status.Lane.Open {
		err := l.r.Clear(ctx, who, lanes.Clear{Session: open.Session, Purchase: open.ID})
		d.note(fmt.Sprintf("purchase %s of lane %s", open.ID, l.lane), err)
		if err != nil && !errors.Is(err, lanes.ErrPurchaseNotFound) {
			return fmt.Errorf("dropping purchase %s of lane %s: %w", open.ID, l.lane, err)
		}
	}
	return nil
}

// note records what was ended, or may have been.
func (d *departure) note(what string, err error) {
	switch {
	case err == nil:
	case errors.Is(err, lanes.ErrNotSaved):
		what += " (not saved yet)"
	case errors.Is(err, lanes.ErrTimeout):
		what += " (not known yet)"
	default:
		return
	}
	d.ended = append(d.ended, what)
}

// forgotten returns ErrInUse if a lane has begun anew since it has vacated: it does not keep itself free any more.
func (d *departure) forgotten() error {
	for _, t := range d.vacated {
		if t.void.Load() {
			return fmt.Errorf("%w: lane %s has begun anew meanwhile; reload again", ErrInUse, t.lane.ID)
		}
	}
	return nil
}

// takeBack puts the lanes that have vacated in use again.
func (d *departure) takeBack() {
	for _, t := range d.vacated {
		t.drop()
	}
}

// withEnded makes the error of a refused reload say what was ended.
func (d *departure) withEnded(why error) error {
	if len(d.ended) == 0 {
		return why
	}
	return fmt.Errorf("%w: %s. Why it is refused: %w", ErrEnded, strings.Join(d.ended, ", "), why)
}

// vacate asks the lane, and again while it is busy with something that passes.
func (d leavingLane) vacate(ctx context.Context) (*ticket, error) {
	for {
		m := &vacate{ctx: ctx, reply: make(chan ticketReply, 1)}
		d.r.addresses.sendTo(d.lane, m)
		var answer ticketReply
		select {
		case answer = <-m.reply:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: lane %s does not answer", ErrInUse, d.lane)
		}
		if !errors.Is(answer.err, errBusy) {
			return answer.ticket, answer.err
		}
		select {
		case <-time.After(vacateRetry):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: lane %s is busy", ErrInUse, d.lane)
		}
	}
}

// awaitDelivered waits until no event of the ranges waits for its delivery: their lanes are free and make no more.
func awaitDelivered(ctx context.Context, end []*Range) error {
	ctx, cancel := context.WithTimeout(ctx, vacateWithin)
	defer cancel()
	for _, r := range end {
		for r.life.Err() == nil && len(r.committer.Unattempted()) > 0 {
			select {
			case <-time.After(vacateRetry):
			case <-ctx.Done():
				return aboutRange(r.id, fmt.Errorf("%w: %d events wait for their delivery", ErrInUse,
					len(r.committer.Unattempted())))
			}
		}
	}
	return nil
}

// exchange gives the range its new settings, and waits until the lanes that leave have stopped.
func (r *Range) exchange(ctx context.Context, c Changed, who string) error {
	m := &exchange{to: newSettings(c.Settings), renew: c.Renew, who: who, reply: make(chan []*actor.PID, 1)}
	r.addresses.sendRoot(m)
	select {
	case gone := <-m.reply:
		stopped := make([]*actor.Future, 0, len(gone))
		for _, lane := range gone { // after everything that was sent to it
			stopped = append(stopped, r.tree.Poison(lane))
		}
		for _, lane := range stopped {
			if err := supervised.Await(ctx, lane); err != nil {
				return err
			}
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.life.Done():
		return context.Cause(r.life)
	}
}
