package v2

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// RangeView is what a POS can find out about its range. It has no secret.
type RangeView struct {
	ID        uuid.UUID      `json:"range_id" example:"11111111-1111-4111-8111-111111111111"`
	Name      string         `json:"name" example:"Demo range"`
	Currency  string         `json:"currency,omitempty" pattern:"^[A-Z]{3}$" doc:"Of the range's prices; only where the operator has named one" example:"EUR"`
	Version   string         `json:"version" doc:"Of the gateway; to be shown and logged. What it can is in features" example:"1.4.0"`
	Features  []Feature      `json:"features" doc:"What this range has and others need not have. The list is open: ignore words that you do not know. purchasing: customers can buy at the lanes; products: it offers the products of its integrator; webhook: its events go to a webhook; webhook_retry: deliveries that fail are tried again; clear_before_sale: a lane that is not clear is not sold; warnings: a sale may say when its session is warned; grace: a sale may keep its session on the lane for a while once its time is used up; open_end: a sale may let its session go on then; hours: it has opening hours, and no sale may end after closing; simulation: it has the paths of the simulation" example:"[\"purchasing\",\"webhook\"]"`
	Presets   []PresetView   `json:"presets" doc:"The sales that staff have as one button each at the control screen, in its order; none: the operator has named none"`
	TimeZone  string         `json:"time_zone,omitempty" doc:"Of the IANA database, in which hours and schedules are; only where the operator has given any" example:"Europe/Berlin"`
	Hours     *HoursView     `json:"hours,omitempty" doc:"The opening hours; only where the operator has given them"`
	Schedules []ScheduleView `json:"schedules,omitempty" doc:"The hours of bays and groups that have their own; only where the operator has given any"`
	Limits    RangeLimits    `json:"limits"`
	Retention RangeRetention `json:"retention"`
}

// PresetView is a sale that has a button of its own.
type PresetView struct {
	Minutes int        `json:"minutes" min:"1" max:"480" example:"60"`
	Group   *uuid.UUID `json:"group_id" doc:"Access group; null: the one that is chosen" example:"33333333-3333-4333-8333-000000000001"`
	Grace   bool       `json:"grace,omitempty" doc:"The session has the grace of the range; only where it has"`
	// OpenEnd is that of a sale.
	OpenEnd *OpenEndView `json:"open_end,omitempty" doc:"The session goes on once the minutes are used up; only where it does"`
}

// ViewOfPreset returns a preset as the POS and the control screen get it.
func ViewOfPreset(p lanes.Preset) PresetView {
	view := PresetView{Minutes: p.Minutes, Group: p.Group, Grace: p.Grace}
	if p.OpenEnd > 0 {
		view.OpenEnd = &OpenEndView{p.OpenEnd}
	}
	return view
}

// Feature is something that a range has and others need not have.
type Feature string

// The features, in the order in which a range shows them.
const (
	FeaturePurchasing      Feature = "purchasing"
	FeatureProducts        Feature = "products"
	FeatureWebhook         Feature = "webhook"
	FeatureWebhookRetry    Feature = "webhook_retry"
	FeatureClearBeforeSale Feature = "clear_before_sale"
	FeatureWarnings        Feature = "warnings"
	FeatureGrace           Feature = "grace"
	FeatureOpenEnd         Feature = "open_end"
	FeatureHours           Feature = "hours"
	FeatureSimulation      Feature = "simulation"
)

