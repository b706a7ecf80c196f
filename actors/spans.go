package actors

import (
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"rangegate/actors/commit"
	"rangegate/lanes"
	"rangegate/lanes/tracing"
)

// tracedRequest is what is noted of a request on its way through its lane, for its spans. They are recorded when it is
// answered: only then is it known whether it failed.
type tracedRequest struct {
	sent    time.Time         // to its lane
	decided time.Time         // by then
	flush   *commit.FlushSpan // that saved it; nil: it is not sampled, or changed nothing
}

// begin begins to note.
func (r *request) begin(tracer *tracing.Tracer) {
	if tracer != nil && r.traced == nil {
		r.traced = &tracedRequest{sent: time.Now()}
	}
}

// noteDecided notes that the rules have said what the request changes.
func (r *request) noteDecided() {
	if r.traced != nil {
		r.traced.decided = time.Now()
	}
}

// record records what the lane has done with the request: how long it waited, and the decision, linked to the flush
// that saved it.
func (r *request) record(of *Range, lane lanes.Lane, result string, failed bool) {
	tracer, noted, parent, id := of.metrics.Tracer, r.traced, r.span(), r.traceID()
	if noted == nil || id == "" || !tracer.Records(parent, failed) {
		return
	}
	attributes := append(
		make([]attribute.KeyValue, 0, 6),
		tracing.RangeID.String(of.id.String()),
		tracing.LaneID.String(lane.ID.String()),
		tracing.Command.String(r.name()),
		tracing.By.String(string(r.by)),
		tracing.Outcome.String(result),
	)
	if r.session != uuid.Nil {
		attributes = append(attributes, tracing.SessionID.String(r.session.String()))
	}
	waiting := tracing.Span{
		Name:       tracing.Mailbox,
		Trace:      id,
		Place:      tracer.Begin(id, parent),
		Parent:     parent,
		Kind:       oteltrace.SpanKindInternal,
		Began:      noted.sent,
		Attributes: attributes[:3:3],
	}
	if noted.decided.IsZero() { // it was refused before its turn, or when that came
		waiting.Ended, waiting.Attributes = time.Now(), attributes
		if failed {
			waiting.Failed = result
		}
		tracer.Record(waiting)
		return
	}
	waiting.Ended = r.arrived.Wall.Add(r.decided - r.arrived.Mono)
	tracer.Record(waiting)
	decision := tracing.Span{
		Name:       tracing.Decide,
		Trace:      id,
		Place:      tracer.Begin(id, parent),
		Parent:     parent,
		Kind:       oteltrace.SpanKindInternal,
		Began:      waiting.Ended,
		Ended:      noted.decided,
		Attributes: attributes,
	}
	if flush := noted.flush; flush != nil {
		decision.Links = []oteltrace.Link{tracing.Link(flush.Trace, flush.Place)}
	}
	if failed {
		decision.Failed = result
	}
	tracer.Record(decision)
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
