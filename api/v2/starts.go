package v2

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// StartView is a start as the wire shows it.
type StartView struct {
	ID       uuid.UUID        `json:"start_id"`
	At       string           `json:"at" format:"date-time" doc:"When the sessions begin" example:"2026-05-01T10:00:00.000Z"`
	Sessions []StartedSession `json:"sessions"`
}

// StartedSession is what a start comes to for one session.
type StartedSession struct {
	Session uuid.UUID  `json:"session_id"`
	Lane    *uuid.UUID `json:"lane_id" doc:"Null: it has ended" example:"44444444-4444-4444-8444-000000000001"`
	State   string     `json:"state" enum:"waiting,held,offline,begun,over" doc:"waiting: it begins at the start; held: a ceasefire is in force over the lane: it begins paused, with all of its time, and runs as soon as that ends; offline: the lane's link is down: it begins when that is up, not before the start; begun: it has begun, by the start or before it; over: it has ended. The list is open: further values may come" example:"waiting"`
	BeganAt *string    `json:"began_at" format:"date-time" doc:"Null until it began" example:"null"`
}

// ViewOfStart returns a start as version 2 shows it.
func ViewOfStart(start lanes.StartView) StartView {
	return StartView{
		start.ID, endpoint.Stamp(start.At),
		endpoint.Views(start.Sessions, func(s lanes.StartedSession) StartedSession {
			view := StartedSession{Session: s.Session, State: string(s.State), BeganAt: endpoint.OptionalStamp(s.Began)}
			if s.Lane != uuid.Nil {
				view.Lane = &s.Lane
			}
			return view
		}),
	}
}

// MaxStarted is how many sessions one start has at most.
const MaxStarted = 500

// StartOrder is a request that sessions begin together: after so long, or at a time.
type StartOrder struct {
	Sessions []uuid.UUID
	In       *time.Duration
	At       time.Time
}

// ReadStartOrder reads one.
func ReadStartOrder(in *endpoint.Input) StartOrder {
	most := int(lanes.MaxStartAhead / time.Second)
	order := StartOrder{
		Sessions: in.IDs("session_ids", MaxStarted, "The sessions that begin together", []string{endpoint.ExampleID}),
		At:       in.OptionalTime("at", "When they begin, at most a day ahead; instead of `in_seconds`"),
	}
	if seconds, given := in.OptionalInteger("in_seconds", 0, most,
		"In how many seconds they begin; one of this and `at` is given", 30); given {
		order.In = new(time.Duration(seconds) * time.Second)
	}
	return order
}

// Instant returns when the sessions begin, or what is wrong with that. A later change of the machine's clock does not
// move it.
func (o StartOrder) Instant(now lanes.Instant) (lanes.Instant, error) {
	switch {
	case (o.In == nil) == o.At.IsZero():
		return now, endpoint.Faults{"in_seconds": "must be given, or at, and not both"}
	case o.In != nil:
		return now.Add(*o.In), nil
	}
	ahead := o.At.Sub(now.Wall)
	if ahead < 0 || ahead > lanes.MaxStartAhead {
		return now, endpoint.Faults{"at": fmt.Sprintf("must be from now, %s, to a day ahead", endpoint.Stamp(now.Wall))}
	}
	return now.Add(ahead), nil
}

func (h Handlers) schedule(
	ctx context.Context, order StartOrder, key *lanes.KeyOf[lanes.StartView],
) (lanes.StartView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return lanes.StartView{}, err
	}
	at, err := order.Instant(r.Now())
	if err != nil {
		return lanes.StartView{}, err
	}
	return r.ScheduleStart(ctx, order.Sessions, at, key)
}

func readStartID(in *endpoint.Input) uuid.UUID { return in.PathID("id", "The start") }

func startOf(_ context.Context, r Range, id uuid.UUID) (StartView, error) {
	start, err := r.Start(id)
	if err != nil {
		return StartView{}, err
	}
	return ViewOfStart(start), nil
}

func (h Handlers) deleteStart(ctx context.Context, id uuid.UUID, key *lanes.Key) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, r.DeleteStart(ctx, id, key)
}

func (h Handlers) startEndpoints() []endpoint.Endpoint {
	return endpoint.Group("Starts", "Let the sessions of a relay begin at one instant.",
		endpoint.Command("POST", "/starts", 201, "Let sessions begin together", ReadStartOrder, h.schedule,
			func(_ StartOrder, start lanes.StartView) StartView { return ViewOfStart(start) },
			StartCodes()...).
			Describe("For sessions that were sold with `auto_start` false. Those that wait begin at that instant, "+
				"with one `began_at`; the lanes' controllers are told ahead. All of them are scheduled or, after "+
				"an error, none. Those that have begun or ended are in the answer and stay as they are; without "+
				"any that waits the answer is `not_waiting`. Of a range with opening hours a start is refused with "+
				"`after_closing` where a session that begins with it would end after closing, but would not if "+
				"it began now: `session_ids` in that answer names those. A customer who enters before it begins "+
				"then. Should the gateway be down at that instant, they begin when it is back, with the time of "+
				"then. For a time `at`, its clock counts: see the header `Date`."),
		endpoint.Handle("GET", "/starts/{id}", 200, "A start and what it comes to, lane by lane", readStartID,
			endpoint.WithTarget(h.RangeOf, startOf),
			"starting", "not_owner", "start_not_found").
			Describe("The sessions that are on a lane, in the display order of the lanes. With the end of the last "+
				"one the start is not found any more."),
		endpoint.Command("DELETE", "/starts/{id}", 204, "Let sessions not begin together after all", readStartID,
			h.deleteStart, endpoint.NoBody,
			slices.Concat([]string{"start_not_found", "not_waiting"}, startFailures())...).
			Describe("They wait for their customers again. Those that have begun stay as they are; if all have, "+
				"the answer is `not_waiting`."),
	)
}

// StartCodes returns the codes of letting sessions begin together.
func StartCodes() []string {
	return slices.Concat([]string{"session_not_found", "not_waiting", "start_scheduled", afterClosing}, startFailures())
}

// startFailures returns the codes of every command about a start.
func startFailures() []string { return commandCodes("lane_not_found", "lane_not_usable") }
