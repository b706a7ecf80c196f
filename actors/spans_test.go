package actors

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"rangegate/actors/holds"
	"rangegate/lanes"
	"rangegate/lanes/trace"
	"rangegate/lanes/tracing"
)

// spanRecorder keeps the spans of a fixture.
type spanRecorder struct {
	f       *fixture
	spans   *tracetest.InMemoryExporter
	request lanes.Span // that everything is below
}

// withSpans records the spans of what one request causes, which is sampled or not.
func withSpans(recorder *spanRecorder, sampled bool) option {
	return func(f *fixture) {
		*recorder = spanRecorder{f, tracetest.NewInMemoryExporter(), lanes.Span{ID: [8]byte{7}, Sampled: sampled}}
		provider := sdk.NewTracerProvider(
			sdk.WithSyncer(recorder.spans),
			sdk.WithIDGenerator(tracing.IDs{}),
			sdk.WithSampler(sdk.AlwaysSample()),
		)
		f.tracer = tracing.New(provider.Tracer("test"), tracing.Sampling{ByParent: true})
	}
}

func (r *spanRecorder) context() context.Context {
	return trace.WithSpan(r.f.requestContext(), firstTrace, r.request)
}

// named are the spans with that name, in the order of their being recorded.
func (r *spanRecorder) named(name string) []tracetest.SpanStub {
	return slices.DeleteFunc(r.spans.GetSpans(), func(span tracetest.SpanStub) bool { return span.Name != name })
}

// only is the one span with that name.
func (r *spanRecorder) only(name string) tracetest.SpanStub {
	r.f.Helper()
	spans := r.named(name)
	require.Len(r.f, spans, 1, name)
	return spans[0]
}

// requireBelowRequest requires that the request is the parent of all spans with these names, and of so many.
func (r *spanRecorder) requireBelowRequest(want map[string]int) {
	r.f.Helper()
	have := map[string]int{}
	for _, span := range r.spans.GetSpans() {
		have[span.Name]++
		if want[span.Name] > 0 && span.Name != tracing.Flush {
			require.Equal(r.f, firstTrace, span.SpanContext.TraceID().String(), span.Name)
			require.Equal(r.f, oteltrace.SpanID(r.request.ID), span.Parent.SpanID(), span.Name)
			require.False(r.f, span.EndTime.Before(span.StartTime), span.Name)
		}
	}
	require.Equal(r.f, want, have)
}

// requireFlush requires one flush of the request, and that each of the spans is linked to it.
func (r *spanRecorder) requireFlush(spans ...tracetest.SpanStub) {
	r.f.Helper()
	flush := r.only(tracing.Flush)
	require.Len(r.f, flush.Links, 1, "each request once")
	require.Equal(r.f, oteltrace.SpanID(r.request.ID), flush.Links[0].SpanContext.SpanID())
	for _, span := range spans {
		require.Len(r.f, span.Links, 1, span.Name)
		require.Equal(r.f, flush.SpanContext.SpanID(), span.Links[0].SpanContext.SpanID(), span.Name)
	}
}

// valueOf returns the attribute of the span as text, empty if it has none.
func valueOf(span tracetest.SpanStub, key attribute.Key) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

func valuesOf(spans []tracetest.SpanStub, key attribute.Key) (values []string) {
	for _, span := range spans {
		values = append(values, valueOf(span, key))
	}
	return values
}

// lanesNamed are the ids of lanes as spans have them.
func (f *fixture) lanesNamed(numbers ...int) (ids []string) {
	for _, id := range f.laneIDs(numbers...) {
		ids = append(ids, id.String())
	}
	return ids
}

