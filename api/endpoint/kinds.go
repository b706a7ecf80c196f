package endpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
)

// kind is one kind of value: its check, its rule as it reads after "must be", and its schema in the document.
type kind[V any] interface {
	parse(text string, form valueForm) (V, bool)
	rule() string
	schema() *openapi3.Schema
}

// valueForm is how a value was written: JSON distinguishes "60" from 60, the other parts of a request do not.
type valueForm int

const (
	bare    valueForm = iota // in the path, the query or a header
	quoted                   // the content of a JSON string
	literal                  // another JSON value, as it was written
)

// text has at least one character that can be seen, unless it may be empty: a name of zero-width characters is no name.
type text struct{ shortest, longest int }

func (k text) parse(s string, form valueForm) (string, bool) {
	s = strings.TrimSpace(s)
	length := utf8.RuneCountInString(s)
	fits := k.shortest <= length && length <= k.longest && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, unicode.IsControl)
	return s, fits && (k.shortest == 0 || strings.ContainsFunc(s, isVisible)) && form != literal
}

// isVisible reports whether the character shows by itself. Format characters (zero-width ones, those that set
// the direction of writing), marks and fillers do not.
func isVisible(r rune) bool {
	const brailleBlank = '\u2800'
	return unicode.In(r, unicode.Letter, unicode.Number, unicode.Punct, unicode.Symbol) &&
		!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && r != brailleBlank
}

func (k text) rule() string {
	visible := ""
	if k.shortest > 0 {
		visible = "not all of them invisible, "
	}
	return fmt.Sprintf("a text of %d to %d characters, %snone of them a control character", k.shortest,
		k.longest, visible)
}

// schema has no pattern, as tools generate unusable examples from one. The field's description states the rule.
func (k text) schema() *openapi3.Schema {
	return openapi3.NewStringSchema().WithMinLength(int64(k.shortest)).WithMaxLength(int64(k.longest))
}

// pairs is an object of texts. Its names and values are taken as they are, without trimming.
type pairs struct{ most, bytes int }

func (k pairs) parse(s string, form valueForm) (map[string]string, bool) {
	var given map[string]*string // of null: nil
	if form != literal || s[0] != '{' || json.Unmarshal([]byte(s), &given) != nil || len(given) > k.most {
		return nil, false
	}
	length, texts := 0, make(map[string]string, len(given))
	for name, value := range given {
		if value == nil || strings.ContainsFunc(name+*value, unicode.IsControl) {
			return nil, false
		}
		length += len(name) + len(*value)
		texts[name] = *value
	}
	return texts, length <= k.bytes
}

func (k pairs) rule() string {
	return fmt.Sprintf("an object of at most %d texts without control characters, names and values together of "+
		"at most %d bytes", k.most, k.bytes)
}

func (k pairs) schema() *openapi3.Schema {
	object := openapi3.NewObjectSchema().WithMaxProperties(int64(k.most))
	object.AdditionalProperties.Schema = openapi3.NewStringSchema().NewRef()
	return object
}

// ExampleID is the UUID of examples in the document.
const ExampleID = "7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d"

// id is a UUID in its canonical form of 36 characters; uuid.Parse alone also accepts braces and urn:.
type id struct{}

func (id) parse(s string, form valueForm) (uuid.UUID, bool) {
	v, err := uuid.Parse(s)
	return v, err == nil && len(s) == len(ExampleID) && form != literal
}

func (id) rule() string { return "a UUID like " + ExampleID }

func (id) schema() *openapi3.Schema { return openapi3.NewUUIDSchema() }

// ids is a list of UUIDs, none of them twice, and at least one.
type ids struct{ most int }

func (k ids) parse(s string, form valueForm) (list []uuid.UUID, ok bool) {
	var texts []string
	if form != literal || json.Unmarshal([]byte(s), &texts) != nil || len(texts) == 0 || len(texts) > k.most {
		return nil, false
	}
	found := make(map[uuid.UUID]bool, len(texts))
	for _, text := range texts {
		one, ok := id{}.parse(text, quoted)
		if !ok || found[one] {
			return nil, false
		}
		found[one] = true
		list = append(list, one)
	}
	return list, true
}

func (k ids) rule() string {
	return fmt.Sprintf("a list of 1 to %d different UUIDs like %s", k.most, ExampleID)
}

func (k ids) schema() *openapi3.Schema {
	return openapi3.NewArraySchema().WithItems(id{}.schema()).WithMinItems(1).WithMaxItems(int64(k.most)).
		WithUniqueItems(true)
}

// moment is a time as RFC 3339 writes it, with its offset from UTC.
type moment struct{}

func (moment) parse(s string, form valueForm) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, s)
	return at, err == nil && form != literal
}

func (moment) rule() string { return "a time like 2026-05-01T10:00:00Z (RFC 3339)" }

func (moment) schema() *openapi3.Schema { return openapi3.NewDateTimeSchema() }

type integer struct{ lowest, highest int }

func (k integer) parse(s string, form valueForm) (int, bool) {
	n, err := strconv.Atoi(s)
	if err != nil && form == literal {
		n, err = parseWhole(s)
	}
	return n, err == nil && k.lowest <= n && n <= k.highest && form != quoted
}

// parseWhole parses a JSON number that is an integer as JSON Schema has it, whatever its notation: 60.0 and
// 6e1 are 60. Numbers of JSON are interoperable as float64 (RFC 8259), which holds integers up to 2^53.
func parseWhole(s string) (int, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !isWhole(s) || math.Abs(n) > 1<<53 {
		return 0, strconv.ErrSyntax
	}
	return int(n), nil
}

