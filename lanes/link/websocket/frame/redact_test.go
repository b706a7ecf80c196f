package frame_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rangegate/lanes"
	"rangegate/lanes/link"
	"rangegate/lanes/link/websocket/frame"
)

const customer = "Jo Smith"

// everything is a message of each type with every key that it may have, by who sends it.
func everything() (sent, received map[string][]byte) {
	whole := &lanes.Session{
		ID: session, Group: groupID, Customer: customer, Phase: lanes.Waiting, Left: time.Minute, Sold: time.Minute,
		OpenEnd: time.Hour, Start: &lanes.Start{At: lanes.Instant{Mono: time.Second}},
		Purchase: &lanes.Purchase{ID: purchase, Phase: lanes.Declined, UserMessage: "Sorry, Jo Smith"},
	}
	sent = map[string][]byte{
		"hello": frame.GatewayHello(frame.Greeting{
			Lane: link.Lane{Range: rangeID, ID: laneID, Epoch: 3}, Challenge: theirs,
		}),
		"state": frame.State(frame.ProvenState{State: link.State{
			Revision: 1, Session: whole, Purchasing: true, WarnAt: []time.Duration{time.Minute, time.Second},
		}, Proof: own}, lanes.Instant{}),
		"ack": frame.Ack(lanes.Log{ID: "9c1f2a7e-5d3b-4c60-8f1a-2b7d9e0c4a51", Seq: 12}),
	}
	report := func(r lanes.Report) []byte {
		r.Log.Seq, r.Session, r.Age = 12, session, time.Second
		return frame.Report(r)
	}
	received = map[string][]byte{
		"hello": frame.ControllerHello(frame.Hello{Lane: laneID, Hello: link.Hello{
			LogID: "log", Firmware: "2.1.0", Session: session, Phase: lanes.Paused, Left: time.Second,
			Beyond: time.Hour,
			Faults: []string{"The lamp is out"}, OpenEnd: true, Capabilities: []string{"light", "open_end"},
		}, Challenge: own, Proof: theirs}),
		"applied": frame.AppliedRevision(7),
		"report":  report(lanes.Report{Kind: lanes.ReportHelp}),
		"report of a purchase": report(lanes.Report{
			Kind: lanes.ReportPurchase, Purchase: purchase,
			Items: []lanes.Item{{ID: "time", Qty: 15}, {ID: "water:0.5", Qty: 2}},
		}),
		"report of a fault": report(lanes.Report{Kind: lanes.ReportFault, Detail: "The lamp is out"}),
	}
	return sent, received
}

func message(sent bool, text []byte) link.Frame {
	return link.Frame{Sent: sent, Kind: link.FrameMessage, Payload: text, Size: int64(len(text))}
}

