// Package v2 is version 2 of the range POS API (SPEC.md 4.1 and 4.2, WIRE.md). Version 1 uses its handlers and views.
package v2

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"rangegate/api/endpoint"
	"rangegate/lanes"
)

// Range is the part of a running range that the API uses.
type Range interface {
	// Epoch is higher with each process that claims the range, one after the other.
	Epoch() uint64
	Layout() lanes.Layout
	// Lanes returns the state of every lane, in display order.
	Lanes() []lanes.LaneStatus
	// Sessions returns the active sessions, in the display order of their lanes.
	Sessions() []*lanes.SessionView
	// Session returns an active session, or lanes.ErrSessionEnded or lanes.ErrSessionNotFound.
	Session(ctx context.Context, id uuid.UUID) (*lanes.SessionView, error)

	// Create, On and Move return the session after the command, or a *lanes.Repeat for a repeat with the key.
	Create(ctx context.Context, lane uuid.UUID, command lanes.Create, key *lanes.Key) (*lanes.SessionView, error)
	On(ctx context.Context, session uuid.UUID, command lanes.Command, key *lanes.Key) (*lanes.SessionView, error)
	Move(ctx context.Context, session, to uuid.UUID, key *lanes.Key) (*lanes.SessionView, error)
	// ScheduleStart lets the waiting ones of the sessions begin together at that instant.
	ScheduleStart(ctx context.Context, sessions []uuid.UUID, at lanes.Instant,
		key *lanes.KeyOf[lanes.StartView]) (lanes.StartView, error)
	// Start returns a start, or lanes.ErrStartNotFound.
	Start(id uuid.UUID) (lanes.StartView, error)
	// DeleteStart takes the start from the sessions that have not begun.
	DeleteStart(ctx context.Context, start uuid.UUID, key *lanes.Key) error
	// Batch carries out several operations, all or each that can be; lanes.Refusals are why none of an atomic one was.
	Batch(ctx context.Context, batch lanes.Batch, key *lanes.KeyOf[[]lanes.BatchResult]) ([]lanes.BatchResult, error)
	// Reserve keeps lanes from everybody but the holder of the reservation's token.
	Reserve(ctx context.Context, wanted lanes.Wanted, reservation lanes.Reservation,
		key *lanes.KeyOf[lanes.Reserved]) (lanes.Reserved, error)
	// Reservation returns a reservation with the lanes that it keeps, or lanes.ErrReservationNotFound.
	Reservation(id uuid.UUID) (lanes.Reserved, error)
	// EndReservation gives the lanes of a reservation free, if it keeps any.
	EndReservation(ctx context.Context, id uuid.UUID, key *lanes.Key) error
	// Now reads the range's clock.
	Now() lanes.Instant
	// KeyReused reports whether another request has the idempotency key.
	KeyReused(name, fingerprint string) bool

	// Events and History return at most limit records after the cursor, oldest first. Whatever was durable when they
	// were called is among what they read, or they fail.
	Events(ctx context.Context, after uint64, limit int) ([]lanes.Logged, error)
	// DeliveriesTo returns deliveries to one of several webhooks, and the cursor to go on behind.
	DeliveriesTo(ctx context.Context, webhook string, after uint64, limit int) (events []lanes.Logged,
		next uint64, err error)
	History(ctx context.Context, after uint64, limit int) ([]lanes.Ended, error)
	// RedeliverOne has one event sent to the webhook again, Redeliver the selected ones. Both return a
	// *lanes.Repeat for a repeat with the key.
	RedeliverOne(ctx context.Context, cursor uint64, key *lanes.KeyOf[lanes.Redelivery]) error
	Redeliver(ctx context.Context, selection lanes.EventSelection,
		key *lanes.KeyOf[lanes.Redelivery]) (lanes.Redelivery, error)
	// Latest returns the highest cursors that were given in the event log, the history and the acts of staff,
	// saved or not.
	Latest(ctx context.Context) (lastEvent, lastEnded, lastAct uint64)
	// Saved returns the highest cursors of the event log and of the history that are durable.
	Saved() (event, ended uint64)
	// LogID names the event log and the history. It changes where the store has lost what was in them.
	LogID() uint64
	// EventsKeptBehind and HistoryKeptBehind return the cursor behind which the log is whole.
	EventsKeptBehind(ctx context.Context) (uint64, error)
	HistoryKeptBehind(ctx context.Context) (uint64, error)
	// HasWebhook reports whether the range has a webhook with that name.
	HasWebhook(name string) bool
	// FollowEvents returns the highest cursor of the event log that is durable, and a function for one
	// goroutine that returns what is saved after it: the next events in the order of their cursors, the same
	// slice for all who follow, which nobody may change; or, without any, a channel that is closed as soon as
	// there are some.
	FollowEvents() (saved uint64, next func() (events []lanes.Logged, wake <-chan struct{}))
	// Ended is closed when the range stops here, or another process owns it.
	Ended() <-chan struct{}
	// EndedSession returns a session that has ended with lanes.ErrSessionEnded, zero if its record cannot be read;
	// otherwise lanes.ErrSessionNotFound.
	EndedSession(ctx context.Context, id uuid.UUID) (lanes.Ended, error)
	// HistoryOf is History of the sessions with that external id.
	HistoryOf(ctx context.Context, externalID string, after uint64, limit int) ([]lanes.Ended, error)
}

