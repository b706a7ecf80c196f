package actors

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"rangegate/actors/commit"
	"rangegate/actors/holds"
	"rangegate/lanes"
	"rangegate/lanes/trace"
	"rangegate/lanes/tracing"
)

// tracedHold is what is noted of a hold, or its end, on its way, for its spans. They are recorded by whoever waits for
// its answer, beside the actors, so that a hold over thousands of lanes waits for none of them: one for the whole, and
// one for each of at most holds.MaxMoments lanes. A nil one notes nothing.
type tracedHold struct {
	r       *Range
	trace   string
	request lanes.Span
	command string
	scope   lanes.Scope

	mu sync.Mutex // whoever waits may give up while the actor still decides
	holdTimes
}

// holdTimes is how far a hold, or its end, has come by when.
type holdTimes struct {
	sent    time.Time         // to the range's actor
	taken   time.Time         // by it
	decided time.Time         // by it
	toLanes time.Time         // sent to the lanes
	flush   *commit.FlushSpan // that saved the range's record
}

// traceHold returns where a hold, or its end, is noted: nil without a tracer, and for a request without a trace id.
func (c *Ceasefires) traceHold(ctx context.Context, command lanes.Command, scope lanes.Scope) *tracedHold {
	id := trace.ID(ctx)
	if c.r.metrics.Tracer == nil || id == "" {
		return nil
	}
	return &tracedHold{
		r: c.r, trace: id, request: trace.Span(ctx), command: command.Name(), scope: scope,
		holdTimes: holdTimes{sent: time.Now()},
	}
}

// note changes what is noted, under the lock.
func (h *tracedHold) note(change func(*holdTimes)) {
	if h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		change(&h.holdTimes)
	}
}

func (h *tracedHold) noteTaken() { h.note(func(t *holdTimes) { t.taken = time.Now() }) }

// noteDecided notes that the range's actor has decided. A save that is begun afterwards may be answered at once.
func (h *tracedHold) noteDecided() { h.note(func(t *holdTimes) { t.decided = time.Now() }) }

// noteToLanes notes that the lanes are sent it next, and has the progress remember when they confirm.
func (h *tracedHold) noteToLanes(progress *holds.Progress) {
	h.note(func(t *holdTimes) { t.toLanes = time.Now() })
	if h != nil && h.records(false) {
		progress.NoteMoments()
	}
}

// noteFlush notes what has saved the range's record.
func (h *tracedHold) noteFlush(w *commit.Write) { h.note(func(t *holdTimes) { t.flush = w.FlushedBy }) }

// times are those that are noted by now.
func (h *tracedHold) times() holdTimes {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holdTimes
}

// recordFailed records why nothing is known of the lanes.
func (h *tracedHold) recordFailed(err error) {
	if h != nil {
		h.recordDecided(code(err), isPassing(err))
	}
}

// recordReached records how far it has come by now.
func (h *tracedHold) recordReached(reached lanes.Reached, progress *holds.Progress) {
	if h == nil {
		return
	}
	now, began, moments := time.Now(), h.times().toLanes, progress.Moments()
	if reached.Saved {
		h.recordDecided(code(nil), false)
	} else {
		h.recordDecided(code(lanes.ErrNotSaved), true)
	}
	covered := len(reached.Confirmed) + len(reached.Sent) + len(reached.NotReached)
	unconfirmed := len(reached.Sent) > 0
	if covered == 0 || !h.records(unconfirmed) {
		return
	}
	ended, why := now, ""
	switch {
	case unconfirmed:
		why = notConfirmed
	case len(moments) > 0:
		ended = moments[len(moments)-1].At
	}
	place := h.record(tracing.Reach, h.request, began, ended, why,
		tracing.Lanes.Int(covered), tracing.Confirmed.Int(len(reached.Confirmed)),
		tracing.Sent.Int(len(reached.Sent)), tracing.NotReached.Int(len(reached.NotReached)))
	recorded := map[uuid.UUID]bool{}
	for _, lane := range reached.Sent[:min(len(reached.Sent), holds.MaxMoments)] {
		recorded[lane] = true
		h.recordApplied(place, lane, began, now, notConfirmed)
	}
	for _, moment := range slices.Backward(moments) {
		if len(recorded) < holds.MaxMoments && !recorded[moment.Lane] {
			recorded[moment.Lane] = true
			h.recordApplied(place, moment.Lane, began, moment.At, "")
		}
	}
}

// notConfirmed is why a span of hardware has failed that has not confirmed a hold, or its end, by the answer.
const notConfirmed = "unconfirmed"

func (h *tracedHold) records(failed bool) bool { return h.r.metrics.Tracer.Records(h.request, failed) }

// recordDecided records how long it waited for the range's actor, and the decision; of one that nobody has decided yet,
// what it waits for.
func (h *tracedHold) recordDecided(result string, failed bool) {
	if !h.records(failed) {
		return
	}
	now, times, why, outcome := time.Now(), h.times(), "", tracing.Outcome.String(result)
	if failed {
		why = result
	}
	if times.taken.IsZero() {
		h.record(tracing.Mailbox, h.request, times.sent, now, why, outcome)
		return
	}
	if times.decided.IsZero() {
		times.decided = now
	}
	h.record(tracing.Mailbox, h.request, times.sent, times.taken, "")
	h.record(tracing.Decide, h.request, times.taken, times.decided, why, outcome)
}

func (h *tracedHold) recordApplied(parent lanes.Span, lane uuid.UUID, began, ended time.Time, why string) {
	h.record(tracing.Applied, parent, began, ended, why, tracing.LaneID.String(lane.String()))
}

// record records a span below the parent, and returns its place.
func (h *tracedHold) record(
	name string, parent lanes.Span, began, ended time.Time, why string, more ...attribute.KeyValue,
) lanes.Span {
	tracer := h.r.metrics.Tracer
	span := tracing.Span{
		Name:   name,
		Trace:  h.trace,
		Place:  tracer.Begin(h.trace, parent),
		Parent: parent,
		Kind:   oteltrace.SpanKindInternal,
		Began:  began,
		Ended:  ended,
		Failed: why,
		Attributes: append([]attribute.KeyValue{
			tracing.RangeID.String(h.r.id.String()),
			tracing.Command.String(h.command),
			tracing.Scope.String(h.scope.Kind),
		}, more...),
	}
	if h.scope.ID != uuid.Nil {
		span.Attributes = append(span.Attributes, tracing.ScopeID.String(h.scope.ID.String()))
	}
	switch name {
	case tracing.Decide:
		span.Links = linkTo(h.times().flush)
	case tracing.Applied:
		span.Kind = oteltrace.SpanKindClient
	}
	tracer.Record(span)
	return span.Place
}
