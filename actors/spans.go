package actors

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/trace"
	"rangegate/lanes/tracing"
)

// tracedRequest is what is noted of a request on its way through its lane, for its spans. They are recorded when it is
// answered: only then is it known whether it failed.
type tracedRequest struct {
	sent    time.Time         // to its lane; zero: it is decided with others, while its lane is lent
	decided time.Time         // by then
	flush   *commit.FlushSpan // that saved it; nil: it is not sampled, or changed nothing
}

// begin begins to note.
func (r *request) begin(tracer *tracing.Tracer) {
	if tracer != nil && r.traced == nil {
		r.traced = &tracedRequest{sent: time.Now()}
	}
}

// beginTogether is begin for one of several operations, which waits for no lane itself.
func (r *request) beginTogether(tracer *tracing.Tracer) {
	if tracer != nil && r.traced == nil {
		r.traced = &tracedRequest{}
	}
}

// noteDecided notes that the rules have said what the request changes.
func (r *request) noteDecided() {
	if r.traced != nil {
		r.traced.decided = time.Now()
	}
}

// noteFlush notes what has saved it.
func (r *request) noteFlush(flush *commit.FlushSpan) {
	if r.traced != nil {
		r.traced.flush = flush
	}
}

// records reports whether a span of the request is recorded.
func (r *request) records(of *Range, failed bool) bool {
	return r.traced != nil && r.traceID() != "" && of.metrics.Tracer.Records(r.span(), failed)
}

// record records what the lane has done with the request: how long it waited, and the decision, linked to the flush
// that saved it.
func (r *request) record(of *Range, lane lanes.Lane, result string, failed bool) {
	if !r.records(of, failed) {
		return
	}
	noted, attributes := r.traced, r.attributes(of, lane.ID, result)
	why := ""
	if failed {
		why = result
	}
	waiting := r.newSpan(of, tracing.Mailbox, noted.sent)
	waiting.Attributes = attributes[:3:3]
	if noted.decided.IsZero() { // it was refused before its turn, or when that came
		waiting.Ended, waiting.Attributes, waiting.Failed = time.Now(), attributes, why
		of.metrics.Tracer.Record(waiting)
		return
	}
	waiting.Ended = r.arrived.Wall.Add(r.decided - r.arrived.Mono)
	if !noted.sent.IsZero() {
		of.metrics.Tracer.Record(waiting)
	}
	decision := r.newSpan(of, tracing.Decide, waiting.Ended)
	decision.Ended, decision.Attributes, decision.Failed = noted.decided, attributes, why
	decision.Links = linkTo(noted.flush)
	of.metrics.Tracer.Record(decision)
}

// recordLent records how long the request to lend itself waited for the lane.
func (r *request) recordLent(of *Range, lane uuid.UUID) {
	if !r.records(of, false) {
		return
	}
	waiting := r.newSpan(of, tracing.Mailbox, r.traced.sent)
	waiting.Ended, waiting.Attributes = time.Now(), r.attributes(of, lane, code(nil))
	of.metrics.Tracer.Record(waiting)
}

// recordTicket records how long a lane took to keep itself free for a session that is about to move there.
func (r *Range) recordTicket(ctx context.Context, by lanes.By, lane uuid.UUID, asked time.Time, err error) {
	id, parent, tracer, result, failed := trace.ID(ctx), trace.Span(ctx), r.metrics.Tracer, code(err), isPassing(err)
	if id == "" || !tracer.Records(parent, failed) {
		return
	}
	span := tracing.Span{
		Name:   tracing.Mailbox,
		Trace:  id,
		Place:  tracer.Begin(id, parent),
		Parent: parent,
		Kind:   oteltrace.SpanKindInternal,
		Began:  asked,
		Ended:  time.Now(),
		Attributes: []attribute.KeyValue{
			tracing.RangeID.String(r.id.String()),
			tracing.LaneID.String(lane.String()),
			tracing.Command.String("await_move"),
			tracing.By.String(string(by)),
			tracing.Outcome.String(result),
		},
	}
	if failed {
		span.Failed = result
	}
	tracer.Record(span)
}