// An operator sees what a message is about, and not who anybody is, or what a side proves itself by.
func TestAnOperatorSeesAMessageWithoutSecretsAndNames(t *testing.T) {
	sent, received := everything()
	for _, c := range []struct {
		sent       bool
		name, want string
	}{
		{true, "hello", `{"type":"hello","protocol":1,"range_id":"11111111-1111-4111-8111-111111111111",` +
			`"lane_id":"44444444-4444-4444-8444-000000000001","epoch":3,"on_loss":"run_out","challenge":"(redacted)"}`},
		{true, "state", `{"type":"state","revision":1,"hold":false,` +
			`"session":{"session_id":"66666666-6666-4666-8666-000000000001","customer_name":"(redacted)",` +
			`"group_id":"33333333-3333-4333-8333-000000000001","phase":"waiting","remaining_ms":60000,` +
			`"enable_purchasing":true,"warn_at_ms":[60000,1000],"start_at_ms":1000,"beyond_ms":3540000},` +
			`"purchase":{"purchase_id":"77777777-7777-4777-8777-000000000001","phase":"refused",` +
			`"user_message":"(redacted)"},"proof":"(redacted)"}`},
		{true, "ack", `{"type":"ack","log_id":"9c1f2a7e-5d3b-4c60-8f1a-2b7d9e0c4a51","seq":12}`},
		{false, "hello", `{"type":"hello","protocol":1,"lane_id":"44444444-4444-4444-8444-000000000001",` +
			`"log_id":"log","firmware":"2.1.0","state":{"hold":false,` +
			`"session_id":"66666666-6666-4666-8666-000000000001","phase":"paused","remaining_ms":1000,` +
			`"beyond_ms":3600000,"faults":["The lamp is out"]},"capabilities":["light","open_end"],` +
			`"challenge":"(redacted)","proof":"(redacted)"}`},
		{false, "applied", `{"type":"applied","revision":7}`},
		{false, "report", `{"type":"report","seq":12,"session_id":"66666666-6666-4666-8666-000000000001",` +
			`"kind":"help","age_ms":1000}`},
		{false, "report of a purchase", `{"type":"report","seq":12,` +
			`"session_id":"66666666-6666-4666-8666-000000000001","kind":"purchase","age_ms":1000,` +
			`"purchase_id":"77777777-7777-4777-8777-000000000001",` +
			`"items":[{"id":"time","qty":15},{"id":"water:0.5","qty":2}]}`},
		{false, "report of a fault", `{"type":"report","seq":12,` +
			`"session_id":"66666666-6666-4666-8666-000000000001","kind":"fault","age_ms":1000,` +
			`"detail":"The lamp is out"}`},
	} {
		text := received[c.name]
		if c.sent {
			text = sent[c.name]
		}
		shown := frame.Redact(message(c.sent, text))
		require.Equal(t, c.want, string(shown.Shown), c.name)
		require.Equal(t, strings.Fields(c.name)[0], shown.Kind)
		require.Empty(t, shown.Problem)
		require.Equal(t, int64(len(text)), shown.Bytes)
	}
}

// planted returns the message in every form in which one of its values, an item of a list too, is another one, and in
// which a key is there that nobody knows. Each has the path of what was planted.
func planted(value any, plant string, path string, as func(any) any) map[string]any {
	all := map[string]any{path: as(plant)}
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			maps.Copy(all, planted(inner, plant, path+"."+key, func(other any) any {
				changed := maps.Clone(value)
				changed[key] = other
				return as(changed)
			}))
		}
		for _, more := range []any{plant, []any{plant}, map[string]any{"type": plant, "detail": plant, plant: plant}} {
			changed := maps.Clone(value)
			changed["of_a_later_version"] = more
			all[fmt.Sprintf("%s.%T", path, more)] = as(changed)
		}
		changed := maps.Clone(value)
		changed[plant] = 1
		all[path+".key"] = as(changed)
	case []any:
		for i, inner := range value {
			maps.Copy(all, planted(inner, plant, path+"[]", func(other any) any {
				changed := slices.Clone(value)
				changed[i] = other
				return as(changed)
			}))
		}
	}
	return all
}

// Whatever place of a message a secret or a name comes in, nobody sees it. Only the three texts that a controller has
// for people are shown as they are, and no secret in those.
func TestNoSecretAndNoNameIsSeenWhereverItIs(t *testing.T) {
	forPeople := map[string]bool{".firmware": true, ".detail": true, ".state.faults[]": true}
	sent, received := everything()
	for _, plant := range []string{own, "the proof is " + theirs + "!", customer} {
		for isSent, messages := range map[bool]map[string][]byte{true: sent, false: received} {
			for name, text := range messages {
				var whole map[string]any
				require.NoError(t, json.Unmarshal(text, &whole))
				for path, changed := range planted(whole, plant, "", func(value any) any { return value }) {
					text, err := json.Marshal(changed)
					require.NoError(t, err)
					redacted := frame.Redact(message(isSent, text))
					seen := fmt.Sprintf("%+v %s", redacted, redacted.Shown)
					if plant == customer && forPeople[path] {
						require.Contains(t, seen, plant, "%s %s", name, path)
						continue
					}
					for _, secret := range []string{own, theirs, customer} {
						require.NotContains(t, seen, secret, "%s %s", name, path)
					}
					require.True(t, redacted.Shown == nil || json.Valid(redacted.Shown), path)
				}
			}
		}
	}
}

