package endpoint

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Text reads a required string of the body: shortest to longest characters after trimming, none of them a
// control character.
func (in *Input) Text(name string, shortest, longest int, description, example string) string {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: example},
		text{shortest, longest}, "")
}

// OptionalText is Text for a string that may be left out; empty if none is given.
func (in *Input) OptionalText(name string, shortest, longest int, description, example string) string {
	return readField(in, field{place: inBody, name: name, description: description, example: example},
		text{shortest, longest}, "")
}

// Pairs reads an object of texts from the body: at most so many, and together of at most so many bytes, none
// with a control character. It returns nil if none is given.
func (in *Input) Pairs(name string, most, bytes int, description string, example map[string]string) map[string]string {
	return readField(in, field{place: inBody, name: name, description: description, example: example},
		pairs{most, bytes}, nil)
}

// OptionalSecret is OptionalText without an example: the document's examples work, and no made-up one would.
func (in *Input) OptionalSecret(name string, longest int, description string) string {
	return readField(in, field{place: inBody, name: name, description: description}, text{1, longest}, "")
}

// ID reads a required UUID of the body.
func (in *Input) ID(name, description, example string) uuid.UUID {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: example},
		id{}, uuid.Nil)
}

// OptionalID reads a UUID of the body; uuid.Nil if none is given.
func (in *Input) OptionalID(name, description string) uuid.UUID {
	return readField(in, field{place: inBody, name: name, description: description}, id{}, uuid.Nil)
}

// IDs reads a required list of different UUIDs of the body, of 1 to most.
func (in *Input) IDs(name string, most int, description string, example []string) []uuid.UUID {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: example},
		ids{most}, nil)
}

// OptionalIDs reads a list of different UUIDs of the body, of 1 to most; nil if none is given.
func (in *Input) OptionalIDs(name string, most int, description string) []uuid.UUID {
	return readField(in, field{place: inBody, name: name, description: description}, ids{most}, nil)
}

// OptionalTime reads a time of the body (RFC 3339); zero if none is given.
func (in *Input) OptionalTime(name, description string) time.Time {
	return readField(in, field{place: inBody, name: name, description: description}, moment{}, time.Time{})
}

// OptionalInteger reads an integer of the body; given is false without one.
func (in *Input) OptionalInteger(name string, lowest, highest int, description string,
	example int,
) (n int, given bool) {
	none := lowest - 1
	n = readField(in, field{place: inBody, name: name, description: description, example: example},
		integer{lowest, highest}, none)
	return n, n != none
}

// Integer reads a required integer of the body: 60.0 is 60.
func (in *Input) Integer(name string, lowest, highest int, description string, example int) int {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: example},
		integer{lowest, highest}, 0)
}

// Integers reads an optional list of at most so many integers of the body; nil if none is given.
func (in *Input) Integers(name string, most, lowest, highest int, description string, example []int) []int {
	return readField(in, field{place: inBody, name: name, description: description, example: example},
		integers{most, integer{lowest, highest}}, nil)
}

// Signed reads a required integer of the body, from -limit to limit and not zero.
func (in *Input) Signed(name string, limit int, description string, example int) int {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: example},
		signed{limit}, 0)
}

// Positive reads a required number of the body, above zero and up to highest, with or without decimals.
func (in *Input) Positive(name string, highest float64, description string, example float64) float64 {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: example},
		positive{highest}, 0)
}

// Flag reads a boolean of the body; the fallback if none is given.
func (in *Input) Flag(name string, fallback bool, description string) bool {
	return readField(in, field{place: inBody, name: name, description: description, fallback: fallback},
		flag{}, fallback)
}

// YesOrNo reads a required boolean of the body.
func (in *Input) YesOrNo(name, description string) bool {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: true},
		flag{}, false)
}

// OneOf reads a required word of the body.
func (in *Input) OneOf(name, description string, words ...string) string {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: words[0]},
		oneOf(words), "")
}

// SomeOf reads an optional list of words of the body; nil if none is given.
func (in *Input) SomeOf(name, description string, words ...string) []string {
	return readField(in, field{place: inBody, name: name, description: description}, someOf(words), nil)
}

// Cursor reads a required cursor of the body.
func (in *Input) Cursor(name, description, example string) LogCursor {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: example},
		logCursor{}, LogCursor{})
}

// PathLogCursor reads the cursor at {name} in the path, as a response had it.
func (in *Input) PathLogCursor(name, description, example string) LogCursor {
	return readField(in, field{place: inPath, name: name, description: description, required: true, example: example},
		logCursor{}, LogCursor{})
}

