package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/board"
	"rangegate/actors/clock"
	"rangegate/actors/commit"
	"rangegate/actors/delivery"
	"rangegate/actors/history"
	"rangegate/actors/idempotency"
	"rangegate/actors/loglevel"
	"rangegate/actors/purchases"
	"rangegate/actors/simulation"
	"rangegate/actors/supervised"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// ErrLayout means that the store has a lane with paid time on it that the configuration no longer has.
var ErrLayout = errors.New("the configuration has lost a lane that is in use")

// recover loads a range that was claimed in that epoch, and carries its lanes over to the machine's present
// boot. What that changed is to be saved once the range starts, before any lane has anything to save.
func (g *Gateway) recover(ctx context.Context, s Settings, epoch uint64) (*Range, []*commit.Write, error) {
	since, of := g.clock.Now(), store.RangeEpoch{Range: s.Layout.Range, Epoch: epoch}
	loaded, err := g.store.Load(ctx, of)
	if err != nil {
		return nil, nil, fmt.Errorf("loading it: %w", err)
	}
	inForce := newSettings(s)
	r := &Range{
		id: s.Layout.Range, since: since, clock: g.clock, metrics: g.metrics,
		log:     loglevel.OfRange(g.log, s.Layout.Range),
		board:   board.New(inForce.Layout, inForce.at, g.clock.Now),
		keys:    idempotency.New(loaded.Keys),
		spawned: make(chan struct{}),
	}
	r.named = func(lane uuid.UUID) string { return r.settings().name(lane) }
	r.View = &r.board.View
	r.Commands = &Commands{r: r, reopening: reopenings{underWay: map[uuid.UUID]reopening{}}}
	r.inForce.Store(inForce)
	r.life, r.endLife = context.WithCancelCause(context.Background())
	r.tree = supervised.New(supervised.Deps{
		Range: r.id, System: g.system, Life: r.life, Clock: r.clock, Log: r.log, Lanes: r.named,
		Metrics: r.metrics,
	})
	r.addresses.send = r.tree.Send
	r.laneProps = r.tree.Props(laneKind, func() supervised.Actor { return &laneActor{r: r} })
	r.connectionProps = r.tree.Props(connectionKind, func() supervised.Actor { return &connection{r: r} })
	r.unready.reset(s.Layout.Lanes)
	r.metrics.TurnTime.WithLabelValues(r.id.String()) // from 0, so that increase() sees the first turn
	r.holds.Store(&loaded.Holds)
	r.committer = commit.New(commit.Config{
		Range: r.id, Epoch: epoch, Store: g.store, Clock: r.clock, Keys: r.keys, Metrics: r.metrics, Log: r.log,
		Lanes: r.named, Quit: r.life.Done(), Fenced: func() { g.drop(r) },
	}, loaded)
	r.Reader = history.New(history.Deps{
		Store: g.store, Committer: r.committer, Log: r.log, Fenced: r.committer.Fenced,
	})
	if err := g.recall(ctx, r, of, loaded); err != nil {
		r.endLife(err)
		return nil, nil, fmt.Errorf("loading its newest records: %w", err)
	}
	r.delivery = delivery.Open(delivery.Deps{
		Life: r.life, Clock: r.clock, Log: r.log, Lanes: r.named, Metrics: r.metrics, Committer: r.committer,
		Read: r.Entries,
		Send: r.tree.Send, Stop: r.tree.Stop,
	}, s.Receivers, loaded.Pending, loaded.Checkpoint.Heir)
	r.once = &idempotency.Once{
		Keys: r.keys, Life: r.life, Now: r.clock.Now, ForgetEvery: checkpointEvery, Refused: r.metrics.KeysRefused,
		Read: r.Answer,
	}
	r.EventLog = r.delivery.EventLog(r.once.Do, r.EventsKeptBehind)
	r.purchases = purchases.New(purchases.Deps{
		Life:      r.life,
		Clock:     r.clock,
		Log:       r.log,
		Lanes:     r.named,
		Ended:     r.metrics.Purchases,
		Tracer:    r.metrics.Tracer,
		Delivery:  r.delivery,
		Go:        r.background.Go,
		Catalogue: func() purchases.Catalogue { return r.settings().Catalogue },
		Find:      r.FindPurchase,
		Ask:       r.askAboutPurchase,
	})
	r.Simulator = simulation.New(simulation.Deps{
		Life: r.life, Clock: r.clock, Log: r.log, Lanes: r.named, Delivery: r.delivery, Go: r.background.Go,
		Save: r.committer.Save, Find: r.Find, AddMinutes: r.addMinutes,
	})
	r.Ceasefires, r.Starts, r.Batches, r.Observer = &Ceasefires{r}, &Starts{r}, &Batches{r}, &Observer{r}
	r.Reservations = &Reservations{r: r, turn: make(chan struct{}, 1)}
	changed, err := r.restoreLanes(ctx, loaded, s.Retire)
	if err != nil {
		r.endLife(err)
		return nil, nil, err
	}
	return r, changed, nil
}

