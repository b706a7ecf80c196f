package frame_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

var (
	rangeID  = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	laneID   = uuid.MustParse("44444444-4444-4444-8444-000000000001")
	groupID  = uuid.MustParse("33333333-3333-4333-8333-000000000001")
	session  = uuid.MustParse("66666666-6666-4666-8666-000000000001")
	purchase = uuid.MustParse("77777777-7777-4777-8777-000000000001")
)

// The messages in LINK.md.
func TestGatewayWrites(t *testing.T) {
	now := lanes.Instant{Mono: time.Hour}
	running := &lanes.Session{
		ID: session, Group: groupID, Customer: "Jo <Smith>", Phase: lanes.Running,
		Left: 30 * time.Minute, Since: now.Add(-time.Second - time.Microsecond),
	}
	waits := *running
	waits.Phase, waits.Start = lanes.Waiting, &lanes.Start{ID: purchase, At: now.Add(30 * time.Second)}
	scheduled := &waits
	beyond := *running
	beyond.Left, beyond.Since, beyond.Sold, beyond.OpenEnd = -time.Minute, now, 30*time.Minute, time.Hour
	openEnded := &beyond
	bought := *running
	bought.Purchase = &lanes.Purchase{ID: purchase, Phase: lanes.Declined, UserMessage: "Your card was declined."}
	for _, c := range []struct {
		name string
		text []byte
		want string
	}{
		{"hello", frame.GatewayHello(frame.Greeting{Lane: link.Lane{Range: rangeID, ID: laneID, Epoch: 3}}), `{"type":"hello","protocol":1,
			"range_id":"11111111-1111-4111-8111-111111111111","lane_id":"44444444-4444-4444-8444-000000000001","epoch":3,"on_loss":"run_out"}`},
		{"hello, hold on loss", frame.GatewayHello(frame.Greeting{Lane: link.Lane{Range: rangeID, ID: laneID, Epoch: 3, HoldOnLoss: true}}), `{"type":"hello","protocol":1,
			"range_id":"11111111-1111-4111-8111-111111111111","lane_id":"44444444-4444-4444-8444-000000000001","epoch":3,"on_loss":"hold"}`},
		{
			"hello with a key", frame.GatewayHello(frame.Greeting{
				Lane:      link.Lane{Range: rangeID, ID: laneID, Epoch: 3},
				Challenge: own,
			}),
			`{"type":"hello","protocol":1,"range_id":"11111111-1111-4111-8111-111111111111","lane_id":"44444444-4444-4444-8444-000000000001",
			"epoch":3,"on_loss":"run_out","challenge":"` + own + `"}`,
		},
		{
			"first state with a key", frame.State(frame.ProvenState{State: link.State{Revision: 1}, Proof: own}, now),
			`{"type":"state","revision":1,"hold":false,"session":null,"purchase":null,"proof":"` + own + `"}`,
		},
		{
			"no session", state(link.State{Revision: 7}, now),
			`{"type":"state","revision":7,"hold":false,"session":null,"purchase":null}`,
		},
		{"session", state(link.State{Revision: 8, Hold: true, Session: running, Purchasing: true}, now), `{"type":"state","revision":8,"hold":true,
			"session":{"session_id":"66666666-6666-4666-8666-000000000001","customer_name":"Jo <Smith>","group_id":"33333333-3333-4333-8333-000000000001",
			"phase":"running","remaining_ms":1798999,"enable_purchasing":true},"purchase":null}`},
		{"warnings", state(link.State{Revision: 8, Session: running, WarnAt: []time.Duration{5 * time.Minute, 90 * time.Second}}, now), `{"type":"state","revision":8,"hold":false,
			"session":{"session_id":"66666666-6666-4666-8666-000000000001","customer_name":"Jo <Smith>","group_id":"33333333-3333-4333-8333-000000000001",
			"phase":"running","remaining_ms":1798999,"enable_purchasing":false,"warn_at_ms":[300000,90000]},"purchase":null}`},
		{"start", state(link.State{Revision: 8, Session: scheduled}, now), `{"type":"state","revision":8,"hold":false,
			"session":{"session_id":"66666666-6666-4666-8666-000000000001","customer_name":"Jo <Smith>","group_id":"33333333-3333-4333-8333-000000000001",
			"phase":"waiting","remaining_ms":1800000,"enable_purchasing":false,"start_at_ms":30000},"purchase":null}`},
		{"open end", state(link.State{Revision: 8, Session: openEnded}, now), `{"type":"state","revision":8,"hold":false,
			"session":{"session_id":"66666666-6666-4666-8666-000000000001","customer_name":"Jo <Smith>","group_id":"33333333-3333-4333-8333-000000000001",
			"phase":"running","remaining_ms":0,"enable_purchasing":false,"beyond_ms":1740000},"purchase":null}`},
		{"purchase", state(link.State{Revision: 9, Session: &bought}, now), `{"type":"state","revision":9,"hold":false,
			"session":{"session_id":"66666666-6666-4666-8666-000000000001","customer_name":"Jo <Smith>","group_id":"33333333-3333-4333-8333-000000000001",
			"phase":"running","remaining_ms":1798999,"enable_purchasing":false},
			"purchase":{"purchase_id":"77777777-7777-4777-8777-000000000001","phase":"refused","user_message":"Your card was declined."}}`},
		{"ack", frame.Ack(lanes.Log{ID: "log", Seq: 12}), `{"type":"ack","log_id":"log","seq":12}`},
	} {
		assert.JSONEq(t, c.want, string(c.text), c.name)
	}
}

