package api

import (
	"maps"
	"net/http"
	"time"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// posErrors is the table of WIRE.md, Errors: the response to each code.
var posErrors = extended(refusals(map[int][]*lanes.Error{
	404: {lanes.ErrLaneNotFound, lanes.ErrGroupNotFound, lanes.ErrSessionNotFound, lanes.ErrSessionEnded, lanes.ErrPurchaseNotFound},
	409: {
		lanes.ErrLaneOccupied, lanes.ErrLaneNotAccessible, lanes.ErrLaneNotUsable, lanes.ErrDurationOutOfRange, lanes.ErrNoTimeLeft,
		lanes.ErrNotRunning, lanes.ErrNotPaused, lanes.ErrCeasefire, lanes.ErrWebhookNotConfigured, lanes.ErrProductsNotConfigured,
	},
	422: {lanes.ErrKeyReused},
	500: {lanes.ErrInternal},
	502: {lanes.ErrWebhookFailed},
	503: {lanes.ErrStoreUnavailable, lanes.ErrStarting, lanes.ErrOverloaded, lanes.ErrNotOwner, lanes.ErrNotSaved},
	504: {lanes.ErrTimeout},
}), endpoint.Errors{
	"invalid_request":        {Status: 400, Sentence: "the request is malformed, see fields"},
	"unauthorized":           {Status: 401, Sentence: "token or range-id is missing, malformed or unknown, or they do not belong together"},
	"not_found":              {Status: 404, Sentence: "no such path"},
	"method_not_allowed":     {Status: 405, Sentence: "the path does not take this method, see the header Allow"},
	"too_large":              {Status: 413, Sentence: "the body is larger than 64 KiB"},
	"unsupported_media_type": {Status: 415, Sentence: "the body must be application/json"},
	"too_many_requests":      {Status: 429, Sentence: "too many requests; the header Retry-After says how long to wait", RetryAfter: retryAfter},
	"products_failed":        {Status: 502, Sentence: "the products API could not be reached, or did not answer as it should"},
})

// retryAfter is the wait that a response suggests for a condition that ends by itself.
const retryAfter = time.Second

// refusals returns the responses to the errors of a range, by status. A 503 ends by itself.
func refusals(byStatus map[int][]*lanes.Error) endpoint.Errors {
	table := endpoint.Errors{}
	for status, errs := range byStatus {
		for _, err := range errs {
			entry := endpoint.Error{Status: status, Sentence: err.Error()}
			if status == http.StatusServiceUnavailable {
				entry.RetryAfter = retryAfter
			}
			table[err.Code()] = entry
		}
	}
	return table
}

func extended(table, extension endpoint.Errors) endpoint.Errors {
	table = maps.Clone(table)
	maps.Copy(table, extension)
	return table
}

// screenErrors adds the errors that only screens have.
var screenErrors = extended(extended(posErrors, refusals(map[int][]*lanes.Error{
	400: {lanes.ErrItems},
	409: {lanes.ErrNotWaiting, lanes.ErrNoPurchasing, lanes.ErrPurchasePending, lanes.ErrTooManyOpen},
})), endpoint.Errors{
	"cross_site": {Status: http.StatusForbidden, Sentence: "the request comes from a page of another site"},
})

// operationsErrors adds the errors of a reload to those of the operations page.
var operationsErrors = extended(screenErrors, endpoint.Errors{
	BadConfiguration: {Status: http.StatusUnprocessableEntity, Sentence: "the configuration has faults; nothing was changed"},
	NeedsRestart:     {Status: http.StatusConflict, Sentence: "what is different needs a restart; nothing was changed"},
	InUse:            {Status: http.StatusConflict, Sentence: "what the configuration no longer has is in use; nothing was changed"},
	PartlyEnded:      {Status: http.StatusConflict, Sentence: "the reload is refused, and what it had ended by then stays ended"},
	NoConfiguration:  {Status: http.StatusConflict, Sentence: "this gateway was not started with a configuration file"},
	ReloadFailed:     {Status: http.StatusInternalServerError, Sentence: "the reload failed"},
})