// A batch is one tree: each of its lanes is waited for, each operation is decided, all are saved in one flush, and the
// hardware of each lane confirms what became of it.
func TestTheSpansOfABatch(t *testing.T) {
	for name, atomic := range map[string]bool{"all or none": true, "each that can be": false} {
		t.Run(name, func(t *testing.T) {
			var spans spanRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				moved, stopped := f.create(0, 30), f.create(1, 30)
				sale := f.newSale(60)
				spans.spans.Reset()
				operations := []lanes.Operation{f.moveTo(3, moved), stopOf(stopped), f.saleOn(2, sale)}
				_, err := f.Batch(spans.context(), lanes.Batch{Operations: operations, Atomic: atomic}, nil)
				require.NoError(t, err)
				synctest.Wait()

				spans.requireBelowRequest(map[string]int{
					tracing.Mailbox: 4, tracing.Decide: 3, tracing.Flush: 1, tracing.Arrival: 1, tracing.Applied: 4,
				})
				require.ElementsMatch(t, f.lanesNamed(0, 1, 2, 3),
					valuesOf(spans.named(tracing.Mailbox), tracing.LaneID))
				require.Equal(t, []string{"lend", "lend", "lend", "lend"},
					valuesOf(spans.named(tracing.Mailbox), tracing.Command))
				decisions := spans.named(tracing.Decide)
				require.ElementsMatch(t, []string{"move", "stop", "create"}, valuesOf(decisions, tracing.Command))
				require.ElementsMatch(t, f.lanesNamed(0, 1, 2), valuesOf(decisions, tracing.LaneID))
				require.ElementsMatch(t, []string{moved.String(), stopped.String(), sale.Session.String()},
					valuesOf(decisions, tracing.SessionID))
				require.Equal(t, []string{"ok", "ok", "ok"}, valuesOf(decisions, tracing.Outcome))
				require.ElementsMatch(t, f.lanesNamed(0, 1, 2, 3),
					valuesOf(spans.named(tracing.Applied), tracing.LaneID))
				arrival := spans.only(tracing.Arrival)
				require.Equal(t, f.laneID(3).String(), valueOf(arrival, tracing.LaneID))
				require.Equal(t, moved.String(), valueOf(arrival, tracing.SessionID))
				spans.requireFlush(append(decisions, arrival)...)
			}, withLanes(4), withSpans(&spans, true))
		})
	}
}

// What is refused says so, and is no error. Of a trace that is not sampled nothing is recorded.
func TestTheSpansOfABatchThatIsRefused(t *testing.T) {
	for name, sampled := range map[string]bool{"sampled": true, "not sampled": false} {
		t.Run(name, func(t *testing.T) {
			var spans spanRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				f.create(0, 30)
				spans.spans.Reset()
				operations := []lanes.Operation{f.saleOn(0, f.newSale(30)), f.saleOn(1, f.newSale(30))}
				_, err := f.Batch(spans.context(), lanes.Batch{Operations: operations, Atomic: true}, nil)
				require.ErrorAs(t, err, new(lanes.Refusals))
				synctest.Wait()
				if !sampled {
					require.Empty(t, spans.spans.GetSpans())
					return
				}
				spans.requireBelowRequest(map[string]int{tracing.Mailbox: 2, tracing.Decide: 1})
				decision := spans.only(tracing.Decide)
				require.Equal(t, "lane_occupied", valueOf(decision, tracing.Outcome))
				require.Empty(t, valueOf(decision, tracing.Cause))
				require.Empty(t, decision.Links)
			}, withSpans(&spans, sampled))
		})
	}
}