func state(s link.State, now lanes.Instant) []byte {
	return frame.State(frame.ProvenState{State: s}, now)
}

func TestControllerWrites(t *testing.T) {
	for _, c := range []struct {
		name string
		text []byte
		want string
	}{
		{
			"hello", frame.ControllerHello(frame.Hello{Lane: laneID, Hello: link.Hello{LogID: "log", Firmware: "1.0"}}),
			`{"type":"hello","protocol":1,"lane_id":"44444444-4444-4444-8444-000000000001","log_id":"log","firmware":"1.0",
			"state":{"hold":false,"session_id":null,"phase":null,"remaining_ms":null,"faults":[]}}`,
		},
		{
			"hello with a key", frame.ControllerHello(frame.Hello{
				Lane: laneID, Hello: link.Hello{LogID: "log"},
				Challenge: own, Proof: theirs,
			}),
			`{"type":"hello","protocol":1,"lane_id":"44444444-4444-4444-8444-000000000001","log_id":"log","firmware":"",
			"state":{"hold":false,"session_id":null,"phase":null,"remaining_ms":null,"faults":[]},
			"challenge":"` + own + `","proof":"` + theirs + `"}`,
		},
		{
			"hello with an open end", frame.ControllerHello(frame.Hello{Lane: laneID, Hello: link.Hello{
				LogID: "log", OpenEnd: true, Session: session, Phase: lanes.Running, Beyond: 90 * time.Second,
			}}),
			`{"type":"hello","protocol":1,"lane_id":"44444444-4444-4444-8444-000000000001","log_id":"log","firmware":"",
			"state":{"hold":false,"session_id":"66666666-6666-4666-8666-000000000001","phase":"running","remaining_ms":0,"beyond_ms":90000,"faults":[]},
			"capabilities":["open_end"]}`,
		},
		{"applied", frame.AppliedRevision(7), `{"type":"applied","revision":7}`},
		{
			"entered", frame.Report(lanes.Report{
				Log: lanes.Log{ID: "log", Seq: 12}, Kind: lanes.ReportEntered,
				Session: session,
			}),
			`{"type":"report","seq":12,"session_id":"66666666-6666-4666-8666-000000000001","kind":"entered","age_ms":0}`,
		},
		{
			"purchase", frame.Report(lanes.Report{
				Log: lanes.Log{Seq: 1}, Kind: lanes.ReportPurchase, Session: session,
				Purchase: purchase, Items: []lanes.Item{{ID: "time", Qty: 15}},
			}),
			`{"type":"report","seq":1,"session_id":"66666666-6666-4666-8666-000000000001","kind":"purchase","age_ms":0,
			"purchase_id":"77777777-7777-4777-8777-000000000001","items":[{"id":"time","qty":15}]}`,
		},
		{
			"fault", frame.Report(lanes.Report{
				Log: lanes.Log{Seq: 2}, Kind: lanes.ReportFault,
				Age: 1500 * time.Millisecond, Detail: "lamp",
			}),
			`{"type":"report","seq":2,"session_id":null,"kind":"fault","age_ms":1500,"detail":"lamp"}`,
		},
	} {
		assert.JSONEq(t, c.want, string(c.text), c.name)
	}
}

// A state is never longer than Longest, whatever text a POS and an integrator send.
func TestTheLongestStateFits(t *testing.T) {
	s := &lanes.Session{
		ID: session, Group: groupID, Customer: strings.Repeat("\u2028", 200), Phase: lanes.Running, Left: 8 * time.Hour,
		Purchase: &lanes.Purchase{ID: purchase, Phase: lanes.Declined, UserMessage: strings.Repeat("<", 100_000)},
	}
	text := frame.State(frame.ProvenState{State: link.State{Revision: 1<<64 - 1, Session: s}, Proof: own},
		lanes.Instant{})
	assert.LessOrEqual(t, len(text), frame.Longest)
	read, err := frame.FromGateway(text)
	require.NoError(t, err)
	note := read.(frame.ProvenState).Session.Purchase.UserMessage
	assert.True(t, strings.HasSuffix(note, "<…"))
}

