package delivery

import (
	"sync"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/commit"
	"rangegate/lanes"
)

// attemptsUnderWay are the events whose attempt is saved as interrupted because it is being made, until its
// outcome is durable. The zero value is empty.
type attemptsUnderWay struct {
	mu     sync.Mutex
	events map[attemptKey]struct{}
	ended  uint64 // so far
}

// attemptKey is an event and the name of the webhook that it goes to.
type attemptKey struct {
	event   uuid.UUID
	webhook string
}

func keyOf(event lanes.Logged) attemptKey { return attemptKey{event.Event.ID, event.Webhook} }

// begin is called before the mark is saved, end once the outcome is durable or the mark is known not to be.
func (a *attemptsUnderWay) begin(event lanes.Logged) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.events == nil {
		a.events = map[attemptKey]struct{}{}
	}
	a.events[keyOf(event)] = struct{}{}
}

func (a *attemptsUnderWay) end(event lanes.Logged) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, found := a.events[keyOf(event)]; found {
		delete(a.events, keyOf(event))
		a.ended++
	}
}

// abandon ends every attempt of the event, of which nobody will see the end.
func (a *attemptsUnderWay) abandon(event uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.events {
		if key.event == event {
			delete(a.events, key)
			a.ended++
		}
	}
}

// settle ends those that a write with these events has ended: the outcome is saved, or the mark is not.
func (a *attemptsUnderWay) settle(events []lanes.Logged, outcome commit.Outcome) {
	for _, event := range events {
		if event.Attempt == nil || outcome == commit.Unresolved {
			continue
		}
		if mark := event.Attempt.Error == lanes.Interrupted; mark != (outcome == commit.Saved) {
			a.end(event)
		}
	}
}

// endedCount is to be read before the events are read that are to be shown.
func (a *attemptsUnderWay) endedCount() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// show tells the attempts that are being made from those that were interrupted. stale is true if one of the
// latter may have ended since before, while the events were being read.
func (a *attemptsUnderWay) show(events []lanes.Logged, before uint64) (stale bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range events {
		if events[i].Attempt == nil || events[i].Attempt.Error != lanes.Interrupted {
			continue
		}
		if _, found := a.events[keyOf(events[i])]; !found {
			stale = a.ended != before || stale
			continue
		}
		attempt := *events[i].Attempt
		attempt.Error, attempt.RetryAt = lanes.UnderWay, time.Time{}
		events[i].Attempt = &attempt
	}
	return stale
}