// recall gives the committer what the owner before has saved of late. A store that fails over may have acknowledged
// it and still lose it, when nobody but this range remembers it. A log that cannot be read does not keep the range from
// starting: its records are the store's alone, as older ones are. Errors: store.ErrFenced, the context's.
func (g *Gateway) recall(ctx context.Context, r *Range, of store.RangeEpoch, loaded store.Recovered) error {
	isRecent := func(at time.Time) bool { return g.clock.Now().Wall.Sub(at) <= 2*store.RefillTerm }
	events, err := newest(loaded.LastEvent, func(after uint64, limit int) ([]lanes.Logged, error) {
		return g.store.Events(ctx, of, after, limit)
	}, func(e lanes.Logged) (uint64, bool) {
		return e.Cursor, isRecent(e.Event.At) || e.Attempt != nil && isRecent(e.Attempt.At)
	})
	ended, errEnded := newest(loaded.LastEnded, func(after uint64, limit int) ([]lanes.Ended, error) {
		return g.store.History(ctx, of, after, limit)
	}, func(e lanes.Ended) (uint64, bool) { return e.Cursor, isRecent(e.At) })
	acts, errActs := newest(loaded.LastAct, func(after uint64, limit int) ([]lanes.Act, error) {
		return g.store.Acts(ctx, of, after, limit)
	}, func(a lanes.Act) (uint64, bool) { return a.Cursor, isRecent(a.At) })
	r.committer.Recall(events, ended, acts)

	err = errors.Join(err, errEnded, errActs)
	switch {
	case errors.Is(err, store.ErrFenced) || ctx.Err() != nil:
		return err
	case err != nil:
		r.log.Error().Err(err).Msg("newest records of the logs cannot be read: a loss of the store is not refilled")
	}
	return nil
}

// newest returns those of the last store.RefillSize records of a log that are recent, none if the last one is not.
func newest[T any](
	last uint64, read func(after uint64, limit int) ([]T, error), about func(T) (cursor uint64, recent bool),
) (found []T, err error) {
	const page = 1000
	after, limit := last-min(last, 1), 1 // of a range that has stood idle, one record is read
	for after < last {
		records, err := read(after, limit)
		if err != nil || len(records) == 0 {
			return found, err
		}
		for _, record := range records {
			cursor, recent := about(record)
			if after = cursor; recent {
				found = append(found, record)
			}
		}
		if limit == 1 && len(found) > 0 {
			found, after, limit = nil, last-min(last, store.RefillSize), page
		}
	}
	return found, nil
}

