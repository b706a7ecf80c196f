package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

const subprotocol = "rangegate.lane.v1"

// message is one of a conversation, and who has sent it.
type message struct {
	From string          `json:"from"` // gateway or controller
	Text json.RawMessage `json:"message"`
}

// recording is what a gateway and a controller have said to each other.
type recording struct {
	t       testing.TB
	Address string // that the gateway dials in place of the controller's

	mu       sync.Mutex
	messages []message
}

// record passes messages on to the controller at the address, and writes them down.
func record(t testing.TB, controller string) *recording {
	r := &recording{t: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		options := websocket.DialOptions{
			Subprotocols:    []string{subprotocol},
			CompressionMode: websocket.CompressionDisabled,
		}
		lane, _, err := websocket.Dial(ctx, controller, &options) //nolint:bodyclose // the connection has taken it over
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = lane.CloseNow() }()
		gateway, err := websocket.Accept(w, request, &websocket.AcceptOptions{Subprotocols: []string{subprotocol}})
		if err != nil {
			return
		}
		defer func() { _ = gateway.CloseNow() }()
		var passing sync.WaitGroup
		passing.Go(func() { r.pass(ctx, cancel, "gateway", gateway, lane) })
		passing.Go(func() { r.pass(ctx, cancel, "controller", lane, gateway) })
		passing.Wait()
	}))
	t.Cleanup(server.Close)
	r.Address = strings.Replace(server.URL, "http", "ws", 1) + "/lane"
	return r
}

// pass passes on what one side says until the connection ends, and then ends the other one.
func (r *recording) pass(ctx context.Context, end func(), who string, from, to *websocket.Conn) {
	defer end()
	for {
		kind, text, err := from.Read(ctx)
		if err != nil {
			if code := websocket.CloseStatus(err); code > 0 {
				_ = to.Close(code, "")
			}
			return
		}
		r.mu.Lock()
		r.messages = append(r.messages, message{who, text})
		r.mu.Unlock()
		if to.Write(ctx, kind, text) != nil {
			return
		}
	}
}

// said are the messages so far.
func (r *recording) said() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message(nil), r.messages...)
}

// kinds counts the messages by sender and type, and the reports by their kind too.
func kinds(t testing.TB, messages []message) map[string]int {
	counted := map[string]int{}
	for _, m := range messages {
		var read struct{ Type, Kind string }
		require.NoError(t, json.Unmarshal(m.Text, &read))
		counted[strings.TrimSpace(m.From+" "+read.Type+" "+read.Kind)]++
	}
	return counted
}

// broken has ajv validate the messages against the schema that the gateway serves, and returns what it says
// of those that break it.
func broken(t testing.TB, gateway *support.Gateway, messages []message) (faults []string) {
	t.Helper()
	if _, err := os.Stat("node_modules/ajv"); err != nil {
		support.Missing(t, "the npm packages of test/contract/controller are not installed (make tools)")
	}
	answer, err := support.Client{API: gateway.API}.Do("GET", "/docs/lane-link.schema.json", "", "range-id",
		"", "token", "")
	require.NoError(t, err)
	require.Equal(t, 200, answer.Status, answer.Body)
	require.Equal(t, "application/schema+json", answer.Header.Get("Content-Type"))
	input, err := json.Marshal(map[string]any{"schema": json.RawMessage(answer.Body), "messages": messages})
	require.NoError(t, err)
	validator := exec.CommandContext(t.Context(), support.Program(t, "node"), "validate.mjs")
	validator.Stdin, validator.Stderr = bytes.NewReader(input), os.Stderr
	output, err := validator.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(output, &faults))
	return faults
}

// The formats of the link that a maker's first attempts get wrong break the schema.
func TestMessagesThatBreakTheSchema(t *testing.T) {
	gateway := support.NewConfig(t, support.Lanes(1, 1)).Serve(t)
	const id = "7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"
	for text, why := range map[string]string{
		`{"type":"report","seq":1,"session_id":"` + id +
			`","kind":"purchase","age_ms":0,"purchase_id":"7","items":[]}`: "/purchase_id",
		`{"type":"report","seq":1,"session_id":"` + id + `","kind":"purchase","age_ms":0,"items":[]}`:   "purchase_id",
		`{"type":"report","seq":1,"session_id":"` + strings.ToUpper(id) + `","kind":"help","age_ms":0}`: "/session_id",
		`{"type":"report","seq":0,"session_id":null,"kind":"help","age_ms":0}`:                          "/seq",
		`{"type":"report","seq":1,"session_id":null,"kind":"help","age_ms":-1}`:                         "/age_ms",
		`{"type":"report","seq":1,"session_id":null,"kind":"help","age_ms":1.5}`:                        "/age_ms",
		`{"type":"report","seq":1,"session_id":null,"kind":"fault","age_ms":0}`:                         "detail",
		`{"type":"applied","revision":"7"}`:                                                             "/revision",
		`{"type":"restart"}`:                                                                            "/type",
	} {
		faults := broken(t, gateway, []message{{"controller", json.RawMessage(text)}})
		require.Len(t, faults, 1, text)
		require.Contains(t, faults[0], why)
	}
	require.Empty(t, broken(t, gateway, []message{
		{"controller", json.RawMessage(`{"type":"report","seq":1,"kind":"cleared","age_ms":0,"more":true}`)},
	}), "kinds and keys to come keep it")
}

// The controllers that lanesim plays keep the schema as well, also one whose power was cut in the middle of a session.
func TestSimulatedControllersKeepTheSchema(t *testing.T) {
	controllers := support.NewControllers(t, 1, 1)
	lane := controllers.Controller(1)
	conversation := record(t, lane.Address())
	gateway := support.NewConfig(t, []string{support.Lane(1, support.Link(conversation.Address, support.LinkKey(1)))}).
		Serve(t)
	pos := gateway.POS()
	pos.WaitLinked()
	session := pos.Sell(1, 30)
	controllers.WaitOpen(1, session)
	require.NoError(t, lane.Help())
	require.NoError(t, lane.HitCarrier())
	controllers.WaitAcked(1)
	lane.PowerCut(false)
	controllers.WaitOpen(1, session)
	pos.Command(session, "/stop")
	controllers.WaitLocked(1)
	said := conversation.said()
	require.Empty(t, broken(t, gateway, said))
	counted := kinds(t, said)
	require.GreaterOrEqual(t, counted["controller hello"], 2, counted)
	require.Positive(t, counted["controller report carrier_hit"], counted)
}
