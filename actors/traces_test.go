package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/trace"
)

const firstTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

const secondTrace = "0af7651916cd43dd8448eb211c80319c"

// One request can be followed by its trace id from the command over the save to the delivery; an action of
// the timer has none.
func TestTheTraceOfACommand(t *testing.T) {
	logs := &logRecorder{}
	runFixture(t, func(t *testing.T, f *fixture) {
		sale := f.newSale(30)
		_, err := f.Create(trace.With(f.requestContext(), firstTrace), f.laneID(0), sale, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{firstTrace, firstTrace}, logs.traceIDs(t, "event"), "created, started")
		for _, line := range logs.lines(t, "event") {
			require.NotEmpty(t, line["event_id"])
		}
		for _, line := range append(logs.lines(t, "saved"), logs.lines(t, "event")...) {
			require.Equal(t, firstTrace, line["trace_id"], line)
			require.Equal(t, f.laneID(0).String(), line["lane_id"])
			require.Equal(t, sale.Session.String(), line["session_id"])
			require.Equal(t, f.settings.Layout.Range.String(), line["range_id"])
			require.Contains(t, line, "cursor")
		}
		created := logs.lines(t, "command")
		require.Equal(t, firstTrace, created[len(created)-1]["trace_id"])

		f.advance(30 * time.Minute)
		require.Equal(t, []string{firstTrace, firstTrace, ""}, logs.traceIDs(t, "event"), "nobody asked for its end")
		log, err := f.Events(f.Context(), 0, 10)
		require.NoError(t, err)
		require.Equal(t, []string{firstTrace, firstTrace, ""}, []string{log[0].Trace, log[1].Trace, log[2].Trace})
	}, withWebhook(&fakeWebhook{}), withLog(zerolog.New(logs)))
}

// A command that the store refuses has its trace id in its log line.
func TestTheTraceOfACommandThatIsRefused(t *testing.T) {
	logs := &logRecorder{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.store.setHook(refuseFlush)
		_, err := f.Create(trace.With(f.requestContext(), firstTrace), f.laneID(0), f.newSale(30), nil)
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		synctest.Wait()
		refused := logs.lines(t, "command")
		require.Equal(t, "store_unavailable", refused[len(refused)-1]["result"])
		require.Equal(t, firstTrace, refused[len(refused)-1]["trace_id"])
		f.storeReturns()
	}, withLog(zerolog.New(logs)))
}

// A hold is one request: the log lines and events of every lane under it have its trace id.
func TestTheTraceOfAHold(t *testing.T) {
	logs := &logRecorder{}
	runFixture(t, func(t *testing.T, f *fixture) {
		f.create(0, 30)
		_, err := f.Hold(trace.With(f.requestContext(), firstTrace), lanes.Scope{Kind: lanes.OverRange}, "sam")
		require.NoError(t, err)
		_, err = f.Lift(trace.With(f.requestContext(), secondTrace), lanes.Scope{Kind: lanes.OverRange},
			uuid.Nil, "sam")
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{firstTrace}, logs.traceIDs(t, "hold set"))
		require.Equal(t, []string{secondTrace}, logs.traceIDs(t, "hold lifted"))
		require.Equal(t, []string{"", "", firstTrace, secondTrace}, logs.traceIDs(t, "event"),
			"created, started, paused, resumed")
		for i := range 2 {
			commands := laneHealth(t, f, i).Commands
			require.Equal(t, []string{secondTrace, firstTrace}, []string{commands[0].Trace, commands[1].Trace})
		}
	}, withWebhook(&fakeWebhook{}), withLog(zerolog.New(logs)))
}

// An event that was saved and not attempted is attempted by the next gateway, with the trace id of the
// original request.
func TestTheTraceOfAnEventSurvivesARestart(t *testing.T) {
	logs, webhook := &logRecorder{}, &fakeWebhook{}
	runFixture(t, func(t *testing.T, f *fixture) {
		webhook.block()
		_, err := f.Create(trace.With(f.requestContext(), firstTrace), f.laneID(0), f.newSale(30), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, logs.lines(t, "event"))
		webhook.setReply(nil)
		f.restart()
		f.advance(time.Second)
		require.Equal(t, []string{firstTrace}, logs.traceIDs(t, "event")[len(logs.traceIDs(t, "event"))-1:],
			"the second was not begun")
	}, withWebhook(webhook), withLog(zerolog.New(logs)))
}

// A purchase runs on after its request: it keeps its trace id, on to the time that it adds, also over a restart.
func TestTheTraceOfAPurchase(t *testing.T) {
	for name, restart := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			logs, webhook := &logRecorder{}, &fakeWebhook{}
			runFixture(t, func(t *testing.T, f *fixture) {
				sale := f.newSale(30)
				sale.Purchasing = true
				session := f.sell(0, sale)
				if restart {
					webhook.block()
				}
				items := []lanes.Item{{ID: lanes.TimeItem, Qty: 15}}
				require.NoError(t, f.LaneBuy(trace.With(f.requestContext(), firstTrace), f.laneID(0), session,
					uuid.New(), items))
				synctest.Wait()
				if restart {
					f.restart()
				}
				f.advance(time.Second)
				require.Equal(t, []string{firstTrace}, logs.traceIDs(t, "purchase"))
				log, err := f.Events(f.Context(), 0, 10)
				require.NoError(t, err)
				traceOf := map[lanes.Kind]string{}
				for _, logged := range log {
					traceOf[logged.Event.Kind] = logged.Trace
				}
				require.Equal(t, firstTrace, traceOf[lanes.PurchaseRequest])
				settled := laneHealth(t, f, 0).Commands[0]
				require.Equal(t, "settle", settled.Command)
				require.Equal(t, firstTrace, settled.Trace)
				if !restart {
					require.Equal(t, firstTrace, traceOf[lanes.SessionModified], "the change of the session")
				}
			}, withWebhook(webhook), withLog(zerolog.New(logs)))
		})
	}
}
