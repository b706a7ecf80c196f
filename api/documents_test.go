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
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"rangegate/api/endpoint"
	"rangegate/catalog"
)

// loadDocument returns a document as a client gets it.
func loadDocument(t *testing.T, h http.Handler, path string) *openapi3.T {
	response := send(h, "GET", path)
	require.Equal(t, http.StatusOK, response.Code)
	require.Equal(t, "application/json", response.Header().Get("Content-Type"))
	doc, err := openapi3.NewLoader().LoadFromData(response.Body.Bytes())
	require.NoError(t, err)
	return doc
}

// forEachOperation calls do with every documented operation of both versions.
func forEachOperation(t *testing.T, h http.Handler, do func(method, path string, op *openapi3.Operation)) {
	for _, prefix := range []string{prefix1, prefix2} {
		for path, item := range loadDocument(t, h, prefix+"/openapi.json").Paths.Map() {
			for method, op := range item.Operations() {
				do(method, prefix+path, op)
			}
		}
	}
}

func TestTheDocumentsAreValid(t *testing.T) {
	h := newStartingAPI()
	for path, version := range map[string]string{
		prefix1 + "/openapi.json": release, prefix2 + "/openapi.json": release,
		prefix2 + "/products.openapi.json": release,
	} {
		doc := loadDocument(t, h, path)
		require.NoError(t, doc.Validate(t.Context(), openapi3.EnableExamplesValidation()), path)
		require.Equal(t, "3.1.0", doc.OpenAPI)
		require.Equal(t, version, doc.Info.Version)
	}
}

// The document in OpenAPI 3.0.3 says of every path, body and schema what the one in 3.1 says, in the words of 3.0.
func TestTheDocumentForOlderTools(t *testing.T) {
	h := newStartingAPI()
	newer, older := loadDocument(t, h, prefix2+"/openapi.json"), loadDocument(t, h, prefix2+"/openapi-3.0.json")
	require.NoError(t, older.Validate(t.Context(), openapi3.EnableExamplesValidation()))
	require.Equal(t, "3.0.3", older.OpenAPI)
	require.Contains(t, older.Info.Description, note30)
	require.Empty(t, older.Webhooks)
	require.Len(t, older.Extensions["x-webhooks"], len(newer.Webhooks))
	require.ElementsMatch(t, slices.Collect(maps.Keys(newer.Components.Schemas)),
		slices.Collect(maps.Keys(older.Components.Schemas)))
	require.Equal(t, newer.Paths.Len(), older.Paths.Len())
	for path, item := range newer.Paths.Map() {
		for method, op := range item.Operations() {
			same := older.Paths.Value(path).GetOperation(method)
			require.Equal(t, op.OperationID, same.OperationID)
			require.Len(t, same.Parameters, len(op.Parameters))
			require.ElementsMatch(t, slices.Collect(maps.Keys(op.Responses.Map())),
				slices.Collect(maps.Keys(same.Responses.Map())))
		}
	}

	text := send(h, "GET", prefix2+"/openapi-3.0.json").Body.String()
	for _, word := range []string{`"const":`, `"null"]`, `{"type":"null"}`, `"identifier":`, `"webhooks":`} {
		require.NotContains(t, text, word)
	}
	session := older.Components.Schemas["SessionView"].Value
	began := session.Properties["began_at"].Value
	require.True(t, began.Type.Is("string"))
	require.True(t, began.Nullable)
	require.Equal(t, "date-time", began.Format)
	require.Equal(t, "2026-05-01T10:00:00.000Z", began.Example)
	attempt := older.Components.Schemas["Event"].Value.Properties["attempt"].Value
	require.True(t, attempt.Nullable)
	require.Equal(t, "#/components/schemas/Attempt", attempt.AllOf[0].Ref)
	require.Equal(t, []any{0.0}, older.Paths.Value("/sessions/{id}/modify").Post.Parameters.GetByInAndName("query",
		"time").Schema.Value.Not.Value.Enum)
	advance := older.Paths.Value("/simulate/advance").
		Post.RequestBody.Value.Content["application/json"].Schema.Value.Properties["minutes"].Value
	require.True(t, *advance.ExclusiveMin.Bool)
	require.Zero(t, *advance.Min)
}

