package v2

import (
	"context"
	"errors"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Redelivered is what came of a request to send events again.
type Redelivered struct {
	Events int     `json:"events" min:"0" max:"10000" doc:"How many are sent again" example:"42"`
	Next   *string `json:"next" pattern:"^[0-9]+$" doc:"The cursor behind which to go on with another request; null when all were looked at" example:"null"`
}

// redeliverable are the kinds of events that may be sent again: all but the one to decide on.
var redeliverable = func() (kinds []string) {
	for _, kind := range lanes.Kinds {
		if kind != lanes.PurchaseRequest {
			kinds = append(kinds, string(kind))
		}
	}
	return kinds
}()

func readCursorOfPath(in *endpoint.Input) endpoint.LogCursor {
	return in.PathLogCursor("cursor", "Of the event", "1042")
}

// selection is a part of the event log, by the cursors that a client has of it.
type selection struct {
	lanes.EventSelection
	after, until endpoint.LogCursor
}

func readSelection(in *endpoint.Input) selection {
	selection := selection{
		after: in.Cursor("after", "Cursor to begin behind; 0: from the oldest on", "0"),
		until: in.Cursor("until", "Cursor of the last event", "1042"),
	}
	selection.Webhook = in.OptionalText("webhook", 1, maxWebhookName,
		"Which of several webhooks gets them; none: for each the first one that had it", "accounting")
	for _, kind := range in.SomeOf("kinds", "Only events of these kinds; none: all that may be sent again",
		redeliverable...) {
		selection.Kinds = append(selection.Kinds, lanes.Kind(kind))
	}
	return selection
}

func (h Handlers) redeliverOne(
	ctx context.Context, cursor endpoint.LogCursor, key *lanes.KeyOf[lanes.Redelivery],
) (lanes.Redelivery, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return lanes.Redelivery{}, err
	}
	if cursor.Log != 0 && cursor.Log != r.LogID() {
		return lanes.Redelivery{}, lanes.ErrEventNotFound
	}
	return lanes.Redelivery{}, r.RedeliverOne(ctx, cursor.Number, key)
}

func (h Handlers) redeliver(
	ctx context.Context, part selection, key *lanes.KeyOf[lanes.Redelivery],
) (lanes.Redelivery, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return lanes.Redelivery{}, err
	}
	log := eventLog(ctx, r)
	if part.until.Log != 0 && part.until.Log != log.id {
		return lanes.Redelivery{}, log.gone(ctx)
	}
	from, err := log.locate(ctx, part.after, "after")
	if err != nil {
		return lanes.Redelivery{}, err
	}
	part.After, part.Until, part.Whole = part.after.Number, part.until.Number, !from.anywhere
	result, err := r.Redeliver(ctx, part.EventSelection, key)
	if errors.Is(err, lanes.ErrEventsGone) {
		err = log.gone(ctx)
	}
	return result, err
}

func showRedelivery(_ selection, result lanes.Redelivery) Redelivered {
	shown := Redelivered{Events: result.Events}
	if result.Next > 0 {
		shown.Next = new(endpoint.LogCursor{Log: result.Log, Number: result.Next}.String())
	}
	return shown
}