// RangeLimits are the bounds of requests.
type RangeLimits struct {
	PerSecond     *int `json:"requests_per_second" min:"1" doc:"On average, of all POS systems of the range together; above it 429. Null: no limit" example:"1000"`
	Burst         *int `json:"requests_at_once" min:"1" doc:"Null: no limit" example:"2000"`
	Waiting       *int `json:"requests_waiting" min:"1" doc:"That wait for events, of all POS systems of the range together; above it 503. Null: no limit" example:"100"`
	Body          int  `json:"body_bytes" min:"1" example:"65536"`
	Operations    int  `json:"batch_operations" min:"1" doc:"Of one batch" example:"200"`
	BatchBody     int  `json:"batch_body_bytes" min:"1" example:"1048576"`
	Minutes       int  `json:"session_minutes" min:"1" doc:"The longest session, with everything that is added" example:"480"`
	Customer      int  `json:"customer_name_characters" min:"1" example:"200"`
	ExternalID    int  `json:"external_id_characters" min:"1" example:"128"`
	Metadata      int  `json:"metadata_texts" min:"1" example:"20"`
	MetadataBytes int  `json:"metadata_bytes" min:"1" doc:"Of names and values together" example:"2048"`
	Page          int  `json:"page_records" min:"1" doc:"The highest limit of a page of events or of the history" example:"1000"`
	Wait          int  `json:"wait_seconds" min:"1" doc:"The longest wait for an event" example:"60"`
}

// RangeRetention is how long the gateway keeps what it has recorded.
type RangeRetention struct {
	Events  int64 `json:"events_seconds" min:"0" example:"2592000"`
	History int64 `json:"history_seconds" min:"0" example:"7776000"`
	Names   int64 `json:"customer_names_seconds" min:"0" doc:"Customers' names in the history" example:"2592000"`
	Records int   `json:"records" min:"1" doc:"Of events, and of the history, whatever their age: the oldest make room" example:"1000000"`
	Keys    int64 `json:"idempotency_keys_seconds" min:"0" doc:"How long a request can be repeated under its key" example:"86400"`
}

// Configured is what the configuration says about a range beyond its layout.
type Configured struct {
	Version   string // of the gateway
	Features  []Feature
	Retention Retention
}

// Retention is how long records are kept, and how many of a kind.
type Retention struct {
	Events, History, Names time.Duration
	Records                int
}

// Limits bounds the requests of a range's POS systems. 0 is no limit.
type Limits struct{ PerSecond, Burst, Waiting int }

func (h Handlers) rangeView(ctx context.Context, _ endpoint.Empty) (RangeView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return RangeView{}, err
	}
	layout, configured := r.Layout(), h.ConfiguredOf(ctx)
	view := RangeView{
		ID: layout.Range, Name: strings.TrimSpace(layout.Name), Currency: layout.Currency,
		Version: configured.Version, Features: configured.Features,
		Presets:   endpoint.Views(layout.Presets, ViewOfPreset),
		Limits:    h.Limits.view(),
		Retention: configured.Retention.view(),
	}
	view.TimeZone, view.Hours, view.Schedules = zoneOf(layout), viewOfHours(layout.Hours, r.Now().Wall),
		schedulesOf(layout, r.Now().Wall)
	if view.Features == nil {
		view.Features = []Feature{} // null is no list
	}
	return view, nil
}

func (l Limits) view() RangeLimits {
	view := RangeLimits{
		Body: endpoint.MaxBody, Operations: MaxOperations, BatchBody: MaxBatchBody, Minutes: lanes.MaxMinutes,
		Customer: MaxCustomer, ExternalID: lanes.MaxExternalID,
		Metadata: lanes.MaxMetadata, MetadataBytes: lanes.MaxMetadataBytes, Page: maxPage, Wait: maxWait,
		Waiting: limited(l.Waiting),
	}
	if view.PerSecond = limited(l.PerSecond); view.PerSecond != nil {
		view.Burst = limited(l.Burst)
	}
	return view
}

// limited returns nil for no limit.
func limited(limit int) *int {
	if limit <= 0 {
		return nil
	}
	return &limit
}

func (r Retention) view() RangeRetention {
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	return RangeRetention{
		Events: seconds(r.Events), History: seconds(r.History), Names: seconds(r.Names), Records: r.Records,
		Keys: seconds(lanes.KeyTerm),
	}
}
