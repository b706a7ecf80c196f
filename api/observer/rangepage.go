package observer

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	v2 "rangegate/api/v2"
	"rangegate/lanes"
)

// storeView is what a range's page says of its store, its webhooks and its owner.
type storeView struct {
	At         string           `json:"at"`
	Range      uuid.UUID        `json:"range_id"`
	Name       string           `json:"range"`
	Node       string           `json:"node"` // that owns it; empty without nodes
	Epoch      uint64           `json:"epoch"`
	Since      string           `json:"served_since"` // by this process
	Flushes    flushesView      `json:"flushes"`
	Checkpoint *string          `json:"last_checkpoint_at"` // null: none since served_since
	Offset     *offsetView      `json:"clock_offset"`       // null: not measured, as without nodes
	Keys       keysView         `json:"idempotency_keys"`
	Logs       logsView         `json:"logs"`
	Webhooks   []webhookLogView `json:"webhooks"`
	Outage     *storeOutageView `json:"outage"` // null: the store takes everything
}

type flushesView struct {
	Last     *string  `json:"last_at"`
	Took     *float64 `json:"last_took_ms"`
	Number   uint64   `json:"number"`   // of the last one in this epoch
	Failures int      `json:"failures"` // attempts since served_since
	FailedAt *string  `json:"last_failed_at"`
	Error    string   `json:"last_error"`
	Unsaved  int      `json:"changes_unsaved"`
}

type storeOutageView struct {
	Since    string `json:"since"`
	Attempts int    `json:"attempts"`
	Error    string `json:"error"`
}

type offsetView struct {
	Ahead float64 `json:"ahead_ms"` // of the wall clock, negative: behind
	Clock string  `json:"clock"`    // that machines have in common
}

type keysView struct {
	Kept int `json:"kept"`
	Most int `json:"most"`
}

// logsView are the highest cursors.
type logsView struct {
	Event string `json:"event"`
	Ended string `json:"ended"`
	Act   string `json:"act"`
}

type webhookLogView struct {
	Name     string          `json:"webhook"`
	Waiting  int             `json:"waiting"`
	Retrying int             `json:"retrying"`
	Oldest   *string         `json:"oldest_at"`
	Gone     bool            `json:"gone"`
	Failures int             `json:"failures"` // in a row, of the newest attempts
	Error    string          `json:"last_error"`
	Newest   []deliveredView `json:"newest"` // newest first, of the last 500 entries of the event log
}

// deliveredView is an event with its newest attempt.
type deliveredView struct {
	Cursor  string      `json:"cursor"`
	Event   lanes.Kind  `json:"event"`
	Lane    uuid.UUID   `json:"lane_id"`
	Trace   string      `json:"trace_id"`
	Attempt *v2.Attempt `json:"attempt"` // null: it waits for its first one
	Pending bool        `json:"pending"`
}

const newestDeliveries = 10 // of each webhook

func readOneRange(in *endpoint.Input) uuid.UUID {
	return in.QueryID("range", "Which range", "11111111-1111-4111-8111-111111111111")
}

// store shows how a range's store, webhooks and owner are.
func (s *observerOf) store(ctx context.Context, id uuid.UUID) (storeView, error) {
	r, err := s.running(laneOf{rangeID: id})
	if err != nil {
		return storeView{}, err
	}
	health := r.StoreHealth()
	view := storeView{
		At: endpoint.Stamp(time.Now()), Range: id, Name: r.Layout().Name, Epoch: health.Epoch,
		Since: endpoint.Stamp(r.ServedSince()), Checkpoint: endpoint.OptionalStamp(&health.Checkpoint),
		Flushes: flushesView{
			Last: endpoint.OptionalStamp(&health.LastFlush), Number: health.Flush, Failures: health.Failures,
			FailedAt: endpoint.OptionalStamp(&health.FailedAt), Error: health.Error, Unsaved: health.Unsaved,
		},
		Keys: keysView{health.Keys, health.MostKeys},
	}
	if s.Advisories != nil {
		view.Node = s.Advisories.Node
	}
	if !health.LastFlush.IsZero() {
		view.Flushes.Took = new(milliseconds(health.Took))
	}
	if o := health.Offset; o != nil {
		view.Offset = &offsetView{milliseconds(o.Ahead), o.Clock}
	}
	if o := health.Outage; !o.Since.IsZero() {
		view.Outage = &storeOutageView{endpoint.Stamp(o.Since), o.Attempts, o.Error}
	}
	event, ended, act := r.Latest(ctx)
	number := func(cursor uint64) string { return strconv.FormatUint(cursor, 10) }
	view.Logs = logsView{number(event), number(ended), number(act)}
	view.Webhooks = endpoint.Views(health.Webhooks, viewOfWebhook)
	_, err = readRecord(ctx, func(ctx context.Context) (endpoint.Empty, error) {
		block, err := r.Deliveries(ctx, max(event, blockSize)-blockSize, blockSize)
		addNewest(view.Webhooks, block)
		return endpoint.Empty{}, err
	})
	return view, err
}

func viewOfWebhook(h lanes.WebhookState) webhookLogView {
	return webhookLogView{
		Name: h.Name, Waiting: h.Waiting, Retrying: h.Retrying, Oldest: endpoint.OptionalStamp(&h.Oldest), Gone: h.Gone,
		Failures: h.Failing.Count, Error: h.Failing.Error, Newest: []deliveredView{},
	}
}

// addNewest gives each webhook the newest entries of the block that are to it.
func addNewest(webhooks []webhookLogView, block []lanes.Logged) {
	for i := range webhooks {
		to := &webhooks[i]
		for j := len(block) - 1; j >= 0 && len(to.Newest) < newestDeliveries; j-- {
			if entry := block[j]; entry.Webhook == to.Name {
				to.Newest = append(to.Newest, deliveredView{
					strconv.FormatUint(entry.Cursor, 10), entry.Event.Kind, entry.Event.Lane, entry.Trace,
					v2.AttemptOf(entry.Attempt), entry.Pending(),
				})
			}
		}
	}
}
