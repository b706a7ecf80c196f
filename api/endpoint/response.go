package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"
)

// Empty is the response without a body, and the input of an endpoint that reads nothing.
type Empty struct{}

// Either is the response of an endpoint that has two shapes.
type Either[A, B any] struct{ value any }

// First returns a response of the first shape.
func First[A, B any](a A) Either[A, B] { return Either[A, B]{a} }

// Second returns a response of the second shape.
func Second[A, B any](b B) Either[A, B] { return Either[A, B]{b} }

// MarshalJSON returns the JSON of the shape it has.
func (e Either[A, B]) MarshalJSON() ([]byte, error) { return json.Marshal(e.value) }

func (Either[A, B]) shapes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[A](), reflect.TypeFor[B]()}
}

// shapesOf returns the shapes that a response of the type may have.
func shapesOf(t reflect.Type) []reflect.Type {
	if t.Kind() == reflect.Struct {
		if either, ok := reflect.Zero(t).Interface().(interface{ shapes() []reflect.Type }); ok {
			return either.shapes()
		}
	}
	return []reflect.Type{t}
}

// Appender is a response that appends its own JSON, where encoding/json is too slow: the bytes that this
// writes of a View.
type Appender[View any] func(buffer []byte) []byte

func (a Appender[View]) appendJSON(buffer []byte) []byte { return a(buffer) }

func (Appender[View]) view() reflect.Type { return reflect.TypeFor[View]() }

// documentedType returns the type that the document describes for a response.
func documentedType[Out any]() reflect.Type {
	var out Out
	if appender, ok := any(out).(interface{ view() reflect.Type }); ok {
		return appender.view()
	}
	return reflect.TypeFor[Out]()
}

// Stamp formats a time as everywhere on the wire: ISO 8601 in UTC, to the millisecond.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// OptionalStamp formats a time; nil, which the wire shows as null, for none.
func OptionalStamp(t *time.Time) *string {
	if t == nil || t.IsZero() {
		return nil
	}
	return new(Stamp(*t))
}

// Views returns the views of a list; no view for no elements, which the wire shows as [].
func Views[T, View any](list []T, view func(T) View) []View {
	views := make([]View, len(list))
	for i, element := range list {
		views[i] = view(element)
	}
	return views
}

// Optional returns a value, or nil for a zero value, which the wire shows as null.
func Optional[V comparable](value V) *V {
	var zero V
	if value == zero {
		return nil
	}
	return &value
}

// encode returns a value as it goes over the wire: without HTML escaping, with a newline at the end. Empty
// has no bytes at all, and a list without elements is [], never null. It panics on a value that JSON cannot
// hold, which is a defect.
func encode(v any) []byte { return appendResponse(nil, v) }

func appendResponse(buffer []byte, v any) []byte {
	switch v := v.(type) {
	case Empty:
		return buffer
	case interface{ appendJSON(buffer []byte) []byte }: // Appender
		return append(v.appendJSON(buffer), '\n')
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.IsNil() {
		return append(buffer, "[]\n"...)
	}
	out := bytes.NewBuffer(buffer)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Errorf("endpoint: encode %T: %w", v, err))
	}
	return out.Bytes()
}

// bodyBuffers holds buffers for responses, which live only until they are sent.
var bodyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// respond sends v, encoded. encoded is called before anything is sent. room is asked for the room of a response
// that is larger than a piece and has none yet, as a client that does not read it keeps it in memory. It is nil for
// a command, whose answer is small: what was done is not refused.
func respond(w http.ResponseWriter, status int, v any, encoded func(), room func() (PageRoom, error)) error {
	buffer := bodyBuffers.Get().(*[]byte)
	defer bodyBuffers.Put(buffer)
	*buffer = appendResponse((*buffer)[:0], v)
	encoded()
	if room != nil && len(*buffer) > pieceBytes {
		taken, err := room()
		if err != nil {
			return err
		}
		taken.Encoded()
		defer taken.Written()
	}
	write(w, status, *buffer)
	return nil
}

// setHeaders sends the response's fields with the tag `header` as headers of that name. Those fields have json:"-".
func setHeaders(h http.Header, fields []reflect.StructField, response any) {
	for _, f := range fields {
		h.Set(f.Tag.Get("header"), fmt.Sprint(reflect.ValueOf(response).FieldByIndex(f.Index)))
	}
}

func headerFields(t reflect.Type) (fields []reflect.StructField) {
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
	writePieces(w, body)
}
