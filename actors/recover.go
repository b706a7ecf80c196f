package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"rangegate/actors/board"
	"rangegate/actors/clock"
	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/store"
)

// ErrLayout: the store has a lane with paid time on it that the configuration no longer has.
var ErrLayout = errors.New("the configuration has lost a lane that is in use")

// recover claims the range, loads it, and brings its lanes onto the machine's present boot. What that changed is to be
// saved once the range starts, before any lane has anything to save.
func (g *Gateway) recover(ctx context.Context, s Settings) (*Range, []*write, error) {
	now := g.clock.Now()
	epoch, err := g.store.Claim(ctx, s.Layout.Range, now.Wall)
	if err != nil {
		return nil, nil, fmt.Errorf("claiming it: %w", err)
	}
	saved, err := g.store.Load(ctx, s.Layout.Range)
	if err != nil {
		return nil, nil, fmt.Errorf("loading it: %w", err)
	}
	is := settingsOf(s)
	r := &Range{
		Gateway: g, id: s.Layout.Range,
		board:       board.New(is.Layout, is.at),
		keys:        idempotency.New(saved.Keys),
		slots:       semaphore.NewWeighted(slotsAtMost),
		tills:       semaphore.NewWeighted(PurchaseSlots),
		simulations: semaphore.NewWeighted(SimulationSlots),
		log:         g.log.With().Stringer("range", s.Layout.Range).Logger(),
	}
	r.configured.Store(is)
	r.background, r.end = context.WithCancelCause(context.Background())
	r.unready.Store(int64(len(s.Layout.Lanes)))
	r.holds.Store(&saved.Holds)
	r.committer = newCommitter(r, epoch, saved)
	changed, err := r.bringBack(saved, s.Retire)
	if err != nil {
		r.end(err)
		return nil, nil, err
	}
	return r, changed, nil
}

func newCommitter(r *Range, epoch uint64, saved store.Recovered) *committer {
	c := &committer{
		rangeID: r.id, epoch: epoch, store: r.store, clock: r.clock, keys: r.keys,
		metrics: r.metrics, log: r.log, quit: r.background.Done(), disown: r.letGo,
		retention: clock.NewRetention(r.clock, saved.Checkpoint), lastEvent: saved.LastEvent, lastEnded: saved.LastEnded,
		lastAct: saved.LastAct,
		current: make(map[uuid.UUID]lanes.Lane, len(saved.Lanes)),
		pending: make(map[uint64]lanes.Logged, len(saved.Pending)),
	}
	c.holds.Holds = saved.Holds
	for _, event := range saved.Pending {
		c.pending[event.Cursor] = event
	}
	return c
}

// bringBack gives the committer and the board the lanes as they were saved. Those whose readings belong to an earlier
// boot are carried over to this one, and sessions that ran on meanwhile know for how long. What is to be saved of that, and
// of the lanes that are retired, comes back. The lanes go in one write with a checkpoint: after the next restart no time
// down counts twice, and none is forgotten.
func (r *Range) bringBack(saved store.Recovered, retire []uuid.UUID) ([]*write, error) {
	now, boot := r.clock.Now(), r.clock.Boot()
	is := r.settings()
	down, ranOn := saved.Checkpoint.Down(now, boot), 0
	carried := &write{stands: true, marks: true, told: func(outcome) {}}
	var changed []*write
	var lost []error
	for _, snapshot := range saved.Lanes {
		lane := snapshot.Restore(now, boot, saved.Checkpoint)
		place, known := is.place(lane.ID)
		switch {
		case known:
			restored := lane.Session
			if lane = lane.RanOn(down, now); lane.Session != restored {
				ranOn++
			}
			r.committer.current[lane.ID] = lane
			if lane.Session != restored || snapshot.Boot != boot && (lane.Session != nil || len(lane.Open) > 0) {
				carried.lanes = append(carried.lanes, lane)
			}
			lane.Accessible, lane.Purchasing, lane.Usable = place.Accessible, is.Layout.Purchasing, true
			r.board.Publish(lane)
		case lane.Session == nil && len(lane.Open) == 0: // should the configuration have it again, it is as it was
			r.committer.current[lane.ID] = lane
		case slices.Contains(retire, lane.ID):
			changed = append(changed, r.retire(lane, now))
		default:
			lost = append(lost, missing(lane, now))
		}
	}
	if len(carried.lanes) > 0 {
		changed = append(changed, carried)
	}
	if ranOn > 0 && len(lost) == 0 {
		r.log.Warn().Int("sessions", ranOn).Dur("down", down).Msg("sessions ran on while the gateway was down; staff may make up for it")
	}
	return changed, errors.Join(lost...)
}

func missing(lane lanes.Lane, now lanes.Instant) error {
	what, and := fmt.Sprintf("%d purchases that wait for staff", len(lane.Open)), "drop them"
	if lane.Session != nil {
		what = fmt.Sprintf("session %s with %s left", lane.Session.ID, lane.Session.Remaining(now).Round(1e9))
		and = "end the session"
	}
	return fmt.Errorf("%w: lane %s has %s; put the lane back, or %s with --retire %s", ErrLayout, lane.ID, what, and, lane.ID)
}

// retire ends the session of a lane that the configuration no longer has, as the operator asked. Purchases that wait
// for staff are in the log afterwards, and nowhere else.
func (r *Range) retire(lane lanes.Lane, now lanes.Instant) *write {
	for _, open := range lane.Purchases() {
		r.log.Warn().Stringer("lane", lane.ID).Stringer("session", open.Session).Stringer("purchase", open.ID).
			Interface("items", open.Items).Str("reason", open.Reason).Msg("lane retired, and a purchase that waited for staff with it")
	}
	lane.Open = nil
	if lane.Session == nil {
		return &write{lanes: []lanes.Lane{lane}, stands: true, told: func(outcome) {}}
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
	w := &write{lanes: []lanes.Lane{change.Lane}, ended: change.Ended, stands: true}
	w.told = func(became outcome) {
		if became == saved {
			r.log.Warn().Stringer("lane", lane.ID).Stringer("session", lane.Session.ID).Msg("lane retired, its session ended")
			r.announce(w.events)
		}
	}
	for _, event := range change.Events {
		w.events = append(w.events, r.logged(event, ""))
	}
	return w
}
