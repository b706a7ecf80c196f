package v2

import (
	"context"
	"strconv"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Redelivered is what came of a request to send events again.
type Redelivered struct {
	Events int     `json:"events" min:"0" max:"10000" doc:"How many are sent again" example:"42"`
	Next   *string `json:"next" pattern:"^[0-9]+$" doc:"The cursor behind which to go on with another request; null when all were looked at" example:"null"`
}

// redeliverable are the kinds of events that may be sent again.
var redeliverable = []string{
	string(lanes.Help), string(lanes.CarrierHit), string(lanes.SessionCreated), string(lanes.SessionStarted), string(lanes.SessionPaused),
	string(lanes.SessionResumed), string(lanes.SessionStopped), string(lanes.SessionModified),
}

func readCursorOfPath(in *endpoint.Input) uint64 {
	return in.PathCursor("cursor", "Of the event", "1042")
}

func readSelection(in *endpoint.Input) lanes.EventSelection {
	selection := lanes.EventSelection{
		After: in.Cursor("after", "Cursor to begin behind; 0: from the oldest on", "0"),
		Until: in.Cursor("until", "Cursor of the last event", "1042"),
	}
	selection.Webhook = in.OptionalText("webhook", 1, maxWebhookName, "Which of several webhooks gets them; none: for each the first one that had it", "accounting")
	for _, kind := range in.SomeOf("kinds", "Only events of these kinds; none: all that may be sent again", redeliverable...) {
		selection.Kinds = append(selection.Kinds, lanes.Kind(kind))
	}
	return selection
}

func (h Handlers) redeliverOne(ctx context.Context, cursor uint64, key *lanes.KeyOf[lanes.Redelivery]) (lanes.Redelivery, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return lanes.Redelivery{}, err
	}
	return lanes.Redelivery{}, r.RedeliverOne(ctx, cursor, key)
}

func (h Handlers) redeliver(ctx context.Context, selection lanes.EventSelection, key *lanes.KeyOf[lanes.Redelivery]) (lanes.Redelivery, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return lanes.Redelivery{}, err
	}
	return r.Redeliver(ctx, selection, key)
}

func showRedelivery(_ lanes.EventSelection, result lanes.Redelivery) Redelivered {
	shown := Redelivered{Events: result.Events}
	if result.Next > 0 {
		shown.Next = new(strconv.FormatUint(result.Next, 10))
	}
	return shown
}
