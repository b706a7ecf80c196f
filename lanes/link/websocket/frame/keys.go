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
)

// keys is a JSON object being read. Each of its readers takes one key and states that key's rule; the first rule that
// is broken is kept. Keys count as they are spelt (encoding/json alone would take SEQ for seq), null is not given.
type keys struct {
	values map[string]json.RawMessage
	within string // the key that the object is the value of, with a dot; empty for a whole message
	broken *error
}

func parse(text []byte) keys {
	k := keys{broken: new(error)}
	switch {
	case len(text) > Longest:
		*k.broken = fmt.Errorf("a message of %d bytes", len(text))
	case !utf8.Valid(text):
		*k.broken = fmt.Errorf("a message that is not UTF-8")
	case json.Unmarshal(text, &k.values) != nil || k.values == nil:
		*k.broken = fmt.Errorf("a message that is not a JSON object")
	}
	return k
}

func (k keys) err() error { return *k.broken }

// breaks keeps the first rule that is broken. It quotes no value: that may be long, or a customer's name.
func (k keys) breaks(key, rule string) {
	if *k.broken == nil {
		*k.broken = fmt.Errorf("%s%s: wants %s", k.within, key, rule)
	}
}

func (k keys) given(key string) bool {
	raw, given := k.values[key]
	return given && string(raw) != "null"
}

func (k keys) text(key string) string {
	var text *string
	if json.Unmarshal(k.values[key], &text) != nil || text == nil {
		k.breaks(key, "text")
		return ""
	}
	return *text
}

func (k keys) optionalText(key string) string {
	if !k.given(key) {
		return ""
	}
	return k.text(key)
}

// oneOf is for a key whose values LINK.md lists.
func (k keys) oneOf(key string, known ...string) string {
	text := k.text(key)
	if !slices.Contains(known, text) {
		k.breaks(key, fmt.Sprintf("one of %v", known))
	}
	return text
}

func (k keys) flag(key string) bool {
	switch string(k.values[key]) {
	case "true":
		return true
	case "false":
	default:
		k.breaks(key, "true or false")
	}
	return false
}

// count is a whole number without sign, fraction or exponent.
func (k keys) count(key string, least uint64) uint64 {
	n, err := strconv.ParseUint(string(k.values[key]), 10, 64)
	if err != nil || n < least {
		k.breaks(key, fmt.Sprintf("a whole number from %d", least))
	}
	return n
}

func (k keys) quantity(key string) int {
	n, err := strconv.Atoi(string(k.values[key]))
	if err != nil {
		k.breaks(key, "a whole number")
	}
	return n
}

// span is a time in milliseconds.
func (k keys) span(key string) time.Duration {
	const most = uint64(math.MaxInt64 / time.Millisecond)
	n := k.count(key, 0)
	if n > most {
		k.breaks(key, "a time that is less than 292 years")
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// id takes a UUID with its hyphens; uuid.Parse alone takes other spellings too.
func (k keys) id(key string) uuid.UUID {
	text := k.text(key)
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(uuid.Nil.String()) || id == uuid.Nil {
		k.breaks(key, "a UUID")
		return uuid.Nil
	}
	return id
}

func (k keys) optionalID(key string) uuid.UUID {
	if !k.given(key) {
		return uuid.Nil
	}
	return k.id(key)
}

func (k keys) object(key string) keys {
	inner := keys{within: k.within + key + ".", broken: k.broken}
	if json.Unmarshal(k.values[key], &inner.values) != nil || inner.values == nil {
		k.breaks(key, "an object")
	}
	return inner
}

func (k keys) list(key string) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(k.values[key], &list) != nil || list == nil {
		k.breaks(key, "a list")
	}
	return list
}
