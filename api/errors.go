package api

import (
	"maps"
	"net/http"
	"time"

	"rangegate/api/endpoint"
	"rangegate/api/observer"
	"rangegate/api/shooterpage"
	"rangegate/lanes"
)

// posErrors is the table of WIRE.md, Errors: the response to each code.
var posErrors = extended(refusals(map[int][]*lanes.Error{
	404: {
		lanes.ErrLaneNotFound, lanes.ErrGroupNotFound, lanes.ErrSessionNotFound, lanes.ErrSessionEnded,
		lanes.ErrPurchaseNotFound, lanes.ErrEventNotFound, lanes.ErrStartNotFound,
		lanes.ErrReservationNotFound,
	},
	409: {
		lanes.ErrLaneOccupied, lanes.ErrLaneReserved, lanes.ErrReservationOver, lanes.ErrReservationLimit,
		lanes.ErrNoLanesFit,
		lanes.ErrLaneNotAccessible, lanes.ErrLaneNotUsable, lanes.ErrLaneNotClear, lanes.ErrNoOpenEnd,
		lanes.ErrAfterClosing,
		lanes.ErrDurationOutOfRange,
		lanes.ErrNoTimeLeft, lanes.ErrNotRunning, lanes.ErrNotWaiting, lanes.ErrStartScheduled, lanes.ErrNotPaused,
		lanes.ErrInGrace, lanes.ErrCeasefire, lanes.ErrWebhookNotConfigured,
		lanes.ErrWebhookGone, lanes.ErrProductsNotConfigured,
		lanes.ErrNotRedeliverable,
	},
	422: {lanes.ErrKeyReused},
	500: {lanes.ErrInternal},
	502: {lanes.ErrWebhookFailed},
	503: {lanes.ErrStoreUnavailable, lanes.ErrStarting, lanes.ErrOverloaded, lanes.ErrNotOwner, lanes.ErrNotSaved},
	504: {lanes.ErrTimeout},
}), endpoint.Errors{
	"invalid_request": {Status: 400, Sentence: "the request is malformed, see fields"},
	"unauthorized": {Status: 401, Sentence: "token or range-id is missing, malformed or unknown, or they do " +
		"not belong together"},
	"forbidden": {Status: 403, Sentence: "this token may only read"},
	"not_found": {Status: 404, Sentence: "no such path"},
	"batch_refused": {
		Status:   409,
		Sentence: "none of the operations was done: results says which are refused, and why",
	},
	"cursor_gone": {Status: http.StatusGone, Sentence: "the cursor is of another log, or what is behind " +
		"it is not kept any more; oldest is the cursor to go on from, and what you know by its id may come again"},
	"request_timeout":        {Status: 408, Sentence: "the request did not arrive in time"},
	"method_not_allowed":     {Status: 405, Sentence: "the path does not take this method, see the header Allow"},
	"too_large":              {Status: 413, Sentence: "the body is larger than 64 KiB"},
	"uri_too_long":           {Status: 414, Sentence: "the request target is longer than 8 KiB"},
	"unsupported_media_type": {Status: 415, Sentence: "the body must be application/json"},
	"misdirected_request": {
		Status:   421,
		Sentence: "this address does not answer to that host name, see operations.hosts",
	},
	"wrong_node": {Status: 421, Sentence: "this node does not own the range"},
	"too_many_requests": {
		Status: 429, Sentence: "too many requests; the header Retry-After says how long to wait",
		RetryAfter: retryAfter,
	},
	"products_failed": {Status: 502, Sentence: "the products API could not be reached, or did not answer as it should"},
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
	409: {
		lanes.ErrNotReopenable, lanes.ErrNoPurchasing, lanes.ErrPurchasePending, lanes.ErrOwesMore,
		lanes.ErrTooManyOpen, lanes.ErrPurchaseNotUnique,
	},
})), endpoint.Errors{
	shooterpage.Gone:   {Status: http.StatusGone, Sentence: "there is no such session, or it ended a while ago"},
	"cross_site":       {Status: http.StatusForbidden, Sentence: "the request comes from a page of another site"},
	"officer_required": {Status: http.StatusForbidden, Sentence: "only an officer ends a ceasefire over the range"},
})

// operationsErrors adds the errors of a reload, those about nodes and those about actors to those of the screens.
var operationsErrors = extended(extended(screenErrors, refusals(map[int][]*lanes.Error{
	409: {lanes.ErrNotParked, lanes.ErrLaneParked, lanes.ErrTooManyFollowers},
})), endpoint.Errors{
	BadConfiguration: {
		Status:   http.StatusUnprocessableEntity,
		Sentence: "the configuration has faults; nothing was changed",
	},
	NeedsRestart: {Status: http.StatusConflict, Sentence: "what is different needs a restart; nothing was changed"},
	InUse: {
		Status:   http.StatusConflict,
		Sentence: "what the configuration no longer has is in use; nothing was changed",
	},
	PartlyEnded: {
		Status:   http.StatusConflict,
		Sentence: "the reload is refused, and what it had ended by then stays ended",
	},
	noDump: {
		Status:   http.StatusNotFound,
		Sentence: "the flight recorder has dumped nothing: no session was stopped late while it was on",
	},
	observer.MaintenanceRuns: {
		Status:   http.StatusConflict,
		Sentence: "a backup or a verification of the store runs: see GET /observer/maintenance",
	},
	observer.BackupByRedis: {
		Status: http.StatusConflict,
		Sentence: "the store is a Redis server: back it up with the means of Redis, or use rangegate store export " +
			"with the gateway stopped",
	},
	observer.NoSpaceForBackup: {
		Status:   http.StatusInsufficientStorage,
		Sentence: "a backup would leave too little space on the disk, and a full disk stops sales",
	},
	observer.NoFolderForBackup: {
		Status:   http.StatusConflict,
		Sentence: "the folder for backups, beside the SQLite file, cannot be written",
	},
	NoConfiguration: {Status: http.StatusConflict, Sentence: "this gateway was not started with a configuration file"},
	nodeAlive: {
		Status:   http.StatusConflict,
		Sentence: "the node is alive: drain it, or stop it, and it gives its ranges away",
	},
	nodeNotFound: {Status: http.StatusNotFound, Sentence: "no node of that name is alive"},
	noOtherNode: {
		Status:   http.StatusConflict,
		Sentence: "no other node takes ranges: the range stays, and nothing was changed",
	},
	noNodes: {
		Status:   http.StatusConflict,
		Sentence: "the configuration has no nodes: there is no other one to give the range to",
	},
	drainedMany: {
		Status:   http.StatusConflict,
		Sentence: "this node has given 100 ranges away: drain the node itself, or start it again",
	},
	staffNotFound: {Status: http.StatusNotFound, Sentence: "nobody of the range's staff has that name"},
	ReloadFailed:  {Status: http.StatusInternalServerError, Sentence: "the reload failed"},
})
