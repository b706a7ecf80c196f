package purchases

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// shop is a lane with a session that may buy, an integrator and a catalogue, without actors and store.
type shop struct {
	*testing.T
	*Purchases
	end context.CancelCauseFunc // of the range
	was context.Context

	mu        sync.Mutex
	lane      lanes.Lane
	saveFails int                   // so many commands are not saved
	moved     func()                // before the next command
	slots     chan struct{}         // of purchases
	answer    func() lanes.Attempt  // of the integrator
	refusal   func() (words string) // of the catalogue; nil: there is none
	unsent    string                // why the event of a request enters the log as not sent; empty: it is sent
	attempts  []lanes.Logged
	abandoned []uuid.UUID
	outcomes  []lanes.Attempt // saved with a change of the lane
}

func (s *shop) Now() lanes.Instant { return lanes.Instant{Wall: time.Now(), Mono: time.Since(epoch)} }
func (s *shop) Boot() string       { return "boot" }

var epoch = time.Date(1999, time.January, 1, 0, 0, 0, 0, time.UTC)

// The integrator.

func (s *shop) Receives(lanes.Kind) (webhook, why string) { return "", "" }

func (s *shop) PurchaseSlot(ctx context.Context) (release func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *shop) SendNow(event lanes.Logged) (lanes.Attempt, lanes.Answer) {
	s.mu.Lock()
	s.attempts = append(s.attempts, event)
	s.mu.Unlock()
	return s.answer(), lanes.Answer{}
}

func (s *shop) Abandon(event uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandoned = append(s.abandoned, event)
}

// The catalogue.

func (s *shop) Check(context.Context, uuid.UUID, []lanes.Item) (goods []lanes.Good, refusal string) {
	return nil, s.refusal()
}

// The lane.

func (s *shop) find(p *lanes.Purchase) (lane uuid.UUID, open *lanes.Purchase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lane.ID, s.lane.OpenPurchase(p.Session, p.ID)
}

func (s *shop) ask(
	_ context.Context, lane uuid.UUID, command lanes.Command, outcome []lanes.Logged,
) ([]lanes.Logged, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if moved := s.moved; moved != nil {
		s.moved = nil
		moved()
	}
	switch {
	case lane != s.lane.ID:
		return nil, lanes.ErrSessionNotFound
	case s.saveFails > 0:
		s.saveFails--
		return nil, lanes.ErrStoreUnavailable
	}
	change, err := s.lane.Decide(s.Now(), command)
	if err != nil {
		return nil, err
	}
	s.lane = change.Lane
	for _, event := range outcome {
		s.outcomes = append(s.outcomes, *event.Attempt)
	}
	events := make([]lanes.Logged, 0, len(change.Events))
	for _, event := range change.Events {
		attempt := &lanes.Attempt{Error: cmp.Or(s.unsent, lanes.Interrupted)}
		events = append(events, lanes.Logged{
			Cursor: 1, Event: event, Delivery: lanes.Delivery{Attempt: attempt},
		})
	}
	return events, nil
}

// open runs a story of a shop whose integrator accepts everything.
func open(t *testing.T, story func(s *shop)) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{
			T: t, slots: make(chan struct{}, 1),
			answer: func() lanes.Attempt { return lanes.Attempt{Status: 200} },
		}
		session := &lanes.Session{
			ID: uuid.New(), Customer: "Jo Smith", Sold: time.Hour, Phase: lanes.Running,
			Left: time.Hour, Since: s.Now(), Purchasing: true,
		}
		s.lane = lanes.Lane{ID: uuid.New(), Session: session, Purchasing: true, Accessible: true, Usable: true}
		s.begin()
		story(s)
		s.end(errors.New("the range stops"))
	})
}

// begin is a start of the gateway.
func (s *shop) begin() {
	s.was, s.end = context.WithCancelCause(context.Background())
	s.Purchases = New(Deps{
		Life: s.was, Clock: s, Log: zerolog.Nop(), Delivery: s, Find: s.find, Ask: s.ask,
		Go:    func(run func()) { go run() },
		Ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "purchases"}, []string{"phase", "by"}),
		Catalogue: func() Catalogue {
			if s.refusal == nil {
				return nil
			}
			return s
		},
	})
}

// buy has the customer buy a quarter of an hour, and waits until nothing happens any more at this instant.
func (s *shop) buy() {
	s.mu.Lock()
	change, err := s.lane.Decide(s.Now(), lanes.Buy{
		Session: s.lane.Session.ID, Purchase: uuid.New(),
		Items: []lanes.Item{{ID: lanes.TimeItem, Qty: 15}},
	})
	require.NoError(s, err)
	s.lane = change.Lane
	s.mu.Unlock()
	s.putInForce()
	synctest.Wait()
}

// putInForce is what a lane does with each state that is in force.
func (s *shop) putInForce() {
	s.mu.Lock()
	lane := s.lane
	s.mu.Unlock()
	s.Start(lane, lanes.Span{})
}

func (s *shop) advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// purchase is the newest one as the lane has it.
func (s *shop) purchase() *lanes.Purchase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lane.Session.Purchase
}

func (s *shop) minutes() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lane.Session.Sold.Minutes()
}

func TestWhatTheIntegratorAcceptsIsAddedWithTheOutcomeOfItsEvent(t *testing.T) {
	open(t, func(s *shop) {
		s.buy()
		require.Equal(t, lanes.Accepted, s.purchase().Phase)
		require.Equal(t, 75.0, s.minutes())
		require.Equal(t, []lanes.Attempt{{Status: 200}}, s.outcomes)
		require.Len(t, s.attempts, 1)
		require.False(t, s.Any())
	})
}

