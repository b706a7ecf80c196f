package endpoint

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Document writes the OpenAPI 3.1 document of the endpoints under prefix, from what they do: the fields their readers
// ask for, the types they answer, the codes they name. Call it once, at start.
func (a *API) Document(info openapi3.Info, prefix string, endpoints []Endpoint) *openapi3.T {
	shapes := shapes{}
	shapes["Error"] = shapes.object(reflect.TypeFor[failure]()).NewRef()
	doc := &openapi3.T{
		OpenAPI:  "3.1.0",
		Info:     &info,
		Servers:  openapi3.Servers{{URL: prefix}},
		Security: openapi3.SecurityRequirements{{"token": {}, "range-id": {}}},
		Components: &openapi3.Components{
			Schemas: openapi3.Schemas(shapes),
			SecuritySchemes: openapi3.SecuritySchemes{
				"token":    headerKey("token", "Range server authentication token, a UUID"),
				"range-id": headerKey("range-id", "Range identifier, a UUID"),
			},
		},
	}
	for _, e := range endpoints {
		doc.AddOperation(e.path, e.method, &openapi3.Operation{
			OperationID: e.operationID(),
			Summary:     e.summary,
			Parameters:  e.parameters(),
			RequestBody: e.requestBody(),
			Responses:   a.responses(e, shapes),
		})
	}
	return doc
}

// DocumentHandler serves a document as JSON.
func DocumentHandler(doc *openapi3.T) http.HandlerFunc {
	body := encode(doc)
	return func(w http.ResponseWriter, r *http.Request) { write(w, http.StatusOK, body) }
}

func headerKey(name, about string) *openapi3.SecuritySchemeRef {
	return &openapi3.SecuritySchemeRef{Value: &openapi3.SecurityScheme{
		Type: "apiKey", In: "header", Name: name, Description: about,
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
		if f.in != inBody {
			all = append(all, &openapi3.ParameterRef{Value: &openapi3.Parameter{
				Name: f.name, In: string(f.in), Description: f.about, Required: f.required, Example: f.example,
				Schema: f.schema.WithDefault(f.standard).NewRef(),
			}})
		}
	}
	return all
}

// requestBody describes the body, with an example that has all fields there is an example or a default of.
func (e *Endpoint) requestBody() *openapi3.RequestBodyRef {
	if !e.asks(inBody) {
		return nil
	}
	object, example := openapi3.NewObjectSchema(), map[string]any{}
	for _, f := range e.fields {
		if f.in != inBody {
			continue
		}
		f.schema.Description = f.about
		object.WithProperty(f.name, f.schema.WithDefault(f.standard))
		if f.required {
			object.Required = append(object.Required, f.name)
			example[f.name] = f.example
		} else if f.standard != nil {
			example[f.name] = f.standard
		}
	}
	content := openapi3.NewContentWithJSONSchema(object)
	content["application/json"].Example = example
	return &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{Required: !e.bodyOptional(), Content: content}}
}

// responses are the endpoint's answer and, by status, every code it may answer instead.
func (a *API) responses(e Endpoint, shapes shapes) *openapi3.Responses {
	done := response(http.StatusText(e.status))
	if e.answer != reflect.TypeFor[Empty]() {
		done.Content = openapi3.NewContentWithJSONSchemaRef(shapes.of(e.answer))
	}
	if e.command {
		done.Headers[replayedHeader] = header("true where this is the first answer again", openapi3.NewStringSchema())
	}
	all := openapi3.NewResponsesWithCapacity(0)
	all.Set(fmt.Sprint(e.status), &openapi3.ResponseRef{Value: done})
	codes := map[string]bool{}
	for _, code := range slices.Concat(e.codes, a.Everywhere) {
		codes[code] = true
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		known := a.Errors.of(code)
		failed := all.Status(known.Status)
		if failed == nil {
			failed = &openapi3.ResponseRef{Value: response(http.StatusText(known.Status))}
			failed.Value.Content = openapi3.NewContentWithJSONSchemaRef(shapes.ref("Error"))
			failed.Value.Content["application/json"].Examples = openapi3.Examples{}
			all.Set(fmt.Sprint(known.Status), failed)
		}
		failed.Value.Content["application/json"].Examples[code] = errorExample(code, known.Sentence)
		if known.RetryAfter > 0 {
			failed.Value.Headers["Retry-After"] = header("Seconds to wait", openapi3.NewIntegerSchema())
		}
	}
	return all
}

func errorExample(code, sentence string) *openapi3.ExampleRef {
	shown := map[string]any{"error": sentence, "code": code, "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}
	return &openapi3.ExampleRef{Value: &openapi3.Example{Summary: sentence, Value: shown}}
}

func response(about string) *openapi3.Response {
	return &openapi3.Response{Description: &about, Headers: openapi3.Headers{
		"trace-id": header("W3C trace id of the request", openapi3.NewStringSchema()),
	}}
}

func header(about string, schema *openapi3.Schema) *openapi3.HeaderRef {
	return &openapi3.HeaderRef{Value: &openapi3.Header{
		Parameter: openapi3.Parameter{Description: about, Schema: schema.NewRef()},
	}}
}
