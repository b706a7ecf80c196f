package reference

import (
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// kinds lists every kind of event with its meaning, in the order of SPEC.md part 6.
var kinds = []struct {
	kind    lanes.Kind
	meaning string
}{
	{lanes.Help, "A customer requested staff help from the lane"},
	{lanes.CarrierHit, "A carrier was shot and returned home"},
	{lanes.SessionCreated, "A session was created"},
	{lanes.SessionStarted, "The customer entered the lane, and the time began"},
	{lanes.SessionPaused, "A session was paused, by a ceasefire for example"},
	{lanes.SessionResumed, "A session was resumed after a pause"},
	{lanes.SessionStopped, "A session ended"},
	{lanes.SessionModified, "A session's duration changed, or its lane"},
	{lanes.PurchaseRequest, "A customer requested a purchase from the lane"},
	{lanes.SessionEnding, "A session's time will soon be used up. Only for a webhook that names this kind, of a " +
		"range that warns"},
	{lanes.SessionExpired, "A session's time is used up. Only for a webhook that names this kind; sessionStopped " +
		"follows, at once or after the grace"},
	{lanes.SessionBeyond, "What was sold of a session is used up, and it goes on: it has an open end. Only for " +
		"a webhook that names this kind"},
}

// LaneEvent is the payload of every event except a purchase, a warning and the end of a session's time.
type LaneEvent struct {
	Event   string    `json:"event"`
	Session uuid.UUID `json:"session_id"`
	Lane    uuid.UUID `json:"lane_id" example:"44444444-4444-4444-8444-000000000001"`
}

// EndingEvent is the payload of a warning.
type EndingEvent struct {
	LaneEvent
	Remaining float64 `json:"minutes_remaining" min:"0" max:"480" doc:"What is left when the warning is made, which may be late" example:"5"`
	EndsAt    string  `json:"ends_at" format:"date-time" doc:"When the time is used up, if nothing changes it" example:"2026-05-01T11:00:00.000Z"`
}

// ExpiredEvent is the payload of the end of a session's time.
type ExpiredEvent struct {
	LaneEvent
	GraceEndsAt *string `json:"grace_ends_at" format:"date-time" doc:"Until when the session stays on its lane unless minutes are added; null: it has ended" example:"2026-05-01T11:02:00.000Z"`
}

// PurchaseEvent is the payload of a purchase.
type PurchaseEvent struct {
	LaneEvent
	Items []PurchaseItem `json:"items"`
}

// PurchaseItem is a product that a customer wants to buy.
type PurchaseItem struct {
	ID  string `json:"id" doc:"The product; time is lane time" example:"9mm-box-50"`
	Qty int    `json:"qty" min:"1" doc:"How many; of time, how many minutes" example:"2"`
}

// PurchaseAccepted is the receiver's response to a purchase that it accepts.
type PurchaseAccepted struct {
	Success bool   `json:"success" example:"true"`
	TraceID string `json:"trace_id" doc:"The integrator's, for questions about it" example:"pos-20260501-1042"`
}

// PurchaseRefused is its response to a purchase that it refuses.
type PurchaseRefused struct {
	Error       string `json:"error" doc:"For logs" example:"no stock"`
	UserMessage string `json:"user_message" doc:"Shown to the customer, who is back at the cart" example:"This product is sold out."`
	TraceID     string `json:"trace_id" doc:"The integrator's, for questions about it" example:"pos-20260501-1042"`
}

const webhookDescription = "What the gateway sends to the integrator's webhook. Each event is sent once and never " +
	"again, unless the operator has asked for retries or you ask for it; what was missed can be read from `GET " +
	"/events`. Per lane the events come in order, but for those with the header `webhook-late`. Ignore kinds " +
	"that you do not know."

// AddWebhooks adds the webhook that the integrator hosts (SPEC.md 4.5 and part 6) to a document.
func AddWebhooks(doc *openapi3.T) {
	doc.Tags = append(doc.Tags, &openapi3.Tag{Name: "Webhook", Description: webhookDescription})
	doc.Webhooks = map[string]*openapi3.PathItem{}
	for _, k := range kinds {
		operation := &openapi3.Operation{
			Tags: []string{"Webhook"}, OperationID: "on" + strings.ToUpper(string(k.kind[:1])) + string(k.kind[1:]),
			Summary:    k.meaning,
			Security:   &openapi3.SecurityRequirements{},
			Parameters: headers(),
		}
		switch k.kind {
		case lanes.PurchaseRequest:
			operation.Description = "The customer waits for the answer. When `time` was accepted, its minutes are " +
				"added to the session."
			operation.RequestBody = body(k.kind, endpoint.Schema[PurchaseEvent](doc))
			operation.Responses = receiverResponses(endpoint.Content[PurchaseAccepted](doc),
				endpoint.Content[PurchaseRefused](doc))
		case lanes.SessionEnding:
			operation.RequestBody = body(k.kind, endpoint.Schema[EndingEvent](doc))
			operation.Responses = receiverResponses(nil, nil)
		case lanes.SessionExpired:
			operation.RequestBody = body(k.kind, endpoint.Schema[ExpiredEvent](doc))
			operation.Responses = receiverResponses(nil, nil)
		default:
			operation.RequestBody = body(k.kind, endpoint.Schema[LaneEvent](doc))
			operation.Responses = receiverResponses(nil, nil)
		}
		doc.Webhooks[string(k.kind)] = &openapi3.PathItem{Post: operation}
	}
}

// body describes the payload of one kind of event.
func body(kind lanes.Kind, payload *openapi3.SchemaRef) *openapi3.RequestBodyRef {
	named := openapi3.NewObjectSchema().WithProperty("event", openapi3.NewStringSchema().WithEnum(string(kind)))
	named.Required = []string{"event"}
	content := openapi3.NewContentWithJSONSchema(&openapi3.Schema{AllOf: openapi3.SchemaRefs{payload, named.NewRef()}})
	content["application/json"].Example = example(kind)
	return &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{Required: true, Content: content}}
}

