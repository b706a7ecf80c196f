package api

import (
	"context"
	"maps"
	"net/http"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
)

// Reloaded is what a reload of the configuration has changed.
type Reloaded struct {
	Keys   []string        `json:"keys"` // outside of the ranges
	Ranges []ReloadedRange `json:"ranges"`
}

// ReloadedRange is what is different about one range.
type ReloadedRange struct {
	ID      uuid.UUID   `json:"range_id"`
	Change  string      `json:"change"` // added, changed or removed
	Keys    []string    `json:"keys"`
	Added   []uuid.UUID `json:"lanes_added"`
	Changed []uuid.UUID `json:"lanes_changed"`
	Removed []uuid.UUID `json:"lanes_removed"`
	Renewed []uuid.UUID `json:"links_renewed"`
}

// RefusedReload is why the configuration in force stays.
type RefusedReload struct {
	error
	Reason ReloadReason
}

// Code is the reason.
func (r RefusedReload) Code() string  { return string(r.Reason) }
func (r RefusedReload) Unwrap() error { return r.error }

// ReloadReason is the kind of reason for a refused reload.
type ReloadReason string

// The reasons.
const (
	BadConfiguration ReloadReason = "configuration_invalid"
	NeedsRestart     ReloadReason = "needs_restart"
	InUse            ReloadReason = "in_use"
	NoConfiguration  ReloadReason = "no_configuration" // there is no file to read again
	FailedOnTheWay   ReloadReason = "reload_failed"
)

// RefuseReload is a refusal for that reason.
func RefuseReload(reason ReloadReason, err error) error { return RefusedReload{err, reason} }

var operationsErrors = func() endpoint.Errors {
	all := maps.Clone(screenErrors) // there is a page, with its files
	maps.Copy(all, endpoint.Errors{
		string(BadConfiguration): {Status: http.StatusUnprocessableEntity, Sentence: "the configuration has faults; nothing was changed"},
		string(NeedsRestart):     {Status: http.StatusConflict, Sentence: "what is different needs a restart; nothing was changed"},
		string(InUse):            {Status: http.StatusConflict, Sentence: "what the configuration no longer has is in use; nothing was changed"},
		string(NoConfiguration):  {Status: http.StatusConflict, Sentence: "this gateway was not started with a configuration file"},
		string(FailedOnTheWay):   {Status: http.StatusInternalServerError, Sentence: "the reload failed"},
	})
	return all
}()

// reload reads the configuration again. It waits for lanes and for the store, longer than other requests do.
func (s Operations) reload() endpoint.Endpoint {
	return endpoint.Handle("POST", "/", http.StatusOK, "Read the configuration again",
		func(in *endpoint.Input) bool {
			return in.Flag("force", false, "Stop the sessions of lanes that are removed, and drop their purchases")
		},
		func(ctx context.Context, force bool) (Reloaded, error) { return s.Reload(ctx, force) },
		string(BadConfiguration), string(NeedsRestart), string(InUse), string(NoConfiguration), string(FailedOnTheWay),
	).WithoutTimeout()
}