// What is no message of the link is shown as that, and not what is in it.
func TestWhatIsNoMessageIsShownAsThat(t *testing.T) {
	for _, c := range []struct {
		name                 string
		frame                link.Frame
		kind, shown, problem string
	}{
		{"no JSON", message(false, []byte("proof="+own)), "text", "", "a message that is not a JSON object"},
		{"no object", message(false, []byte(`["`+customer+`"]`)), "text", "", "a message that is not a JSON object"},
		{"null", message(true, []byte(`null`)), "text", "", "a message that is not a JSON object"},
		{"empty", message(false, []byte{}), "text", "", "a message that is not a JSON object"},
		{"no UTF-8", message(false, []byte("{\"\xff\":1}")), "text", "", "a message that is not UTF-8"},
		{"too long", link.Frame{Size: 1 << 40}, "text", "", "a message longer than 16384 bytes"},
		{"another type", message(false, []byte(`{"type":"light","lux":300}`)), "unknown", `{"type":"light","lux":"(redacted)"}`, ""},
		{"that of the other side", message(false, []byte(`{"type":"state","revision":1}`)), "unknown", `{"type":"state","revision":"(redacted)"}`, ""},
		{"a type that is a name", message(false, []byte(`{"type":"Jo Smith"}`)), "unknown", `{"type":"(redacted)"}`, ""},
		{"no type", message(false, []byte(`{"Jo Smith":1}`)), "unknown", `{"(redacted)":"(redacted)"}`, "type: wants text"},
		{"a broken rule", message(false, []byte(`{"type":"applied","revision":0}`)), "applied", `{"type":"applied","revision":0}`, "revision: wants a whole number from 1"},
		{"a misspelt key", message(false, []byte(`{"type":"report","Seq":1}`)), "report", `{"type":"report","Seq":"(redacted)"}`, "seq: wants a whole number from 1"},
		{"a value of another form", message(true, []byte(`{"type":"state","session":[1]}`)), "state", `{"type":"state","session":"(redacted)"}`, "revision: wants a whole number from 1"},
		{"null", message(false, []byte(`{"type":"hello","firmware":null,"capabilities":[null]}`)), "hello", `{"type":"hello","firmware":null,"capabilities":[null]}`, "protocol: wants a whole number from 0"},
		{"the same key twice", message(true, []byte(`{"type":"ack","seq":"Jo","seq":2,"type":"ack","log_id":"l"}`)), "ack", `{"type":"ack","seq":"(redacted)","seq":2,"type":"ack","log_id":"l"}`, ""},
		{"an escaped key", message(true, []byte(`{ "type" : "ack" , "s\u0065q" : 2 , "log_id" : "\u006c"}`)), "ack", `{"type":"ack","seq":2,"log_id":"(redacted)"}`, ""},
		{
			"binary",
			link.Frame{Kind: link.FrameBinary, Payload: []byte(own)},
			"binary", "",
			"a message that is not text",
		},
		{"a ping", link.Frame{Kind: link.FramePing, Payload: []byte(own)}, "ping", "", ""},
		{"a pong", link.Frame{Kind: link.FramePong, Payload: []byte(own)}, "pong", "", ""},
		{"a close frame", closing(1008, `"bye" of `+own), "close", `{"status":1008,"reason":"\"bye\" of (redacted)"}`, ""},
		{"a close frame without a status", link.Frame{Kind: link.FrameClose}, "close", "", ""},
	} {
		shown := frame.Redact(c.frame)
		assert.Equal(t, []string{c.kind, c.shown, c.problem},
			[]string{shown.Kind, string(shown.Shown), shown.Problem}, c.name)
	}
}

func closing(status uint16, reason string) link.Frame {
	return link.Frame{Kind: link.FrameClose, Payload: append(binary.BigEndian.AppendUint16(nil, status), reason...)}
}