func example(kind lanes.Kind) any {
	event := LaneEvent{
		Event:   string(kind),
		Session: uuid.MustParse(endpoint.ExampleID),
		Lane:    uuid.MustParse("44444444-4444-4444-8444-000000000001"),
	}
	if kind == lanes.SessionEnding {
		return EndingEvent{event, 5, "2026-05-01T11:00:00.000Z"}
	}
	if kind == lanes.SessionExpired {
		return ExpiredEvent{event, new("2026-05-01T11:02:00.000Z")}
	}
	if kind == lanes.PurchaseRequest {
		return PurchaseEvent{event, []PurchaseItem{{ID: "9mm-box-50", Qty: 2}, {ID: lanes.TimeItem, Qty: 30}}}
	}
	return event
}

func headers() openapi3.Parameters {
	header := func(name, description string, required bool, example string,
		schema *openapi3.Schema,
	) *openapi3.ParameterRef {
		return &openapi3.ParameterRef{Value: &openapi3.Parameter{
			Name: name, In: openapi3.ParameterInHeader, Description: description, Required: required, Example: example,
			Schema: schema.NewRef(),
		}}
	}
	return openapi3.Parameters{
		header("webhook-id", "`msg_` and the event's id", true, "msg_7d9f2c4e-31b8-4a56-9c0d-5e8f1a2b3c4d",
			openapi3.NewStringSchema()),
		header("webhook-timestamp", "When it was sent, in seconds since 1970", true, "1777629600",
			openapi3.NewStringSchema().WithPattern("^[0-9]+$")),
		header("webhook-signature", "Standard Webhooks: HMAC-SHA256, `v1,` and base64; one for each secret, with "+
			"spaces between. Absent when the range has no secret", false,
			"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=", openapi3.NewStringSchema()),
		header("event-occurred-at", "When it happened, however much later it is sent", true, "2026-05-01T10:00:00.000Z",
			openapi3.NewDateTimeSchema()),
		header("event-sequence", "Its number in the range's log, higher than that of every event before it: what "+
			"is older than an event that you know has a lower one. With several webhooks the deliveries to each "+
			"have their own", true, "1042", openapi3.NewStringSchema().WithPattern("^[0-9]+$")),
		header("event-redelivered", "`true` of an event that was sent before: it is retried, or somebody has asked "+
			"for it", false, "true",
			openapi3.NewStringSchema().WithEnum("true")),
		header("webhook-late", "`true` of an event that is sent again after later events of its lane may have been "+
			"sent. Only where the operator has asked for retries: an event whose delivery fails is sent again, "+
			"with the same `webhook-id`", false, "true", openapi3.NewStringSchema().WithEnum("true")),
		header("range-id", "The range", true, "11111111-1111-4111-8111-111111111111", openapi3.NewUUIDSchema()),
		header(
			"traceparent",
			"W3C trace context: the trace of the request that the event follows from, or one of its own where a timer "+
				"or the hardware caused it",
			true,
			"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			openapi3.NewStringSchema(),
		),
	}
}

// receiverResponses describes the responses that the gateway expects: every 2xx is a success, everything else
// a failure.
func receiverResponses(accepted, refused openapi3.Content) *openapi3.Responses {
	return openapi3.NewResponses(
		openapi3.WithName("2XX", response("Success, whatever the body says: the status decides", accepted)),
		openapi3.WithName("4XX", response("Failure", refused)),
		openapi3.WithName("5XX", response("Failure", refused)),
	)
}

func response(description string, content openapi3.Content) *openapi3.Response {
	return &openapi3.Response{Description: &description, Content: content}
}
