package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/lanes"
)

// A reload changes what ranges there are and how they are set up while they run. Whatever could refuse it comes first:
//
//	vacate    every lane that leaves keeps itself free from here on, or says what is on it
//	deliver   the ranges that are no more get rid of their events
//	begin     the ranges that are new are started
//	exchange  each range takes its new settings: lanes come, go and change; all others know nothing of it
//	stop      the ranges that are no more
//
// With force the ranges begin first; then the sessions of lanes that leave are stopped, before the lanes vacate.
//
// What is refused up to there is taken back, so that the gateway is as it was before. From exchange on nothing turns back:
// neither what does not end in time, nor whoever asked for the reload and went away.

// Reload is what the ranges are to become. Those that are not named stay as they are.
type Reload struct {
	Begin  []Settings
	Change []Changed
	End    []uuid.UUID
	Force  bool   // lanes may leave with a session, which is stopped, or with purchases that wait for staff, which are dropped
	Who    string // asks for it, on record for what ends by it
}

// Changed is a range with other settings.
type Changed struct {
	Settings
	Renew []uuid.UUID // lanes whose link is made anew, by the new driver
}

// ErrInUse: what the configuration no longer has is in use.
var ErrInUse = errors.New("the reload is refused, what was in force stays")

// ErrUnfinished: the ranges are what they were to become, and something of what they were has not ended in time.
var ErrUnfinished = errors.New("the reload took effect, and not everything that it took away has ended")

const (
	vacatesWithin = 2 * time.Second  // that a lane that leaves may be busy with something else
	endsWithin    = 20 * time.Second // that what leaves may take to end
)

// Reload makes the ranges what they are to become, or changes nothing: the error then says why, ErrInUse if that is
// because lanes or holds are in use. With ErrUnfinished they are what they were to become. One reload goes on at a time; the
// caller sees to that.
func (g *Gateway) Reload(ctx context.Context, to Reload) error {
	change, end, err := g.known(to)
	if err != nil {
		return err
	}
	leaving := leavingOf(to, change, end)
	var free tickets
	var begun []*Range
	takeBack := func(why error) error {
		free.drop()
		ctx, cancel := onTheWayOut(ctx)
		defer cancel()
		for _, r := range begun {
			why = errors.Join(why, g.stopRange(ctx, r))
		}
		return why
	}
	vacate := func() (err error) {
		if free, err = leaving.vacate(ctx); err == nil && !to.Force {
			err = deliveredOf(ctx, end)
		}
		return err
	}
	if !to.Force { // before a range is begun: that takes it from the gateway that serves it till then
		if err := vacate(); err != nil {
			return takeBack(err)
		}
	}
	for _, s := range to.Begin {
		if err := g.StartRange(ctx, s); err != nil {
			return takeBack(err)
		}
		r, err := g.Range(s.Layout.Range)
		if err != nil {
			return takeBack(err)
		}
		begun = append(begun, r)
	}
	if to.Force {
		if err := leaving.endSessions(ctx, to.Who); err != nil {
			return takeBack(err)
		}
		if err := vacate(); err != nil {
			return takeBack(err)
		}
		_ = deliveredOf(ctx, end) // what is not is dropped
	}
	ctx, cancel := onTheWayOut(ctx)
	defer cancel()
	errs := make([]error, 0, len(change)+len(end))
	for i, r := range change {
		errs = append(errs, r.take(ctx, to.Change[i], to.Who))
	}
	for _, r := range end {
		r.leaves.Store(true)
		errs = append(errs, g.stopRange(ctx, r))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrUnfinished, err)
	}
	return nil
}

// onTheWayOut is for what has to be done to its end, whether or not somebody still waits for it.
func onTheWayOut(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), endsWithin)
}

// known is the ranges that change and those that end, with whatever speaks against it at first sight.
func (g *Gateway) known(to Reload) (change, end []*Range, err error) {
	var errs []error
	for _, c := range to.Change {
		r, err := g.Range(c.Layout.Range)
		if err == nil {
			err = r.keepsHolds(c.Layout)
		}
		change, errs = append(change, r), append(errs, aboutRange(c.Layout.Range, err))
	}
	for _, id := range to.End {
		r, err := g.Range(id)
		switch {
		case err == lanes.ErrNotOwner: // another gateway sees to what is on it
			r, err = g.disowned(id), nil
		case err == nil && r.eventsWaiting.Load() > 0 && !to.Force:
			err = fmt.Errorf("%w: %d events wait for their delivery", ErrInUse, r.eventsWaiting.Load())
		}
		end, errs = append(end, r), append(errs, aboutRange(id, err))
	}
	return change, end, errors.Join(errs...)
}

// disowned is the range that another process has claimed.
func (g *Gateway) disowned(id uuid.UUID) *Range {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.ranges[id]
}

// keepsHolds tells whether every hold still lies over what it was set over. A lane does not slip out from under one, and
// not under one, by being put into another bay.
func (r *Range) keepsHolds(layout lanes.Layout) error {
	var errs []error
	to, holds := settingsOf(Settings{Layout: layout}), r.Holds()
	for _, hold := range holds.InForce {
		isBay := slices.ContainsFunc(layout.Bays, func(b lanes.Bay) bool { return b.ID == hold.ID })
		if hold.Kind != lanes.OverRange && !to.has(hold.ID) && !isBay {
			errs = append(errs, fmt.Errorf("%w: a hold lies over %s %s; lift it first", ErrInUse, hold.Kind, hold.ID))
		}
	}
	for _, was := range r.Layout().Lanes {
		if place, stays := to.place(was.ID); stays && place.Bay != was.Bay {
			for _, bay := range []uuid.UUID{was.Bay, place.Bay} {
				if holds.Has(lanes.Scope{Kind: lanes.OverBay, ID: bay}) {
					errs = append(errs, fmt.Errorf("%w: lane %s changes its bay, and a hold lies over bay %s; lift it first", ErrInUse, was.ID, bay))
				}
			}
		}
	}
	return errors.Join(errs...)
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