// isWhole reports whether a JSON number has no digit but zeros behind its decimal point, once its exponent
// has moved that. Its value as float64 does not tell: 30.0000000000000000000001 is rounded to 30.
func isWhole(number string) bool {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	moved, err := strconv.Atoi(cmp.Or(exponent, "0"))
	digits := whole + fraction
	switch behind := len(fraction) - moved; {
	case err != nil || behind >= len(digits): // an exponent beyond every int, too
		return strings.Trim(digits, "-0") == ""
	case behind > 0:
		return strings.Trim(digits[len(digits)-behind:], "0") == ""
	}
	return true
}

// integers is a list of integers; it may be empty.
type integers struct {
	most int
	each integer
}

func (k integers) parse(s string, form valueForm) ([]int, bool) {
	var texts []json.RawMessage
	if form != literal || json.Unmarshal([]byte(s), &texts) != nil || texts == nil || len(texts) > k.most {
		return nil, false
	}
	numbers := []int{}
	for _, text := range texts {
		n, ok := k.each.parse(string(text), literal)
		if !ok {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}

func (k integers) rule() string {
	return fmt.Sprintf("a list of at most %d integers from %d to %d", k.most, k.each.lowest, k.each.highest)
}

func (k integers) schema() *openapi3.Schema {
	return openapi3.NewArraySchema().WithItems(k.each.schema()).WithMaxItems(int64(k.most))
}

func (k integer) rule() string { return fmt.Sprintf("an integer from %d to %d", k.lowest, k.highest) }

func (k integer) schema() *openapi3.Schema {
	return openapi3.NewIntegerSchema().WithMin(float64(k.lowest)).WithMax(float64(k.highest))
}

// signed is a change, up or down. A leading space counts as a plus, which a query decodes to a space
// (WIRE.md, Requests).
type signed struct{ limit int }

func (k signed) parse(s string, form valueForm) (int, bool) {
	if rest, ok := strings.CutPrefix(s, " "); ok {
		s = "+" + rest
	}
	n, fits := integer{-k.limit, k.limit}.parse(s, form)
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

// cursor is a position in a log, in decimal. The empty text is the position before the first entry.
type cursor struct{}

func (cursor) parse(s string, form valueForm) (uint64, bool) {
	if s == "" {
		return 0, true
	}
	position, err := strconv.ParseUint(s, 10, 63)
	return position, err == nil && form != literal
}

func (cursor) rule() string { return "a cursor from an earlier answer" }

func (cursor) schema() *openapi3.Schema {
	return openapi3.NewStringSchema().WithPattern("^[0-9]{0,18}$")
}

// position is the cursor of one entry.
type position struct{}

func (position) parse(s string, form valueForm) (uint64, bool) {
	at, ok := cursor{}.parse(s, form)
	return at, ok && s != "" && len(s) <= 18
}

func (position) rule() string { return cursor{}.rule() }

func (position) schema() *openapi3.Schema {
	return openapi3.NewStringSchema().WithPattern("^[0-9]{1,18}$").WithMinLength(1).WithMaxLength(18)
}

type positive struct{ highest float64 }

func (k positive) parse(s string, form valueForm) (float64, bool) {
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && 0 < n && n <= k.highest && form != quoted
}

func (k positive) rule() string {
	return "a number above 0 and up to " + strconv.FormatFloat(k.highest, 'f', -1, 64)
}

func (k positive) schema() *openapi3.Schema {
	return numberSchema().WithExclusiveMinValue(0).WithMax(k.highest)
}

type flag struct{}

func (flag) parse(s string, form valueForm) (bool, bool) {
	return s == "true", (s == "true" || s == "false") && form != quoted
}

func (flag) rule() string { return "true or false" }

func (flag) schema() *openapi3.Schema { return openapi3.NewBoolSchema() }

type oneOf []string

func (k oneOf) parse(s string, form valueForm) (string, bool) {
	return s, slices.Contains(k, s) && form != literal
}

func (k oneOf) rule() string { return "one of " + strings.Join(k, ", ") }

func (k oneOf) schema() *openapi3.Schema {
	schema := openapi3.NewStringSchema()
	for _, word := range k {
		schema.Enum = append(schema.Enum, word)
	}
	return schema
}

// someOf is a list of words without a fixed order.
type someOf []string

func (k someOf) parse(s string, form valueForm) (words []string, ok bool) {
	if form != literal || json.Unmarshal([]byte(s), &words) != nil || len(words) == 0 {
		return nil, false
	}
	return words, !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(k, word) })
}

func (k someOf) rule() string { return "a list of " + strings.Join(k, ", ") }

func (k someOf) schema() *openapi3.Schema {
	return openapi3.NewArraySchema().WithItems(oneOf(k).schema()).WithMinItems(1)
}

// composite is a list or an object.
type composite struct{}

func (composite) parse(s string, form valueForm) (json.RawMessage, bool) {
	return json.RawMessage(s), form == literal && (s[0] == '[' || s[0] == '{')
}

func (composite) rule() string { return "a list or an object" }

func (composite) schema() *openapi3.Schema { return openapi3.NewSchema() }

// visible is 1 to longest visible ASCII characters, which every header can carry.
type visible struct{ longest int }

func (k visible) parse(s string, form valueForm) (string, bool) {
	hidden := func(r rune) bool { return r < '!' || r > '~' }
	return s, 1 <= len(s) && len(s) <= k.longest && !strings.ContainsFunc(s, hidden) && form != literal
}

func (k visible) rule() string {
	return fmt.Sprintf("1 to %d visible ASCII characters, given once", k.longest)
}

func (k visible) schema() *openapi3.Schema {
	return openapi3.NewStringSchema().WithMinLength(1).WithMaxLength(int64(k.longest)).WithPattern("^[!-~]+$")
}
