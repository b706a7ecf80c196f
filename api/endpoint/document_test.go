package endpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// served returns the document as a client gets it.
func served(t *testing.T, h http.Handler) *openapi3.T {
	w := serve(h, httptest.NewRequest("GET", prefix+"/openapi.json", nil))
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	require.NoError(t, err)
	return doc
}

func TestTheDocumentIsValid(t *testing.T) {
	_, h := newDemo()
	require.NoError(t, served(t, h).Validate(t.Context(), openapi3.EnableExamplesValidation()))
}

func TestTheDocumentDescribesACreate(t *testing.T) {
	_, h := newDemo()
	doc := served(t, h)
	require.Equal(t, prefix, doc.Servers[0].URL)
	require.Equal(t, openapi3.SecurityRequirements{{"token": {}, "range-id": {}}}, doc.Security)

	create := doc.Paths.Value("/sessions").Post
	require.Equal(t, "postSessions", create.OperationID)
	require.Equal(t, "Idempotency-Key", create.Parameters[0].Value.Name)
	require.False(t, create.Parameters[0].Value.Required)
	require.True(t, create.RequestBody.Value.Required)
	require.JSONEq(t, `{
		"type": "object",
		"required": ["customer_name", "lane_id", "duration"],
		"properties": {
			"customer_name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Name of the customer"},
			"lane_id": {"type": "string", "format": "uuid", "description": "Lane for the session"},
			"duration": {"type": "integer", "minimum": 1, "maximum": 480, "description": "Minutes"},
			"enable_purchasing": {"type": ["boolean", "null"], "default": false, "description": "Lets the customer buy at the lane"},
			"auto_start": {"type": ["boolean", "null"], "default": true,
				"description": "If false, the time counts only once the customer enters the lane"}
		}}`, asJSON(t, create.RequestBody.Value.Content["application/json"].Schema))

	require.JSONEq(t, `{"customer_name": "Jo Smith", "lane_id": "`+laneID+`", "duration": 60,
		"enable_purchasing": false, "auto_start": true}`,
		asJSON(t, create.RequestBody.Value.Content["application/json"].Example))

	var statuses []string
	for status := range create.Responses.Map() {
		statuses = append(statuses, status)
	}
	require.ElementsMatch(t, []string{"201", "400", "401", "409", "408", "413", "415", "422", "500", "503", "504"},
		statuses)
	require.Contains(t, create.Responses.Status(201).Value.Headers, "idempotency-replayed")
	require.Contains(t, create.Responses.Status(503).Value.Headers, "Retry-After")
	require.Contains(t, create.Responses.Status(409).Value.Content["application/json"].Examples, "lane_occupied")
	require.JSONEq(t, `{"$ref": "#/components/schemas/Error"}`,
		asJSON(t, create.Responses.Status(409).Value.Content["application/json"].Schema))
	require.JSONEq(t, `{"$ref": "#/components/schemas/sessionView"}`,
		asJSON(t, create.Responses.Status(201).Value.Content["application/json"].Schema))

	modify := doc.Paths.Value("/sessions/{id}/modify").Post
	require.Empty(t, modify.Responses.Status(204).Value.Content)
	require.Nil(t, modify.RequestBody)
	list := doc.Paths.Value("/sessions").Get
	require.Nil(t, list.Responses.Status(400), "it reads nothing that can be malformed")
}

