package endpoint

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
)

// Input is what a reader reads from: a request, or nothing at all when the endpoint is being declared. Its methods
// answer the field's value; where the request breaks the field's rule they note the fault and answer a zero value,
// which nobody gets to see, because a request with a fault goes no further.
type Input struct {
	request *http.Request // nil: a blank run, which only notes the fields
	fields  []field       // of a blank run, in the order asked

	query  url.Values
	raw    []byte // the body, where one was read
	body   map[string]json.RawMessage
	broken []place // where nothing can be read: one fault for the whole of it, none for its fields
	faults Faults
}

// place is where a field stands, as OpenAPI names it (but for the body).
type place string

const (
	inPath   place = "path"
	inQuery  place = "query"
	inHeader place = "header"
	inBody   place = "body"
)

// field is what the document says of one field.
type field struct {
	in       place
	name     string
	about    string
	required bool
	example  any // nil: none
	standard any // of an optional field; nil: none worth telling
	schema   *openapi3.Schema
}

// ask is the way of every field: a blank run notes it; a request is asked for it, and what it gives is checked.
// Where it gives nothing, standard is the answer.
func ask[V any](in *Input, f field, k kind[V], standard V) V {
	if in.request == nil {
		f.schema = k.schema()
		in.fields = append(in.fields, f)
		return standard
	}
	text, form, given := in.find(f.in, f.name)
	switch {
	case slices.Contains(in.broken, f.in):
	case given:
		if v, ok := k.parse(text, form); ok {
			return v
		}
		in.fault(f.name, "must be "+k.rule())
	case f.required:
		in.fault(f.name, "is required")
	}
	return standard
}

// find looks a field up. Given twice, the last one counts, in the query as in the body (WIRE.md, Requests); header lines
// of one name are joined by a comma and a space, as HTTP has it.
func (in *Input) find(where place, name string) (text string, as form, given bool) {
	switch where {
	case inPath:
		return chi.URLParam(in.request, name), bare, true
	case inQuery:
		if all := in.query[name]; len(all) > 0 {
			return all[len(all)-1], bare, true
		}
		return "", bare, false
	case inHeader:
		all := in.request.Header.Values(name)
		return strings.Join(all, ", "), bare, len(all) > 0
	}
	raw, given := in.body[name]
	if !given || string(raw) == "null" {
		return "", literal, false
	}
	if raw[0] != '"' {
		return string(raw), literal, true
	}
	word, err := unquoted(raw)
	return word, quoted, err == nil
}

// unquoted is what a JSON string says. One without a backslash says what stands between its quotes, the body being valid
// JSON and UTF-8: see decode.
func unquoted(raw json.RawMessage) (text string, err error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	err = json.Unmarshal(raw, &text)
	return text, err
}

func (in *Input) fault(name, sentence string) {
	if in.faults == nil {
		in.faults = Faults{}
	}
	in.faults[name] = sentence
}

// unreadable notes a fault of a whole place, under the place's name.
func (in *Input) unreadable(where place, sentence string) {
	in.broken = append(in.broken, where)
	in.fault(string(where), sentence)
}

// refusal is the error of a request with faults, all of them at once; nil if it has none.
func (in *Input) refusal() error {
	if len(in.faults) > 0 {
		return in.faults
	}
	return nil
}
