package endpoint

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
)

// shapes are the schemas of the types that are answered, by the name of the type. A named struct is described once and
// referred to. A field may carry the tags doc (what it is) and example, and those that narrow it down: format, pattern,
// enum (words with commas between), min and max.
type shapes openapi3.Schemas

// of answers the schema of a type as encoding/json writes it; a pointer may be null. A type whose JSON cannot be told from
// the type stops the start, as a document that leaves something out would be wrong.
func (s shapes) of(t reflect.Type) *openapi3.SchemaRef {
	switch {
	case t == reflect.TypeFor[uuid.UUID]():
		return openapi3.NewUUIDSchema().NewRef()
	case t == reflect.TypeFor[time.Time]():
		return openapi3.NewDateTimeSchema().NewRef()
	case t == reflect.TypeFor[json.Number]():
		return openapi3.NewFloat64Schema().NewRef()
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return openapi3.NewSchema().NewRef()
	case t.Kind() == reflect.Pointer:
		return nullable(s.of(t.Elem()))
	case len(alternatives(t)) > 1:
		either := openapi3.NewSchema()
		for _, one := range alternatives(t) {
			either.OneOf = append(either.OneOf, s.of(one))
		}
		return either.NewRef()
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		panic(fmt.Sprintf("endpoint: the document cannot know what JSON %s makes of itself", t))
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return openapi3.NewStringSchema().NewRef()
	}
	switch t.Kind() {
	case reflect.String:
		return openapi3.NewStringSchema().NewRef()
	case reflect.Bool:
		return openapi3.NewBoolSchema().NewRef()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return openapi3.NewIntegerSchema().NewRef()
	case reflect.Float32, reflect.Float64:
		return openapi3.NewFloat64Schema().NewRef()
	case reflect.Slice:
		list := openapi3.NewArraySchema()
		list.Items = s.of(t.Elem())
		return list.NewRef()
	case reflect.Map:
		object := openapi3.NewObjectSchema()
		object.AdditionalProperties.Schema = s.of(t.Elem())
		return object.NewRef()
	case reflect.Struct:
		return s.named(t)
	}
	panic(fmt.Sprintf("endpoint: an answer cannot hold %s", t))
}

// named describes a struct under its own name, or in place if it has none.
func (s shapes) named(t reflect.Type) *openapi3.SchemaRef {
	if t.Name() == "" {
		return s.object(t).NewRef()
	}
	object := s.object(t)
	if known, ok := s[t.Name()]; ok && !reflect.DeepEqual(known.Value, object) {
		panic(fmt.Sprintf("endpoint: two different answers are called %s", t.Name()))
	}
	s[t.Name()] = object.NewRef()
	return s.ref(t.Name())
}

func (s shapes) ref(name string) *openapi3.SchemaRef {
	return openapi3.NewSchemaRef("#/components/schemas/"+name, s[name].Value)
}

// object describes a struct by its JSON keys, those of embedded structs among them. All are required but those that may
// be left out.
func (s shapes) object(t reflect.Type) *openapi3.Schema {
	object := openapi3.NewObjectSchema()
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		property := s.of(f.Type)
		if property.Ref == "" {
			describe(property.Value, f.Tag)
		}
		object.WithPropertyRef(name, property)
		if !strings.Contains(options, "omit") {
			object.Required = append(object.Required, name)
		}
	}
	return object
}

func describe(schema *openapi3.Schema, tag reflect.StructTag) {
	schema.Description = tag.Get("doc")
	if format := tag.Get("format"); format != "" {
		schema.Format = format
	}
	schema.Pattern = tag.Get("pattern")
	if words := tag.Get("enum"); words != "" {
		for _, word := range strings.Split(words, ",") {
			schema.Enum = append(schema.Enum, word)
		}
	}
	schema.Min, schema.Max = bound(tag.Get("min")), bound(tag.Get("max"))
	if text, ok := tag.Lookup("example"); ok {
		var example any = text
		if text == "null" || !schema.Type.Includes(openapi3.TypeString) {
			if err := json.Unmarshal([]byte(text), &example); err != nil {
				panic(fmt.Sprintf("endpoint: example:%q is no JSON", text))
			}
		}
		schema.Examples = []any{example}
	}
}

func bound(text string) *float64 {
	if text == "" {
		return nil
	}
	bound, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("endpoint: %q bounds nothing", text))
	}
	return &bound
}

// nullable is OpenAPI 3.1's way of saying that a value may be null.
func nullable(ref *openapi3.SchemaRef) *openapi3.SchemaRef {
	if ref.Ref == "" && ref.Value.Type != nil {
		*ref.Value.Type = append(*ref.Value.Type, openapi3.TypeNull)
		return ref
	}
	null := &openapi3.Schema{Type: &openapi3.Types{openapi3.TypeNull}}
	return (&openapi3.Schema{AnyOf: openapi3.SchemaRefs{ref, null.NewRef()}}).NewRef()
}
