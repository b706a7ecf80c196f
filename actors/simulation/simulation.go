package simulation

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"

	"rangegate/actors/clock"
	"rangegate/actors/commit"
	"rangegate/actors/logline"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// Slots is how many simulated events of a range may be under way.
const Slots = 16

// addRetry is how long it takes until minutes that could not be added are tried again.
const addRetry = time.Second

// Delivery is what is needed of the delivery of events. Its methods are those of delivery.Delivery.
type Delivery interface {
	Receives(kind lanes.Kind) (webhook, why string)
	Begin(event lanes.Logged)
	Abandon(event uuid.UUID)
	SendNow(event lanes.Logged) (lanes.Attempt, lanes.Answer)
	Record(event lanes.Logged)
}

// Deps is what a Simulator needs of its range.
type Deps struct {
	Life     context.Context // until the range stops; its cause says why
	Clock    clock.Clock
	Log      zerolog.Logger
	Lanes    logline.Lanes
	Delivery Delivery
	Save     func(*commit.Write)
	Find     func(session uuid.UUID) (lane lanes.Lane, found bool) // the lane that the session is on
	// AddMinutes adds minutes to the session of the event for the POS, in one write with the outcome of the event. Its
	// errors are those of a command of the POS.
	AddMinutes func(ctx context.Context, event lanes.Logged, minutes int) error
	// Go runs a goroutine that the range waits for when it stops.
	Go func(func())
}

// Simulator simulates events of one range.
type Simulator struct {
	deps    Deps
	slots   *semaphore.Weighted
	minutes pendingMinutes
}

// New returns a Simulator.
func New(deps Deps) *Simulator { return &Simulator{deps: deps, slots: semaphore.NewWeighted(Slots)} }

// Simulate sends an event to the first webhook that gets its kind at once, and records it as simulated: it is
// part of no lane's order. Of an active session the event has the lane; of none both ids are made up. It
// changes nothing, except that time which the receiver lets an active session buy is added. It returns the
// event with its attempt. What was sent is followed to its end although ctx may end first. Errors:
// ErrWebhookNotConfigured, ErrWebhookGone when nothing is sent after its 410, ErrWebhookFailed when nobody
// answered, ErrDurationOutOfRange, ErrOverloaded.
func (s *Simulator) Simulate(
	ctx context.Context, kind lanes.Kind, session uuid.UUID, items []lanes.Item,
) (lanes.Logged, error) {
	webhook, why := s.deps.Delivery.Receives(kind)
	switch why {
	case lanes.NoWebhook:
		return lanes.Logged{}, lanes.ErrWebhookNotConfigured
	case lanes.WebhookGone:
		return lanes.Logged{}, lanes.ErrWebhookGone
	}
	if !s.slots.TryAcquire(1) {
		return lanes.Logged{}, lanes.ErrOverloaded
	}
	defer s.slots.Release(1)
	now := s.deps.Clock.Now()
	event := lanes.Event{ID: uuid.New(), Kind: kind, Session: uuid.New(), Lane: uuid.New(), At: now.Wall, Items: items}
	minutes := 0
	if lane, found := s.deps.Find(session); found {
		event.Session, event.Lane, minutes = session, lane.ID, lanes.MinutesIn(items)
		event.Correlation = lane.Session.Correlation
		if err := s.minutes.reserve(lane, session, minutes, now); err != nil {
			return lanes.Logged{}, err
		}
	}
	logged := lanes.Logged{
		Event: event, Simulated: true, Trace: trace.ID(ctx), Span: trace.Span(ctx),
		Delivery: lanes.Delivery{Webhook: webhook},
	}
	s.deps.Delivery.Begin(logged)
	if err := s.save(ctx, &logged); err != nil {
		s.deps.Delivery.Abandon(event.ID)
		s.minutes.release(session, minutes)
		return lanes.Logged{}, err
	}
	attempt, answer := s.deps.Delivery.SendNow(logged)
	logged.Attempt = &attempt
	if minutes > 0 && lanes.Verdict(attempt, answer).Phase == lanes.Accepted {
		s.add(logged, minutes)
	} else {
		s.minutes.release(session, minutes)
		s.deps.Delivery.Record(logged)
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
	if _, err := lane.Decide(now, lanes.Modify{Session: session, Minutes: all}); errors.Is(err,
		lanes.ErrDurationOutOfRange) {
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

// save saves the event as one that is being attempted, and sets its cursor.
func (s *Simulator) save(ctx context.Context, event *lanes.Logged) error {
	event.Attempt = &lanes.Attempt{At: event.Event.At, Error: lanes.Interrupted}
	result := make(chan commit.Outcome, 2) // unresolved, and the outcome after it
	w := &commit.Write{
		Events: []lanes.Logged{*event}, Trace: event.Trace, Span: event.Span,
		Done: func(outcome commit.Outcome) { result <- outcome },
	}
	s.deps.Save(w)
	var outcome commit.Outcome
	select {
	case outcome = <-result:
	case <-ctx.Done():
		return lanes.ErrTimeout
	case <-s.deps.Life.Done():
		select {
		case outcome = <-result: // before the range stopped
		default:
			return context.Cause(s.deps.Life)
		}
	}
	event.Cursor = w.Events[0].Cursor
	if outcome == commit.Unresolved { // it may be saved yet, as interrupted; it is not sent
		return lanes.ErrStoreUnavailable
	}
	return outcome.Err()
}

// add adds the minutes that were bought, in one write with the outcome of the event. While
// the store is down nobody waits for it: it is done once the store is back.
func (s *Simulator) add(event lanes.Logged, minutes int) {
	session := event.Event.Session
	if s.tryAdd(event, minutes) {
		s.minutes.release(session, minutes)
		return
	}
	s.deps.Go(func() {
		defer s.minutes.release(session, minutes)
		for clock.Sleep(s.deps.Life, addRetry) {
			if s.tryAdd(event, minutes) {
				return
			}
		}
	})
}

// tryAdd returns false when the store does not take it now. For a session that cannot take the minutes
// any more only the outcome is recorded.
func (s *Simulator) tryAdd(event lanes.Logged, minutes int) bool {
	session := event.Event.Session
	err := s.deps.AddMinutes(trace.WithSpan(s.deps.Life, event.Trace, event.Span), event, minutes)
	switch {
	case err == nil: // the write with the minutes has ended the attempt too
	case errors.Is(err, lanes.ErrStoreUnavailable), errors.Is(err, lanes.ErrOverloaded):
		return false
	default:
		s.deps.Lanes.Of(s.deps.Log.Warn().Str("trace_id", event.Trace), event.Event.Lane).
			Stringer("session_id", session).Int("minutes", minutes).Err(err).
			Msg("a simulated purchase of time was accepted and not added")
		s.deps.Delivery.Record(event)
	}
	return true
}