// recordArrival records that the session, which has moved, is in force on the lane: sent is when the lane was sent it,
// once it was saved.
func (r *request) recordArrival(of *Range, lane lanes.Lane, sent time.Time) {
	if !r.records(of, false) {
		return
	}
	arrival := r.newSpan(of, tracing.Arrival, sent)
	arrival.Ended, arrival.Attributes = time.Now(), r.attributes(of, lane.ID, code(nil))
	arrival.Links = linkTo(r.traced.flush)
	of.metrics.Tracer.Record(arrival)
}

// newSpan begins a span below the request's.
func (r *request) newSpan(of *Range, name string, began time.Time) tracing.Span {
	id, parent := r.traceID(), r.span()
	return tracing.Span{
		Name:   name,
		Trace:  id,
		Place:  of.metrics.Tracer.Begin(id, parent),
		Parent: parent,
		Kind:   oteltrace.SpanKindInternal,
		Began:  began,
	}
}

// attributes are those of a span about the request at the lane. The first three are known before it is decided.
func (r *request) attributes(of *Range, lane uuid.UUID, result string) []attribute.KeyValue {
	attributes := append(
		make([]attribute.KeyValue, 0, 6),
		tracing.RangeID.String(of.id.String()),
		tracing.LaneID.String(lane.String()),
		tracing.Command.String(r.name()),
		tracing.By.String(string(r.by)),
		tracing.Outcome.String(result),
	)
	if r.session != uuid.Nil {
		attributes = append(attributes, tracing.SessionID.String(r.session.String()))
	}
	return attributes
}

// linkTo is the link to the flush, if there is one.
func linkTo(flush *commit.FlushSpan) []oteltrace.Link {
	if flush == nil {
		return nil
	}
	return []oteltrace.Link{tracing.Link(flush.Trace, flush.Place)}
}

// stateSent is a state that was sent to the hardware because of a request.
type stateSent struct {
	revision uint64
	at       time.Time
	traceID  string
	request  lanes.Span
	traced   bool // there is a Tracer
}

// noteSent notes that the state with that revision goes to the hardware. What was sent before it is not confirmed any
// more.
func (k *laneLink) noteSent(revision uint64) {
	k.unconfirmed = nil
	if cause := k.cause; cause != nil && cause.traceID() != "" {
		k.unconfirmed = &stateSent{revision, time.Now(), cause.traceID(), cause.span(), cause.traced != nil}
		k.r.commands.Sent(k.lane, cause.traceID(), k.r.clock.Now().Wall)
	}
}

// recordApplied records the span of the state that was sent: the hardware has confirmed it, or its link has failed, in
// one word. It does nothing for another state than the newest.
func (k *laneLink) recordApplied(revision uint64, failed string) {
	sent, tracer := k.unconfirmed, k.r.metrics.Tracer
	if sent == nil || failed == "" && sent.revision != revision {
		return
	}
	k.unconfirmed = nil
	if failed == "" {
		k.r.commands.Applied(k.lane, sent.traceID, k.r.clock.Now().Wall)
	}
	if !sent.traced || !tracer.Records(sent.request, failed != "") {
		return
	}
	tracer.Record(tracing.Span{
		Name:   tracing.Applied,
		Trace:  sent.traceID,
		Place:  tracer.Begin(sent.traceID, sent.request),
		Parent: sent.request,
		Kind:   oteltrace.SpanKindClient,
		Began:  sent.at,
		Ended:  time.Now(),
		Failed: failed,
		Attributes: []attribute.KeyValue{
			tracing.RangeID.String(k.r.id.String()),
			tracing.LaneID.String(k.lane.String()),
		},
	})
}
