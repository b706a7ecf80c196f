package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"rangegate/catalog"
)

// document is one of the documents as a client gets it.
func document(t *testing.T, h http.Handler, path string) *openapi3.T {
	answer := ask(h, "GET", path)
	require.Equal(t, http.StatusOK, answer.Code)
	require.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	doc, err := openapi3.NewLoader().LoadFromData(answer.Body.Bytes())
	require.NoError(t, err)
	return doc
}

// operations calls do with everything that is documented of both versions.
func operations(t *testing.T, h http.Handler, do func(method, path string, op *openapi3.Operation)) {
	for _, prefix := range []string{prefix1, prefix2} {
		for path, item := range document(t, h, prefix+"/openapi.json").Paths.Map() {
			for method, op := range item.Operations() {
				do(method, prefix+path, op)
			}
		}
	}
}

func TestTheDocumentsAreValid(t *testing.T) {
	h := asleep()
	for path, version := range map[string]string{
		prefix1 + "/openapi.json": "2.0.0", prefix2 + "/openapi.json": "2.0.0", prefix2 + "/products.openapi.json": "2.0.0",
	} {
		doc := document(t, h, path)
		require.NoError(t, doc.Validate(t.Context(), openapi3.EnableExamplesValidation()), path)
		require.Equal(t, "3.1.0", doc.OpenAPI)
		require.Equal(t, version, doc.Info.Version)
	}
}

// Every route is documented, and everything documented is a route.
func TestEveryRouteIsInADocument(t *testing.T) {
	h := asleep()
	var documented, routed []string
	operations(t, h, func(method, path string, op *openapi3.Operation) {
		documented = append(documented, method+" "+path)
		require.NotEmpty(t, op.Summary, path)
		require.Len(t, op.Tags, 1, path)
		require.Equal(t, strings.HasPrefix(path, prefix1), op.Deprecated, path)
		for _, p := range op.Parameters {
			require.NotEmpty(t, p.Value.Description, path)
		}
		for status, answer := range op.Responses.Map() {
			require.Contains(t, answer.Value.Headers, "trace-id", path)
			for _, name := range []string{"Deprecation", "Link"} {
				require.Equal(t, op.Deprecated, answer.Value.Headers[name] != nil, "%s %s", path, status)
			}
		}
	})
	routes(t, h, func(method, route, _ string) {
		if !isPublic(route) && strings.HasPrefix(route, "/api/") { // the screens are nobody's to program against
			routed = append(routed, method+" "+route)
		}
	})
	require.ElementsMatch(t, routed, documented)
}

// What the document shows is accepted, and what it requires is required; whatever comes back is as documented.
func TestWhatTheDocumentsShow(t *testing.T) {
	h, starting := open(&stand{status: 200}), asleep()
	operations(t, h, func(method, path string, op *openapi3.Operation) {
		name := method + " " + path
		t.Run(name, func(t *testing.T) {
			request := shownRequest(t, op)
			answer := known(h, method, request.target(path, ""), request.content(""))
			require.Less(t, answer.Code, 300, answer.Body)
			asDocumented(t, op, answer)
			for _, field := range request.required {
				answer := known(h, method, request.target(path, field), request.content(field))
				require.Equal(t, http.StatusBadRequest, answer.Code, field)
				require.Contains(t, answer.Body.String(), `"fields":{"`+field+`":"is required"}`)
				asDocumented(t, op, answer)
			}
			asDocumented(t, op, send(h, method, request.target(path, ""), request.content("")))
			if request.body != nil {
				asDocumented(t, op, known(h, method, request.target(path, ""), "<x/>", "Content-Type", "text/xml"))
				asDocumented(t, op, known(h, method, request.target(path, ""), strings.Repeat(" ", 1<<17)))
			}
			asDocumented(t, op, known(starting, method, request.target(path, ""), request.content("")))
		})
	})
}

// asDocumented insists that the answer's status, headers and body are documented.
func asDocumented(t *testing.T, op *openapi3.Operation, answer *httptest.ResponseRecorder) {
	t.Helper()
	documented := op.Responses.Status(answer.Code)
	require.NotNil(t, documented, "%d %s", answer.Code, answer.Body)
	for name, header := range documented.Value.Headers {
		if value := answer.Header().Get(name); value != "" && header.Value.Schema.Value.Type.Is("string") {
			require.NoError(t, header.Value.Schema.Value.VisitJSON(value), name)
		}
	}
	content := documented.Value.Content["application/json"]
	if content == nil {
		require.Empty(t, answer.Body.String())
		return
	}
	var body any
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &body))
	require.NoError(t, content.Schema.Value.VisitJSON(body), answer.Body)
}