// The example of a response is encoded as the type encodes itself: the keys of the wire, in its order.
func TestTheDocumentShowsResponsesAsTheyAre(t *testing.T) {
	_, h := newDemo()
	const shown = `{"session_id":"` + ExampleID + `","customer_name":"Jo Smith","duration":60,"auto_start":false,` +
		`"began_at":"2026-05-01T10:00:00.000Z","enable_purchasing":false}`
	page := serve(h, httptest.NewRequest("GET", prefix+"/openapi.json", nil)).Body.String()
	require.Contains(t, page, `"sessionView":{"value":`+shown+`}`)
	require.Contains(t, page, `"sessionViewList":{"value":[`+shown+`]}`)
	require.Contains(t, page,
		`"lane_occupied":{"summary":"lane is occupied by another session","value":{"error":"lane is occupied `+
			`by another session","code":"lane_occupied","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}}`)
	require.Contains(t, page, `"fields":{"id":"must be a UUID like `+ExampleID+`"}`)

	answer := served(t, h).Paths.Value("/sessions").Post.Responses.Status(201).Value
	require.JSONEq(t, `{"sessionView": {"$ref": "#/components/examples/sessionView"}}`,
		asJSON(t, answer.Content["application/json"].Examples))

	d := &demo{}
	chosen := []Endpoint{Handle("GET", "/x", 200, "X", NoInput,
		do(d, func(Empty) changed { return changed{} })).Example(changed{Duration: 7})}
	doc := d.api().Document(Reference{Prefix: prefix}, chosen)
	require.JSONEq(t, `{"id":"`+uuid.Nil.String()+`","duration":7}`,
		asJSON(t, doc.Paths.Value("/x").Get.Responses.Status(200).Value.Content["application/json"].Example))
}

func TestAResponseOfTwoShapes(t *testing.T) {
	_, h := newDemo()
	require.Equal(t, `{"id":"`+laneID+`","duration":90}`+"\n",
		call(h, "PATCH", prefix+"/sessions", `{"id":"`+laneID+`","duration":90}`).Body.String())
	require.Equal(t, `{"id":"`+laneID+`","message":"session stopped"}`+"\n",
		call(h, "PATCH", prefix+"/sessions", `{"id":"`+laneID+`","duration":0}`).Body.String())

	answer := served(t, h).Paths.Value("/sessions").Patch.Responses.Status(200).Value.Content["application/json"]
	require.JSONEq(t, `{"oneOf": [{"$ref": "#/components/schemas/changed"}, {"$ref": "#/components/schemas/stopped"}]}`,
		asJSON(t, answer.Schema))
	require.Contains(t, answer.Examples, "changed")
	require.Contains(t, answer.Examples, "stopped")
}

func TestGroupsDescriptionsAndHeadersOfTheDocument(t *testing.T) {
	d := &demo{}
	get := func(path string) Endpoint {
		return Handle("GET", path, 200, "Summary", NoInput, do(d, func(Empty) passedOn { return passedOn{} }))
	}
	endpoints := slices.Concat(
		Group("First", "What comes first", get("/a").Describe("More of it"), get("/b")),
		Group("Then", "The rest", get("/c")), Group("First", "", get("/d")))
	doc := d.api().Document(Reference{
		Prefix: prefix, Deprecated: true,
		Headers: openapi3.Headers{"Deprecation": Header("Since when", openapi3.NewStringSchema())},
	}, endpoints)
	require.JSONEq(t, `[{"name":"First","description":"What comes first"},{"name":"Then","description":"The rest"}]`,
		asJSON(t, doc.Tags))
	operation := doc.Paths.Value("/a").Get
	require.Equal(t, "More of it", operation.Description)
	require.Equal(t, []string{"First"}, operation.Tags)
	require.True(t, operation.Deprecated)
	for status, answer := range operation.Responses.Map() {
		require.Contains(t, answer.Value.Headers, "Deprecation", status)
		require.Contains(t, answer.Value.Headers, "trace-id", status)
	}
	require.JSONEq(t,
		`{"description":"The receiver's status","schema":{"type":"integer","description":"The receiver's status","examples":[202]}}`,
		asJSON(t, operation.Responses.Status(200).Value.Headers["webhook-status"]))
}

