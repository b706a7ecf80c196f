package endpoint

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// responses are the endpoint's answer and, by status, every code it may answer instead.
func (d document) responses(e Endpoint) *openapi3.Responses {
	all := openapi3.NewResponsesWithCapacity(0)
	all.Set(fmt.Sprint(e.status), &openapi3.ResponseRef{Value: d.success(e)})
	codes := map[string]bool{}
	for _, code := range slices.Concat(e.codes, d.api.Everywhere) {
		codes[code] = true
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		known := d.api.Errors.of(code)
		failed := all.Status(known.Status)
		if failed == nil {
			failed = &openapi3.ResponseRef{Value: d.response(http.StatusText(known.Status))}
			failed.Value.Content = openapi3.NewContentWithJSONSchemaRef(d.failure())
			failed.Value.Content["application/json"].Examples = openapi3.Examples{}
			all.Set(fmt.Sprint(known.Status), failed)
		}
		failed.Value.Content["application/json"].Examples[code] = d.problem(code, known.Sentence)
		if known.RetryAfter > 0 {
			failed.Value.Headers["Retry-After"] = Header("Seconds to wait", openapi3.NewIntegerSchema().WithMin(1))
		}
	}
	return all
}

func (d document) success(e Endpoint) *openapi3.Response {
	done := d.response(http.StatusText(e.status))
	switch {
	case e.answer == reflect.TypeFor[Empty]():
	case e.example != nil:
		done.Content = openapi3.NewContentWithJSONSchemaRef(shapes(d.Components.Schemas).of(e.answer))
		done.Content["application/json"].Example = asShown(e.example)
	default:
		done.Content = d.content(e.answer)
	}
	for _, f := range headersOf(e.answer) {
		schema := shapes{}.of(f.Type).Value
		describe(schema, f.Tag)
		done.Headers[f.Tag.Get("header")] = Header(f.Tag.Get("doc"), schema)
	}
	if e.command {
		done.Headers[replayedHeader] = Header("Only where this is the first answer again",
			openapi3.NewStringSchema().WithEnum("true"))
	}
	return done
}

// failure refers to the one shape of every error.
func (d document) failure() *openapi3.SchemaRef {
	shapes := shapes(d.Components.Schemas)
	if shapes["Error"] == nil {
		shapes["Error"] = shapes.object(reflect.TypeFor[failure]()).NewRef()
	}
	return shapes.ref("Error")
}

// problem refers to the example of an error with that code.
func (d document) problem(code, sentence string) *openapi3.ExampleRef {
	if d.Components.Examples[code] == nil {
		shown := failure{Error: sentence, Code: code, TraceID: "4bf92f3577b34da6a3ce929d0e0e4736"}
		if code == (Faults{}).Code() {
			shown.Fields = Faults{"id": "must be " + id{}.rule()}
		}
		d.Components.Examples[code] = &openapi3.ExampleRef{Value: &openapi3.Example{Summary: sentence, Value: asShown(shown)}}
	}
	return d.example(code)
}

func (d document) response(about string) *openapi3.Response {
	headers := openapi3.Headers{
		"trace-id": Header("W3C trace id of the request", openapi3.NewStringSchema().WithPattern("^[0-9a-f]{32}$")),
	}
	maps.Copy(headers, d.about.Headers)
	return &openapi3.Response{Description: &about, Headers: headers}
}

// Header describes a header of an answer.
func Header(about string, schema *openapi3.Schema) *openapi3.HeaderRef {
	return &openapi3.HeaderRef{Value: &openapi3.Header{
		Parameter: openapi3.Parameter{Description: about, Schema: schema.NewRef()},
	}}
}