// Every route is documented, and everything documented is a route.
func TestEveryRouteIsInADocument(t *testing.T) {
	h := newStartingAPI()
	var documented, routed []string
	forEachOperation(t, h, func(method, path string, op *openapi3.Operation) {
		documented = append(documented, method+" "+path)
		require.NotEmpty(t, op.Summary, path)
		require.Len(t, op.Tags, 1, path)
		require.Equal(t, strings.HasPrefix(path, prefix1), op.Deprecated, path)
		for _, p := range op.Parameters {
			require.NotEmpty(t, p.Value.Description, path)
		}
		for status, response := range op.Responses.Map() {
			require.Contains(t, response.Value.Headers, "trace-id", path)
			for _, name := range []string{"Deprecation", "Link"} {
				require.Equal(t, op.Deprecated, response.Value.Headers[name] != nil, "%s %s", path, status)
			}
		}
	})
	forEachRoute(t, h, func(method, route, _ string) {
		if !isPublic(route) && strings.HasPrefix(route, "/api/") { // the screens are no public API
			routed = append(routed, method+" "+route)
		}
	})
	require.ElementsMatch(t, routed, documented)
}

// The documented examples are accepted, the required fields are required, and every response is as documented.
func TestRequestsAndResponsesAreAsDocumented(t *testing.T) {
	starting := newStartingAPI()
	forEachOperation(t, starting, func(method, path string, op *openapi3.Operation) {
		name := method + " " + path
		t.Run(name, func(t *testing.T) {
			h := newAPI(&fakeRange{status: 200}) // of its own: an error that is forced is another request's
			request := newExampleRequest(t, op)
			response := sendAuthorized(h, method, request.target(path, ""), request.content(""))
			require.Less(t, response.Code, 300, response.Body)
			requireDocumented(t, op, response)
			for _, field := range request.required {
				response := sendAuthorized(h, method, request.target(path, field), request.content(field))
				require.Equal(t, http.StatusBadRequest, response.Code, field)
				require.Contains(t, response.Body.String(), `"fields":{"`+field+`":"is required"}`)
				requireDocumented(t, op, response)
			}
			requireDocumented(t, op, sendBody(h, method, request.target(path, ""), request.content("")))
			if request.body != nil {
				requireDocumented(t, op, sendAuthorized(h, method, request.target(path, ""), "<x/>",
					"Content-Type", "text/xml"))
				requireDocumented(t, op, sendAuthorized(h, method, request.target(path, ""),
					strings.Repeat(" ", 1<<17)))
			}
			requireDocumented(t, op, sendAuthorized(starting, method, request.target(path, ""), request.content("")))
		})
	})
}

// requireDocumented requires that the response's status, headers and body are documented.
func requireDocumented(t *testing.T, op *openapi3.Operation, response *httptest.ResponseRecorder) {
	t.Helper()
	documented := op.Responses.Status(response.Code)
	require.NotNil(t, documented, "%d %s", response.Code, response.Body)
	for name, header := range documented.Value.Headers {
		if value := response.Header().Get(name); value != "" && header.Value.Schema.Value.Type.Is("string") {
			require.NoError(t, header.Value.Schema.Value.VisitJSON(value), name)
		}
	}
	if stream := documented.Value.Content[endpoint.EventStream]; stream != nil {
		require.Equal(t, endpoint.EventStream, response.Header().Get("Content-Type"))
		return
	}
	content := documented.Value.Content["application/json"]
	if content == nil {
		require.Empty(t, response.Body.String())
		return
	}
	var body any
	require.NoError(t, json.Unmarshal(response.Body.Bytes(), &body))
	require.NoError(t, content.Schema.Value.VisitJSON(body), response.Body)
}

// exampleRequest is a request as the document shows it.
type exampleRequest struct {
	path     map[string]string
	query    url.Values
	body     map[string]any
	required []string // of the query and the body
}

func newExampleRequest(t *testing.T, op *openapi3.Operation) exampleRequest {
	r := exampleRequest{path: map[string]string{}, query: url.Values{}}
	for _, p := range op.Parameters {
		switch {
		case p.Value.In == "path":
			r.path["{"+p.Value.Name+"}"] = fmt.Sprint(p.Value.Example)
		case p.Value.Required:
			require.Equal(t, "query", p.Value.In)
			r.query.Set(p.Value.Name, fmt.Sprint(p.Value.Example))
			r.required = append(r.required, p.Value.Name)
		}
	}
	if op.RequestBody != nil {
		content := op.RequestBody.Value.Content["application/json"]
		r.body = content.Example.(map[string]any)
		r.required = append(r.required, content.Schema.Value.Required...)
	}
	return r
}

