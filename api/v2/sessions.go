package v2

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
	"rangegate/webhook"
)

// SessionView is a session as the wire shows it.
type SessionView struct {
	SessionKeys
	GraceEndsAt *string `json:"grace_ends_at,omitempty" format:"date-time" doc:"Its time is used up: it is on the lane until then, unless minutes are added; only in its grace" example:"2026-05-01T11:02:00.000Z"`
	OpenEndKeys
}

// OpenEndKeys are what a session with an open end shows beside others.
type OpenEndKeys struct {
	OpenEnd *OpenEndView `json:"open_end,omitempty" doc:"It goes on once its minutes are used up; only where it was sold with that"`
	// Pointers: 0 is shown too.
	Beyond  *float64 `json:"minutes_beyond,omitempty" min:"0" doc:"That were used beyond what was sold at the time, settled or not; never becomes less. Only with an open end" example:"12.5"`
	Settled *float64 `json:"minutes_beyond_settled,omitempty" min:"0" doc:"Of those, settled by minutes that were added or bought later; the rest is owed. Only with an open end" example:"10"`
}

// OpenEndView is an open end.
type OpenEndView struct {
	UpTo int `json:"up_to" min:"2" max:"480" doc:"How many minutes may be used in all: then the session ends" example:"120"`
}

// OpenEndOf returns what a session with an open end shows of it, no keys for 0.
func OpenEndOf(upTo int, beyond lanes.Beyond) OpenEndKeys {
	if upTo == 0 {
		return OpenEndKeys{}
	}
	return OpenEndKeys{&OpenEndView{upTo}, new(webhook.Minutes(beyond.Used)), new(webhook.Minutes(beyond.Settled))}
}

// SessionKeys are what both versions show of a session: the keys of WIRE.md, Views, in its order.
type SessionKeys struct {
	ID         uuid.UUID `json:"session_id"`
	Lane       uuid.UUID `json:"lane_id" example:"44444444-4444-4444-8444-000000000001"`
	Group      uuid.UUID `json:"group_id" example:"33333333-3333-4333-8333-000000000001"`
	Duration   int       `json:"duration" doc:"Minutes sold in all" example:"60" min:"1" max:"480"`
	BeganAt    *string   `json:"began_at" format:"date-time" doc:"When the time began; null until then" example:"2026-05-01T10:00:00.000Z"`
	CreatedAt  string    `json:"created_at" format:"date-time" example:"2026-05-01T09:58:30.250Z"`
	Remaining  *float64  `json:"minutes_remaining" doc:"Minutes left, exact to the millisecond; null until the time began" example:"59.5" min:"0" max:"480"`
	Purchasing bool      `json:"enable_purchasing" doc:"Lane purchasing is in effect"`
	StartsAt   *string   `json:"starts_at,omitempty" format:"date-time" doc:"When it begins together with others; only until it has begun, and where a start is scheduled" example:"2026-05-01T10:00:00.000Z"`
	Correlation
}

// Correlation has what the POS gave a session to know it by. Sessions without it do not have the keys.
type Correlation struct {
	ExternalID string            `json:"external_id,omitempty" doc:"The id that the POS gave it; only where it gave one" example:"receipt-4711"`
	Metadata   map[string]string `json:"metadata,omitempty" doc:"What the POS gave with it; only where it gave something" example:"{\"till\":\"3\"}"`
}

// CorrelationOf returns what the POS gave a session to know it by, as the wire shows it; without any keys for nil.
func CorrelationOf(c *lanes.Correlation) Correlation {
	if c == nil {
		return Correlation{}
	}
	return Correlation(*c)
}

// ViewOf returns a session as version 2 shows it.
func ViewOf(s *lanes.SessionView) SessionView {
	return SessionView{KeysOf(s), endpoint.OptionalStamp(s.GraceEndsAt), OpenEndOf(s.OpenEnd, s.Beyond)}
}

// KeysOf returns what both versions show of a session.
func KeysOf(s *lanes.SessionView) SessionKeys {
	view := SessionKeys{
		ID: s.ID, Lane: s.Lane, Group: s.Group, Duration: s.Minutes,
		BeganAt: endpoint.OptionalStamp(s.Began), CreatedAt: endpoint.Stamp(s.Created), Purchasing: s.Purchasing,
		Correlation: CorrelationOf(s.Correlation),
	}
	if s.Began != nil {
		view.Remaining = new(webhook.Minutes(s.Remaining))
	}
	view.StartsAt = endpoint.OptionalStamp(s.StartsAt)
	return view
}

// OptionalMinutes is webhook.Minutes, or nil for nil.
func OptionalMinutes(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(webhook.Minutes(*d))
}

