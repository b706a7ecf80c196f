package actors

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// SimulationSlots is how many simulated events of a range may be under way.
const SimulationSlots = 16

// Simulate sends an event to the webhook at once and records it as simulated: it is part of no lane's order. Of an active session the
// event has the lane; of none both ids are made up. It changes nothing, except that time which the receiver lets an active
// session buy is added. It returns the event with its attempt. What was sent is followed to its end although ctx may end first.
// Errors: ErrWebhookNotConfigured, ErrWebhookFailed when nobody answered, ErrDurationOutOfRange, ErrOverloaded.
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
		if _, err := lane.Decide(now, lanes.Modify{Session: session, Minutes: minutes}); minutes > 0 && errors.Is(err, lanes.ErrDurationOutOfRange) {
			return lanes.Logged{}, err
		}
	}
	logged := lanes.Logged{Event: event, Simulated: true, Trace: trace.ID(ctx)}
	if err := r.saveSimulated(ctx, &logged); err != nil {
		return lanes.Logged{}, err
	}
	attempt, answer := r.attempt(event)
	logged.Attempt = &attempt
	if minutes > 0 && lanes.Verdict(attempt, answer).Phase == lanes.Accepted {
		r.addSimulatedMinutes(logged, minutes)
	} else {
		r.recordAttempt(logged, attempt)
	}
	if !attempt.Answered() {
		return lanes.Logged{}, lanes.ErrWebhookFailed
	}
	return logged, nil
}

// saveSimulated saves the event as one that is being attempted, and sets its cursor.
func (r *Range) saveSimulated(ctx context.Context, event *lanes.Logged) error {
	event.Attempt = &lanes.Attempt{At: event.Event.At, Error: lanes.Interrupted}
	result := make(chan commit.Outcome, 2) // unresolved, and the outcome after it
	w := &commit.Write{Events: []lanes.Logged{*event}, Trace: event.Trace, Done: func(outcome commit.Outcome) { result <- outcome }}
	r.committer.Save(w)
	select {
	case outcome := <-result:
		event.Cursor = w.Events[0].Cursor
		if outcome == commit.Unresolved { // it may be saved yet, as interrupted; it is not sent
			return lanes.ErrStoreUnavailable
		}
		return outcome.Err()
	case <-ctx.Done():
		return lanes.ErrTimeout
	case <-r.life.Done():
		return lanes.ErrStarting
	}
}

// addSimulatedMinutes adds the minutes that were bought, in one write with the outcome of the event. While the store is down nobody
// waits for it: it is done once the store is back.
func (r *Range) addSimulatedMinutes(event lanes.Logged, minutes int) {
	if r.tryAddMinutes(event, minutes) {
		return
	}
	r.background.Go(func() {
		for r.sleep(settleRetry) {
			if r.tryAddMinutes(event, minutes) {
				return
			}
		}
	})
}

// tryAddMinutes returns false when the store does not take it now. For a session that cannot take the minutes any more only the
// outcome is recorded.
func (r *Range) tryAddMinutes(event lanes.Logged, minutes int) bool {
	session := event.Event.Session
	ctx := trace.With(r.life, event.Trace)
	_, err := r.follow(ctx, requester{by: lanes.ByPOS}, session, nil, func(lane uuid.UUID, q *request) (*lanes.SessionView, error) {
		q.command, q.events = lanes.Modify{Session: session, Minutes: minutes}, []lanes.Logged{event}
		return r.ask(ctx, lane, q)
	})
	switch {
	case err == nil:
	case errors.Is(err, lanes.ErrStoreUnavailable), errors.Is(err, lanes.ErrOverloaded):
		return false
	default:
		traced(r.log.Warn(), event.Trace).Stringer("lane", event.Event.Lane).Stringer("session", session).Int("minutes", minutes).Err(err).
			Msg("a simulated purchase of time was accepted and not added")
		r.recordAttempt(event, *event.Attempt)
	}
	return true
}
