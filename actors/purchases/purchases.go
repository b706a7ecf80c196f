package purchases

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"rangegate/actors/clock"
	"rangegate/actors/logline"
	"rangegate/lanes"
	"rangegate/lanes/trace"
	"rangegate/lanes/tracing"
)

const (
	// SendWithin is how long after it was asked for a purchase may be sent.
	SendWithin = 5 * time.Second
	// CheckWithin is how long the catalogue may take.
	CheckWithin = 2 * time.Second

	settleRetry = time.Second // before an end that could not be saved is tried again
)

// Catalogue says what can be bought.
type Catalogue interface {
	// Check returns what the items are called and cost, and why they cannot be bought, in words for the
	// customer. That is empty when they can, and when nobody can tell; then goods are nil. It returns before
	// ctx ends.
	Check(ctx context.Context, session uuid.UUID, items []lanes.Item) (goods []lanes.Good, refusal string)
}

// Delivery is what is needed of the delivery of events. Its methods are those of delivery.Delivery.
type Delivery interface {
	Receives(kind lanes.Kind) (webhook, why string)
	PurchaseSlot(ctx context.Context) (release func(), err error)
	SendNow(event lanes.Logged) (lanes.Attempt, lanes.Answer)
	Abandon(event uuid.UUID)
}

// Deps is what Purchases needs of its range.
type Deps struct {
	Life      context.Context // until the range stops
	Clock     clock.Clock
	Log       zerolog.Logger
	Lanes     logline.Lanes
	Ended     *prometheus.CounterVec // by phase, and by whom
	Tracer    *tracing.Tracer        // nil: nothing is traced
	Delivery  Delivery
	Catalogue func() Catalogue // in force; nil: purchases go unchecked

	// Find is the lane that has the purchase, and the purchase as it is there: nil if none has.
	Find func(*lanes.Purchase) (lane uuid.UUID, open *lanes.Purchase)
	// Ask gives the lane a command. The outcome of an event, if there is one, is saved with the change. It returns the
	// events of the change, also when it is unknown whether they were saved, and ends with Life at the latest.
	Ask func(ctx context.Context, lane uuid.UUID, command lanes.Command, outcome []lanes.Logged) ([]lanes.Logged, error)
	// Go runs a goroutine that the range waits for when it stops.
	Go func(func())
}

// Purchases are those of one range. Its methods may be called from any goroutine, and do not block.
type Purchases struct {
	Deps
	running sync.Map // [2]uuid.UUID{session, purchase} → struct{}
}

// New returns a Purchases of which none runs.
func New(deps Deps) *Purchases { return &Purchases{Deps: deps} }

// Any reports whether a purchase is under way.
func (s *Purchases) Any() bool {
	found := false
	s.running.Range(func(any, any) bool {
		found = true
		return false
	})
	return found
}

// Start runs the pending purchases of the lane, each once. One that is new comes from the request at that place in its
// trace; zero: nobody knows any more.
func (s *Purchases) Start(lane lanes.Lane, asked lanes.Span) {
	for _, p := range lane.Purchases() {
		if p.Phase != lanes.Pending {
			continue
		}
		key := [2]uuid.UUID{p.Session, p.ID} // ids are the lanes' own
		if _, running := s.running.LoadOrStore(key, struct{}{}); running {
			continue
		}
		s.Go(func() {
			defer s.running.Delete(key)
			for p != nil && p.Phase == lanes.Pending && !s.run(p, asked) {
				if !clock.Sleep(s.Life, settleRetry) {
					return
				}
				_, p = s.Find(p)
			}
		})
	}
}

// run takes the purchase through all its steps. It returns false when it panicked.
func (s *Purchases) run(p *lanes.Purchase, asked lanes.Span) (ended bool) {
	defer func() {
		if defect := recover(); defect != nil {
			s.line(s.Log.Error(), p).Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).
				Msg("a purchase panicked")
		}
	}()
	began, place := time.Now(), s.Tracer.Begin(p.RequestTrace, asked)
	settle := s.sell(trace.WithSpan(s.Life, p.RequestTrace, place), p)
	s.record(p, settle, tracing.Span{Place: place, Parent: asked, Began: began})
	return true
}

// record records the span of a purchase that came to that.
func (s *Purchases) record(p *lanes.Purchase, settle lanes.Settle, span tracing.Span) {
	failed := settle.Phase == lanes.Unresolved
	if p.RequestTrace == "" || !s.Tracer.Records(span.Place, failed) {
		return
	}
	span.Name, span.Trace, span.Kind = tracing.Purchase, p.RequestTrace, oteltrace.SpanKindInternal
	span.Ended = time.Now()
	span.Attributes = []attribute.KeyValue{
		tracing.SessionID.String(p.Session.String()), tracing.Outcome.String(string(settle.Phase)),
	}
	if failed {
		span.Failed = string(settle.Phase)
	}
	s.Tracer.Record(span)
}