func TestSchemas(t *testing.T) {
	type part struct {
		Name string `json:"name"`
	}
	type Common struct {
		ID string `json:"id"`
	}
	type whole struct {
		Common
		At      time.Time           `json:"at"`
		Left    *float64            `json:"left" doc:"Minutes left" example:"1.5"`
		Parts   []part              `json:"parts"`
		Attempt *part               `json:"attempt" doc:"The one attempt"`
		Payload json.RawMessage     `json:"payload"`
		Price   json.Number         `json:"price"`
		Words   map[string]string   `json:"words,omitempty"`
		Phase   string              `json:"phase" enum:"free,paused" pattern:"^[a-z]+$"`
		Qty     int                 `json:"qty" min:"1" max:"8"`
		Reason  *string             `json:"reason" example:"null"`
		Inline  struct{ Flag bool } `json:"inline"`
		Hidden  string              `json:"-"`
		private string
	}
	_ = whole{}.private
	all := schemas{}
	require.JSONEq(t, `{"$ref":"#/components/schemas/whole"}`, asJSON(t, all.schemaOf(reflect.TypeFor[whole]())))
	require.JSONEq(t, `{
		"type": "object",
		"required": ["id", "at", "left", "parts", "attempt", "payload", "price", "phase", "qty", "reason", "inline"],
		"properties": {
			"id": {"type": "string"},
			"at": {"type": "string", "format": "date-time"},
			"left": {"type": ["number", "null"], "format": "double", "description": "Minutes left", "examples": [1.5]},
			"parts": {"type": "array", "items": {"$ref": "#/components/schemas/part"}},
			"attempt": {"anyOf": [{"$ref": "#/components/schemas/part"}, {"type": "null"}], "description": "The one attempt"},
			"payload": {},
			"price": {"type": "number", "format": "double"},
			"phase": {"type": "string", "enum": ["free", "paused"], "pattern": "^[a-z]+$"},
			"qty": {"type": "integer", "minimum": 1, "maximum": 8},
			"reason": {"type": ["string", "null"], "examples": [null]},
			"words": {"type": "object", "additionalProperties": {"type": "string"}},
			"inline": {"type": "object", "required": ["Flag"], "properties": {"Flag": {"type": "boolean"}}}
		}}`, asJSON(t, all["whole"]))
	require.Panics(t, func() { all.schemaOf(reflect.TypeFor[chan int]()) })
	other := func() { type part struct{ Other int }; all.schemaOf(reflect.TypeFor[part]()) }
	require.Panics(t, other, "one name, two types")
}

// Each documented example is accepted; without one of its required fields it is a fault of that field.
func TestExamplesAreAcceptedAndRequiredFieldsAreRequired(t *testing.T) {
	_, h := newDemo()
	accepted, faulted := 0, 0
	doc := served(t, h)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			w := serve(h, example(t, method, path, op, ""))
			require.Less(t, w.Code, 300, "%s %s: %s", method, path, w.Body)
			accepted++
			for _, name := range required(op) {
				f := problem(t, serve(h, example(t, method, path, op, name)))
				require.Equal(t, Faults{name: "is required"}, f.Fields, "%s %s", method, path)
				faulted++
			}
		}
	}
	require.Equal(t, 8, accepted)
	require.Equal(t, 8, faulted)
}

// example returns the request that the document shows, without one field.
func example(t *testing.T, method, path string, op *openapi3.Operation, without string) *http.Request {
	query, headers, body := url.Values{}, http.Header{"Token": {"any"}}, ""
	for _, ref := range op.Parameters {
		p := ref.Value
		switch {
		case p.Example == nil || p.Name == without:
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", fmt.Sprint(p.Example))
		case p.In == "query":
			query.Set(p.Name, fmt.Sprint(p.Example))
		}
	}
	if op.RequestBody != nil {
		shown := maps.Clone(op.RequestBody.Value.Content["application/json"].Example.(map[string]any))
		delete(shown, without)
		body = asJSON(t, shown)
	}
	r := httptest.NewRequest(method, prefix+path+"?"+query.Encode(), strings.NewReader(body))
	r.Header = headers
	return r
}

// required returns the names of the required fields of query and body; those of the path cannot be left out.
func required(op *openapi3.Operation) (names []string) {
	for _, p := range op.Parameters {
		if p.Value.Required && p.Value.In != "path" {
			names = append(names, p.Value.Name)
		}
	}
	if op.RequestBody != nil {
		names = append(names, op.RequestBody.Value.Content["application/json"].Schema.Value.Required...)
	}
	return names
}

func asJSON(t *testing.T, v any) string {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}