// restoreLanes gives the committer and the board the lanes as they were saved. Those whose readings belong to
// an earlier boot are carried over to this one, and sessions that ran on meanwhile know for how long. It
// returns what is to be saved of that, and of the lanes that are retired. The lanes go in one write, the
// first: the first flush has a checkpoint, so that after the next restart no time down counts twice, and none
// is forgotten.
func (r *Range) restoreLanes(ctx context.Context, loaded store.Recovered, retire []uuid.UUID) ([]*commit.Write, error) {
	reading := clock.ReadAfter(ctx, r.clock, loaded.Checkpoint)
	now, inForce := reading.At, r.settings()
	down, ranOn := loaded.Checkpoint.Down(reading), 0
	carried := &commit.Write{MustSave: true, Done: func(commit.Outcome) {}}
	var changed []*commit.Write
	var lost []error
	for _, snapshot := range loaded.Lanes {
		lane := snapshot.Restore(reading, loaded.Checkpoint)
		place, found := inForce.place(lane.ID)
		switch {
		case found:
			restored := lane.Session
			if lane = lane.RanOn(down, now); lane.Session != restored {
				ranOn++
			}
			lane = lane.Unseen(down, now)
			r.committer.Restore(lane)
			rebooted := snapshot.Boot != reading.Boot
			if lane.Session != restored || rebooted && (lane.Session != nil || len(lane.Open) > 0 ||
				lane.Reservation != nil) {
				carried.Lanes = append(carried.Lanes, lane)
			}
			lane.Accessible, lane.Purchasing, lane.Usable = place.Accessible, inForce.Layout.Purchasing, true
			lane.Terms = inForce.Layout.TermsOf(place)
			r.board.Publish(lane)
		case lane.Session == nil && len(lane.Open) == 0: // should the configuration have it again, it is as it was
			r.committer.Restore(lane)
		case slices.Contains(retire, lane.ID):
			changed = append(changed, r.retire(lane, now))
		default:
			lost = append(lost, lostLane(lane, now))
		}
	}
	if len(carried.Lanes) > 0 {
		changed = slices.Insert(changed, 0, carried)
	}
	if ranOn > 0 && len(lost) == 0 {
		r.log.Warn().Int("sessions", ranOn).Dur("down", down).
			Msg("sessions ran on while the gateway was down; staff may make up for it")
	}
	return changed, errors.Join(lost...)
}

func lostLane(lane lanes.Lane, now lanes.Instant) error {
	what, remedy := fmt.Sprintf("%d purchases that wait for staff", len(lane.Open)), "drop them"
	if lane.Session != nil {
		what = fmt.Sprintf("session %s with %s left", lane.Session.ID, lane.Session.Remaining(now).Round(1e9))
		remedy = "end the session"
	}
	return fmt.Errorf("%w: lane %s has %s; put the lane back, or %s with --retire %s", ErrLayout, lane.ID, what,
		remedy, lane.ID)
}

// retire ends the session of a lane that the configuration no longer has, as the operator asked. Purchases
// that wait for staff are in the log afterwards, and nowhere else.
func (r *Range) retire(lane lanes.Lane, now lanes.Instant) *commit.Write {
	for _, open := range lane.Purchases() {
		r.named.Of(r.log.Warn(), lane.ID).Stringer("session_id", open.Session).Stringer("purchase_id", open.ID).
			Interface("items", open.Items).Str("reason", open.Reason).
			Msg("lane retired, and a purchase that waited for staff with it")
	}
	lane.Open = nil
	if lane.Session == nil {
		return &commit.Write{Lanes: []lanes.Lane{lane}, MustSave: true, Done: func(commit.Outcome) {}}
	}
	var command lanes.Command = lanes.Stop{Session: lane.Session.ID, By: lanes.ByStaff}
	if lane.Due(now) {
		command = lanes.Expire{}
	}
	change, err := lane.Decide(now, command)
	if err != nil {
		panic(err) // both are accepted for a lane with a session
	}
	change.Lane.Open = nil
	w := &commit.Write{Lanes: []lanes.Lane{change.Lane}, Ended: []lanes.Ended{*change.Ended}, MustSave: true}
	w.Done = func(outcome commit.Outcome) {
		if outcome == commit.Saved {
			r.named.Of(r.log.Warn(), lane.ID).Stringer("session_id", lane.Session.ID).
				Msg("lane retired, its session ended")
			r.delivery.Announce(w.Events)
		}
	}
	for _, event := range change.Events {
		w.Events = r.delivery.Append(w.Events, event, "", lanes.Span{})
	}
	return w
}
