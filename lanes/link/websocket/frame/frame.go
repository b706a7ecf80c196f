// Package frame encodes and decodes the messages of LINK.md version 1 between a gateway and a lane's controller. Decoding
// is strict where LINK.md has a rule, and ignores unknown types and keys.
//
// Messages are decoded to
//
//	from the gateway      link.Lane (hello), link.State (state), lanes.Log (ack)
//	from the controller   Hello, Applied, lanes.Report
package frame

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"rangegate/lanes/link"
)

const (
	// Subprotocol names the protocol in the WebSocket handshake.
	Subprotocol = "rangegate.lane.v1"
	// Longest is the limit of a message in bytes.
	Longest = 16 << 10

	protocol = 1
)

// Hello is a controller's answer to the gateway's hello.
type Hello struct {
	Lane uuid.UUID // that the controller belongs to
	link.Hello
}

// Applied is the revision of the state in force.
type Applied uint64

// The types of messages.
const (
	typeHello   = "hello"
	typeState   = "state"
	typeAck     = "ack"
	typeApplied = "applied"
	typeReport  = "report"
)

func encode(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err) // every message of this package can be encoded
	}
	return text
}

// pointerOrNil returns nil for uuid.Nil, which encodes as null.
func pointerOrNil(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// object is a JSON object that is decoded. Each method reads one key and states its rule; the first broken rule is kept. Keys
// are case-sensitive (encoding/json alone accepts SEQ for seq), and null means that a key is missing.
type object struct {
	values map[string]json.RawMessage
	prefix string // the key of the object with a dot; empty for a message
	first  *error // the first broken rule
}

func parse(text []byte) object {
	o := object{first: new(error)}
	switch {
	case len(text) > Longest:
		*o.first = fmt.Errorf("a message of %d bytes", len(text))
	case !utf8.Valid(text):
		*o.first = fmt.Errorf("a message that is not UTF-8")
	case json.Unmarshal(text, &o.values) != nil || o.values == nil:
		*o.first = fmt.Errorf("a message that is not a JSON object")
	}
	return o
}

func (o object) err() error { return *o.first }

// fail keeps the first broken rule. It quotes no value, which may be long, or a customer's name.
func (o object) fail(key, rule string) {
	if *o.first == nil {
		*o.first = fmt.Errorf("%s%s: wants %s", o.prefix, key, rule)
	}
}

func (o object) has(key string) bool {
	raw, found := o.values[key]
	return found && string(raw) != "null"
}

func (o object) text(key string) string {
	var text *string
	if json.Unmarshal(o.values[key], &text) != nil || text == nil {
		o.fail(key, "text")
		return ""
	}
	return *text
}

func (o object) optionalText(key string) string {
	if !o.has(key) {
		return ""
	}
	return o.text(key)
}

// oneOf reads a text that must be one of the values.
func (o object) oneOf(key string, values ...string) string {
	text := o.text(key)
	if !slices.Contains(values, text) {
		o.fail(key, fmt.Sprintf("one of %v", values))
	}
	return text
}

func (o object) flag(key string) bool {
	switch string(o.values[key]) {
	case "true":
		return true
	case "false":
	default:
		o.fail(key, "true or false")
	}
	return false
}

// count reads a whole number without sign, fraction or exponent.
func (o object) count(key string, minimum uint64) uint64 {
	n, err := strconv.ParseUint(string(o.values[key]), 10, 64)
	if err != nil || n < minimum {
		o.fail(key, fmt.Sprintf("a whole number from %d", minimum))
	}
	return n
}

func (o object) quantity(key string) int {
	n, err := strconv.Atoi(string(o.values[key]))
	if err != nil {
		o.fail(key, "a whole number")
	}
	return n
}

// duration reads a number of milliseconds.
func (o object) duration(key string) time.Duration {
	const maximum = uint64(math.MaxInt64 / time.Millisecond)
	n := o.count(key, 0)
	if n > maximum {
		o.fail(key, "a time that is less than 292 years")
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// id reads a UUID with its hyphens; uuid.Parse alone accepts other forms.
func (o object) id(key string) uuid.UUID {
	text := o.text(key)
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(uuid.Nil.String()) || id == uuid.Nil {
		o.fail(key, "a UUID")
		return uuid.Nil
	}
	return id
}

func (o object) optionalID(key string) uuid.UUID {
	if !o.has(key) {
		return uuid.Nil
	}
	return o.id(key)
}

func (o object) object(key string) object {
	inner := object{prefix: o.prefix + key + ".", first: o.first}
	if json.Unmarshal(o.values[key], &inner.values) != nil || inner.values == nil {
		o.fail(key, "an object")
	}
	return inner
}

func (o object) list(key string) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(o.values[key], &list) != nil || list == nil {
		o.fail(key, "a list")
	}
	return list
}
