package endpoint

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// Reference is the part of a document that does not come from its endpoints.
type Reference struct {
	Info       openapi3.Info
	Prefix     string
	Deprecated bool             // every endpoint
	Headers    openapi3.Headers // of every response, beside its own
}

// Document generates the OpenAPI 3.1 document of the endpoints from their fields, responses and codes. It is slow.
func (a *API) Document(reference Reference, endpoints []Endpoint) *openapi3.T {
	d := document{
		T: &openapi3.T{
			OpenAPI:  "3.1.0",
			Info:     &reference.Info,
			Servers:  openapi3.Servers{{URL: reference.Prefix}},
			Security: openapi3.SecurityRequirements{{"token": {}, "range-id": {}}},
			Components: &openapi3.Components{
				Schemas:  openapi3.Schemas{},
				Examples: openapi3.Examples{},
				SecuritySchemes: openapi3.SecuritySchemes{
					"token":    headerKey("token", "Range server authentication token, a UUID"),
					"range-id": headerKey("range-id", "Range identifier, a UUID"),
				},
			},
		},
		api: a, reference: reference,
	}
	for _, e := range endpoints {
		var tags []string
		if group := e.group; group.name != "" {
			tags = []string{group.name}
			if d.Tags.Get(group.name) == nil {
				d.Tags = append(d.Tags, &openapi3.Tag{Name: group.name, Description: group.description})
			}
		}
		d.AddOperation(e.path, e.method, &openapi3.Operation{
			Tags:        tags,
			OperationID: e.operationID(),
			Summary:     e.summary,
			Description: e.description,
			Deprecated:  reference.Deprecated,
			Parameters:  e.parameters(),
			RequestBody: e.requestBody(),
			Responses:   d.responses(e),
		})
	}
	return d.T
}

// DocumentHandler serves a document as JSON. doc is called once, with the first request: to make a document and to
// encode it takes most of what a start of the gateway takes.
func DocumentHandler(doc func() *openapi3.T) http.HandlerFunc {
	body := sync.OnceValue(func() []byte { return encode(doc()) })
	return func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, body()) }
}

// document is one under construction.
type document struct {
	*openapi3.T
	api       *API
	reference Reference
}

// Content describes a body with an example. Like Schema, it is for bodies that no endpoint of the gateway
// reads or sends.
func Content[T any](doc *openapi3.T) openapi3.Content {
	return document{T: doc}.content(reflect.TypeFor[T]())
}

// Schema describes the type T, in a document with components.
func Schema[T any](doc *openapi3.T) *openapi3.SchemaRef {
	return schemas(doc.Components.Schemas).schemaOf(reflect.TypeFor[T]())
}

// content describes a body of that type. Its example is built from the type's tags and added to the components.
func (d document) content(t reflect.Type) openapi3.Content {
	content := openapi3.NewContentWithJSONSchemaRef(schemas(d.Components.Schemas).schemaOf(t))
	examples := openapi3.Examples{}
	for _, shape := range shapesOf(t) {
		name := shape.Name()
		if shape.Kind() == reflect.Slice {
			name = shape.Elem().Name() + "List"
		}
		if d.Components.Examples[name] == nil {
			d.Components.Examples[name] = &openapi3.ExampleRef{Value: openapi3.NewExample(exampleOf(shape))}
		}
		examples[name] = d.example(name)
	}
	content["application/json"].Examples = examples
	return content
}

// example refers to an example of the components.
func (d document) example(name string) *openapi3.ExampleRef {
	return &openapi3.ExampleRef{Ref: "#/components/examples/" + name, Value: d.Components.Examples[name].Value}
}

func headerKey(name, description string) *openapi3.SecuritySchemeRef {
	return &openapi3.SecuritySchemeRef{Value: &openapi3.SecurityScheme{
		Type: "apiKey", In: "header", Name: name, Description: description,
	}}
}