// A batch that the store refuses is an error of each of its decisions, also in a trace that is not sampled. The stop in
// it is given to its lane alone, and recorded there.
func TestTheSpansOfABatchThatIsNotSaved(t *testing.T) {
	var spans spanRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		stopped := f.create(0, 30)
		spans.spans.Reset()
		f.store.setHook(refuseFlush)
		operations := []lanes.Operation{stopOf(stopped), f.saleOn(1, f.newSale(30))}
		_, err := f.Batch(spans.context(), lanes.Batch{Operations: operations}, nil)
		require.ErrorIs(t, err, lanes.ErrNotSaved)
		synctest.Wait()
		decisions := spans.named(tracing.Decide)
		require.ElementsMatch(t, []string{"stop store_unavailable", "create store_unavailable", "stop not_saved"},
			[]string{
				valueOf(decisions[0], tracing.Command) + " " + valueOf(decisions[0], tracing.Cause),
				valueOf(decisions[1], tracing.Command) + " " + valueOf(decisions[1], tracing.Cause),
				valueOf(decisions[2], tracing.Command) + " " + valueOf(decisions[2], tracing.Cause),
			})
		require.Len(t, decisions, 3)
		f.storeReturns()
	}, withSpans(&spans, false))
}

// A ceasefire is one tree, without a span of each command to a lane: the range decides it, its record is saved, and it
// reaches the hardware of its lanes. So is its end, which is saved first.
func TestTheSpansOfAHold(t *testing.T) {
	var spans spanRecorder
	webhook := &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(2, 30)
		for _, change := range []struct {
			command string
			apply   func(context.Context, lanes.Scope) (lanes.Reached, error)
		}{
			{"hold", func(ctx context.Context, over lanes.Scope) (lanes.Reached, error) {
				return f.Hold(ctx, over, "sam")
			}},
			{"release", func(ctx context.Context, over lanes.Scope) (lanes.Reached, error) {
				return f.Lift(ctx, over, uuid.Nil, "sam")
			}},
		} {
			spans.spans.Reset()
			reached, err := change.apply(spans.context(), f.bayScope(1))
			require.NoError(t, err)
			require.True(t, reached.Saved)
			synctest.Wait()

			mailbox, decision := spans.only(tracing.Mailbox), spans.only(tracing.Decide)
			reach := spans.only(tracing.Reach)
			applied := spans.named(tracing.Applied)
			for _, span := range append(applied, mailbox, decision, reach) {
				require.Equal(t, firstTrace, span.SpanContext.TraceID().String())
				require.Equal(t, f.id.String(), valueOf(span, tracing.RangeID))
				require.Equal(t, change.command, valueOf(span, tracing.Command))
				require.Equal(t, "bay", valueOf(span, tracing.Scope))
				require.Equal(t, f.settings.Layout.Bays[1].ID.String(), valueOf(span, tracing.ScopeID))
				require.Empty(t, valueOf(span, tracing.Cause))
				require.False(t, span.EndTime.Before(span.StartTime))
			}
			for _, span := range []tracetest.SpanStub{mailbox, decision, reach} {
				require.Equal(t, oteltrace.SpanID(spans.request.ID), span.Parent.SpanID())
			}
			require.Equal(t, "ok", valueOf(decision, tracing.Outcome))
			require.Equal(t, []string{"2", "2", "0", "0"}, []string{
				valueOf(reach, tracing.Lanes), valueOf(reach, tracing.Confirmed),
				valueOf(reach, tracing.Sent), valueOf(reach, tracing.NotReached),
			})
			require.ElementsMatch(t, f.lanesNamed(2, 3), valuesOf(applied, tracing.LaneID))
			for _, span := range applied {
				require.Equal(t, reach.SpanContext.SpanID(), span.Parent.SpanID())
			}

			// The record, and the lanes, perhaps in more flushes than one.
			saved := map[oteltrace.SpanID]bool{}
			for _, flush := range spans.named(tracing.Flush) {
				saved[flush.SpanContext.SpanID()] = true
				require.Len(t, flush.Links, 1, "however many of its lanes are in it")
				require.Equal(t, oteltrace.SpanID(spans.request.ID), flush.Links[0].SpanContext.SpanID())
			}
			require.True(t, saved[decision.Links[0].SpanContext.SpanID()])
			newest := webhook.entries[len(webhook.entries)-1]
			require.Equal(t, spans.request, newest.Span, "its event is below the request")
		}
	}, withBays, withWebhook(webhook), withSpans(&spans, true))
}

