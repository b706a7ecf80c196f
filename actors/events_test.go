package actors

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/store"
)

// inbox is the receiving end of a webhook. It notes what arrives, in order.
type inbox struct {
	mu      sync.Mutex
	arrived []lanes.Event
	answer  func(ctx context.Context, event lanes.Event) lanes.Attempt // nil: 200, at once
	counter counter                                                    // nil: purchases are answered like the rest
}

func (i *inbox) Attempt(ctx context.Context, event lanes.Event) (lanes.Attempt, lanes.Answer) {
	i.mu.Lock()
	i.arrived = append(i.arrived, event)
	answer, counter := i.answer, i.counter
	i.mu.Unlock()
	if event.Kind == lanes.PurchaseRequest && counter != nil {
		return counter(ctx, event)
	}
	if answer != nil {
		return answer(ctx, event), lanes.Answer{}
	}
	return lanes.Attempt{At: event.At, Status: 200}, lanes.Answer{}
}

func (i *inbox) answers(answer func(ctx context.Context, event lanes.Event) lanes.Attempt) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

// hold lets the attempts from now on hang until they are released; what is asked for on these lanes, or on any.
func (i *inbox) hold(on ...uuid.UUID) (release func()) {
	released := make(chan struct{})
	i.answers(func(ctx context.Context, event lanes.Event) lanes.Attempt {
		if len(on) > 0 && !slices.Contains(on, event.Lane) {
			return lanes.Attempt{At: event.At, Status: 200}
		}
		select {
		case <-released:
			return lanes.Attempt{At: event.At, Status: 200}
		case <-ctx.Done():
			return lanes.Attempt{At: event.At, Error: lanes.Interrupted}
		}
	})
	return func() {
		i.answers(nil)
		close(released)
		synctest.Wait()
	}
}

// byLane is the ids of what arrived, lane by lane.
func (i *inbox) byLane() map[uuid.UUID][]uuid.UUID {
	i.mu.Lock()
	defer i.mu.Unlock()
	ids := map[uuid.UUID][]uuid.UUID{}
	for _, event := range i.arrived {
		ids[event.Lane] = append(ids[event.Lane], event.ID)
	}
	return ids
}

// kinds is what arrived, in order.
func (i *inbox) kinds() (kinds []lanes.Kind) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, event := range i.arrived {
		kinds = append(kinds, event.Kind)
	}
	return kinds
}

// log is the whole event log.
func (g *rig) eventLog() []lanes.Logged {
	g.Helper()
	log, err := g.Events(g.Context(), 0, 1_000_000)
	require.NoError(g, err)
	return log
}

func TestAnEventIsMarkedThenAttemptedThenItsOutcomeKept(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		outcomes := []lanes.Attempt{
			{Status: 204, Duration: time.Millisecond},
			{Status: 500, Duration: time.Second},
			{Error: "connection refused"},
		}
		var marks []lanes.Logged
		received.answers(func(_ context.Context, event lanes.Event) lanes.Attempt {
			marks = append(marks, g.eventLog()[len(marks)])
			return outcomes[len(marks)-1]
		})
		session := g.create(0, 30)
		g.pause(session)
		require.Len(t, marks, 3)
		for i, logged := range g.eventLog() {
			require.Equal(t, logged.Event, marks[i].Event)
			require.Equal(t, lanes.Interrupted, marks[i].Attempt.Error, "saved before it was attempted")
			require.Equal(t, outcomes[i], *logged.Attempt, "a failed one is not repeated")
		}
	}, withWebhook(received))
}

func TestAMarkThatTheStoreRefusesIsTriedAgain(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.store.hook(func(_ context.Context, batch store.Batch, flush func() error) error {
			for _, event := range batch.Events {
				if event.Attempt != nil {
					return store.ErrRefused
				}
			}
			return flush()
		})
		g.create(0, 30)
		g.pass(10 * time.Second)
		require.Empty(t, received.kinds(), "nothing goes out that is not marked")
		g.storeReturns()
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, received.kinds())
	}, withWebhook(received))
}

func TestOutcomesAreSavedWhenTheStoreReturns(t *testing.T) {
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			received := &inbox{}
			inFakeTime(t, func(t *testing.T, g *rig) {
				release := received.hold()
				session := g.create(0, 30)
				g.store.hook(outage)
				require.ErrorIs(t, g.answerOf(g.begin(func() error { return g.tryStop(session) }), time.Second), lanes.ErrNotSaved)
				release()
				g.pass(time.Minute)
				require.Len(t, received.kinds(), 1, "the next cannot be marked")
				g.storeReturns()
				require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted, lanes.SessionStopped}, received.kinds())
				for _, logged := range g.eventLog() {
					require.Equal(t, 200, logged.Attempt.Status)
				}
			}, withWebhook(received))
		})
	}
}

func TestAHangingReceiverDelaysOnlyTheLanesThatItHangsOn(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		var hanging []uuid.UUID
		for i := range testSlots - 1 {
			hanging = append(hanging, g.lane(i))
		}
		release := received.hold(hanging...)
		for i := range testSlots - 1 {
			g.create(i, 30)
		}
		free := g.create(testSlots, 30)
		require.Equal(t, g.happened(free), received.kinds()[testSlots-1:], "one slot is left")

		slow := received.hold() // now every slot is taken
		g.create(testSlots+1, 30)
		g.create(testSlots+2, 30)
		require.Len(t, received.kinds(), testSlots+2)
		slow()
		require.Len(t, received.kinds(), testSlots+5)
		release()
		require.Len(t, received.kinds(), 2*(testSlots+2))
		delivered := received.byLane()
		for i := range testSlots + 3 {
			if i == testSlots-1 {
				continue // nobody is there
			}
			require.Equal(t, eventIDs(g.eventLog(), g.lane(i)), delivered[g.lane(i)])
		}
	}, withLanes(testSlots+3), withWebhook(received))
}

// eventIDs is the ids of the lane's events, in the order of the log.
func eventIDs(log []lanes.Logged, lane uuid.UUID) (ids []uuid.UUID) {
	for _, logged := range log {
		if logged.Event.Lane == lane {
			ids = append(ids, logged.Event.ID)
		}
	}
	return ids
}

func TestEventsOfASessionThatMovedWaitForItsEarlierOnes(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		release := received.hold(g.lane(0))
		session := g.create(0, 30)
		_, err := g.Move(t.Context(), session, g.lane(1), nil)
		require.NoError(t, err)
		g.pause(session)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated}, received.kinds())
		release()
		require.Equal(t, []lanes.Kind{
			lanes.SessionCreated, lanes.SessionStarted, lanes.SessionModified, lanes.SessionPaused,
		}, received.kinds())
	}, withWebhook(received))
}

func TestWithoutAWebhookEventsAreFinal(t *testing.T) {
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		require.Len(t, g.eventLog(), 2)
		for _, logged := range g.eventLog() {
			require.Equal(t, lanes.NoWebhook, logged.Attempt.Error)
		}
		received := &inbox{}
		g.settings.Webhook = received
		g.restart()
		require.Empty(t, received.kinds(), "what was made without one is not sent later")
	})
}

var errDefect = errors.New("a defect")

func TestAWebhookThatPanicsCostsOneEvent(t *testing.T) {
	received := &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		received.answers(func(context.Context, lanes.Event) lanes.Attempt { panic(errDefect) })
		g.book(0, 30)
		received.answers(nil)
		require.NotEmpty(t, g.eventLog()[0].Attempt.Error)
		g.enter(0)
		require.Equal(t, []lanes.Kind{lanes.SessionCreated, lanes.SessionStarted}, received.kinds())
	}, withWebhook(received))
}