// target returns the URL of the request, without one field of its query.
func (r exampleRequest) target(path, without string) string {
	query := maps.Clone(r.query)
	query.Del(without)
	for name, value := range r.path {
		path = strings.ReplaceAll(path, name, value)
	}
	return path + "?" + query.Encode()
}

// content returns its body, without one field.
func (r exampleRequest) content(without string) string {
	if r.body == nil {
		return ""
	}
	body := maps.Clone(r.body)
	delete(body, without)
	raw, _ := json.Marshal(body)
	return string(raw)
}

// The webhooks are exactly the kinds of events; the example of each is of its own kind.
func TestEveryKindOfEventIsDocumented(t *testing.T) {
	webhooks := loadDocument(t, newStartingAPI(), prefix2+"/openapi.json").Webhooks
	kinds := []string{
		"carrierHit", "help", "purchaseRequest", "sessionBeyond", "sessionCreated", "sessionEnding", "sessionExpired",
		"sessionModified", "sessionPaused",
		"sessionResumed", "sessionStarted", "sessionStopped",
	}
	require.Equal(t, kinds, slices.Sorted(maps.Keys(webhooks)))
	for kind, item := range webhooks {
		media := item.Post.RequestBody.Value.Content["application/json"]
		require.NoError(t, media.Schema.Value.VisitJSON(media.Example))
		keys := slices.Sorted(maps.Keys(media.Example.(map[string]any)))
		switch kind {
		case "purchaseRequest":
			require.Equal(t, []string{"event", "items", "lane_id", "session_id"}, keys)
		case "sessionEnding":
			require.Equal(t, []string{"ends_at", "event", "lane_id", "minutes_remaining", "session_id"}, keys)
		case "sessionExpired":
			require.Equal(t, []string{"event", "grace_ends_at", "lane_id", "session_id"}, keys)
		default:
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

// The document of the products API describes the products that the gateway accepts.
func TestTheDocumentOfTheProductsAPI(t *testing.T) {
	op := loadDocument(t, newStartingAPI(), prefix2+"/products.openapi.json").Paths.Value("/products").Get
	require.Equal(t, "type", op.Parameters[0].Value.Name)
	var types []any
	for _, productType := range catalog.Types {
		types = append(types, string(productType))
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

// Every response of version 1 has the headers of its deprecation; those of version 2 have none.
func TestVersion1IsMarkedAsDeprecated(t *testing.T) {
	h := New(settings(&fakeRange{}))
	session := `{"id":"` + theSession + `","duration":0}`
	for _, c := range []struct {
		status             int
		method, path, body string
	}{
		{200, "GET", "/pos/sessions", ""},
		{200, "PATCH", "/pos/sessions", session},
		{200, "GET", "/pos/openapi.json", ""},
		{200, "GET", "/swagger/", ""},
		{400, "POST", "/pos/sessions", "{}"},
		{404, "GET", "/pos/nowhere", ""},
		{404, "GET", "/nowhere", ""},
		{405, "DELETE", "/pos/sessions", ""},
	} {
		response := sendAuthorized(h, c.method, "/api/v1"+c.path, c.body)
		require.Equal(t, c.status, response.Code, c.path)
		require.Equal(t, "@1706918400", response.Header().Get("Deprecation"), c.path)
		require.Equal(t,
			`</api/v2/swagger/>; rel="successor-version", </api/v1/swagger/>; rel="deprecation"; type="text/html"`,
			response.Header().Get("Link"), c.path)
		require.Empty(t, response.Header().Get("Sunset"))
	}
	unauthenticated := send(h, "GET", prefix1+"/sessions", "range-id", uuid.NewString())
	require.Equal(t, http.StatusUnauthorized, unauthenticated.Code)
	require.Equal(t, "@1706918400", unauthenticated.Header().Get("Deprecation"))

	require.Empty(t, sendAuthorized(h, "GET", prefix2+"/sessions", "").Header().Get("Deprecation"))
	require.Empty(t, send(h, "GET", "/nowhere").Header().Get("Deprecation"))
}
