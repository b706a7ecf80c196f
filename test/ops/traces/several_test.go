package traces

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// attributesOf are the values of one attribute of the spans.
func attributesOf(spans []support.TracedSpan, name string) (values []string) {
	for _, span := range spans {
		values = append(values, span.Attributes[name])
	}
	return values
}

// A batch, a move and a ceasefire concern several lanes, and each is one tree: what every lane did, with the flushes,
// the hardware and the webhook.
func TestTheTreesOfWhatConcernsSeveralLanes(t *testing.T) {
	const (
		batch, move = "0af7651916cd43dd8448eb211c80319c", "0af7651916cd43dd8448eb211c80319d"
		hold, lift  = "0af7651916cd43dd8448eb211c80319e", "0af7651916cd43dd8448eb211c80319f"
	)
	collector, receiver, controllers := support.NewCollector(t), support.NewReceiver(t), support.NewControllers(t, 1, 3)
	g := serve(t, collector, receiver, controllers.Lanes())
	g.POS().WaitLinked()
	still := g.Stillness(t.Context())

	first := strings.Replace(order(1), "{", `{"op":"create",`, 1)
	second := strings.Replace(order(2), "{", `{"op":"create",`, 1)
	g.POS().Expect(200, "POST", "/sessions/batch",
		fmt.Sprintf(`{"atomic":true,"operations":[%s,%s]}`, first, second), sampled(batch)...)
	request := only(t, collector.Wait(1, batch, "request"))
	decisions, applied := collector.Wait(2, batch, "decide"), collector.Wait(2, batch, "applied")
	attempts := collector.Wait(4, batch, "webhook")
	lanes := []string{support.LaneID(1), support.LaneID(2)}
	require.ElementsMatch(t, lanes, attributesOf(decisions, "rangegate.lane_id"))
	require.ElementsMatch(t, lanes, attributesOf(applied, "rangegate.lane_id"))
	require.ElementsMatch(t, lanes, attributesOf(collector.Wait(2, batch, "mailbox"), "rangegate.lane_id"))
	for _, span := range append(append(decisions, applied...), attempts...) {
		require.Equal(t, request.ID, span.Parent, span.Name)
	}
	require.Equal(t, decisions[0].Links, decisions[1].Links, "both are saved in one flush")
	flush := only(t, collector.Wait(1, decisions[0].Links[0].Trace, "flush"))
	require.Equal(t, []support.TracedLink{{Trace: batch, ID: request.ID}}, flush.Links)

	var session string
	for id, sold := range g.POS().Sessions() {
		if sold.Lane == support.LaneID(1) {
			session = id
		}
	}
	g.POS().Expect(204, "POST", "/sessions/"+session+"/move?lane_id="+support.LaneID(3), "", sampled(move)...)
	request = only(t, collector.Wait(1, move, "request"))
	decision, arrival := only(t, collector.Wait(1, move, "decide")), only(t, collector.Wait(1, move, "arrival"))
	applied = collector.Wait(2, move, "applied")
	require.Equal(t, support.LaneID(1), decision.Attributes["rangegate.lane_id"])
	require.Equal(t, []string{support.LaneID(3), session},
		[]string{arrival.Attributes["rangegate.lane_id"], arrival.Attributes["rangegate.session_id"]})
	require.ElementsMatch(t, []string{support.LaneID(1), support.LaneID(3)}, attributesOf(applied, "rangegate.lane_id"))
	require.Equal(t, decision.Links, arrival.Links, "one flush saves both lanes")
	for _, span := range append(applied, decision, arrival) {
		require.Equal(t, request.ID, span.Parent, span.Name)
	}

	for _, change := range []struct{ trace, body, command string }{
		{hold, `{"scope":"range","id":null,"on":true}`, "hold"},
		{lift, `{"scope":"range","id":null,"on":false}`, "release"},
	} {
		answer, err := support.Client{API: g.Operations}.Do("PUT", "/ranges/"+support.RangeID+"/holds", change.body,
			append(sampled(change.trace), "Authorization", "Bearer "+g.Token, "Content-Type", "application/json")...)
		require.NoError(t, err)
		require.Equal(t, 200, answer.Status, answer.Body)
		request = only(t, collector.Wait(1, change.trace, "request"))
		decision := only(t, collector.Wait(1, change.trace, "decide"))
		reach := only(t, collector.Wait(1, change.trace, "reach"))
		require.Equal(t, []string{change.command, "range", "ok"}, []string{
			decision.Attributes["rangegate.command"],
			decision.Attributes["rangegate.scope"],
			decision.Attributes["rangegate.outcome"],
		})
		require.Equal(t, "3", reach.Attributes["rangegate.lanes"])
		if still() < time.Second { // otherwise a controller may have confirmed when the answer was given
			require.Equal(t, []string{"3", "0", "0"}, []string{
				reach.Attributes["rangegate.confirmed"],
				reach.Attributes["rangegate.sent"], reach.Attributes["rangegate.not_reached"],
			})
		}
		applied = collector.Wait(3, change.trace, "applied")
		require.Len(t, applied, 3)
		for _, span := range applied {
			require.Equal(t, reach.ID, span.Parent)
		}
		// Both sessions are paused, or go on: their events are below the request.
		for _, span := range append(collector.Wait(2, change.trace, "webhook"), decision, reach) {
			require.Equal(t, request.ID, span.Parent, span.Name)
			require.Empty(t, span.Failed, span.Name)
		}
		flush = only(t, collector.Wait(1, decision.Links[0].Trace, "flush"))
		require.Equal(t, []support.TracedLink{{Trace: change.trace, ID: request.ID}}, flush.Links)
	}
	require.NotContains(t, collector.Bodies(), customer)
}
