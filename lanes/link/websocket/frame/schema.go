package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// SchemaID is where a gateway serves the schema, below its address.
const SchemaID = "/docs/lane-link.schema.json"

// Schema returns the JSON Schema (2020-12) of every message. The readers of this package write it: a message
// that keeps it is one that they take, within the limits that no schema can state, which its description
// names.
func Schema() []byte { return schema() }

var schema = sync.OnceValue(func() []byte {
	definitions := map[string]any{}
	side := func(name, description string, readers []reader) {
		var messages []any
		for _, r := range readers {
			definition := r.kind + "From" + name
			definitions[definition] = messageSchema(r)
			messages = append(messages, map[string]any{"$ref": "#/$defs/" + definition})
		}
		definitions["from"+name] = map[string]any{"description": description, "oneOf": messages}
	}
	side("Gateway", "What the gateway sends.", fromGateway)
	side("Controller", "What a controller sends.", fromController)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     SchemaID,
		"title":   "Lane link, version 1",
		"description": fmt.Sprintf("The messages between a gateway and a lane's controller, over a WebSocket with "+
			"the subprotocol %s: JSON in UTF-8, each a text message of at most %d bytes. A whole number is written "+
			"without sign, fraction or exponent. Both sides ignore messages of other types and keys that are not "+
			"listed. null is the same as a key that is missing.", Subprotocol, Longest),
		"anyOf": []any{map[string]any{"$ref": "#/$defs/fromGateway"}, map[string]any{"$ref": "#/$defs/fromController"}},
		"$defs": definitions,
	})
	if err != nil {
		panic(err) // it has nothing that JSON has not
	}
	return text.Bytes()
})

// messageSchema runs the reader of a message to note what it reads.
func messageSchema(r reader) map[string]any {
	o := object{first: new(error), shape: &shape{optional: map[string]bool{}}}
	o.notes("type", wordRule(r.kind))
	r.read(o)
	return o.shape.schema(r.kind)
}

// shape is what a reader reads of an object.
type shape struct {
	keys       []notedKey
	optional   map[string]bool // keys that may be missing or null
	conditions []condition
}

type notedKey struct {
	key  string
	rule func(path string) map[string]any // path: the message's type and the keys down to this one, with dots between
}

// condition is what else a reader reads if a key keeps a rule.
type condition struct {
	key  string
	rule map[string]any
	then *shape
}

// schema returns the schema of the object at the path.
func (s *shape) schema(path string) map[string]any {
	object := s.keysSchema(path)
	object["type"] = "object"
	var all []any
	for _, c := range s.conditions {
		all = append(all, map[string]any{
			"if":   map[string]any{"properties": map[string]any{c.key: c.rule}, "required": []string{c.key}},
			"then": c.then.keysSchema(path),
		})
	}
	if len(all) > 0 {
		object["allOf"] = all
	}
	return object
}

func (s *shape) keysSchema(path string) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, noted := range s.keys {
		rule := noted.rule(path + "." + noted.key)
		if s.optional[noted.key] {
			rule = orNull(rule)
		} else {
			required = append(required, noted.key)
		}
		if meaning, ok := meanings[path+"."+noted.key]; ok {
			rule["description"] = meaning
		}
		properties[noted.key] = rule
	}
	return map[string]any{"properties": properties, "required": required}
}

// orNull returns the rule that accepts null too.
func orNull(rule map[string]any) map[string]any {
	rule["type"] = []any{rule["type"], "null"}
	if words, ok := rule["enum"].([]any); ok {
		rule["enum"] = append(slices.Clone(words), nil)
	}
	return rule
}

// notes notes the rule of a key. It is false where values are decoded.
func (o object) notes(key string, rule func() map[string]any) bool {
	if o.shape == nil {
		return false
	}
	o.shape.keys = append(o.shape.keys, notedKey{key, func(string) map[string]any { return rule() }})
	return true
}

// noteObject notes an object in this one.
func (o object) noteObject(key string) object {
	inner := &shape{optional: map[string]bool{}}
	o.shape.keys = append(o.shape.keys, notedKey{key, inner.schema})
	return object{first: o.first, shape: inner}
}

// noteList notes a list of objects.
func (o object) noteList(key string, read func(item object)) {
	item := &shape{optional: map[string]bool{}}
	read(object{first: o.first, shape: item})
	o.shape.keys = append(o.shape.keys, notedKey{key, func(path string) map[string]any {
		return map[string]any{"type": "array", "items": item.schema(path)}
	}})
}

// noteIf notes what else is read where a key keeps that rule.
func (o object) noteIf(key string, rule map[string]any, read func(object)) {
	then := &shape{optional: map[string]bool{}}
	read(object{first: o.first, shape: then})
	o.shape.conditions = append(o.shape.conditions, condition{key, rule, then})
}

// given is the rule of a key that is not null.
var given = map[string]any{"not": map[string]any{"type": "null"}}

// maxNote is how many characters a text for people should have.
const maxNote = 200

func ruleOf(kind string, more ...any) func() map[string]any {
	return func() map[string]any {
		rule := map[string]any{"type": kind}
		for i := 0; i < len(more); i += 2 {
			rule[more[i].(string)] = more[i+1]
		}
		return rule
	}
}

