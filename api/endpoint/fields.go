package endpoint

import (
	"encoding/json"

	"github.com/google/uuid"
)

// Text reads a required string of the body: min to max characters after trimming, none of them a control character.
func (in *Input) Text(name string, min, max int, about, example string) string {
	return ask(in, field{in: inBody, name: name, about: about, required: true, example: example}, text{min, max}, "")
}

// ID reads a required UUID of the body.
func (in *Input) ID(name, about, example string) uuid.UUID {
	return ask(in, field{in: inBody, name: name, about: about, required: true, example: example}, id{}, uuid.Nil)
}

// OptionalID reads a UUID of the body; uuid.Nil if none is given.
func (in *Input) OptionalID(name, about string) uuid.UUID {
	return ask(in, field{in: inBody, name: name, about: about}, id{}, uuid.Nil)
}

// Integer reads a required integer of the body, written as one: 60.0 and 6e1 are none.
func (in *Input) Integer(name string, min, max int, about string, example int) int {
	return ask(in, field{in: inBody, name: name, about: about, required: true, example: example}, integer{min, max}, 0)
}

// Positive reads a required number of the body, more than zero and at most max, with or without decimals.
func (in *Input) Positive(name string, max float64, about string, example float64) float64 {
	return ask(in, field{in: inBody, name: name, about: about, required: true, example: example}, positive{max}, 0)
}

// Flag reads a boolean of the body; standard if none is given.
func (in *Input) Flag(name string, standard bool, about string) bool {
	return ask(in, field{in: inBody, name: name, about: about, standard: standard}, flag{}, standard)
}

// YesOrNo reads a required boolean of the body.
func (in *Input) YesOrNo(name, about string) bool {
	return ask(in, field{in: inBody, name: name, about: about, required: true, example: true}, flag{}, false)
}

// OneOf reads a required word of the body.
func (in *Input) OneOf(name, about string, words ...string) string {
	return ask(in, field{in: inBody, name: name, about: about, required: true, example: words[0]}, oneOf(words), "")
}

// JSON reads a required list or object of the body, as it was written: what is in it is for the endpoint to check.
func (in *Input) JSON(name, about string, example any) json.RawMessage {
	return ask(in, field{in: inBody, name: name, about: about, required: true, example: example}, composite{}, nil)
}

// PathID reads the UUID that stands for {name} in the path.
func (in *Input) PathID(name, about string) uuid.UUID {
	return ask(in, field{in: inPath, name: name, about: about, required: true, example: exampleID}, id{}, uuid.Nil)
}

// PathOneOf reads the word that stands for {name} in the path.
func (in *Input) PathOneOf(name, about string, words ...string) string {
	return ask(in, field{in: inPath, name: name, about: about, required: true, example: words[0]}, oneOf(words), "")
}

// QueryText reads a text of the query, of at most max characters after trimming; empty if none is given.
func (in *Input) QueryText(name string, max int, about string) string {
	return ask(in, field{in: inQuery, name: name, about: about}, text{0, max}, "")
}

// QueryID reads a required UUID of the query.
func (in *Input) QueryID(name, about, example string) uuid.UUID {
	return ask(in, field{in: inQuery, name: name, about: about, required: true, example: example}, id{}, uuid.Nil)
}

// QueryOptionalID reads a UUID of the query; uuid.Nil if none is given.
func (in *Input) QueryOptionalID(name, about string) uuid.UUID {
	return ask(in, field{in: inQuery, name: name, about: about}, id{}, uuid.Nil)
}

// QuerySigned reads a required integer of the query, from -limit to limit and not zero, with an optional sign.
func (in *Input) QuerySigned(name string, limit int, about string, example int) int {
	return ask(in, field{in: inQuery, name: name, about: about, required: true, example: example}, signed{limit}, 0)
}

// QueryLimit reads an integer of the query; standard if none is given.
func (in *Input) QueryLimit(name string, min, max, standard int, about string) int {
	return ask(in, field{in: inQuery, name: name, about: about, standard: standard}, integer{min, max}, standard)
}

// QueryCursor reads a cursor of the query, as an earlier answer gave it; 0 if none is given.
func (in *Input) QueryCursor(name, about string) uint64 {
	return ask(in, field{in: inQuery, name: name, about: about}, cursor{}, 0)
}

// Header reads a header of 1 to max visible ASCII characters; empty if none is given. Given twice, it is a fault.
func (in *Input) Header(name string, max int, about string) string {
	return ask(in, field{in: inHeader, name: name, about: about}, visible{max}, "")
}
