package api

import (
	"maps"
	"net/http"
	"time"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// posErrors is the table of WIRE.md, Errors: the response to each code.
var posErrors = endpoint.Errors{
	"invalid_request":        {Status: 400, Sentence: "the request is malformed, see fields"},
	"unauthorized":           {Status: 401, Sentence: "token or range-id is missing, malformed or unknown, or they do not belong together"},
	"not_found":              {Status: 404, Sentence: "no such path"},
	"method_not_allowed":     {Status: 405, Sentence: "the path does not take this method, see the header Allow"},
	"too_large":              {Status: 413, Sentence: "the body is larger than 64 KiB"},
	"unsupported_media_type": {Status: 415, Sentence: "the body must be application/json"},

	"lane_not_found":    refusal(404, lanes.ErrLaneNotFound),
	"group_not_found":   refusal(404, lanes.ErrGroupNotFound),
	"session_not_found": refusal(404, lanes.ErrSessionNotFound),
	"session_ended":     refusal(404, lanes.ErrSessionEnded),

	"purchase_not_found": refusal(404, lanes.ErrPurchaseNotFound),

	"lane_occupied":         refusal(409, lanes.ErrLaneOccupied),
	"lane_not_accessible":   refusal(409, lanes.ErrLaneNotAccessible),
	"lane_not_usable":       refusal(409, lanes.ErrLaneNotUsable),
	"duration_out_of_range": refusal(409, lanes.ErrDurationOutOfRange),
	"no_time_left":          refusal(409, lanes.ErrNoTimeLeft),
	"not_running":           refusal(409, lanes.ErrNotRunning),
	"not_paused":            refusal(409, lanes.ErrNotPaused),
	"ceasefire":             refusal(409, lanes.ErrCeasefire),

	"webhook_not_configured":  refusal(409, lanes.ErrWebhookNotConfigured),
	"products_not_configured": refusal(409, lanes.ErrProductsNotConfigured),

	"idempotency_key_reused": refusal(422, lanes.ErrKeyReused),

	"too_many_requests": {Status: 429, Sentence: "too many requests; the header Retry-After says how long to wait", RetryAfter: retryAfter},

	"webhook_failed":  refusal(502, lanes.ErrWebhookFailed),
	"products_failed": {Status: 502, Sentence: "the products API could not be reached, or did not answer as it should"},

	"internal":          refusal(500, lanes.ErrInternal),
	"store_unavailable": unavailable(lanes.ErrStoreUnavailable),
	"starting":          unavailable(lanes.ErrStarting),
	"overloaded":        unavailable(lanes.ErrOverloaded),
	"not_owner":         unavailable(lanes.ErrNotOwner),
	"not_saved":         unavailable(lanes.ErrNotSaved),
	"timeout":           refusal(504, lanes.ErrTimeout),
}

// retryAfter is the wait that a response suggests for a condition that ends by itself.
const retryAfter = time.Second

func refusal(status int, err *lanes.Error) endpoint.Error {
	return endpoint.Error{Status: status, Sentence: err.Error()}
}

func unavailable(err *lanes.Error) endpoint.Error {
	return endpoint.Error{Status: 503, Sentence: err.Error(), RetryAfter: retryAfter}
}

func extended(table, extension endpoint.Errors) endpoint.Errors {
	table = maps.Clone(table)
	maps.Copy(table, extension)
	return table
}

// screenErrors adds the errors that only screens have.
var screenErrors = extended(posErrors, endpoint.Errors{
	"cross_site":          {Status: http.StatusForbidden, Sentence: "the request comes from a page of another site"},
	"not_waiting":         refusal(409, lanes.ErrNotWaiting),
	"no_purchasing":       refusal(409, lanes.ErrNoPurchasing),
	"purchase_pending":    refusal(409, lanes.ErrPurchasePending),
	"too_many_unresolved": refusal(409, lanes.ErrTooManyOpen),
	"purchase_malformed":  refusal(400, lanes.ErrItems),
})

// operationsErrors adds the errors of a reload to those of the operations page.
var operationsErrors = extended(screenErrors, endpoint.Errors{
	BadConfiguration: {Status: http.StatusUnprocessableEntity, Sentence: "the configuration has faults; nothing was changed"},
	NeedsRestart:     {Status: http.StatusConflict, Sentence: "what is different needs a restart; nothing was changed"},
	InUse:            {Status: http.StatusConflict, Sentence: "what the configuration no longer has is in use; nothing was changed"},
	NoConfiguration:  {Status: http.StatusConflict, Sentence: "this gateway was not started with a configuration file"},
	ReloadFailed:     {Status: http.StatusInternalServerError, Sentence: "the reload failed"},
})
