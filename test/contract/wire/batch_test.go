package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// result is what one operation of a batch came to.
type result struct {
	Index   int    `json:"index"`
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Session *struct {
		ID       string `json:"session_id"`
		Lane     string `json:"lane_id"`
		Duration int    `json:"duration"`
	} `json:"session"`
}

func operations(atomic bool, ops ...string) string {
	return fmt.Sprintf(`{"atomic":%t,"operations":[%s]}`, atomic, strings.Join(ops, ","))
}

// create is the operation that sells minutes on the lane with that number.
func create(lane, minutes int) string { return `{"op":"create",` + support.Order(lane, minutes)[1:] }

func on(session, op string, fields ...string) string {
	return `{"op":"` + op + `","session_id":"` + session + `"` + strings.Join(fields, "") + `}`
}

// batch sends a batch, which has to be answered with that status.
func (p posClient) batch(status int, body string, headers ...string) []result {
	p.t.Helper()
	answer := p.ask("POST", v2+"/sessions/batch", body, headers...)
	require.Equal(p.t, status, answer.Status, answer.Body)
	var view struct{ Results []result }
	require.NoError(p.t, json.Unmarshal([]byte(answer.Body), &view))
	return view.Results
}

func summary(results []result) string {
	var all []string
	for _, r := range results {
		all = append(all, strings.TrimSpace(fmt.Sprint(r.Index, " ", r.Status, " ", r.Code)))
	}
	return strings.Join(all, ", ")
}

// A batch is what belongs together, and what comes at once.
func TestBatches(t *testing.T) {
	_, pos := serve(t)
	send := func(status int, body string, headers ...string) []result { return pos.batch(status, body, headers...) }
	first, second := pos.sell(1, 30, ""), pos.sell(2, 45, "")

	swap := operations(true, on(first, "move", `,"lane_id":"`+support.LaneID(2)+`"`),
		on(second, "move", `,"lane_id":"`+support.LaneID(1)+`"`))
	swapped := send(200, swap, "Idempotency-Key", "swap")
	require.Equal(t, "0 204, 1 204", summary(swapped))
	require.Equal(t, support.LaneID(2), swapped[0].Session.Lane)
	require.Equal(t, swapped, send(200, swap, "Idempotency-Key", "swap"), "a repeat does not swap back")
	require.Contains(t, pos.ask("GET", v2+"/sessions/"+second, "").Body, support.LaneID(1))

	next := send(200, operations(true, on(second, "stop"), create(1, 60), on(first, "modify", `,"time":15`)))
	require.Equal(t, "0 204, 1 201, 2 204", summary(next))
	require.Nil(t, next[0].Session)
	require.Equal(t, 60, next[1].Session.Duration)
	require.Equal(t, 45, next[2].Session.Duration)

	require.Equal(t, "0 409 lane_occupied, 2 404 session_ended, 3 409 not_paused",
		summary(send(409, operations(true, create(1, 30), on(first, "pause"), on(second, "pause"),
			on(next[1].Session.ID, "resume")))))
	require.Equal(t, 204, pos.ask("POST", v2+"/sessions/"+first+"/pause", "").Status, "none of them was done")

	require.Equal(t, "0 409 lane_occupied, 1 201, 2 204, 3 404 session_not_found",
		summary(send(200, operations(false, create(1, 30), create(3, 30), on(first, "resume"), on(unknownID, "stop")))))
}

// A batch may sell with the token of a reservation; whoever has none learns until when the lane is kept.
func TestABatchAndAReservation(t *testing.T) {
	_, pos := serve(t)
	kept := pos.ask("POST", v2+"/reservations", `{"lane_ids":["`+support.LaneID(1)+`"],"seconds":60}`)
	require.Equal(t, 201, kept.Status, kept.Body)
	var reservation struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(kept.Body), &reservation))

	refused := pos.ask("POST", v2+"/sessions/batch", operations(false, create(1, 30)))
	require.Contains(t, refused.Body, `"code":"lane_reserved"`)
	require.Contains(t, refused.Body, `"reserved_until":"`)
	sold := pos.ask("POST", v2+"/sessions/batch",
		operations(true, strings.TrimSuffix(create(1, 30), "}")+`,"reservation":"`+reservation.Token+`"}`))
	require.Equal(t, 200, sold.Status, sold.Body)
}

func TestBatchesThatAreRefused(t *testing.T) {
	_, pos := serve(t)
	session := pos.sell(1, 30, "")
	many := make([]string, 201)
	for i := range many {
		many[i] = on(session, "pause")
	}
	for _, c := range []struct{ body, says string }{
		{`{}`, `"operations":"is required"`},
		{`{"operations":[]}`, `"operations":"must be a list of 1 to 200 objects"`},
		{`{"operations":{}}`, `"operations":"must be a list of 1 to 200 objects"`},
		{operations(true, many...), `"operations":"must be a list of 1 to 200 objects"`},
		{operations(true, `{}`), `"operations[0].op":"is required"`},
		{operations(true, `null`), `"operations[0].op":"is required"`},
		{
			operations(true, on(session, "sell")),
			`"operations[0].op":"must be one of create, modify, start, stop, pause, resume, move"`,
		},
		{operations(true, on(session, "pause"), on(session, "modify")), `"operations[1].time":"is required"`},
		{operations(false, create(2, 481)), `"operations[0].duration":"must be an integer from 1 to 480"`},
		{operations(false, on("x", "stop")), `"operations[0].session_id":"must be a UUID like`},
		{
			operations(false, on(session, "stop"), on(session, "pause")),
			`"operations[1].session_id":"is stopped by operations[0]"`,
		},
		{operations(false, create(2, 30), create(2, 30)), `"operations[1].lane_id":"is sold by operations[0]"`},
		{`{"operations":[` + on(session, "pause") + `],"atomic":1}`, `"atomic":"must be true or false"`},
		{`{"operations":"` + strings.Repeat("a", 1<<20) + `"}`, `"error":"the body is larger than 1048576 bytes"`},
	} {
		answer := pos.ask("POST", v2+"/sessions/batch", c.body)
		require.GreaterOrEqual(t, answer.Status, 400)
		require.Contains(t, answer.Body, c.says)
	}
	large := strings.TrimSuffix(operations(false, on(session, "pause")), "}") + `,"x":"` +
		strings.Repeat("a", 900<<10) + `"}`
	require.Equal(t, 200, pos.ask("POST", v2+"/sessions/batch", large).Status, "above the size of other bodies")
}
