package endpoint

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/uuid"
)

// shownOf is an example of what is answered, made of the tags `example` of its fields, in the JSON that the type makes of
// itself: so it has the keys of the wire in the order of the wire. Lists have one element; what may be left out is, unless it
// has an example.
func shownOf(t reflect.Type) json.RawMessage {
	v := reflect.New(t).Elem()
	exemplify(v, "")
	return asShown(v.Interface())
}

func asShown(v any) json.RawMessage { return json.RawMessage(encode(v)) }

func exemplify(v reflect.Value, tag reflect.StructTag) {
	text, given := tag.Lookup("example")
	_, options, _ := strings.Cut(tag.Get("json"), ",")
	switch {
	case given:
		// A string may be written without its quotes.
		if json.Unmarshal([]byte(text), v.Addr().Interface()) == nil {
			return
		}
		quoted, _ := json.Marshal(text)
		if err := json.Unmarshal(quoted, v.Addr().Interface()); err != nil {
			panic(fmt.Sprintf("endpoint: example:%q is no %s", text, v.Type()))
		}
	case strings.Contains(options, "omit"):
	case v.Type() == reflect.TypeFor[uuid.UUID]():
		v.Set(reflect.ValueOf(uuid.MustParse(exampleID)))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		exemplify(v.Elem(), "")
	case v.Kind() == reflect.Slice && v.Type() != reflect.TypeFor[json.RawMessage]():
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		exemplify(v.Index(0), "")
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				exemplify(v.Field(i), f.Tag)
			}
		}
	}
}