// shown is a request as the document shows it.
type shown struct {
	path     map[string]string
	query    url.Values
	body     map[string]any
	required []string // of the query and the body
}

func shownRequest(t *testing.T, op *openapi3.Operation) shown {
	s := shown{path: map[string]string{}, query: url.Values{}}
	for _, p := range op.Parameters {
		switch {
		case p.Value.In == "path":
			s.path["{"+p.Value.Name+"}"] = fmt.Sprint(p.Value.Example)
		case p.Value.Required:
			require.Equal(t, "query", p.Value.In)
			s.query.Set(p.Value.Name, fmt.Sprint(p.Value.Example))
			s.required = append(s.required, p.Value.Name)
		}
	}
	if op.RequestBody != nil {
		content := op.RequestBody.Value.Content["application/json"]
		s.body = content.Example.(map[string]any)
		s.required = append(s.required, content.Schema.Value.Required...)
	}
	return s
}

// target is the address of the request, but for one field of its query.
func (s shown) target(path, without string) string {
	query := maps.Clone(s.query)
	query.Del(without)
	for name, value := range s.path {
		path = strings.ReplaceAll(path, name, value)
	}
	return path + "?" + query.Encode()
}

// content is its body, but for one field.
func (s shown) content(without string) string {
	if s.body == nil {
		return ""
	}
	body := maps.Clone(s.body)
	delete(body, without)
	raw, _ := json.Marshal(body)
	return string(raw)
}

// Every kind of event is among the webhooks, and nothing else; its example is of its own kind.
func TestEveryKindOfEventIsDocumented(t *testing.T) {
	webhooks := document(t, asleep(), prefix2+"/openapi.json").Webhooks
	kinds := []string{
		"carrierHit", "help", "purchaseRequest", "sessionCreated", "sessionModified", "sessionPaused", "sessionResumed",
		"sessionStarted", "sessionStopped",
	}
	require.Equal(t, kinds, slices.Sorted(maps.Keys(webhooks)))
	for kind, item := range webhooks {
		media := item.Post.RequestBody.Value.Content["application/json"]
		require.NoError(t, media.Schema.Value.VisitJSON(media.Example))
		keys := slices.Sorted(maps.Keys(media.Example.(map[string]any)))
		if kind == "purchaseRequest" {
			require.Equal(t, []string{"event", "items", "lane_id", "session_id"}, keys)
		} else {
			require.Equal(t, []string{"event", "lane_id", "session_id"}, keys)
		}
		for _, other := range kinds {
			other := webhooks[other].Post.RequestBody.Value.Content["application/json"].Example
			if other.(map[string]any)["event"] != kind {
				require.Error(t, media.Schema.Value.VisitJSON(other), "%s is no %s", other, kind)
			}
		}
	}
}

// The document of the products API is one that a stub can be made of: what it shows is what the gateway takes.
func TestTheProductsThatAnIntegratorServes(t *testing.T) {
	op := document(t, asleep(), prefix2+"/products.openapi.json").Paths.Value("/products").Get
	require.Equal(t, "type", op.Parameters[0].Value.Name)
	var types []any
	for _, of := range catalog.Types {
		types = append(types, string(of))
	}
	require.Equal(t, types, op.Parameters[0].Value.Schema.Value.Enum)
	require.Equal(t, "session-id", op.Parameters[1].Value.Name)
	content := op.Responses.Status(200).Value.Content["application/json"]
	var products []any
	require.NoError(t, json.Unmarshal([]byte(`[{"id":"a","display_name":"A","price":0.5,"max_qty":1},
		{"id":"time","display_name":"Time","price":1,"max_qty":60,"min_qty":15,"increment_by":15,"picture_url":""}]`), &products))
	require.NoError(t, content.Schema.Value.VisitJSON(products))
	for _, broken := range []string{`{"price":-1}`, `{"max_qty":0}`, `{"id":7}`, `{"id":null}`} {
		product := maps.Clone(products[0].(map[string]any))
		require.NoError(t, json.Unmarshal([]byte(broken), &product))
		require.Error(t, content.Schema.Value.VisitJSON([]any{product}), broken)
	}
}
