package endpoint

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Reference is what a document says that its endpoints do not.
type Reference struct {
	Info       openapi3.Info
	Prefix     string
	Deprecated bool             // all of it
	Headers    openapi3.Headers // that every answer has, beside its own
}

// Document writes the OpenAPI 3.1 document of the endpoints, from what they do: the fields their readers ask for, the
// types they answer, the codes they name. Call it once, at start.
func (a *API) Document(about Reference, endpoints []Endpoint) *openapi3.T {
	d := document{
		T: &openapi3.T{
			OpenAPI:  "3.1.0",
			Info:     &about.Info,
			Servers:  openapi3.Servers{{URL: about.Prefix}},
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
		api: a, about: about,
	}
	for _, e := range endpoints {
		if group := e.group; group.name != "" && d.Tags.Get(group.name) == nil {
			d.Tags = append(d.Tags, &openapi3.Tag{Name: group.name, Description: group.about})
		}
		d.AddOperation(e.path, e.method, &openapi3.Operation{
			Tags:        e.tags(),
			OperationID: e.operationID(),
			Summary:     e.summary,
			Description: e.about,
			Deprecated:  about.Deprecated,
			Parameters:  e.parameters(),
			RequestBody: e.requestBody(),
			Responses:   d.responses(e),
		})
	}
	return d.T
}

// DocumentHandler serves a document as JSON.
func DocumentHandler(doc *openapi3.T) http.HandlerFunc {
	body := encode(doc)
	return func(w http.ResponseWriter, r *http.Request) { write(w, http.StatusOK, body) }
}

// document is one that is being written.
type document struct {
	*openapi3.T
	api   *API
	about Reference
}

// Content describes a body that is a T, with an example of one, in a document with components. As Schema, it is for what
// no endpoint of ours takes or answers.
func Content[T any](doc *openapi3.T) openapi3.Content {
	return document{T: doc}.content(reflect.TypeFor[T]())
}

// Schema describes a T, in a document with components.
func Schema[T any](doc *openapi3.T) *openapi3.SchemaRef {
	return shapes(doc.Components.Schemas).of(reflect.TypeFor[T]())
}

// content describes a body of that type. Its example is made of the type's tags, and stands among the components.
func (d document) content(t reflect.Type) openapi3.Content {
	content := openapi3.NewContentWithJSONSchemaRef(shapes(d.Components.Schemas).of(t))
	examples := openapi3.Examples{}
	for _, shape := range alternatives(t) {
		name := shape.Name()
		if shape.Kind() == reflect.Slice {
			name = shape.Elem().Name() + "List"
		}
		if d.Components.Examples[name] == nil {
			d.Components.Examples[name] = &openapi3.ExampleRef{Value: openapi3.NewExample(shownOf(shape))}
		}
		examples[name] = d.example(name)
	}
	content["application/json"].Examples = examples
	return content
}

// example refers to one that stands among the components.
func (d document) example(name string) *openapi3.ExampleRef {
	return &openapi3.ExampleRef{Ref: "#/components/examples/" + name, Value: d.Components.Examples[name].Value}
}

func headerKey(name, about string) *openapi3.SecuritySchemeRef {
	return &openapi3.SecuritySchemeRef{Value: &openapi3.SecurityScheme{
		Type: "apiKey", In: "header", Name: name, Description: about,
	}}
}

func (e *Endpoint) tags() []string {
	if e.group.name == "" {
		return nil
	}
	return []string{e.group.name}
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

// requestBody describes the body, with an example that has all fields there is an example or a default of. A field that
// is not required may also be null.
func (e *Endpoint) requestBody() *openapi3.RequestBodyRef {
	if !e.asks(inBody) {
		return nil
	}
	object, example := openapi3.NewObjectSchema(), map[string]any{}
	for _, f := range e.fields {
		if f.in != inBody {
			continue
		}
		property := f.schema.WithDefault(f.standard).NewRef()
		property.Value.Description = f.about
		if f.required {
			object.Required = append(object.Required, f.name)
			example[f.name] = f.example
		} else {
			property = nullable(property)
			if f.standard != nil {
				example[f.name] = f.standard
			}
		}
		object.WithPropertyRef(f.name, property)
	}
	content := openapi3.NewContentWithJSONSchema(object)
	content["application/json"].Example = example
	return &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{Required: !e.bodyOptional(), Content: content}}
}