// Sale is a request to sell time on a lane.
type Sale struct {
	Lane    uuid.UUID
	Command lanes.Create
}

// ReadSale returns the reader of a sale. The versions differ in the key of the customer's name.
func ReadSale(customer string) func(*endpoint.Input) Sale {
	return ReadSaleTo(func(in *endpoint.Input) string {
		return in.Text(customer, 1, MaxCustomer, "Name of the customer; it is trimmed, and has no control characters",
			"Jo Smith")
	})
}

// readSale reads a sale of this version.
func readSale(in *endpoint.Input) Sale {
	sale := ReadSale("customer_name")(in)
	sale.Command.Reservation = in.OptionalSecret("reservation", maxReservationToken,
		"The token of the lane's reservation")
	minutes := in.Integers("warn_at_minutes", lanes.MaxWarnings, lanes.MinMinutes, lanes.MaxMinutes,
		"With how many minutes left the session is warned (`sessionEnding`); none: as the range has it, an empty "+
			"list: never", []int{10, 2})
	if minutes != nil {
		slices.Sort(minutes)
		sale.Command.WarnAt = []time.Duration{}
		for _, left := range slices.Backward(slices.Compact(minutes)) {
			sale.Command.WarnAt = append(sale.Command.WarnAt, time.Duration(left)*time.Minute)
		}
	}
	sale.Command.Grace, sale.Command.OpenEnd = ReadGrace(in), ReadOpenEnd(in)
	return sale
}

// ReadOpenEnd reads up to how many minutes in all a session may go on once those that were sold are used up; 0: it
// ends.
func ReadOpenEnd(in *endpoint.Input) int {
	upTo, _ := endpoint.OptionalObject(in, "open_end", "Once the minutes are used up, the session goes on until "+
		"it is stopped, and the rest is paid afterwards: on a lane that shows `open_end` in `GET /lanes/status`. "+
		"It goes without `grace`", func(in *endpoint.Input) int {
		return in.Integer("up_to", lanes.MinMinutes+1, lanes.MaxMinutes,
			"How many minutes may be used in all: more than `duration`", 120)
	})
	return upTo
}

// CheckSale returns what no lane of the range could sell, nil if it is nothing.
func CheckSale(layout lanes.Layout, sale lanes.Create) endpoint.Faults {
	switch {
	case sale.OpenEnd == 0:
		return nil
	case sale.Grace:
		return endpoint.Faults{"open_end": "goes without grace"}
	case layout.GraceForAll:
		return endpoint.Faults{"open_end": "cannot be sold in a range where every session has a grace"}
	case sale.OpenEnd <= sale.Minutes:
		return endpoint.Faults{"open_end.up_to": "must be more than duration"}
	}
	return nil
}

// ReadGrace reads whether a sale has the grace of the range.
func ReadGrace(in *endpoint.Input) bool {
	return in.Flag("grace", false, "Once its time is used up, the session stays on the lane for the grace of the "+
		"range, if it has one; minutes that are added then count from then on")
}

// MaxCustomer is how many characters the name of a customer has at most.
const MaxCustomer = 200

// ReadSaleTo returns the reader of a sale to the customer whose name readCustomer reads.
func ReadSaleTo(readCustomer func(*endpoint.Input) string) func(*endpoint.Input) Sale {
	return func(in *endpoint.Input) Sale {
		sale := Sale{
			Command: lanes.Create{
				Customer: readCustomer(in),
				Group:    in.ID("group_id", "Access group", ExampleGroup),
				Minutes:  in.Integer("duration", lanes.MinMinutes, lanes.MaxMinutes, "Minutes", 60),
				Purchasing: in.Flag("enable_purchasing", false,
					"Enables lane purchasing, if the range supports it"),
				AutoStart: in.Flag("auto_start", true,
					"If false, the time does not count down until the customer enters the lane"),
			},
			Lane: in.ID("lane_id", "Lane for the session", ExampleLane),
		}
		given := lanes.Correlation{
			ExternalID: in.OptionalText("external_id", 1, lanes.MaxExternalID, "The POS's own id of the session, "+
				"to find it by; it is trimmed, has no control characters, and need not be unique", "receipt-4711"),
			Metadata: in.Pairs("metadata", lanes.MaxMetadata, lanes.MaxMetadataBytes, "What the POS wants to read "+
				"again with the session: texts by name, none with a control character, names and values together "+
				"of at most 2048 bytes", map[string]string{"till": "3"}),
		}
		if given.ExternalID != "" || len(given.Metadata) > 0 {
			sale.Command.Correlation = &given
		}
		return sale
	}
}