func TestWhatIsUnknownIsPassedOver(t *testing.T) {
	for _, text := range []string{`{"type":"weather"}`, `{"type":"state "}`, ` {"type":"", "seq":[]} `} {
		for _, read := range []func([]byte) (any, error){frame.FromController, frame.FromGateway} {
			message, err := read([]byte(text))
			assert.NoError(t, err, text)
			assert.Nil(t, message, text)
		}
	}
	message, err := frame.FromController([]byte(`{"type":"applied","revision":7,"Revision":"x","more":{"revision":8}}`))
	require.NoError(t, err)
	assert.Equal(t, frame.Applied(7), message)

	message, err = frame.FromController([]byte(`{"type":"report","seq":3,"kind":"sneezed","age_ms":5,"items":7}`))
	require.NoError(t, err, "it has its number in the log")
	assert.Equal(t, lanes.Report{Log: lanes.Log{Seq: 3}, Kind: "sneezed", Age: 5 * time.Millisecond}, message)
}

func TestRulesOfAController(t *testing.T) {
	const (
		hello    = `{"type":"hello","protocol":1,"lane_id":"44444444-4444-4444-8444-000000000001","log_id":"log","state":{"hold":true}}`
		report   = `{"type":"report","seq":1,"session_id":null,"kind":"help","age_ms":0}`
		bought   = `{"type":"report","seq":1,"kind":"purchase","age_ms":0,"purchase_id":"77777777-7777-4777-8777-000000000001","items":[]}`
		inForce  = `{"hold":true,"session_id":"66666666-6666-4666-8666-000000000001","phase":"running","remaining_ms":5}`
		withSeat = `{"type":"hello","protocol":1,"lane_id":"44444444-4444-4444-8444-000000000001","log_id":"log","state":` + inForce + `}`
	)
	proven := string(frame.ControllerHello(frame.Hello{
		Lane: laneID, Hello: link.Hello{LogID: "log"},
		Challenge: theirs, Proof: own,
	}))
	for _, right := range []string{hello, report, bought, withSeat, proven} {
		_, err := frame.FromController([]byte(right))
		require.NoError(t, err, right)
	}
	for _, c := range []struct{ text, before, after, rule string }{
		{"", "", "", "a message that is not a JSON object"},
		{"null", "", "", "a message that is not a JSON object"},
		{`["type"]`, "", "", "a message that is not a JSON object"},
		{report + "{}", "", "", "a message that is not a JSON object"},
		{"{\"type\":\"\xff\"}", "", "", "a message that is not UTF-8"},
		{`{"type":"` + strings.Repeat("x", frame.Longest) + `"}`, "", "", "a message of 16395 bytes"},
		{`{}`, "", "", "type: wants text"},
		{report, `"type"`, `"Type"`, "type: wants text"},
		{report, `"report"`, "7", "type: wants text"},
		{report, `"seq":1,`, "", "seq: wants a whole number from 1"},
		{report, `"seq":1`, `"SEQ":1`, "seq: wants a whole number from 1"},
		{report, `"seq":1`, `"seq":0`, "seq: wants a whole number from 1"},
		{report, `"seq":1`, `"seq":"1"`, "seq: wants a whole number from 1"},
		{report, `"seq":1`, `"seq":1.0`, "seq: wants a whole number from 1"},
		{report, `"seq":1`, `"seq":18446744073709551616`, "seq: wants a whole number from 1"},
		{report, `"kind":"help",`, "", "kind: wants text"},
		{report, `"age_ms":0`, `"age_ms":-1`, "age_ms: wants a whole number from 0"},
		{report, `"age_ms":0`, `"age_ms":9223372036855`, "age_ms: wants a time that is less than 292 years"},
		{report, `,"age_ms":0`, "", "age_ms: wants a whole number from 0"},
		{report, "null", `"{66666666-6666-4666-8666-000000000001}"`, "session_id: wants a UUID"},
		{report, "null", `"00000000-0000-0000-0000-000000000000"`, "session_id: wants a UUID"},
		{report, "help", "fault", "detail: wants text"},
		{report, "help", "purchase", "purchase_id: wants text"},
		{bought, "[]", "null", "items: wants a list"},
		{bought, "[]", "[[]]", "items: wants a list of objects"},
		{bought, "[]", `[{"id":"time"}]`, "items.qty: wants a whole number"},
		{bought, "[]", `[{"qty":1}]`, "items.id: wants text"},
		{`{"type":"applied","revision":0}`, "", "", "revision: wants a whole number from 1"},
		{hello, `"protocol":1`, `"protocol":2`, "protocol: wants 1"},
		{hello, `"lane_id"`, `"lane"`, "lane_id: wants text"},
		{hello, `"log_id":"log"`, `"log_id":""`, "log_id: wants a name"},
		{hello, `{"hold":true}`, `null`, "state: wants an object"},
		{hello, `{"hold":true}`, `{}`, "state.hold: wants true or false"},
		{hello, `{"hold":true}`, `{"hold":true,"faults":[1]}`, "state.faults: wants a list of texts"},
		{withSeat, `"running"`, `"running","beyond_ms":-1`, "state.beyond_ms: wants a whole number from 0"},
		{hello, `"log_id":"log"`, `"log_id":"log","capabilities":{}`, "capabilities: wants a list"},
		{withSeat, `"running"`, `"ended"`, "state.phase: wants one of [waiting running paused]"},
		{withSeat, `5`, `null`, "state.remaining_ms: wants a whole number from 0"},
		{proven, `"` + theirs + `"`, `""`, "challenge: wants 32 bytes as base64url without padding"},
		{proven, theirs, theirs + "A", "challenge: wants 32 bytes as base64url without padding"},
		// which Go's decoder passes over
		{proven, theirs, theirs + `\n`, "challenge: wants 32 bytes as base64url without padding"},
		{proven, theirs, theirs[:42] + "+", "challenge: wants 32 bytes as base64url without padding"},
		{proven, theirs, theirs[:41] + `\n` + "A", "challenge: wants 32 bytes as base64url without padding"},
		// another spelling of the last byte
		{proven, theirs, theirs[:42] + "9", "challenge: wants 32 bytes as base64url without padding"},
		{proven, own, own[:22], "proof: wants 32 bytes as base64url without padding"},
		{proven, `"` + own + `"`, "[]", "proof: wants text"},
	} {
		text := strings.Replace(c.text, c.before, c.after, 1)
		message, err := frame.FromController([]byte(text))
		assert.EqualError(t, err, c.rule, text)
		assert.Nil(t, message)
	}
}

