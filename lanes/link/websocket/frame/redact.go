package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

// Redact returns a frame as an operator may see it. Of a message there is only what sentShown and receivedShown list,
// and only in the form that is listed there: no challenge or proof, no customer's name, no text of an integrator, and
// nothing that this package does not know.
func Redact(f link.Frame) lanes.LinkFrame {
	redacted := lanes.LinkFrame{At: f.At, Sent: f.Sent, Address: f.Address, Bytes: f.Size}
	switch f.Kind {
	case link.FrameMessage:
		redacted.Kind, redacted.Shown, redacted.Problem = redactMessage(f)
	case link.FrameBinary:
		redacted.Kind, redacted.Problem = lanes.FrameBinary, "a message that is not text"
	case link.FramePing:
		redacted.Kind = lanes.FramePing
	case link.FramePong:
		redacted.Kind = lanes.FramePong
	case link.FrameClose:
		redacted.Kind, redacted.Shown = lanes.FrameClose, redactClose(f.Payload)
	}
	return redacted
}

// redactMessage returns the type of a message, what of it may be shown, and the rule that it breaks, empty for none.
func redactMessage(f link.Frame) (kind string, redacted []byte, problem string) {
	if f.Payload == nil {
		return lanes.FrameText, nil, fmt.Sprintf("a message longer than %d bytes", Longest)
	}
	o := parse(f.Payload)
	if err := o.err(); err != nil {
		return lanes.FrameText, nil, err.Error()
	}
	readers, types := fromController, receivedShown
	if f.Sent {
		readers, types = fromGateway, sentShown
	}
	if _, err := decode(f.Payload, readers); err != nil {
		problem = err.Error()
	}
	var text string
	_ = json.Unmarshal(o.values["type"], &text) // what is no text is a problem
	keys, found := types[text]
	if kind = text; !found {
		kind, keys = lanes.FrameUnknown, shownKeys{"type": {shows: shownWord}}
	}
	return kind, keys.redact(f.Payload), problem
}

// redactClose returns the status and the reason of a close frame.
func redactClose(payload []byte) []byte {
	const status = 2 // bytes
	if len(payload) < status {
		return nil
	}
	reason, err := json.Marshal(string(payload[status:]))
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, `{"status":%d,"reason":%s}`, binary.BigEndian.Uint16(payload), shownNote(reason))
}

// shownKeys are the keys of an object that are shown.
type shownKeys map[string]shownRule

// shownRule is what is shown of a value. At most one of its fields is set.
type shownRule struct {
	shows func(value []byte) []byte // as JSON; nil: nothing
	keys  shownKeys                 // of an object
	items *shownRule                // of each item of a list
}

// What is shown of the messages of the gateway, by their type.
var sentShown = map[string]shownKeys{
	typeHello: {
		"type": {shows: shownWord}, "protocol": {shows: shownNumber}, "range_id": {shows: shownID},
		"lane_id": {shows: shownID}, "epoch": {shows: shownNumber}, "on_loss": {shows: shownWord},
	},
	typeState: {
		"type": {shows: shownWord}, "revision": {shows: shownNumber}, "hold": {shows: shownFlag},
		"session": {keys: shownKeys{
			"session_id": {shows: shownID}, "group_id": {shows: shownID}, "phase": {shows: shownWord},
			"remaining_ms": {shows: shownNumber}, "enable_purchasing": {shows: shownFlag},
			"beyond_ms": {shows: shownNumber}, "start_at_ms": {shows: shownNumber},
			"warn_at_ms": {items: &shownRule{shows: shownNumber}},
		}},
		"purchase": {keys: shownKeys{"purchase_id": {shows: shownID}, "phase": {shows: shownWord}}},
	},
	typeAck: {"type": {shows: shownWord}, "log_id": {shows: shownName}, "seq": {shows: shownNumber}},
}

// Likewise of those of a controller. firmware, detail and faults are its own words for people.
var receivedShown = map[string]shownKeys{
	typeHello: {
		"type": {shows: shownWord}, "protocol": {shows: shownNumber}, "lane_id": {shows: shownID},
		"log_id": {shows: shownName}, "firmware": {shows: shownNote},
		"state": {keys: shownKeys{
			"hold": {shows: shownFlag}, "session_id": {shows: shownID}, "phase": {shows: shownWord},
			"remaining_ms": {shows: shownNumber}, "beyond_ms": {shows: shownNumber},
			"faults": {items: &shownRule{shows: shownNote}},
		}},
		"capabilities": {items: &shownRule{shows: shownWord}},
	},
	typeApplied: {"type": {shows: shownWord}, "revision": {shows: shownNumber}},
	typeReport: {
		"type": {shows: shownWord}, "seq": {shows: shownNumber}, "session_id": {shows: shownID},
		"kind": {shows: shownWord}, "age_ms": {shows: shownNumber}, "purchase_id": {shows: shownID},
		"items": {items: &shownRule{keys: shownKeys{
			"id": {shows: shownName}, "qty": {shows: shownNumber},
		}}},
		"detail": {shows: shownNote},
	},
}