// Examples of the document are the first lane and the first group of the playground, so that they work there.
const (
	ExampleLane  = "44444444-4444-4444-8444-000000000001"
	ExampleGroup = "33333333-3333-4333-8333-000000000001"
)

func readID(in *endpoint.Input) uuid.UUID { return in.PathID("id", "The session") }

// wellFormedMinutes is the limit of a well-formed request. The lane decides how many minutes can be added.
const wellFormedMinutes = 1_000_000

func readModify(in *endpoint.Input, id uuid.UUID) lanes.Command {
	return lanes.Modify{
		Session: id,
		Minutes: in.QuerySigned("time", wellFormedMinutes, "Minutes to add, or with a minus to take away", 15),
	}
}

func readStop(_ *endpoint.Input, id uuid.UUID) lanes.Command {
	return lanes.Stop{Session: id, By: lanes.ByPOS}
}

func readBegin(_ *endpoint.Input, id uuid.UUID) lanes.Command { return lanes.Enter{Session: id} }

func readPause(_ *endpoint.Input, id uuid.UUID) lanes.Command { return lanes.Pause{Session: id} }

func readResume(_ *endpoint.Input, id uuid.UUID) lanes.Command { return lanes.Resume{Session: id} }

// order is a command to a session.
type order struct {
	session uuid.UUID
	command lanes.Command
}

// Closes reports whether the order closes the fire line (endpoint.API.Admit).
func (o order) Closes() bool {
	switch o.command.(type) {
	case lanes.Stop, lanes.Pause:
		return true
	default:
		return false
	}
}

// Closes reports the same of the name of a command, for whoever has not read the order.
func Closes(name string) bool { return name == "stop" || name == "pause" }

// command declares the endpoint of a command to a session.
func (h Handlers) command(
	name, summary string, read func(in *endpoint.Input, id uuid.UUID) lanes.Command, codes ...string,
) endpoint.Endpoint {
	readOrder := func(in *endpoint.Input) order {
		id := readID(in)
		return order{id, read(in, id)}
	}
	carryOut := func(ctx context.Context, o order, key *lanes.Key) (*lanes.SessionView, error) {
		return h.On(ctx, o.session, o.command, key)
	}
	return endpoint.Command("POST", "/sessions/{id}/"+name, 204, summary, readOrder, carryOut, endpoint.NoBody,
		SessionCodes(codes...)...)
}

type move struct{ session, lane uuid.UUID }

func readMove(in *endpoint.Input) move {
	return move{
		session: readID(in),
		lane: in.QueryID("lane_id", "Lane to go on in: free, accessible and usable",
			"44444444-4444-4444-8444-000000000002"),
	}
}

// ReadExternalID reads the external id of the sessions that are asked for; empty: all are.
func ReadExternalID(in *endpoint.Input) string {
	return in.QueryFilter("external_id", lanes.MaxExternalID, "Only the sessions that the POS gave this id")
}

// Sessions returns the handler that responds with the active sessions with an external id, as show returns them.
func Sessions[Out any](h Handlers, show func([]*lanes.SessionView) Out) func(context.Context, string) (Out, error) {
	return endpoint.WithTarget(h.RangeOf, func(_ context.Context, r Range, externalID string) (Out, error) {
		sessions := r.Sessions()
		if externalID != "" {
			sessions = slices.DeleteFunc(slices.Clone(sessions), func(s *lanes.SessionView) bool {
				return s.Correlation.IDOrNone() != externalID
			})
		}
		return show(sessions), nil
	})
}

func session(ctx context.Context, r Range, id uuid.UUID) (endpoint.Appender[SessionView], error) {
	session, err := r.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return appendView(session), nil
}

// Create sells the time, to a session with a new id. It blocks until the lane has saved it.
func (h Handlers) Create(ctx context.Context, sale Sale, key *lanes.Key) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	if faults := CheckSale(r.Layout(), sale.Command); faults != nil {
		return nil, faults
	}
	sale.Command.Session = uuid.New()
	return r.Create(ctx, sale.Lane, sale.Command, key)
}

func sold(_ Sale, session *lanes.SessionView) endpoint.Appender[SessionView] {
	return appendView(session)
}

func (h Handlers) move(ctx context.Context, m move, key *lanes.Key) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	return r.Move(ctx, m.session, m.lane, key)
}

// On sends a command to an active session. It blocks until the lane has saved it.
func (h Handlers) On(
	ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key,
) (*lanes.SessionView, error) {
	r, err := h.RangeOf(ctx)
	if err != nil {
		return nil, err
	}
	return r.On(ctx, session, command, key)
}