// QueryLogCursor reads a cursor of the query, or the word for the end of the log; the beginning if none is given.
func (in *Input) QueryLogCursor(name, description string) LogCursor {
	return readField(in, field{place: inQuery, name: name, description: description},
		logCursor{latest: true}, LogCursor{})
}

// HeaderLogCursor reads a cursor of a header. An empty header gives none.
func (in *Input) HeaderLogCursor(name, description string) (c LogCursor, given bool) {
	c = readField(in, field{place: inHeader, name: name, description: description}, logCursor{empty: true}, LogCursor{})
	return c, in.request != nil && in.request.Header.Get(name) != ""
}

// RefuseQuery makes a parameter of the query a fault that a client could take for one of the endpoint's.
func (in *Input) RefuseQuery(name, sentence string) {
	if in.request != nil && in.query.Has(name) {
		in.fault(name, sentence)
	}
}

// PathCursor reads the cursor at {name} in the path.
func (in *Input) PathCursor(name, description, example string) uint64 {
	return readField(in, field{place: inPath, name: name, description: description, required: true, example: example},
		position{}, 0)
}

// JSON reads a required list or object of the body, as raw JSON: the endpoint checks its content.
func (in *Input) JSON(name, description string, example any) json.RawMessage {
	return readField(in, field{place: inBody, name: name, description: description, required: true, example: example},
		composite{}, nil)
}

// PathID reads the UUID at {name} in the path.
func (in *Input) PathID(name, description string) uuid.UUID {
	return readField(in, field{place: inPath, name: name, description: description, required: true, example: ExampleID},
		id{}, uuid.Nil)
}

// PathText reads the text at {name} in the path, of at most longest characters.
func (in *Input) PathText(name string, longest int, description string) string {
	return readField(in, field{place: inPath, name: name, description: description, required: true, example: "a"},
		text{1, longest}, "")
}

// PathOneOf reads the word at {name} in the path.
func (in *Input) PathOneOf(name, description string, words ...string) string {
	return readField(in, field{place: inPath, name: name, description: description, required: true, example: words[0]},
		oneOf(words), "")
}

// QueryText reads a text of the query, of at most longest characters after trimming; empty if none is given.
func (in *Input) QueryText(name string, longest int, description string) string {
	return readField(in, field{place: inQuery, name: name, description: description}, text{0, longest}, "")
}

// QueryFilter reads a text of the query, of 1 to longest characters after trimming; empty if none is given.
func (in *Input) QueryFilter(name string, longest int, description string) string {
	return readField(in, field{place: inQuery, name: name, description: description}, text{1, longest}, "")
}

// QueryOneOf reads a word of the query; the fallback, which may be empty, if none is given.
func (in *Input) QueryOneOf(name, fallback, description string, words ...string) string {
	f := field{place: inQuery, name: name, description: description}
	if fallback != "" {
		f.fallback = fallback
	}
	return readField(in, f, oneOf(words), fallback)
}

// QueryID reads a required UUID of the query.
func (in *Input) QueryID(name, description, example string) uuid.UUID {
	return readField(in, field{place: inQuery, name: name, description: description, required: true, example: example},
		id{}, uuid.Nil)
}

// QueryOptionalID reads a UUID of the query; uuid.Nil if none is given.
func (in *Input) QueryOptionalID(name, description string) uuid.UUID {
	return readField(in, field{place: inQuery, name: name, description: description}, id{}, uuid.Nil)
}

// QueryTime reads a time of the query (RFC 3339); zero if none is given.
func (in *Input) QueryTime(name, description string) time.Time {
	return readField(in, field{place: inQuery, name: name, description: description}, moment{}, time.Time{})
}

// QuerySigned reads a required integer of the query, from -limit to limit and not zero, with an optional sign.
func (in *Input) QuerySigned(name string, limit int, description string, example int) int {
	return readField(in, field{place: inQuery, name: name, description: description, required: true, example: example},
		signed{limit}, 0)
}

// QueryLimit reads an integer of the query; the fallback if none is given.
func (in *Input) QueryLimit(name string, lowest, highest, fallback int, description string) int {
	return readField(in, field{place: inQuery, name: name, description: description, fallback: fallback},
		integer{lowest, highest}, fallback)
}

// QueryCursor reads a cursor of the query, as an earlier response had it; 0 if none is given.
func (in *Input) QueryCursor(name, description string) uint64 {
	return readField(in, field{place: inQuery, name: name, description: description}, cursor{}, 0)
}

// Header reads a header of 1 to longest visible ASCII characters; empty if none is given. Given twice, it is a fault.
func (in *Input) Header(name string, longest int, description string) string {
	return readField(in, field{place: inHeader, name: name, description: description}, visible{longest}, "")
}
