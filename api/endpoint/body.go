package endpoint

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// maxBody is the most bytes a body may have (WIRE.md, Requests).
const maxBody = 64 << 10

// load reads the body whole. Too long a body is an error; one that breaks off is a fault like another.
func (in *Input) load(w http.ResponseWriter) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, in.request.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return Refusal("too_large")
	case err != nil:
		in.unreadable(inBody, "could not be read to its end")
	}
	in.raw = raw
	return nil
}

// decode takes the body loaded before as one JSON object. Where no field of it is required, there may be no body.
//
// A map of raw values is what makes it exact: keys count in their case, unknown ones are ignored, of two alike the last
// one counts, and anything behind the object is refused. encoding/json mends broken UTF-8 silently, hence the check.
func (in *Input) decode(optional bool) error {
	if len(in.broken) > 0 || optional && len(in.raw) == 0 {
		return nil
	}
	if !isJSON(in.request.Header.Get("Content-Type")) {
		return Refusal("unsupported_media_type")
	}
	if !utf8.Valid(in.raw) {
		in.unreadable(inBody, "must be UTF-8")
		return nil
	}
	// The word null decodes too, and leaves the map nil.
	if err := json.Unmarshal(in.raw, &in.body); err != nil || in.body == nil {
		in.unreadable(inBody, "must be one JSON object")
	}
	return nil
}

// isJSON says whether a body of that content type is taken as JSON: with any parameters, and also where there is none.
func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.TrimSpace(kind)
	return kind == "" || strings.EqualFold(kind, "application/json")
}