// sell sends the purchase to the integrator and settles it. It keeps its slot until then: a stop waits a
// moment for that. It returns how it was settled.
func (s *Purchases) sell(life context.Context, p *lanes.Purchase) lanes.Settle {
	if p.Event != uuid.Nil { // a crash interrupted it
		s.Delivery.Abandon(p.Event)
		return s.settle(life, p, lanes.Verdict(lanes.Attempt{Error: lanes.Interrupted}, lanes.Answer{}), nil)
	}
	if _, why := s.Delivery.Receives(lanes.PurchaseRequest); why != "" {
		return s.settle(life, p, lanes.Verdict(lanes.Attempt{Error: why}, lanes.Answer{}), nil)
	}
	ctx, cancel := context.WithTimeout(life, SendWithin-s.Clock.Now().Since(p.At))
	defer cancel()
	goods, refusal := s.check(ctx, p)
	if refusal != "" {
		return s.settle(life, p, lanes.Settle{
			Phase: lanes.Declined, UserMessage: refusal, Reason: "not in the catalogue like this",
		}, nil)
	}
	release, err := s.Delivery.PurchaseSlot(ctx)
	if err != nil {
		return s.settle(life, p, lanes.Busy("it could not be sent within 5 s"), nil)
	}
	defer release()
	events, err := s.ask(ctx, p, lanes.Request{Session: p.Session, Purchase: p.ID, Goods: goods}, nil)
	if err == nil && s.Clock.Now().Since(p.At) >= SendWithin { // by the boot clock: the machine may have been suspended
		err = context.DeadlineExceeded
	}
	if err != nil {
		return s.settle(life, p, lanes.Busy("it could not be saved as sent in time: "+err.Error()), s.unsent(events))
	}
	event := events[0]
	if event.Attempt.Error != lanes.Interrupted { // nothing is sent any more, and its event says so already
		return s.settle(life, p, lanes.Verdict(*event.Attempt, lanes.Answer{}), nil)
	}
	attempt, answer := s.Delivery.SendNow(event)
	event.Attempt = &attempt
	return s.settle(life, p, lanes.Verdict(attempt, answer), &event)
}

// unsent returns the event of a request that was, or may have been, saved as sent, and was not sent.
func (s *Purchases) unsent(events []lanes.Logged) *lanes.Logged {
	if len(events) == 0 || events[0].Cursor == 0 {
		return nil
	}
	events[0].Attempt = &lanes.Attempt{At: s.Clock.Now().Wall, Error: lanes.NotSent + ": it took too long to save"}
	return &events[0]
}

// check returns what the catalogue says of the items, and why it does not let them be bought. A catalogue
// that is slow or panics refuses nothing: the integrator decides anyway.
func (s *Purchases) check(ctx context.Context, p *lanes.Purchase) (goods []lanes.Good, refusal string) {
	catalogue := s.Catalogue()
	if catalogue == nil {
		return nil, ""
	}
	defer func() {
		if defect := recover(); defect != nil {
			s.line(s.Log.Error(), p).Str("panic", fmt.Sprint(defect)).Bytes("stack", debug.Stack()).
				Msg("the catalogue panicked")
			goods, refusal = nil, ""
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, CheckWithin)
	defer cancel()
	return catalogue.Check(ctx, p.Session, p.Items)
}

// settle ends the purchase as soon as the lane can save it. When the gateway stops first, it is
// settled after the restart.
func (s *Purchases) settle(
	life context.Context,
	p *lanes.Purchase,
	settle lanes.Settle,
	event *lanes.Logged,
) lanes.Settle {
	settle.Session, settle.Purchase = p.Session, p.ID
	for {
		_, err := s.ask(life, p, settle, event)
		if _, open := s.Find(p); err == nil || open == nil { // or a reply was lost, and it is settled
			return settle
		}
		s.line(s.Log.Warn(), p).Err(err).Msg("purchase not settled yet")
		if !clock.Sleep(s.Life, settleRetry) {
			return settle
		}
	}
}

// ask gives a command about the purchase to the lane that has it; when that was moving, to the next one. It returns
// what Deps.Ask does.
func (s *Purchases) ask(
	ctx context.Context, p *lanes.Purchase, command lanes.Command, event *lanes.Logged,
) ([]lanes.Logged, error) {
	var outcome []lanes.Logged
	if event != nil {
		outcome = []lanes.Logged{*event}
	}
	for {
		lane, open := s.Find(p)
		if open == nil {
			return nil, lanes.ErrPurchaseNotFound
		}
		events, err := s.Ask(ctx, lane, command, outcome)
		if now, open := s.Find(p); err == nil || open == nil || now == lane || s.Life.Err() != nil {
			return events, err
		}
	}
}

// line begins a log line about a purchase that is not settled.
func (s *Purchases) line(line *zerolog.Event, p *lanes.Purchase) *zerolog.Event {
	if lane, open := s.Find(p); open != nil {
		line = s.Lanes.Of(line, lane)
	}
	return logline.Traced(line, p.RequestTrace).Stringer("session_id", p.Session).Stringer("purchase_id", p.ID)
}

// Settled counts and logs what a request with that trace id has made of a purchase.
func (s *Purchases) Settled(lane uuid.UUID, p *lanes.Purchase, by lanes.By, traceID string) {
	s.Ended.WithLabelValues(string(p.Phase), string(by)).Inc()
	line := s.Log.Info()
	if p.Phase == lanes.Unresolved {
		line = s.Log.Error()
	}
	logline.Traced(s.Lanes.Of(line, lane), cmp.Or(traceID, p.RequestTrace)).
		Stringer("session_id", p.Session).Stringer("purchase_id", p.ID).
		Str("phase", string(p.Phase)).
		Str("by", string(by)).Str("reason", p.Reason).Str("integrator_trace_id", p.Trace).
		Int("items", len(p.Items)).Int("minutes", p.Minutes()).Msg("purchase")
}