// The rules of values, as the methods of object check them. The id of a lane is part of what is proven, so
// ids have one spelling.
var (
	textRule = ruleOf("string")
	nameRule = ruleOf("string", "minLength", 1)
	noteRule = ruleOf("string", "maxLength", maxNote)
	flagRule = ruleOf("boolean")
	// Others are decoded, and refused as a purchase.
	quantityRule = ruleOf("integer", "minimum", 1, "maximum", 1_000_000)
	idRule       = ruleOf("string", "format", "uuid", "pattern",
		"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
		"not", map[string]any{"const": uuid.Nil.String()})
	tokenRule = ruleOf("string", "pattern", "^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$")
	listRule  = ruleOf("array", "items", map[string]any{"type": "string"})

	durationsRule = ruleOf("array", "items", countRule(0, maxMilliseconds)())
)

func countRule(minimum, maximum uint64) func() map[string]any {
	return ruleOf("integer", "minimum", minimum, "maximum", maximum)
}

func wordRule(word string) func() map[string]any { return ruleOf("string", "const", word) }

func wordsRule[T ~string](words []T) func() map[string]any {
	var list []any
	for _, word := range words {
		list = append(list, string(word))
	}
	return ruleOf("string", "enum", list)
}

const (
	proofMeaning     = "HMAC-SHA256 under the lane's key, 32 bytes as base64url without padding; on a lane with a key"
	challengeMeaning = "32 random bytes as base64url without padding, new for each connection; on a lane with a key"
)

// meanings are what the keys mean, by their paths. Those of a type and a side share the type.
var meanings = map[string]string{
	"hello.type":     "The first message of each side; the gateway's comes first",
	"hello.protocol": "The version of the protocol",
	"hello.range_id": "The range",
	"hello.lane_id":  "The lane that the connection is for",
	"hello.epoch": "Of the gateway's ownership of the range: a controller that has seen a higher " +
		"proven one refuses",
	"hello.on_loss": "What to do after 15 s without a sign of life: run_out, what runs goes on to its " +
		"end; hold, lock now",
	"hello.challenge": challengeMeaning,
	"hello.proof":     proofMeaning,
	"hello.log_id":    "Names the report log: one that is lost starts a new name from 1",
	"hello.firmware":  "For people",
	"hello.state":     "What is in force now",

	"hello.capabilities": "What the controller can do beside the protocol; open_end: it keeps a line open for " +
		"beyond_ms. A gateway ignores those that it does not know; null: nothing",

	"hello.state.hold":         "The fire line is locked by a hold",
	"hello.state.session_id":   "The session that is in force; null: none",
	"hello.state.phase":        "Of that session",
	"hello.state.remaining_ms": "Milliseconds that it has left",
	"hello.state.beyond_ms":    "For so many milliseconds the line stays open once those are used up; null: it locks",
	"hello.state.faults":       "What is wrong with the lane, for people; none or null: nothing",

	"state.type":                      "The whole desired state: the newest counts",
	"state.revision":                  "Counts from 1 in each connection",
	"state.hold":                      "true: the fire line is locked, whatever else is said",
	"state.session":                   "The session on the lane; null: none, the fire line is locked",
	"state.session.session_id":        "The session",
	"state.session.customer_name":     "May be shown in the lane",
	"state.session.group_id":          "The access group",
	"state.session.phase":             "waiting and paused: the fire line is locked; running: open",
	"state.session.remaining_ms":      "Milliseconds left when this was sent; at zero the controller locks by itself",
	"state.session.enable_purchasing": "The customer may buy at the lane",
	"state.session.beyond_ms": "For so many milliseconds the line stays open once the remaining ones are " +
		"used up, by a controller that can; null: it locks at zero",
	"state.session.warn_at_ms": "With so many milliseconds left the controller warns the customer by itself; " +
		"null: it does not",
	"state.session.start_at_ms": "While it waits, and the link is up: in so many milliseconds the session begins " +
		"by itself; null: it does not",
	"state.purchase":             "The latest purchase of the session; null: none",
	"state.purchase.purchase_id": "The id that the controller gave it",
	"state.purchase.phase":       "unresolved: nobody knows yet, staff settle it",
	"state.purchase.user_message": "For the customer, up to 1,000 characters, where the purchase was refused or " +
		"is unresolved; may be empty",
	"state.proof": proofMeaning + ", in the first state of a connection",

	"ack.type":   "That report and every one before it of that log are saved: forget them",
	"ack.log_id": "The report log",
	"ack.seq":    "The report's number",

	"applied.type":     "That state is in force",
	"applied.revision": "The state's",

	"report.type": "Something happened: kept until it is acknowledged, and sent again after a reconnect",
	"report.seq":  "Grows by one within the log",
	"report.kind": "entered, help, carrier_hit, purchase, fault, fault_cleared, cleared; a gateway " +
		"acknowledges those that it does not know",
	"report.session_id":  "The session that it is about; null: none",
	"report.age_ms":      "How many milliseconds ago it happened, when this was sent",
	"report.purchase_id": "A new UUID for each purchase; the same one again is the same purchase",
	"report.items":       "What is bought",
	"report.items.id":    "The product; time is lane time",
	"report.items.qty":   "How many; of time, how many minutes",
	"report.detail":      "What is wrong, for people",
}
