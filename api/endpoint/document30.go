package endpoint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// Document30Handler serves a document of OpenAPI 3.1 in OpenAPI 3.0.3, for tools that read nothing newer: it
// has the same paths and schemas. Version 3.0 has no webhooks: they are an extension of that document, which
// some tools show and generators ignore. note is added to its description. It is made with the first request.
func Document30Handler(doc func() *openapi3.T, note string) http.HandlerFunc {
	body := sync.OnceValue(func() []byte { return encode(document30(doc(), note)) })
	return func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, body()) }
}

// document30 returns the document in OpenAPI 3.0.3 as JSON values. It changes nothing of doc.
func document30(doc *openapi3.T, note string) map[string]any {
	var all map[string]any
	if err := json.Unmarshal(encode(doc), &all); err != nil {
		panic(fmt.Errorf("endpoint: a document that is no JSON: %w", err)) // kin-openapi has written it
	}
	all["openapi"] = "3.0.3"
	info := all["info"].(map[string]any)
	info["description"] = fmt.Sprint(info["description"], "\n\n", note)
	if license, ok := info["license"].(map[string]any); ok {
		delete(license, "identifier")
	}
	if webhooks, ok := all["webhooks"]; ok {
		all["x-webhooks"] = webhooks
		delete(all, "webhooks")
	}
	if components, ok := all["components"].(map[string]any); ok {
		eachSchema30(components["schemas"])
	}
	for _, part := range all {
		schemas30(part)
	}
	return all
}

// schemas30 changes every schema that stands under the key schema anywhere below v, as in parameters, headers
// and contents. Examples have no such key.
func schemas30(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			if schema, ok := part.(map[string]any); ok && key == "schema" {
				schema30(schema)
			} else if key != "example" && key != "examples" {
				schemas30(part)
			}
		}
	case []any:
		for _, part := range v {
			schemas30(part)
		}
	}
}

// eachSchema30 changes every schema of a list, or of an object by name.
func eachSchema30(list any) {
	switch list := list.(type) {
	case map[string]any:
		for _, schema := range list {
			schema30(schema.(map[string]any))
		}
	case []any:
		for _, schema := range list {
			schema30(schema.(map[string]any))
		}
	}
}

// schema30 changes a schema, and those in it, from JSON Schema 2020-12 to the dialect of OpenAPI 3.0.
func schema30(schema map[string]any) {
	for _, key := range []string{"properties", "allOf", "anyOf", "oneOf"} {
		eachSchema30(schema[key])
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if inner, ok := schema[key].(map[string]any); ok {
			schema30(inner)
		}
	}
	nullable30(schema)
	if value, ok := schema["const"]; ok {
		schema["enum"] = []any{value}
		delete(schema, "const")
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if value, ok := schema[exclusive].(float64); ok {
			schema[bound], schema[exclusive] = value, true
		}
	}
	if examples, ok := schema["examples"].([]any); ok {
		schema["example"] = examples[0]
		delete(schema, "examples")
	}
}

// nullable30 replaces the type null, which there is not, by nullable, which needs a type beside it. Every
// schema that is referred to is of an object.
func nullable30(schema map[string]any) {
	if types, ok := schema["type"].([]any); ok {
		types = slices.DeleteFunc(types, func(t any) bool { return t == "null" })
		schema["type"], schema["nullable"] = types[0], true
		if words, ok := schema["enum"].([]any); ok {
			schema["enum"] = append(words, nil)
		}
		return
	}
	either, _ := schema["anyOf"].([]any)
	isNull := func(s any) bool { return s.(map[string]any)["type"] == "null" }
	if rest := slices.DeleteFunc(slices.Clone(either), isNull); len(rest) < len(either) {
		delete(schema, "anyOf")
		schema["type"], schema["nullable"], schema["allOf"] = openapi3.TypeObject, true, rest
	}
}
