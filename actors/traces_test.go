package actors

import (
	"bytes"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// paper is a log that is read while it is written.
type paper struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (p *paper) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.Write(line)
}

// about is the lines with that message, from the first on.
func (p *paper) about(t *testing.T, message string) (found []map[string]any) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for decoder := json.NewDecoder(bytes.NewReader(p.said.Bytes())); decoder.More(); {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line))
		if line["message"] == message {
			found = append(found, line)
		}
	}
	return found
}

// traces is the trace ids of those lines; empty where one has none.
func (p *paper) traces(t *testing.T, message string) (all []string) {
	for _, line := range p.about(t, message) {
		id, _ := line["trace_id"].(string)
		all = append(all, id)
	}
	return all
}

const anotherTrace = "0af7651916cd43dd8448eb211c80319c"

// One request is followed by its trace id from the command over the save to the delivery; what a timer does has none.
func TestTheTraceOfACommand(t *testing.T) {
	said := &paper{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		sale := g.sale(30)
		_, err := g.Create(trace.With(g.request(), aTrace), g.lane(0), sale, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{aTrace, aTrace}, said.traces(t, "event"), "created, started")
		for _, line := range said.about(t, "event") {
			require.NotEmpty(t, line["event_id"])
		}
		for _, line := range append(said.about(t, "saved"), said.about(t, "event")...) {
			require.Equal(t, aTrace, line["trace_id"], line)
			require.Equal(t, g.lane(0).String(), line["lane_id"])
			require.Equal(t, sale.Session.String(), line["session_id"])
			require.Equal(t, g.settings.Layout.Range.String(), line["range_id"])
			require.Contains(t, line, "cursor")
		}
		created := said.about(t, "command")
		require.Equal(t, aTrace, created[len(created)-1]["trace_id"])

		g.pass(30 * time.Minute)
		require.Equal(t, []string{aTrace, aTrace, ""}, said.traces(t, "event"), "nobody asked for its end")
		log, err := g.Events(g.Context(), 0, 10)
		require.NoError(t, err)
		require.Equal(t, []string{aTrace, aTrace, ""}, []string{log[0].Trace, log[1].Trace, log[2].Trace})
	}, withWebhook(&inbox{}), withLog(zerolog.New(said)))
}

// A command that the store refuses has its trace id on its line.
func TestTheTraceOfACommandThatIsRefused(t *testing.T) {
	said := &paper{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.store.hook(refuses)
		_, err := g.Create(trace.With(g.request(), aTrace), g.lane(0), g.sale(30), nil)
		require.ErrorIs(t, err, lanes.ErrStoreUnavailable)
		synctest.Wait()
		refused := said.about(t, "command")
		require.Equal(t, "store_unavailable", refused[len(refused)-1]["result"])
		require.Equal(t, aTrace, refused[len(refused)-1]["trace_id"])
		g.storeReturns()
	}, withLog(zerolog.New(said)))
}

// A hold is asked for once, and every lane under it, and every event of theirs, says by which request.
func TestTheTraceOfAHold(t *testing.T) {
	said := &paper{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		g.create(0, 30)
		_, err := g.Hold(trace.With(g.request(), aTrace), lanes.Scope{Kind: lanes.OverRange}, "sam")
		require.NoError(t, err)
		_, err = g.Lift(trace.With(g.request(), anotherTrace), lanes.Scope{Kind: lanes.OverRange}, "sam")
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{aTrace}, said.traces(t, "hold set"))
		require.Equal(t, []string{anotherTrace}, said.traces(t, "hold lifted"))
		require.Equal(t, []string{"", "", aTrace, anotherTrace}, said.traces(t, "event"), "created, started, paused, resumed")
		for i := range 2 {
			commands := must(t, g, i).Commands
			require.Equal(t, []string{anotherTrace, aTrace}, []string{commands[0].Trace, commands[1].Trace})
		}
	}, withWebhook(&inbox{}), withLog(zerolog.New(said)))
}

// What was saved and not attempted is attempted by the next gateway, under the trace id of the request of then.
func TestTheTraceOfAnEventOutlivesTheGateway(t *testing.T) {
	said, received := &paper{}, &inbox{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		received.hold()
		_, err := g.Create(trace.With(g.request(), aTrace), g.lane(0), g.sale(30), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, said.about(t, "event"))
		received.answers(nil)
		g.restart()
		g.pass(time.Second)
		require.Equal(t, []string{aTrace}, said.traces(t, "event")[len(said.traces(t, "event"))-1:], "the second was not begun")
	}, withWebhook(received), withLog(zerolog.New(said)))
}

// A purchase goes on for a while after its request: it keeps its trace id, on to the time that it adds, also over a restart.
func TestTheTraceOfAPurchase(t *testing.T) {
	for name, restart := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			said, received := &paper{}, &inbox{}
			inFakeTime(t, func(t *testing.T, g *rig) {
				sale := g.sale(30)
				sale.Purchasing = true
				session := g.sell(0, sale)
				if restart {
					received.hold()
				}
				items := []lanes.Item{{ID: lanes.TimeItem, Qty: 15}}
				require.NoError(t, g.LaneBuy(trace.With(g.request(), aTrace), g.lane(0), session, uuid.New(), items))
				synctest.Wait()
				if restart {
					g.restart()
				}
				g.pass(time.Second)
				require.Equal(t, []string{aTrace}, said.traces(t, "purchase"))
				log, err := g.Events(g.Context(), 0, 10)
				require.NoError(t, err)
				of := map[lanes.Kind]string{}
				for _, logged := range log {
					of[logged.Event.Kind] = logged.Trace
				}
				require.Equal(t, aTrace, of[lanes.PurchaseRequest])
				settled := must(t, g, 0).Commands[0]
				require.Equal(t, "settle", settled.Command)
				require.Equal(t, aTrace, settled.Trace)
				if !restart {
					require.Equal(t, aTrace, of[lanes.SessionModified], "the time that it added")
				}
			}, withWebhook(received), withLog(zerolog.New(said)))
		})
	}
}

// A link that stays away is told once, and each of its tries only to whoever looks for it.
func TestALinkThatStaysAwayIsToldOnce(t *testing.T) {
	said := &paper{}
	inFakeTime(t, func(t *testing.T, g *rig) {
		require.Len(t, said.about(t, "link up"), 2)
		letBack := g.cutOff(0)
		g.pass(10 * time.Minute)
		down := said.about(t, "link down")
		require.Greater(t, len(down), 10)
		require.Equal(t, "warn", down[0]["level"])
		grave := 0
		for _, line := range down {
			require.Equal(t, g.lane(0).String(), line["lane_id"])
			if line["level"] == "warn" {
				grave++
			}
		}
		require.LessOrEqual(t, grave, 2, "it went, and it does not come back")
		letBack()
		g.pass(lastBackoff)
		require.Len(t, said.about(t, "link up"), 3)
	}, withLog(zerolog.New(said)))
}
