package observer

import (
	"context"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// laneOf is a lane, and its range if that is named.
type laneOf struct{ lane, rangeID uuid.UUID }

func readLaneOf(in *endpoint.Input) laneOf {
	return laneOf{readLane(in), in.QueryOptionalID("range", "Its range, which may run on another node")}
}

// onLane declares an action on a lane: do does it under the name of the operator's token.
func (s *observerOf) onLane(
	path, summary string, do func(r Range, ctx context.Context, who string, lane uuid.UUID) error,
) endpoint.Endpoint {
	return endpoint.Handle("POST", "/lanes/{lane_id}"+path, 204, summary, readLaneOf,
		func(ctx context.Context, of laneOf) (endpoint.Empty, error) {
			r, err := s.running(of)
			if err != nil {
				return endpoint.Empty{}, err
			}
			return endpoint.Empty{}, do(r, ctx, s.Who(ctx), of.lane)
		})
}

// running returns the range that has the lane. Errors: why the range that is named does not run here, and
// lanes.ErrLaneNotFound if no range that runs here has the lane.
func (s *observerOf) running(of laneOf) (Range, error) {
	if of.rangeID != uuid.Nil {
		if err := s.knows(of.rangeID); err != nil {
			return nil, err
		}
		return s.Range(of.rangeID)
	}
	if r, _, _ := s.rangeOf(of.lane); r != nil {
		return r, nil
	}
	return nil, lanes.ErrLaneNotFound
}

// replay is a part of a range's event log that is sent again.
type replay struct {
	rangeID      uuid.UUID
	webhook      string
	after, until endpoint.LogCursor
}

const maxWebhookName = 64 // characters

func readReplay(in *endpoint.Input) replay {
	return replay{
		in.QueryID("range", "Whose events", "11111111-1111-4111-8111-111111111111"),
		in.OptionalText("webhook", 1, maxWebhookName,
			"Which of several webhooks gets them; none: for each the first one that had it", "pos"),
		in.Cursor("after", "Cursor to begin behind, as the log has it; 0: from the oldest on", "0"),
		in.Cursor("until", "Cursor of the last event", "1042"),
	}
}

// replayed is what came of it.
type replayed struct {
	Events int     `json:"events"` // that are sent again
	Next   *string `json:"next"`   // the cursor behind which to go on; null when all were looked at
}

func (s *observerOf) redeliver(ctx context.Context, p replay) (replayed, error) {
	r, err := s.running(laneOf{rangeID: p.rangeID})
	if err != nil {
		return replayed{}, err
	}
	for _, cursor := range []endpoint.LogCursor{p.after, p.until} {
		if cursor.Log != 0 && cursor.Log != r.LogID() {
			return replayed{}, lanes.ErrEventNotFound
		}
	}
	result, err := r.RedeliverEvents(ctx, s.Who(ctx), lanes.EventSelection{
		After: p.after.Number, Until: p.until.Number,
		Webhook: p.webhook,
	})
	shown := replayed{Events: result.Events}
	if result.Next > 0 {
		shown.Next = new(endpoint.LogCursor{Log: result.Log, Number: result.Next}.String())
	}
	return shown, err
}

// WebhookProbe is what came of connecting to a webhook.
type WebhookProbe struct {
	Server  string // scheme, host and port, as the rest may be secret
	TLS     string // the version; empty: without TLS, or not reached
	Took    time.Duration
	Problem string // why it is not reached; empty: it is
}

// probeTimeout is below the time limit of the request, so that a server that says nothing is an answer.
const probeTimeout = 4 * time.Second

// webhookOf is a webhook of a range.
type webhookOf struct {
	rangeID uuid.UUID
	name    string
}

func readWebhook(in *endpoint.Input) webhookOf {
	return webhookOf{
		in.QueryID("range", "Whose webhook", "11111111-1111-4111-8111-111111111111"),
		in.QueryFilter("webhook", maxWebhookName, "Which of several"),
	}
}

type webhookTested struct {
	Reached  bool    `json:"reached"`
	Server   string  `json:"server"`
	TLS      *string `json:"tls"` // the version; null: without TLS, or not reached
	Duration float64 `json:"duration_ms"`
	Error    *string `json:"error"` // why it is not reached
}

// testWebhook connects to a webhook and sends nothing: the contract has no event for tests.
func (s *observerOf) testWebhook(ctx context.Context, of webhookOf) (webhookTested, error) {
	r, err := s.running(laneOf{rangeID: of.rangeID})
	if err != nil {
		return webhookTested{}, err
	}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	probe, err := s.ProbeWebhook(limited, of.rangeID, of.name)
	if err != nil {
		return webhookTested{}, err
	}
	tested := webhookTested{
		Reached: probe.Problem == "", Server: probe.Server, Duration: milliseconds(probe.Took),
	}
	if probe.TLS != "" {
		tested.TLS = &probe.TLS
	}
	if probe.Problem != "" {
		tested.Error = &probe.Problem
	}
	return tested, r.NoteWebhookTest(ctx, s.Who(ctx), of.name, probe.Problem)
}

func readDrained(in *endpoint.Input) uuid.UUID {
	return in.QueryID("range", "Which one", "11111111-1111-4111-8111-111111111111")
}

// drained is where a range goes.
type drained struct {
	Node string `json:"node"`
}

// drain gives a range to another node. The record of who asked is saved before the range is released, as all
// that it has to save is.
func (s *observerOf) drain(ctx context.Context, id uuid.UUID) (drained, error) {
	r, err := s.running(laneOf{rangeID: id})
	if err != nil {
		return drained{}, err
	}
	to, err := s.DrainRange(ctx, id)
	if err != nil {
		return drained{}, err
	}
	// A range that stops already takes no record: the log has who asked.
	_ = r.NoteOperation(ctx, s.Who(ctx), lanes.DidDrain, to)
	return drained{to}, nil
}