// Handlers respond for the range that the request was authenticated for.
type Handlers struct {
	// RangeOf returns the running range of the request, or lanes.ErrStarting, or lanes.ErrNotOwner.
	RangeOf func(ctx context.Context) (Range, error)
	Readers *Readers // of events
	// ConfiguredOf returns what the configuration says about the range of the request.
	ConfiguredOf func(ctx context.Context) Configured
	Limits       Limits
	Errors       endpoint.Errors // the table of codes, for operations of a batch that are refused
}

// Endpoints returns every path of version 2 below its prefix.
func (h Handlers) Endpoints() []endpoint.Endpoint {
	return slices.Concat(
		endpoint.Group("Range information", "What the range is made of, and how its lanes stand. Bays, groups and "+
			"lanes hardly ever change: read them when the POS starts, and once a day at most.",
			endpoint.Handle("GET", "/range", 200, "The range, what it can and how much it takes",
				endpoint.NoInput, h.rangeView, "starting", "not_owner").
				Describe("Read it when the POS starts: what a range can depends on its configuration and on the "+
					"release of the gateway. Later releases may answer with further keys and further "+
					"words in `features`."),
			endpoint.Handle("GET", "/bays", 200, "The range's bays, in display order",
				endpoint.NoInput, List(h, Bays, ViewOfBay), "starting", "not_owner"),
			endpoint.Handle("GET", "/groups", 200, "The range's access groups",
				endpoint.NoInput, List(h, Groups, ViewOfGroup), "starting", "not_owner"),
			endpoint.Handle("GET", "/lanes", 200, "The range's lanes, in display order, not grouped by bay",
				endpoint.NoInput, List(h, Range.Lanes, ViewOfLane), "starting", "not_owner"),
			endpoint.Handle("GET", "/lanes/status", 200, "How every lane stands, in display order",
				endpoint.NoInput, endpoint.WithTarget(h.RangeOf, statuses), "starting", "not_owner").
				Describe("Who is on a lane, whether the fire line is locked, and why a lane is not usable."),
		),
		endpoint.Group("Sessions", sellTime,
			endpoint.Handle("GET", "/sessions", 200, "The active sessions, in the display order of their lanes",
				ReadExternalID, Sessions(h, appendViews), "starting", "not_owner").
				Describe("Sessions made at the control screen are among them. Without a webhook, poll this every "+
					"30 to 60 seconds."),
			endpoint.Handle("GET", "/sessions/{id}", 200, "One active session", readID,
				endpoint.WithTarget(h.RangeOf, session),
				"starting", "not_owner", "session_not_found", "session_ended", "store_unavailable"),
			endpoint.Command("POST", "/sessions", 201, "Sell time on a free lane", readSale, h.Create,
				sold, append(SaleCodes(), "lane_reserved", "reservation_over", noOpenEnd, afterClosing)...).
				Describe(aboutClosing+"With `auto_start` the time runs at once, otherwise from when the customer "+
					"enters the lane."),
			h.command("modify", "Add minutes to a session, or take minutes away", readModify, "duration_out_of_range",
				"no_time_left", afterClosing).
				Describe(aboutClosing+"The new total must be within 1 to 480 minutes and must leave the session "+
					"some time: to end it, stop it. Minutes that are added to a session in its grace "+
					"count from now on."),
			h.command("start", "Begin the time of a session that waits for its customer", readBegin, "not_waiting").
				Describe("For a session that was sold with `auto_start` false, as if the customer had entered the "+
					"lane now. During a ceasefire it begins paused, with all of its time, and runs as "+
					"soon as that ends."),
			h.command("stop", "End a session", readStop),
			h.command("pause", "Stop a session's clock until it is resumed", readPause, "not_running", "in_grace"),
			h.command("resume", "Start a paused session's clock again", readResume, "not_paused",
				"in_grace", "ceasefire"),
			endpoint.Command("POST", "/sessions/{id}/move", 204,
				"Let a session go on in another lane, with its time left",
				readMove, h.move, endpoint.NoBody,
				SessionCodes("lane_not_found", "lane_occupied", "lane_reserved", "lane_not_accessible",
					"lane_not_usable", "lane_not_clear", noOpenEnd, afterClosing)...).
				Describe("A lane whose bay closes before the session would end is refused with `after_closing`, "+
					"unless the lane that it leaves closes no later."),
		),
		endpoint.Group("Sessions", sellTime, h.batchEndpoint()),
		h.reservationEndpoints(),
		h.startEndpoints(),
		endpoint.Group("Records", "What has happened, page by page: read behind the cursor `next` of the page before.",
			endpoint.HandleAwaited("GET", EventsPath, 200, "The event log behind a cursor, oldest first",
				readEvents, h.awaitEvents, endpoint.WithTarget(h.RangeOf, events), "cursor_gone", "starting",
				"not_owner", "store_unavailable", "overloaded").
				Describe("What a webhook receiver missed can be read again here. With `wait` the answer comes as "+
					"soon as there is an event behind the cursor, or without one when that time is over: whoever "+
					"goes on from `next` each time gets every event once, without a webhook. "+aboutCursors),
			endpoint.Stream(EventStreamPath,
				"The event log behind a cursor, and every event as it happens, as server-sent events",
				streamExample, readStart, h.stream, "cursor_gone", "starting", "not_owner",
				"store_unavailable", "overloaded").
				Describe("The stream of `text/event-stream` goes on until one side ends it. Each message has the "+
					"cursor as its `id` and an `Event` of `GET /events` as its `data`, with `attempt` as it was "+
					"then. A comment comes every 15 seconds in between. A browser's `EventSource` connects again "+
					"by itself and sends `Last-Event-ID`, which counts more than `after`. "+aboutCursors),
			endpoint.Command("POST", EventsPath+"/{cursor}/redeliver", 204, "Have an event sent to the webhook again",
				readCursorOfPath, h.redeliverOne, endpoint.NoBody,
				commandCodes("event_not_found", "not_redeliverable", "webhook_not_configured", "webhook_gone")...).
				Describe("The same body under the same `webhook-id`, with a new `webhook-timestamp` and signature, "+
					"behind the events that happen now, to the webhook of that cursor. A `purchaseRequest` is never "+
					"sent again. What came of each delivery is in `attempts` of the event."),
			endpoint.Command("POST", EventsPath+"/redeliver", 202,
				"Have the events of a part of the log sent to the webhook again",
				readSelection, h.redeliver, showRedelivery, commandCodes("webhook_not_configured", "webhook_gone",
					"cursor_gone")...).
				Describe("In the order of the log per lane. One request looks at 10,000 events at most: with `next` "+
					"in the answer there are more, behind that cursor. Purchases, and events whose delivery has "+
					"not ended, are left out. Of several webhooks `webhook` says which one gets them."),
			endpoint.Handle("GET", "/history", 200,
				"The ended sessions behind a cursor, in the order in which they ended",
				readHistoryPage, endpoint.WithTarget(h.RangeOf, history), "cursor_gone", "starting", "not_owner",
				"store_unavailable").
				Describe(aboutCursors),
			endpoint.Handle("GET", "/history/{id}", 200, "One ended session", readID,
				endpoint.WithTarget(h.RangeOf, endedSession),
				"starting", "not_owner", "session_not_found", "session_ended", "store_unavailable").
				Describe("Its receipt: what was sold, used and paused, and why it ended. A session that is still "+
					"active, or is in the history no longer, is not found; one whose record cannot be read any "+
					"more is `session_ended`."),
		),
	)
}

