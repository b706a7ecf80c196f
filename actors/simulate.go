package actors

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// SimulationSlots is how many simulated events of a range may be under way.
const SimulationSlots = 16

// Simulate sends an event to the first webhook that gets its kind at once, and records it as simulated: it is
// part of no lane's order. Of an active session the event has the lane; of none both ids are made up. It
// changes nothing, except that time which the receiver lets an active session buy is added. It returns the
// event with its attempt. What was sent is followed to its end although ctx may end first. Errors:
// ErrWebhookNotConfigured, ErrWebhookGone when nothing is sent after its 410, ErrWebhookFailed when nobody
// answered, ErrDurationOutOfRange, ErrOverloaded.
func (r *Range) Simulate(ctx context.Context, kind lanes.Kind, session uuid.UUID, items []lanes.Item) (lanes.Logged, error) {
	webhook, why := r.delivery.Receives(kind)
	switch why {
	case lanes.NoWebhook:
		return lanes.Logged{}, lanes.ErrWebhookNotConfigured
	case lanes.WebhookGone:
		return lanes.Logged{}, lanes.ErrWebhookGone
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
		event.Correlation = lane.Session.Correlation
		if err := r.simulatedMinutes.reserve(lane, session, minutes, now); err != nil {
			return lanes.Logged{}, err
		}
	}
	logged := lanes.Logged{Event: event, Simulated: true, Webhook: webhook, Trace: trace.ID(ctx)}
	r.delivery.Begin(logged)
	if err := r.saveSimulated(ctx, &logged); err != nil {
		r.delivery.Abandon(event.ID)
		r.simulatedMinutes.release(session, minutes)
		return lanes.Logged{}, err
	}
	attempt, answer := r.delivery.SendNow(logged)
	logged.Attempt = &attempt
	if minutes > 0 && lanes.Verdict(attempt, answer).Phase == lanes.Accepted {
		r.addSimulatedMinutes(logged, minutes)
	} else {
		r.simulatedMinutes.release(session, minutes)
		r.delivery.Record(logged)
	}
	switch {
	case attempt.Error == lanes.WebhookGone: // since it was saved
		return lanes.Logged{}, lanes.ErrWebhookGone
	case !attempt.Answered():
		return lanes.Logged{}, lanes.ErrWebhookFailed
	}
	return logged, nil
}

// pendingMinutes are the minutes by session that simulated purchases may add yet. As with those of real
// purchases, there has to be room for all of them. The zero value has none.
type pendingMinutes struct {
	mu       sync.Mutex
	sessions map[uuid.UUID]int
}

// reserve makes room for the minutes until release: lanes.ErrDurationOutOfRange if there is none.
func (p *pendingMinutes) reserve(lane lanes.Lane, session uuid.UUID, minutes int, now lanes.Instant) error {
	if minutes <= 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.sessions[session] + minutes
	if _, err := lane.Decide(now, lanes.Modify{Session: session, Minutes: all}); errors.Is(err, lanes.ErrDurationOutOfRange) {
		return err
	}
	if p.sessions == nil {
		p.sessions = map[uuid.UUID]int{}
	}
	p.sessions[session] = all
	return nil
}

// release ends what reserve began: the minutes were added, or never will be.
func (p *pendingMinutes) release(session uuid.UUID, minutes int) {
	if minutes <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions[session] -= minutes; p.sessions[session] == 0 {
		delete(p.sessions, session)
	}
}

// saveSimulated saves the event as one that is being attempted, and sets its cursor.
func (r *Range) saveSimulated(ctx context.Context, event *lanes.Logged) error {
	event.Attempt = &lanes.Attempt{At: event.Event.At, Error: lanes.Interrupted}
	result := make(chan commit.Outcome, 2) // unresolved, and the outcome after it
	w := &commit.Write{Events: []lanes.Logged{*event}, Trace: event.Trace, Done: func(outcome commit.Outcome) { result <- outcome }}
	r.committer.Save(w)
	var outcome commit.Outcome
	select {
	case outcome = <-result:
	case <-ctx.Done():
		return lanes.ErrTimeout
	case <-r.life.Done():
		select {
		case outcome = <-result: // before the range stopped
		default:
			return context.Cause(r.life)
		}
	}
	event.Cursor = w.Events[0].Cursor
	if outcome == commit.Unresolved { // it may be saved yet, as interrupted; it is not sent
		return lanes.ErrStoreUnavailable
	}
	return outcome.Err()
}

// addSimulatedMinutes adds the minutes that were bought, in one write with the outcome of the event. While
// the store is down nobody waits for it: it is done once the store is back.
func (r *Range) addSimulatedMinutes(event lanes.Logged, minutes int) {
	session := event.Event.Session
	if r.tryAddMinutes(event, minutes) {
		r.simulatedMinutes.release(session, minutes)
		return
	}
	r.background.Go(func() {
		defer r.simulatedMinutes.release(session, minutes)
		for r.sleep(settleRetry) {
			if r.tryAddMinutes(event, minutes) {
				return
			}
		}
	})
}

// tryAddMinutes returns false when the store does not take it now. For a session that cannot take the minutes
// any more only the outcome is recorded.
func (r *Range) tryAddMinutes(event lanes.Logged, minutes int) bool {
	session := event.Event.Session
	ctx := trace.With(r.life, event.Trace)
	_, err := r.follow(ctx, requester{by: lanes.ByPOS}, session, nil, func(lane uuid.UUID, q *request) (*lanes.SessionView, error) {
		q.command, q.events = lanes.Modify{Session: session, Minutes: minutes}, []lanes.Logged{event}
		return r.ask(ctx, lane, q)
	})
	switch {
	case err == nil: // the write with the minutes has ended the attempt too
	case errors.Is(err, lanes.ErrStoreUnavailable), errors.Is(err, lanes.ErrOverloaded):
		return false
	default:
		traced(r.log.Warn(), event.Trace).Stringer("lane_id", event.Event.Lane).Stringer("session_id", session).Int("minutes", minutes).Err(err).
			Msg("a simulated purchase of time was accepted and not added")
		r.delivery.Record(event)
	}
	return true
}