// However many lanes a hold covers, it has a span of 32 of them at most: those that have not confirmed it by the
// answer, which are errors, and then those that were last to.
func TestTheSpansOfAHoldOverManyLanes(t *testing.T) {
	for name, sampled := range map[string]bool{"sampled": true, "not sampled": false} {
		t.Run(name, func(t *testing.T) {
			var spans spanRecorder
			runFixture(t, func(t *testing.T, f *fixture) {
				f.controller(3).Stall(true)
				f.controller(4).Refuse(true)
				f.controller(4).Cut(nil)
				synctest.Wait()
				for _, late := range []int{48, 49} {
					f.controller(late).Stall(true)
				}
				spans.spans.Reset()
				var reached lanes.Reached
				held := f.runAsync(func() (err error) {
					reached, err = f.Hold(spans.context(), rangeScope, "sam")
					return err
				})
				for _, late := range []int{48, 49} {
					f.advance(500 * time.Millisecond)
					f.controller(late).Stall(false)
				}
				f.advance(time.Second)
				require.NoError(t, <-held)
				require.Equal(t, f.laneIDs(3), reached.Sent)
				require.Equal(t, f.laneIDs(4), reached.NotReached)

				reach, applied := spans.only(tracing.Reach), spans.named(tracing.Applied)
				require.Equal(t, "unconfirmed", valueOf(reach, tracing.Cause))
				require.Equal(t, []string{"50", "48", "1", "1"}, []string{
					valueOf(reach, tracing.Lanes), valueOf(reach, tracing.Confirmed),
					valueOf(reach, tracing.Sent), valueOf(reach, tracing.NotReached),
				})
				require.Equal(t, f.laneID(3).String(), valueOf(applied[0], tracing.LaneID))
				require.Equal(t, "unconfirmed", valueOf(applied[0], tracing.Cause))
				require.Equal(t, holds.Patience, applied[0].EndTime.Sub(applied[0].StartTime), "it was answered then")
				if !sampled {
					require.Len(t, applied, 1)
					require.Len(t, spans.spans.GetSpans(), 2, "what is in order is not recorded")
					return
				}
				require.Len(t, applied, holds.MaxMoments)
				require.Len(t, spans.named(tracing.Mailbox), 1)
				require.Len(t, spans.named(tracing.Decide), 1)
				for _, span := range applied[1:] {
					require.Empty(t, valueOf(span, tracing.Cause))
				}
				require.Equal(t, f.lanesNamed(49, 48), valuesOf(applied[1:3], tracing.LaneID), "the last to confirm")
				require.Equal(t, time.Second, applied[1].EndTime.Sub(applied[1].StartTime))
			}, withLanes(50), withSpans(&spans, sampled))
		})
	}
}

// A hold that is in force and not saved is an error of its decision, and an end that is not saved, too; an end that is
// refused is none.
func TestTheSpansOfAHoldThatIsNotSaved(t *testing.T) {
	var spans spanRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		f.setHold(f.laneScope(0))
		spans.spans.Reset()
		_, err := f.Lift(spans.context(), f.laneScope(0), uuid.New(), "sam")
		require.ErrorIs(t, err, lanes.ErrCeasefire)
		require.Empty(t, spans.spans.GetSpans())

		f.store.setHook(refuseFlush)
		reached, err := f.Hold(spans.context(), f.laneScope(1), "sam")
		require.NoError(t, err)
		require.False(t, reached.Saved)
		require.Equal(t, "not_saved", valueOf(spans.only(tracing.Decide), tracing.Cause))
		spans.spans.Reset()
		_, err = f.Lift(spans.context(), f.laneScope(0), uuid.Nil, "sam")
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		require.Equal(t, "store_unavailable", valueOf(spans.only(tracing.Decide), tracing.Cause))
		f.storeReturns()

		spans.spans.Reset()
		f.store.setHook(hangFlush)
		_, err = f.Lift(spans.context(), f.laneScope(0), uuid.Nil, "sam")
		require.ErrorIs(t, err, lanes.ErrTimeout)
		require.Equal(t, "timeout", valueOf(spans.only(tracing.Decide), tracing.Cause))
		require.Empty(t, valueOf(spans.only(tracing.Mailbox), tracing.Cause), "it was taken")
		f.storeReturns()
	}, withSpans(&spans, false))
}

