package frame_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"rangegate/lanes/link/websocket/frame"
)

var rewrite = flag.Bool("rewrite", false, "write docs/lane-link.schema.json")

const schemaFile = "../../../../docs/lane-link.schema.json"

// The schema in docs is the one that the gateway serves: go test ./lanes/link/websocket/frame -run Schema
// -rewrite writes it.
func TestTheSchemaInDocsIsTheOneThatIsServed(t *testing.T) {
	if *rewrite {
		require.NoError(t, os.WriteFile(schemaFile, frame.Schema(), 0o644))
	}
	text, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	require.Equal(t, string(frame.Schema()), string(text))
}

// compiled returns a part of the schema, as "fromController".
func compiled(t *testing.T, part string) *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(frame.Schema()))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("http://gateway"+frame.SchemaID, document))
	compiled, err := compiler.Compile("http://gateway" + frame.SchemaID + "#/$defs/" + part)
	require.NoError(t, err)
	return compiled
}

// Every message with one value changed, or taken out: what keeps the schema is decoded, and what is not
// decoded breaks it. What the schema is stricter about is what a sender should do, and a receiver need not
// insist on.
func TestWhatKeepsTheSchemaIsDecoded(t *testing.T) {
	decoders := map[string]func([]byte) (any, error){
		"fromGateway":    frame.FromGateway,
		"fromController": frame.FromController,
	}
	values := []any{
		nil, true, "", "running", "purchase", "fault", "hello", 0, 1, -1, 1.5, uint64(1 << 63),
		json.Number("99999999999999999999"),
		[]any{},
		[]any{1},
		[]any{"a"},
		[]any{map[string]any{}},
		map[string]any{},
		uuid.NewString(), uuid.Nil.String(), "7D9F2C4E-31B8-4A56-9C0D-5E8F1A2B3C4D", "urn:uuid:" + uuid.NewString(),
		own, own + "=", own[:42] + "B",
	}
	stricter := func(text []byte, value any) bool { // upper-case ids are decoded, and a quantity that is refused
		refused := bytes.Contains(text, []byte(`"qty":0`)) || bytes.Contains(text, []byte(`"qty":-1`))
		return refused || value == "7D9F2C4E-31B8-4A56-9C0D-5E8F1A2B3C4D"
	}
	id := uuid.NewString()
	session := fmt.Sprintf(
		`{"session_id":%q,"customer_name":"Jo","group_id":%q,"phase":"running","remaining_ms":1000,"enable_purchasing":true,"warn_at_ms":[300000,60000],"start_at_ms":5000}`, id, id)
	kept, broken := 0, 0
	for part, messages := range map[string][]string{
		"fromGateway": {
			fmt.Sprintf(
				`{"type":"hello","protocol":1,"range_id":%q,"lane_id":%q,"epoch":3,"on_loss":"hold","challenge":%q}`,
				id, id, own),
			fmt.Sprintf(
				`{"type":"state","revision":1,"hold":false,"session":%s,"purchase":{"purchase_id":%q,"phase":"refused","user_message":"No."},"proof":%q}`, session, id, own),
			`{"type":"state","revision":1,"hold":true,"session":null,"purchase":null}`,
			`{"type":"ack","log_id":"log","seq":12}`,
		},
		"fromController": {
			fmt.Sprintf(
				`{"type":"hello","protocol":1,"lane_id":%q,"log_id":"log","firmware":"1","state":{"hold":true,"session_id":%q,"phase":"paused","remaining_ms":5,"faults":["lamp"]},"challenge":%q,"proof":%q}`, id, id, own, own),
			fmt.Sprintf(
				`{"type":"hello","protocol":1,"lane_id":%q,"log_id":"log","state":{"hold":true,"session_id":null,"phase":null,"remaining_ms":null}}`, id),
			`{"type":"applied","revision":7}`,
			fmt.Sprintf(
				`{"type":"report","seq":1,"session_id":%q,"kind":"purchase","age_ms":0,"purchase_id":%q,"items":[{"id":"time","qty":15}]}`, id, id),
			`{"type":"report","seq":2,"session_id":null,"kind":"fault","age_ms":10,"detail":"lamp"}`,
			`{"type":"report","seq":3,"kind":"something new","age_ms":10}`,
		},
	} {
		schema, decode := compiled(t, part), decoders[part]
		check := func(text []byte, value any) {
			instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			require.NoError(t, err)
			broke := schema.Validate(instance)
			message, err := decode(text)
			decoded := err == nil && message != nil
			if broke == nil {
				kept++
				require.True(t, decoded, "it keeps the schema: %s: %v", text, err)
			} else {
				broken++
				require.True(t, !decoded || stricter(text, value), "it breaks the schema, and is decoded: %s: %v",
					text, broke)
			}
		}
		for _, message := range messages {
			check([]byte(message), nil)
			eachVariant(t, message, values, check)
		}
	}
	require.Greater(t, kept, 100)
	require.Greater(t, broken, 500)
}

// eachVariant gives the message with each of its values, also nested ones, replaced by each of the others,
// and without it.
func eachVariant(t *testing.T, message string, values []any, give func(text []byte, value any)) {
	var whole map[string]any
	decoder := json.NewDecoder(bytes.NewReader([]byte(message)))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&whole))
	emit := func(value any) {
		text, err := json.Marshal(whole)
		require.NoError(t, err)
		give(text, value)
	}
	var walk func(object map[string]any)
	walk = func(object map[string]any) {
		for key, before := range object {
			for _, value := range values {
				object[key] = value
				emit(value)
			}
			delete(object, key)
			emit(nil)
			object[key] = before
			switch inner := before.(type) {
			case map[string]any:
				walk(inner)
			case []any:
				for _, item := range inner {
					if object, ok := item.(map[string]any); ok {
						walk(object)
					}
				}
			}
		}
	}
	walk(whole)
}