// A controller that says very much is cut short.
func TestWhatIsShownOfAMessageIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 300)
	shown := frame.Redact(message(false, []byte(`{"type":"report","detail":"`+long+`"}`)))
	require.Equal(t, `{"type":"report","detail":"`+long[:400]+`…"}`, string(shown.Shown))

	many := `{"type":"hello","capabilities":["a"` + strings.Repeat(`,"b"`, 2000) + `],"state":{` +
		strings.Repeat(`"k":1,`, 1000) + `"k":1}}`
	shown = frame.Redact(message(false, []byte(many)))
	require.Less(t, len(shown.Shown), 2000)
	require.True(t, json.Valid(shown.Shown))
	require.Contains(t, string(shown.Shown), `"b","…"]`)
	require.Contains(t, string(shown.Shown), `"…":"…"}`)
}

// Whoever adds a key to the link decides whether operators see it.
func TestEveryKeyOfTheLinkIsEitherSeenOrHidden(t *testing.T) {
	hidden := []string{"challenge", "proof", "customer_name", "user_message"}
	sent, received := everything()
	var schema struct {
		Definitions map[string]any `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(frame.Schema(), &schema))
	checked := 0
	for name, definition := range schema.Definitions {
		kind, side, found := strings.Cut(name, "From")
		if !found {
			continue // the list of a side's messages
		}
		messages, shown := received, ""
		if side == "Gateway" {
			messages = sent
		}
		for of, text := range messages {
			if strings.Fields(of)[0] == kind {
				shown += string(frame.Redact(message(side == "Gateway", text)).Shown)
			}
		}
		for _, key := range keysIn(definition) {
			require.Contains(t, shown, `"`+key+`":`, name)
			redacted := strings.Contains(shown, `"`+key+`":"(redacted)"`)
			require.Equal(t, slices.Contains(hidden, key), redacted, "%s %s", name, key)
			checked++
		}
	}
	require.Greater(t, checked, 40)
}

// keysIn returns the keys of all objects that a schema describes.
func keysIn(schema any) (keys []string) {
	switch schema := schema.(type) {
	case map[string]any:
		for name, inner := range schema {
			if properties, ok := inner.(map[string]any); ok && name == "properties" {
				keys = slices.AppendSeq(keys, maps.Keys(properties))
				for _, property := range properties {
					keys = append(keys, keysIn(property)...)
				}
				continue
			}
			keys = append(keys, keysIn(inner)...)
		}
	case []any:
		for _, inner := range schema {
			keys = append(keys, keysIn(inner)...)
		}
	}
	return keys
}

// No bytes make an operator see what has the form of a challenge or a proof, or anything that is no JSON.
func FuzzRedact(f *testing.F) {
	sent, received := everything()
	for _, text := range sent {
		f.Add(true, text)
	}
	for _, text := range received {
		f.Add(false, text)
	}
	f.Add(false, []byte(`{"type":"hello","log_id":"`+own+`","state":{"faults":["`+own+`"]}}`))
	secret := regexp.MustCompile(`[A-Za-z0-9_-]{43}`)
	f.Fuzz(func(t *testing.T, sent bool, text []byte) {
		for _, of := range []link.Frame{message(sent, text), {Sent: sent, Kind: link.FrameClose, Payload: text}} {
			shown := frame.Redact(of)
			require.True(t, shown.Shown == nil || json.Valid(shown.Shown))
			require.NotRegexp(t, secret, string(shown.Shown))
			require.NotRegexp(t, secret, shown.Kind+shown.Problem)
		}
	})
}

// Of a controller that names very many capabilities, or very long ones, a few are kept; the known one counts anyhow.
func TestAFewCapabilitiesAreKept(t *testing.T) {
	message, err := frame.FromController([]byte(`{"type":"hello","protocol":1,"lane_id":"` + laneID.String() +
		`","log_id":"log","state":{"hold":false},"capabilities":["light","` + strings.Repeat("l", 65) + `"` +
		strings.Repeat(`,"sound"`, 20) + `,"open_end"]}`))
	require.NoError(t, err)
	hello := message.(frame.Hello)
	require.Equal(t, append([]string{"light"}, slices.Repeat([]string{"sound"}, link.MaxCapabilities-1)...),
		hello.Capabilities)
	require.True(t, hello.OpenEnd)
}
