package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
)

// Empty is the answer without a body, and the command that needs no input.
type Empty struct{}

// encode is how a value goes over the wire: nothing escaped for HTML, a newline at the end. Empty has no bytes at all,
// and a list without elements is [], never null. A value that JSON cannot hold is a defect, and panics.
func encode(v any) []byte { return appendAnswer(nil, v) }

func appendAnswer(to []byte, v any) []byte {
	switch v := v.(type) {
	case Empty:
		return to
	case interface{ write(to []byte) []byte }: // Written
		return append(v.write(to), '\n')
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.IsNil() {
		return append(to, "[]\n"...)
	}
	out := bytes.NewBuffer(to)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Errorf("endpoint: answer %T: %w", v, err))
	}
	return out.Bytes()
}

// bodies are buffers for answers, which only live until they are sent.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// answer sends what encode makes of v.
func answer(w http.ResponseWriter, status int, v any) {
	buffer := bodies.Get().(*[]byte)
	*buffer = appendAnswer((*buffer)[:0], v)
	write(w, status, *buffer)
	bodies.Put(buffer)
}

// setHeaders puts the answer's fields with the tag `header` into headers of that name. They are told json:"-".
func setHeaders(h http.Header, fields []reflect.StructField, answer any) {
	for _, f := range fields {
		h.Set(f.Tag.Get("header"), fmt.Sprint(reflect.ValueOf(answer).FieldByIndex(f.Index)))
	}
}

func headersOf(t reflect.Type) (fields []reflect.StructField) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("header") != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

func write(w http.ResponseWriter, status int, body []byte) {
	if len(body) > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client is gone
}