// operationID is the method and the words of the path: postSessionsIdStop.
func (e *Endpoint) operationID() string {
	id := strings.ToLower(e.method)
	for _, word := range strings.FieldsFunc(e.path, func(r rune) bool { return strings.ContainsRune("/{}-_.", r) }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func (e *Endpoint) parameters() openapi3.Parameters {
	var all openapi3.Parameters
	for _, f := range e.fields {
		if f.place != inBody {
			all = append(all, &openapi3.ParameterRef{Value: &openapi3.Parameter{
				Name: f.name, In: string(f.place), Description: f.description, Required: f.required, Example: f.example,
				Schema: f.schema.WithDefault(f.fallback).NewRef(),
			}})
		}
	}
	return all
}

// requestBody describes the body, with an example.
func (e *Endpoint) requestBody() *openapi3.RequestBodyRef {
	if !e.reads(inBody) {
		return nil
	}
	object, example := objectOf(e.fields)
	content := openapi3.NewContentWithJSONSchema(object)
	content["application/json"].Example = example
	return &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{Required: !e.bodyOptional(), Content: content}}
}

// objectOf describes the object that has those of the fields that are in the body, with an example. One that is not
// required may also be null.
func objectOf(fields []field) (object *openapi3.Schema, example map[string]any) {
	object, example = openapi3.NewObjectSchema(), map[string]any{}
	for _, f := range fields {
		if f.place != inBody {
			continue
		}
		property := f.schema.WithDefault(f.fallback).NewRef()
		property.Value.Description = f.description
		if f.required {
			object.Required = append(object.Required, f.name)
			example[f.name] = f.example
		} else {
			property = nullable(property)
			switch {
			case f.example != nil:
				example[f.name] = f.example
			case f.fallback != nil:
				example[f.name] = f.fallback
			}
		}
		object.WithPropertyRef(f.name, property)
	}
	return object, example
}

// responses describes the endpoint's response and, by status, the responses of all its codes.
func (d document) responses(e Endpoint) *openapi3.Responses {
	all := openapi3.NewResponsesWithCapacity(0)
	all.Set(fmt.Sprint(e.status), &openapi3.ResponseRef{Value: d.success(e)})
	codes := map[string]bool{}
	for _, code := range slices.Concat(e.codes, d.api.GuardCodes) {
		codes[code] = true
	}
	if e.method != http.MethodGet {
		for _, code := range d.api.WriteGuardCodes {
			codes[code] = true
		}
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		entry := d.api.Errors.lookUp(code)
		failed := all.Status(entry.Status)
		if failed == nil {
			failed = &openapi3.ResponseRef{Value: d.response(http.StatusText(entry.Status))}
			failed.Value.Content = openapi3.NewContentWithJSONSchemaRef(d.failure())
			failed.Value.Content["application/json"].Examples = openapi3.Examples{}
			all.Set(fmt.Sprint(entry.Status), failed)
		}
		failed.Value.Content["application/json"].Examples[code] = d.problem(code, entry.Sentence)
		if entry.RetryAfter > 0 {
			failed.Value.Headers["Retry-After"] = Header("Seconds to wait", openapi3.NewIntegerSchema().WithMin(1))
		}
	}
	return all
}

func (d document) success(e Endpoint) *openapi3.Response {
	response := d.response(http.StatusText(e.status))
	switch {
	case e.contentType != "":
		text := openapi3.NewMediaType().WithSchema(openapi3.NewStringSchema())
		text.Example = e.example
		response.Content = openapi3.Content{e.contentType: text}
	case e.response == reflect.TypeFor[Empty]():
	case e.example != nil:
		response.Content = openapi3.NewContentWithJSONSchemaRef(schemas(d.Components.Schemas).schemaOf(e.response))
		response.Content["application/json"].Example = rawJSON(e.example)
	default:
		response.Content = d.content(e.response)
	}
	for _, f := range headerFields(e.response) {
		schema := schemas{}.schemaOf(f.Type).Value
		describe(schema, f.Tag)
		response.Headers[f.Tag.Get("header")] = Header(f.Tag.Get("doc"), schema)
	}
	if e.command {
		response.Headers[replayedHeader] = Header("Only where this is the first answer again",
			openapi3.NewStringSchema().WithEnum("true"))
	}
	return response
}

// failure refers to the schema of every error.
func (d document) failure() *openapi3.SchemaRef {
	defined := schemas(d.Components.Schemas)
	if defined["Error"] == nil {
		defined["Error"] = defined.object(reflect.TypeFor[failure]()).NewRef()
	}
	return defined.ref("Error")
}

// problem refers to the example of an error with that code.
func (d document) problem(code, sentence string) *openapi3.ExampleRef {
	if d.Components.Examples[code] == nil {
		example := failure{Error: sentence, Code: code, TraceID: "4bf92f3577b34da6a3ce929d0e0e4736"}
		if code == (Faults{}).Code() {
			example.Fields = Faults{"id": "must be " + id{}.rule()}
		}
		d.Components.Examples[code] = &openapi3.ExampleRef{Value: &openapi3.Example{
			Summary: sentence,
			Value:   rawJSON(example),
		}}
	}
	return d.example(code)
}

func (d document) response(description string) *openapi3.Response {
	headers := openapi3.Headers{
		"trace-id": Header("W3C trace id of the request", openapi3.NewStringSchema().WithPattern("^[0-9a-f]{32}$")),
	}
	maps.Copy(headers, d.reference.Headers)
	return &openapi3.Response{Description: &description, Headers: headers}
}

// Header describes a header of a response.
func Header(description string, schema *openapi3.Schema) *openapi3.HeaderRef {
	return &openapi3.HeaderRef{Value: &openapi3.Header{
		Parameter: openapi3.Parameter{Description: description, Schema: schema.NewRef()},
	}}
}