// A reload takes the webhook out while the catalogue is asked. The request enters the log as not sent, and is counted
// so: the end of the purchase does not write it again.
func TestARequestThatEntersTheLogAsNotSentIsWrittenOnce(t *testing.T) {
	open(t, func(s *shop) {
		s.unsent = lanes.NoWebhook
		s.buy()
		require.Equal(t, lanes.Declined, s.purchase().Phase)
		require.Empty(t, s.attempts)
		require.Empty(t, s.outcomes)
	})
}

func TestAPurchaseRunsOnceHoweverOftenItsLaneIsPutInForce(t *testing.T) {
	open(t, func(s *shop) {
		s.answer = func() lanes.Attempt { time.Sleep(time.Second); return lanes.Attempt{Status: 200} }
		s.buy()
		s.putInForce()
		s.putInForce()
		synctest.Wait()
		require.True(t, s.Any())
		s.advance(time.Second)
		require.Len(t, s.attempts, 1)
		require.Equal(t, 75.0, s.minutes())
	})
}

func TestWhatTheCatalogueRefusesIsNotSent(t *testing.T) {
	open(t, func(s *shop) {
		s.refusal = func() string { return "not for sale" }
		s.buy()
		require.Equal(t, lanes.Declined, s.purchase().Phase)
		require.Equal(t, "not for sale", s.purchase().UserMessage)
		require.Empty(t, s.attempts)
	})
}

func TestACatalogueThatPanicsRefusesNothing(t *testing.T) {
	open(t, func(s *shop) {
		s.refusal = func() string { panic("a defect") }
		s.buy()
		require.Equal(t, lanes.Accepted, s.purchase().Phase)
	})
}

// A shop that is busy for SendWithin has bought nothing.
func TestAPurchaseThatCannotBeSentInTime(t *testing.T) {
	open(t, func(s *shop) {
		release, err := s.PurchaseSlot(context.Background())
		require.NoError(t, err)
		s.buy()
		s.advance(SendWithin - time.Millisecond)
		require.Equal(t, lanes.Pending, s.purchase().Phase)
		s.advance(time.Millisecond)
		require.Equal(t, lanes.Declined, s.purchase().Phase)
		release()
		s.advance(time.Minute)
		require.Empty(t, s.attempts)
		require.Equal(t, 60.0, s.minutes())
	})
}

// While the end cannot be saved it is tried again each second, and nothing is sent twice.
func TestAnEndThatCannotBeSaved(t *testing.T) {
	open(t, func(s *shop) {
		s.answer = func() lanes.Attempt {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.saveFails = 3
			return lanes.Attempt{Status: 200}
		}
		s.buy()
		s.advance(3*settleRetry - time.Millisecond)
		require.Equal(t, lanes.Pending, s.purchase().Phase)
		s.advance(time.Millisecond)
		require.Equal(t, lanes.Accepted, s.purchase().Phase)
		require.Len(t, s.attempts, 1)
		require.Equal(t, 75.0, s.minutes())
	})
}

// The session moves while its purchase is asked about: the next lane is asked.
func TestAPurchaseFollowsItsSession(t *testing.T) {
	open(t, func(s *shop) {
		s.moved = func() { s.lane.ID = uuid.New() }
		s.buy()
		require.Equal(t, lanes.Accepted, s.purchase().Phase)
		require.Len(t, s.attempts, 1)
	})
}

// A panic costs a try: the purchase goes on after a second, and is not sent again if it was.
func TestAPurchaseThatPanics(t *testing.T) {
	open(t, func(s *shop) {
		s.answer = func() lanes.Attempt { panic("a defect") }
		s.buy()
		require.Equal(t, lanes.Pending, s.purchase().Phase)
		s.advance(settleRetry)
		require.Equal(t, lanes.Unresolved, s.purchase().Phase, "nobody knows what the integrator decided")
		require.Len(t, s.attempts, 1)
	})
}

// After a crash nobody knows what the integrator decided about what was requested; staff settle it.
func TestACrashBetweenTheRequestAndItsEnd(t *testing.T) {
	open(t, func(s *shop) {
		s.answer = func() lanes.Attempt { <-s.was.Done(); return lanes.Attempt{Error: lanes.Interrupted} }
		s.buy()
		requested := s.purchase().Event
		require.NotEqual(t, uuid.Nil, requested)
		s.mu.Lock()
		s.saveFails = 1 // of the life that ends
		s.mu.Unlock()
		s.end(errors.New("a crash"))
		synctest.Wait()
		require.Equal(t, lanes.Pending, s.purchase().Phase)

		s.begin()
		s.putInForce()
		synctest.Wait()
		require.Equal(t, lanes.Unresolved, s.purchase().Phase)
		require.Equal(t, []uuid.UUID{requested}, s.abandoned)
		require.Len(t, s.attempts, 1)
	})
}

func TestWhatBecameOfPurchasesIsCounted(t *testing.T) {
	open(t, func(s *shop) {
		s.Settled(s.lane.ID, &lanes.Purchase{Phase: lanes.Declined}, lanes.ByLane, "")
		registry := prometheus.NewRegistry()
		require.NoError(t, registry.Register(s.Ended))
		families, err := registry.Gather()
		require.NoError(t, err)
		counted := families[0].GetMetric()[0]
		require.Equal(t, 1.0, counted.GetCounter().GetValue())
		require.Equal(t, "lane refused", counted.GetLabel()[0].GetValue()+" "+counted.GetLabel()[1].GetValue())
	})
}