// A move is one tree with both lanes: its destination keeps itself free, its source decides and saves both, and the
// session arrives. The hardware of both confirms it.
func TestTheSpansOfAMove(t *testing.T) {
	var spans spanRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		spans.spans.Reset()
		_, err := f.Move(spans.context(), session, f.laneID(1), nil)
		require.NoError(t, err)
		synctest.Wait()
		spans.requireBelowRequest(map[string]int{
			tracing.Mailbox: 2, tracing.Decide: 1, tracing.Flush: 1, tracing.Arrival: 1, tracing.Applied: 2,
		})
		mailboxes := spans.named(tracing.Mailbox)
		decision, arrival := spans.only(tracing.Decide), spans.only(tracing.Arrival)
		require.Equal(t, f.lanesNamed(1, 0), valuesOf(mailboxes, tracing.LaneID))
		require.Equal(t, []string{"await_move", "move"}, valuesOf(mailboxes, tracing.Command))
		require.Equal(t, f.laneID(0).String(), valueOf(decision, tracing.LaneID))
		require.Equal(t, f.laneID(1).String(), valueOf(arrival, tracing.LaneID))
		require.Equal(t, session.String(), valueOf(arrival, tracing.SessionID))
		require.ElementsMatch(t, f.lanesNamed(0, 1), valuesOf(spans.named(tracing.Applied), tracing.LaneID))
		spans.requireFlush(decision, arrival)
	}, withSpans(&spans, true))
}

// A destination that is no free one is a wait that ends so.
func TestTheSpansOfAMoveThatIsRefused(t *testing.T) {
	var spans spanRecorder
	runFixture(t, func(t *testing.T, f *fixture) {
		session := f.create(0, 30)
		f.create(1, 30)
		spans.spans.Reset()
		_, err := f.Move(spans.context(), session, f.laneID(1), nil)
		require.ErrorIs(t, err, lanes.ErrLaneOccupied)
		spans.requireBelowRequest(map[string]int{tracing.Mailbox: 1})
		require.Equal(t, "lane_occupied", valueOf(spans.only(tracing.Mailbox), tracing.Outcome))
	}, withSpans(&spans, true))
}

// A stop is confirmed by the hardware. One that comes while its lane is being saved reaches the hardware at once.
func TestTheSpansOfAStop(t *testing.T) {
	var spans spanRecorder
	stop := func(session uuid.UUID) func() error {
		return func() error {
			_, err := spans.f.On(spans.context(), session, lanes.Stop{Session: session, By: lanes.ByPOS}, nil)
			return err
		}
	}
	runFixture(t, func(t *testing.T, f *fixture) {
		first := f.create(0, 30)
		spans.spans.Reset()
		require.NoError(t, stop(first)())
		synctest.Wait()
		require.Equal(t, f.laneID(0).String(), valueOf(spans.only(tracing.Applied), tracing.LaneID))

		second := f.create(0, 30)
		spans.spans.Reset()
		resolve := f.blockNextFlush(func(flush func() error) error { return flush() })
		modified := f.runAsync(func() error { return f.tryModify(second, 10) })
		stopped := f.runAsync(stop(second))
		require.False(t, f.isOpen(0))
		spans.requireBelowRequest(map[string]int{tracing.Applied: 1})
		resolve()
		require.NoError(t, <-modified)
		require.NoError(t, <-stopped)
		require.Len(t, spans.named(tracing.Applied), 1)
	}, withSpans(&spans, true))
}