// sellTime is the description of the group of requests about sessions.
const sellTime = "Sell lane time, change it, end it."

// aboutCursors is what the descriptions of all logs say.
const aboutCursors = "A cursor of another log, as the store was replaced or has lost records, and one behind which " +
	"records are not kept any more are refused with `cursor_gone`, whose `oldest` is the cursor to go on from; " +
	"a cursor that is ahead of the log with `invalid_request`."

// afterClosing is the code of what would be used after the range has closed.
var afterClosing = lanes.ErrAfterClosing.Code()

// noOpenEnd is the code of a lane on which no session goes on beyond what was sold.
var noOpenEnd = lanes.ErrNoOpenEnd.Code()

// aboutClosing is what the descriptions of all sales say.
const aboutClosing = "Of a range with opening hours, what would end after it has closed is refused with " +
	"`after_closing`; `max_minutes` in that answer is what fits. "

// commandCodes returns the codes of every command, and the given ones.
func commandCodes(codes ...string) []string {
	return append(codes, "idempotency_key_reused", "not_saved", "store_unavailable", "starting",
		"overloaded", "not_owner")
}

// SessionCodes returns the codes of a command to a session, and the given ones.
func SessionCodes(codes ...string) []string {
	return commandCodes(append(codes, "session_not_found", "session_ended")...)
}

// SaleCodes returns the codes of selling time on a lane.
func SaleCodes() []string {
	return commandCodes("lane_not_found", "group_not_found", "lane_occupied", "lane_not_accessible", "lane_not_usable",
		"lane_not_clear")
}