// redactedJSON stands in place of a value that is not shown, or of a key.
var redactedJSON = []byte(`"` + lanes.Redacted + `"`)

// redact returns the value as the rule shows it. null is shown where a value may be.
func (r shownRule) redact(value []byte) []byte {
	var redacted []byte
	switch {
	case string(value) == "null":
		return value
	case r.shows != nil:
		redacted = r.shows(value)
	case r.keys != nil && value[0] == '{':
		redacted = r.keys.redact(value)
	case r.items != nil && value[0] == '[':
		redacted = r.items.redactList(value)
	}
	if redacted == nil {
		return redactedJSON
	}
	return redacted
}

// maxShown is how many keys of an object are shown, and items of a list.
const maxShown = 64

// identifier is a key that is shown although this package does not know it: whoever builds a controller misspells some.
// A challenge or a proof is longer.
var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,39}$`)

// redact returns the object, which is JSON, with its keys in their order.
func (k shownKeys) redact(object []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, _ = decoder.Token() // {
	text := []byte{'{'}
	for n := 0; decoder.More() && n < maxShown; n++ {
		key, _ := decoder.Token()
		var value json.RawMessage
		if decoder.Decode(&value) != nil { // it is no JSON
			return nil
		}
		name := key.(string)
		rule, shown := k[name]
		if !shown && !identifier.MatchString(name) {
			name = lanes.Redacted
		}
		text = appendComma(text, n)
		text = append(append(append(append(text, '"'), name...), `":`...), rule.redactIf(shown, value)...)
	}
	return appendRest(text, decoder.More(), `,"…":"…"`, '}')
}

func (r shownRule) redactIf(shown bool, value []byte) []byte {
	if !shown {
		return redactedJSON
	}
	return r.redact(value)
}

// redactList returns the list, which is JSON, with the rule for each item.
func (r shownRule) redactList(list []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(list))
	_, _ = decoder.Token() // [
	text := []byte{'['}
	for n := 0; decoder.More() && n < maxShown; n++ {
		var item json.RawMessage
		if decoder.Decode(&item) != nil {
			return nil
		}
		text = append(appendComma(text, n), r.redact(item)...)
	}
	return appendRest(text, decoder.More(), `,"…"`, ']')
}

func appendComma(text []byte, n int) []byte {
	if n > 0 {
		return append(text, ',')
	}
	return text
}

// appendRest ends an object or a list, and says whether there is more.
func appendRest(text []byte, more bool, rest string, end byte) []byte {
	if more {
		text = append(text, rest...)
	}
	return append(text, end)
}

// matching shows a value whose JSON matches.
func matching(pattern string) func(value []byte) []byte {
	expression := regexp.MustCompile("^(?:" + pattern + ")$")
	return func(value []byte) []byte {
		if expression.Match(value) {
			return value
		}
		return nil
	}
}

// The forms that are shown. A challenge or a proof, which are 43 characters, has none of them.
var (
	shownNumber = matching(`-?[0-9][0-9.eE+-]{0,19}`)
	shownFlag   = matching(`true|false`)
	shownID     = matching(`"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"`)
	shownWord   = matching(`"[a-z][a-z0-9_]{0,39}"`)
	shownName   = matching(`"[A-Za-z0-9][A-Za-z0-9._:-]{0,39}"`)
)

// secretLike is what may be a challenge, a proof or a key within a text for people.
var secretLike = regexp.MustCompile(`[A-Za-z0-9+/=_-]{43,}`)

// shownNote shows a text for people, cut to maxNote characters.
func shownNote(value []byte) []byte {
	var note string
	if json.Unmarshal(value, &note) != nil {
		return nil
	}
	note = secretLike.ReplaceAllString(note, lanes.Redacted)
	if characters := []rune(note); len(characters) > maxNote {
		note = string(characters[:maxNote]) + "…"
	}
	return encode(note)
}
