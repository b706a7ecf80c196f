package endpoint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
)

// kind is one sort of value: how it is checked, how its rule reads after "must be", how the document puts it.
type kind[V any] interface {
	parse(text string, as form) (V, bool)
	rule() string
	schema() *openapi3.Schema
}

// form is how a value was written: JSON tells "60" from 60, the rest of a request does not.
type form int

const (
	bare    form = iota // in the path, the query or a header, where all is text
	quoted              // a JSON string, which the text is the content of
	literal             // any other JSON value, as it was written
)

type text struct{ min, max int }

func (k text) parse(s string, as form) (string, bool) {
	s = strings.TrimSpace(s)
	length := utf8.RuneCountInString(s)
	fits := k.min <= length && length <= k.max && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
	return s, fits && as != literal
}

func (k text) rule() string {
	return fmt.Sprintf("a text of %d to %d characters, none of them a control character", k.min, k.max)
}

// schema leaves the trimming and the control characters to the field's description: a pattern for them would not mean the
// same to all who read patterns, and what is generated from one is nonsense.
func (k text) schema() *openapi3.Schema {
	return openapi3.NewStringSchema().WithMinLength(int64(k.min)).WithMaxLength(int64(k.max))
}

// exampleID is shown wherever the document needs a UUID.
const exampleID = "7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"

// id is a UUID in its canonical form of 36 characters; uuid.Parse alone would take braces and urn: as well.
type id struct{}

func (id) parse(s string, as form) (uuid.UUID, bool) {
	v, err := uuid.Parse(s)
	return v, err == nil && len(s) == len(exampleID) && as != literal
}

func (id) rule() string { return "a UUID like " + exampleID }

func (id) schema() *openapi3.Schema { return openapi3.NewUUIDSchema() }

type integer struct{ min, max int }

func (k integer) parse(s string, as form) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && k.min <= n && n <= k.max && as != quoted
}

func (k integer) rule() string { return fmt.Sprintf("an integer from %d to %d", k.min, k.max) }

func (k integer) schema() *openapi3.Schema {
	return openapi3.NewIntegerSchema().WithMin(float64(k.min)).WithMax(float64(k.max))
}

// signed is a change by so much, up or down. The public docs write time=+15, whose plus a query decodes to a space: a
// leading space counts as a plus (WIRE.md, Requests).
type signed struct{ limit int }

func (k signed) parse(s string, as form) (int, bool) {
	if rest, plus := strings.CutPrefix(s, " "); plus {
		s = "+" + rest
	}
	n, fits := integer{-k.limit, k.limit}.parse(s, as)
	return n, fits && n != 0
}

func (k signed) rule() string {
	return fmt.Sprintf("a non-zero integer from %d to %d", -k.limit, k.limit)
}

func (k signed) schema() *openapi3.Schema {
	schema := integer{-k.limit, k.limit}.schema()
	schema.Not = (&openapi3.Schema{Const: 0}).NewRef()
	return schema
}

// cursor is a place in a log, in decimal. No text at all is the place before the first entry.
type cursor struct{}

func (cursor) parse(s string, as form) (uint64, bool) {
	if s == "" {
		return 0, true
	}
	place, err := strconv.ParseUint(s, 10, 63)
	return place, err == nil && as != literal
}

func (cursor) rule() string { return "a cursor from an earlier answer" }

func (cursor) schema() *openapi3.Schema {
	return openapi3.NewStringSchema().WithPattern("^[0-9]{0,18}$")
}

type positive struct{ max float64 }

func (k positive) parse(s string, as form) (float64, bool) {
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && 0 < n && n <= k.max && as != quoted
}

func (k positive) rule() string { return fmt.Sprintf("a number above 0 and up to %g", k.max) }

func (k positive) schema() *openapi3.Schema {
	return openapi3.NewFloat64Schema().WithExclusiveMinValue(0).WithMax(k.max)
}

type flag struct{}

func (flag) parse(s string, as form) (bool, bool) {
	return s == "true", (s == "true" || s == "false") && as != quoted
}

func (flag) rule() string { return "true or false" }

func (flag) schema() *openapi3.Schema { return openapi3.NewBoolSchema() }

type oneOf []string

func (k oneOf) parse(s string, as form) (string, bool) {
	return s, slices.Contains(k, s) && as != literal
}

func (k oneOf) rule() string { return "one of " + strings.Join(k, ", ") }

func (k oneOf) schema() *openapi3.Schema {
	schema := openapi3.NewStringSchema()
	for _, word := range k {
		schema.Enum = append(schema.Enum, word)
	}
	return schema
}

// composite is a list or an object.
type composite struct{}

func (composite) parse(s string, as form) (json.RawMessage, bool) {
	return json.RawMessage(s), as == literal && (s[0] == '[' || s[0] == '{')
}

func (composite) rule() string { return "a list or an object" }

func (composite) schema() *openapi3.Schema { return openapi3.NewSchema() }

// visible is 1 to max visible ASCII characters: what a header can carry without doubt.
type visible struct{ max int }

func (k visible) parse(s string, as form) (string, bool) {
	hidden := func(r rune) bool { return r < '!' || r > '~' }
	return s, 1 <= len(s) && len(s) <= k.max && !strings.ContainsFunc(s, hidden) && as != literal
}

func (k visible) rule() string {
	return fmt.Sprintf("1 to %d visible ASCII characters, given once", k.max)
}

func (k visible) schema() *openapi3.Schema {
	return openapi3.NewStringSchema().WithMinLength(1).WithMaxLength(int64(k.max)).WithPattern("^[!-~]+$")
}