func TestRulesOfAGateway(t *testing.T) {
	hello := string(frame.GatewayHello(frame.Greeting{
		Lane:      link.Lane{Range: rangeID, ID: laneID, Epoch: 3},
		Challenge: theirs,
	}))
	current := &lanes.Session{
		ID: session, Group: groupID, Customer: "Jo", Phase: lanes.Waiting,
		Purchase: &lanes.Purchase{ID: purchase, Phase: lanes.Pending},
	}
	state := string(frame.State(frame.ProvenState{State: link.State{Revision: 1, Session: current}, Proof: own},
		lanes.Instant{}))
	for _, c := range []struct{ text, before, after, rule string }{
		{hello, "run_out", "open", "on_loss: wants one of [run_out hold]"},
		{hello, `"epoch":3`, `"epoch":-3`, "epoch: wants a whole number from 0"},
		{hello, "11111111-", "1-", "range_id: wants a UUID"},
		{hello, theirs, theirs[1:], "challenge: wants 32 bytes as base64url without padding"},
		{hello, `"` + theirs + `"`, "7", "challenge: wants text"},
		{state, own, own + "=", "proof: wants 32 bytes as base64url without padding"},
		{state, `"hold":false,`, "", "hold: wants true or false"},
		{state, `"remaining_ms":0`, `"remaining_ms":null`, "session.remaining_ms: wants a whole number from 0"},
		// the gateway always sends one
		{state, `"user_message":""`, `"user_message":null`, "purchase.user_message: wants text"},
		{
			state, `"remaining_ms":0`, `"remaining_ms":0,"warn_at_ms":[-1]`,
			"session.warn_at_ms: wants a whole number from 0",
		},
		{state, `"remaining_ms":0`, `"remaining_ms":0,"warn_at_ms":5`, "session.warn_at_ms: wants a list"},
		{
			state, `"remaining_ms":0`, `"remaining_ms":0,"start_at_ms":-1`,
			"session.start_at_ms: wants a whole number from 0",
		},
		{state, "pending", "maybe", "purchase.phase: wants one of [pending accepted refused unresolved]"},
		{`{"type":"ack","log_id":"log","seq":0}`, "", "", "seq: wants a whole number from 1"},
	} {
		_, err := frame.FromGateway([]byte(strings.Replace(c.text, c.before, c.after, 1)))
		assert.EqualError(t, err, c.rule)
	}
}
