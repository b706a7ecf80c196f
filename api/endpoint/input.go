package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
)

// Input is what a reader reads from: a request, or nothing while the endpoint is declared. Its methods return
// the field's value. Where the request breaks the field's rule they record the fault and return a zero value,
// which is never used: a request with a fault is refused.
type Input struct {
	request *http.Request // nil: only the fields are recorded
	fields  []field       // as recorded, in the reader's order

	query    url.Values
	raw      []byte // the body, if it was read
	complete bool   // the body was read to its end
	body     map[string]json.RawMessage
	broken   []place // that cannot be parsed: one fault for each of them, none for its fields
	faults   Faults
	maxBody  int // bytes
}

// place is the part of a request that a field is in, as OpenAPI names it (except for the body).
type place string

const (
	inPath   place = "path"
	inQuery  place = "query"
	inHeader place = "header"
	inBody   place = "body"
)

// field describes one field for the document.
type field struct {
	place       place
	name        string
	description string
	required    bool
	example     any // nil: none
	fallback    any // of an optional field, as the document shows it; nil: not shown
	schema      *openapi3.Schema
}

// readField records a field, or looks it up in the request and checks it. Without the field it returns the fallback.
func readField[V any](in *Input, f field, k kind[V], fallback V) V {
	if in.request == nil {
		f.schema = k.schema()
		in.fields = append(in.fields, f)
		return fallback
	}
	text, form, found := in.lookUp(f.place, f.name)
	switch {
	case slices.Contains(in.broken, f.place):
	case found:
		if v, ok := k.parse(text, form); ok {
			return v
		}
		in.fault(f.name, "must be "+k.rule())
	case f.required:
		in.fault(f.name, "is required")
	}
	return fallback
}

// lookUp returns the text of a field. Of two with one name the last one counts, in the query as in the body (WIRE.md,
// Requests); header lines of one name are joined by a comma and a space, as HTTP defines.
func (in *Input) lookUp(p place, name string) (text string, form valueForm, found bool) {
	switch p {
	case inPath:
		return chi.URLParam(in.request, name), bare, true
	case inQuery:
		if values := in.query[name]; len(values) > 0 {
			return values[len(values)-1], bare, true
		}
		return "", bare, false
	case inHeader:
		values := in.request.Header.Values(name)
		return strings.Join(values, ", "), bare, len(values) > 0
	}
	raw, found := in.body[name]
	if !found || string(raw) == "null" {
		return "", literal, false
	}
	if raw[0] != '"' {
		return string(raw), literal, true
	}
	word, err := unquote(raw)
	return word, quoted, err == nil
}

// unquote returns the content of a JSON string that decode has checked: without a backslash, the bytes
// between its quotes.
func unquote(raw json.RawMessage) (text string, err error) {
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

// unreadable records a fault of a whole place, under the place's name.
func (in *Input) unreadable(p place, sentence string) {
	in.broken = append(in.broken, p)
	in.fault(string(p), sentence)
}

// MaxBody is the maximum size of a body in bytes (WIRE.md, Requests), unless the reader says otherwise: see UpTo.
const MaxBody = 64 << 10

// UpTo lets the body have so many bytes instead of MaxBody.
func (in *Input) UpTo(maxBody int) { in.maxBody = maxBody }

// load reads the whole body. A body that is too large or too slow is an error; one that breaks off is
// recorded as a fault.
func (in *Input) load(w http.ResponseWriter) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, in.request.Body, int64(in.maxBody)))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge) && tooLarge.Limit != MaxBody:
		return Refuse("too_large", fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit), 0)
	case errors.As(err, &tooLarge):
		return Refusal("too_large")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Refusal("request_timeout")
	case err != nil:
		in.unreadable(inBody, "could not be read to its end")
	}
	in.raw, in.complete = raw, err == nil
	return nil
}

// decode parses the loaded body as one JSON object. An optional body may be empty.
//
// A map of raw values makes it exact: keys are case-sensitive, unknown ones are ignored, of two with one name
// the last one counts, and bytes after the object are refused. encoding/json silently repairs broken UTF-8,
// so that is checked first.
func (in *Input) decode(optional bool) error {
	if len(in.broken) > 0 || optional && len(in.raw) == 0 {
		return nil
	}
	if !acceptsJSON(in.request.Header.Get("Content-Type")) {
		return Refusal("unsupported_media_type")
	}
	if coding := in.request.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return Refuse("unsupported_media_type", "the body must not be compressed: it has a Content-Encoding", 0)
	}
	if !utf8.Valid(in.raw) {
		in.unreadable(inBody, "must be UTF-8")
		return nil
	}
	// null decodes without an error and leaves the map nil.
	if err := json.Unmarshal(in.raw, &in.body); err != nil || in.body == nil {
		in.unreadable(inBody, "must be one JSON object")
	}
	return nil
}

// acceptsJSON is true if a body of that content type is read as JSON: with any parameters, and also without a type.
func acceptsJSON(contentType string) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.TrimSpace(mediaType)
	return mediaType == "" || strings.EqualFold(mediaType, "application/json")
}
