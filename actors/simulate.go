package actors

import (
	"context"

	"github.com/google/uuid"

	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// SimulationSlots is how many simulated events of a range may be under way.
const SimulationSlots = 16

// Simulate sends an event to the webhook at once, and records it as simulated: it takes no part in any lane's order.
// Of an active session the event has the lane; of none both ids are made up. It changes nothing, but for time that the
// receiver lets an active session buy: that is added. The event comes back with its attempt, unless nobody answered
// (lanes.ErrWebhookFailed). So many of them may be under way (lanes.ErrOverloaded). What was sent is followed to its end
// although ctx may be over before.
func (r *Range) Simulate(ctx context.Context, kind lanes.Kind, session uuid.UUID, items []lanes.Item) (lanes.Logged, error) {
	if r.settings().Webhook == nil {
		return lanes.Logged{}, lanes.ErrWebhookNotConfigured
	}
	if !r.simulations.TryAcquire(1) {
		return lanes.Logged{}, lanes.ErrOverloaded
	}
	defer r.simulations.Release(1)
	now := r.clock.Now()
	event := lanes.Event{ID: uuid.New(), Kind: kind, Session: uuid.New(), Lane: uuid.New(), At: now.Wall, Items: items}
	minutes := 0
	if lane, found := r.board.Find(session); found {
		event.Session, event.Lane, minutes = session, lane.ID, lanes.MinutesIn(items)
		if _, err := lane.Decide(now, lanes.Modify{Session: session, Minutes: minutes}); minutes > 0 && err == lanes.ErrDurationOutOfRange {
			return lanes.Logged{}, err
		}
	}
	logged := lanes.Logged{Event: event, Simulated: true, Trace: trace.ID(ctx)}
	if err := r.begun(ctx, &logged); err != nil {
		return lanes.Logged{}, err
	}
	made, answer := r.attempt(event)
	logged.Attempt = &made
	if minutes > 0 && lanes.Verdict(made, answer).Phase == lanes.Accepted {
		r.credit(logged, minutes)
	} else {
		r.record(logged, made)
	}
	if !made.Answered() {
		return lanes.Logged{}, lanes.ErrWebhookFailed
	}
	return logged, nil
}

// begun saves the event as one that is being attempted.
func (r *Range) begun(ctx context.Context, event *lanes.Logged) error {
	event.Attempt = &lanes.Attempt{At: event.Event.At, Error: lanes.Interrupted}
	w := &write{events: []lanes.Logged{*event}, trace: event.Trace}
	became := make(chan outcome, 2) // standing, and what it was in the end
	w.told = func(o outcome) { became <- o }
	r.committer.save(w)
	select {
	case o := <-became:
		event.Cursor = w.events[0].Cursor
		if o == standing { // it may be saved yet, as interrupted; it is not sent
			return lanes.ErrStoreUnavailable
		}
		return o.err()
	case <-ctx.Done():
		return lanes.ErrTimeout
	case <-r.background.Done():
		return lanes.ErrStarting
	}
}

// credit adds the minutes that were bought, in one write with the outcome of the event. While the store is away nobody
// waits for it: it is done once the store is back.
func (r *Range) credit(event lanes.Logged, minutes int) {
	if r.tryCredit(event, minutes) {
		return
	}
	r.errands.Go(func() {
		for r.rest(settleRetry) {
			if r.tryCredit(event, minutes) {
				return
			}
		}
	})
}

// tryCredit is false when the store does not take it now. A session that can take the minutes no more only has the
// outcome recorded.
func (r *Range) tryCredit(event lanes.Logged, minutes int) bool {
	session := event.Event.Session
	ctx := trace.With(r.background, event.Trace)
	_, err := r.follow(ctx, pos, session, nil, func(lane uuid.UUID, a *ask) (*lanes.SessionView, error) {
		a.command, a.with = lanes.Modify{Session: session, Minutes: minutes}, []lanes.Logged{event}
		return r.ask(ctx, lane, a)
	})
	switch err {
	case nil:
	case lanes.ErrStoreUnavailable, lanes.ErrOverloaded:
		return false
	default:
		traced(r.log.Warn(), event.Trace).Stringer("lane", event.Event.Lane).Stringer("session", session).Int("minutes", minutes).Err(err).
			Msg("a simulated purchase of time was accepted and not added")
		r.record(event, *event.Attempt)
	}
	return true
}
