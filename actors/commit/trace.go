package commit

import (
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"rangegate/lanes"
	"rangegate/lanes/store"
	"rangegate/lanes/tracing"
)

// FlushSpan is the place of a flush in a trace of its own, which is linked to all requests whose changes it saves.
type FlushSpan struct {
	Trace string
	Place lanes.Span
	links []oteltrace.Link
}

// trace begins the span of the flush of those writes. It returns nil if none of them is of a request that is sampled.
func (c *Committer) trace(batch []*Write) *FlushSpan {
	if c.Metrics.Tracer == nil {
		return nil
	}
	var flush *FlushSpan
	var last lanes.Span // that is linked
	for _, w := range batch {
		if w.Trace == "" || !w.Span.Sampled {
			continue
		}
		if flush == nil {
			flush = &FlushSpan{Trace: tracing.NewTrace()}
			flush.Place = c.Metrics.Tracer.Begin(flush.Trace, lanes.Span{})
			flush.Place.Sampled = true // as what it is linked to
		}
		w.FlushedBy = flush
		if w.Span != last { // a hold has a write of each lane, one after the other
			flush.links, last = append(flush.links, tracing.Link(w.Trace, w.Span)), w.Span
		}
	}
	return flush
}

// flushed counts a try to flush, and records its span: that of a flush with a sampled request, and of one that failed.
func (c *Committer) flushed(batch store.Batch, began time.Time, writes int, err error) {
	ended, flush := time.Now(), c.flushSpan // nextBatch, which changes it, is of the same goroutine
	if flush == nil {
		flush = &unsampled
	}
	c.Metrics.Flushed(ended.Sub(began), writes, err, flush.Trace, flush.Place)
	if !c.Metrics.Tracer.Records(flush.Place, err != nil) {
		return
	}
	span := tracing.Span{
		Name:  tracing.Flush,
		Trace: flush.Trace,
		Place: flush.Place,
		Kind:  oteltrace.SpanKindClient,
		Began: began,
		Ended: ended,
		Links: flush.links,
		Attributes: []attribute.KeyValue{
			tracing.RangeID.String(c.Range.String()), tracing.Writes.Int(writes), tracing.Number.Int64(int64(batch.N)),
		},
	}
	if err != nil {
		span.Place = lanes.Span{} // the next try, which may save it, is what the requests are linked to
	}
	switch {
	case err == nil:
	case errors.Is(err, store.ErrFenced):
		span.Failed = "fenced"
	case errors.Is(err, store.ErrRolledBack):
		span.Failed = "rolled_back"
	case errors.Is(err, store.ErrRefused):
		span.Failed = "refused"
	default:
		span.Failed = "unknown"
	}
	c.Metrics.Tracer.Record(span)
}

var unsampled FlushSpan
