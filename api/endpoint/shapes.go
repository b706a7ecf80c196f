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

// schemas are those of the types of responses, by the name of the type. A named struct is described once and
// referred to. A field may have the tags doc (its description) and example, and those of its constraints:
// format, pattern, enum (words separated by commas), min and max.
type schemas openapi3.Schemas

// schemaOf returns the schema of a type as encoding/json writes it. It panics where the JSON does not follow
// from the type.
func (s schemas) schemaOf(t reflect.Type) *openapi3.SchemaRef {
	switch {
	case t == reflect.TypeFor[uuid.UUID]():
		return openapi3.NewUUIDSchema().NewRef()
	case t == reflect.TypeFor[time.Time]():
		return openapi3.NewDateTimeSchema().NewRef()
	case t == reflect.TypeFor[json.Number]():
		return numberSchema().NewRef()
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return openapi3.NewSchema().NewRef()
	case t.Kind() == reflect.Pointer:
		return nullable(s.schemaOf(t.Elem()))
	case len(shapesOf(t)) > 1:
		either := openapi3.NewSchema()
		for _, shape := range shapesOf(t) {
			either.OneOf = append(either.OneOf, s.schemaOf(shape))
		}
		return either.NewRef()
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		panic(fmt.Sprintf("endpoint: the document cannot know the JSON of %s", t))
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
		return numberSchema().NewRef()
	case reflect.Slice:
		list := openapi3.NewArraySchema()
		list.Items = s.schemaOf(t.Elem())
		return list.NewRef()
	case reflect.Map:
		object := openapi3.NewObjectSchema()
		object.AdditionalProperties.Schema = s.schemaOf(t.Elem())
		return object.NewRef()
	case reflect.Struct:
		return s.named(t)
	}
	panic(fmt.Sprintf("endpoint: a response cannot hold %s", t))
}

// numberSchema is that of a number that need not be an integer. Without the format generators choose single
// precision, which has not enough digits for minutes exact to the millisecond.
func numberSchema() *openapi3.Schema { return openapi3.NewFloat64Schema().WithFormat("double") }

// named describes a struct under its own name, or in place if it has none.
func (s schemas) named(t reflect.Type) *openapi3.SchemaRef {
	if t.Name() == "" {
		return s.object(t).NewRef()
	}
	object := s.object(t)
	if known, ok := s[t.Name()]; ok && !reflect.DeepEqual(known.Value, object) {
		panic(fmt.Sprintf("endpoint: two different responses are called %s", t.Name()))
	}
	s[t.Name()] = object.NewRef()
	return s.ref(t.Name())
}

func (s schemas) ref(name string) *openapi3.SchemaRef {
	return openapi3.NewSchemaRef("#/components/schemas/"+name, s[name].Value)
}

// object describes a struct by its JSON keys. All are required except those with omitempty or omitzero.
func (s schemas) object(t reflect.Type) *openapi3.Schema {
	object := openapi3.NewObjectSchema()
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		property := s.schemaOf(f.Type)
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
		panic(fmt.Sprintf("endpoint: %q is no number", text))
	}
	return &bound
}

// nullable returns the schema of the value or null, as OpenAPI 3.1 writes it.
func nullable(ref *openapi3.SchemaRef) *openapi3.SchemaRef {
	if ref.Ref == "" && ref.Value.Type != nil {
		if ref.Value.Type.Includes(openapi3.TypeNull) {
			return ref
		}
		*ref.Value.Type = append(*ref.Value.Type, openapi3.TypeNull)
		return ref
	}
	null := &openapi3.Schema{Type: &openapi3.Types{openapi3.TypeNull}}
	return (&openapi3.Schema{AnyOf: openapi3.SchemaRefs{ref, null.NewRef()}}).NewRef()
}

// exampleOf returns an example of a response, built from the tags `example` of its fields and encoded as the
// type encodes itself: with the keys of the wire, in its order. Lists have one element; a field with
// omitempty is omitted unless it has an example.
func exampleOf(t reflect.Type) json.RawMessage {
	v := reflect.New(t).Elem()
	setExample(v, "")
	return rawJSON(v.Interface())
}

func rawJSON(v any) json.RawMessage { return json.RawMessage(encode(v)) }

func setExample(v reflect.Value, tag reflect.StructTag) {
	text, ok := tag.Lookup("example")
	_, options, _ := strings.Cut(tag.Get("json"), ",")
	switch {
	case ok:
		// A string may stand in the tag without quotes.
		if json.Unmarshal([]byte(text), v.Addr().Interface()) == nil {
			return
		}
		quoted, _ := json.Marshal(text)
		if err := json.Unmarshal(quoted, v.Addr().Interface()); err != nil {
			panic(fmt.Sprintf("endpoint: example:%q is no %s", text, v.Type()))
		}
	case strings.Contains(options, "omit"):
	case v.Type() == reflect.TypeFor[uuid.UUID]():
		v.Set(reflect.ValueOf(uuid.MustParse(ExampleID)))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setExample(v.Elem(), "")
	case v.Kind() == reflect.Slice && v.Type() != reflect.TypeFor[json.RawMessage]():
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		setExample(v.Index(0), "")
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				setExample(v.Field(i), f.Tag)
			}
		}
	}
}
