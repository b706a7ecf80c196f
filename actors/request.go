package actors

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/commit"
	"rangegate/actors/holds"
	"rangegate/actors/idempotency"
	"rangegate/actors/loglevel"
	"rangegate/actors/logline"
	"rangegate/actors/supervised"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// request is one command on its way to a lane, with the way back for the reply. The lane's actor alone
// changes it once it is sent.
type request struct {
	supervised.Taken
	ctx      context.Context
	command  lanes.Command
	by       lanes.By
	who      string // name of the staff member, or of the POS's token; what their requests change is on record
	holder   string // of a hold or its end: who set or lifted it, on record with the range's holds
	events   []lanes.Logged
	progress *holds.Progress    // of a hold: hears how far it has come on this lane
	holds    *commit.HoldRecord // the range's record, saved in the same write
	claim    *idempotency.Claim // of its idempotency key, nil without one
	ticket   *ticket            // of a move: of its destination, nil otherwise
	lends    *together          // nil, or asks the lane to lend itself; it has no command then
	lent     chan *ticket       // of one: the answer to that
	reply    chan reply         // of one; nil when nobody waits (timer, hardware)
	done     func(saved bool)   // nil, or called once with how it ended

	at        lanes.Instant     // from when it counts: its arrival if it closes or reports, else when it was decided
	closed    lanes.Instant     // when its fire line was closed before it came to the lane; zero: it was not
	arrived   lanes.Instant     // when it first reached a lane
	decided   time.Duration     // when it was decided, on the monotonic clock
	kept      *lanes.KeptAnswer // its answer, saved for its idempotency key
	session   uuid.UUID         // on the lane when it was decided, or afterwards
	answered  bool              // its duration is counted
	inForce   bool              // it closes, waits to be saved, and its client was told so
	unchanged bool              // the lane was as it asks for: it has changed nothing, and nothing is saved
	saved     atomic.Bool       // its change is durable, whether or not its lane knows
	traced    *tracedRequest    // nil: nothing is traced
}

type reply struct {
	view   *lanes.SessionView
	events []lanes.Logged // of the change, with their cursors
	err    error
}

// requester is who a request comes from.
type requester struct {
	by  lanes.By
	who string // name of the staff member, or of the POS's token
}

// posRequester is the POS that ctx has a request of. Its token may have a name.
func posRequester(ctx context.Context) requester { return requester{lanes.ByPOS, trace.Who(ctx)} }

// abandoned reports whether the client has stopped waiting. A request that was not decided by then is dropped.
func (r *request) abandoned() bool { return r.reply != nil && r.ctx.Err() != nil }

// closes reports whether the command closes the fire line. Such a request waits for nothing but a save under
// way, counts from its arrival, and is never dropped.
func (r *request) closes() bool {
	switch r.command.(type) {
	case lanes.Stop, lanes.Pause, lanes.Hold, lanes.Expire:
		return true
	}
	return false
}

// takesStart reports whether it takes the start from a session, whose hardware then does not open by itself.
func (r *request) takesStart() bool {
	_, takes := r.command.(lanes.Unschedule)
	return takes
}

// begins reports whether it is the begin of a session by its start, which others may have too.
func (r *request) begins() bool {
	_, begin := r.command.(lanes.Begin)
	return begin
}

// uncharges reports whether it gives time back that a session was charged for a line which was still locked. It is
// saved before anything else is decided about the session, however long the store is away.
func (r *request) uncharges() bool {
	_, gives := r.command.(lanes.OpenedLate)
	return gives
}

// closesSession is the session that a stop or a pause is about, wherever that is; uuid.Nil for any other command.
func (r *request) closesSession() uuid.UUID {
	switch command := r.command.(type) {
	case lanes.Stop:
		return command.Session
	case lanes.Pause:
		return command.Session
	}
	return uuid.Nil
}

// releases reports whether it ends a hold. It keeps its place among the closing ones: a hold after it is not
// undone by it.
func (r *request) releases() bool {
	_, release := r.command.(lanes.Release)
	return release
}

// reports reports whether it comes from the hardware. It counts from its arrival and is kept until it is saved.
func (r *request) reports() bool {
	switch r.command.(type) {
	case lanes.Report, lanes.Inspect, lanes.LinkLost, lanes.Arrive:
		return true
	}
	return false
}

// repeats reports whether both are the same report, sent again by a controller that got no ack.
func (r *request) repeats(earlier *request) bool {
	report, isReport := r.command.(lanes.Report)
	first, wasReport := earlier.command.(lanes.Report)
	return isReport && wasReport && report.Log == first.Log
}

// answer sends the reply. Only the first one is read: what becomes of a closing request that was answered as
// not saved is in the log.
func (r *request) answer(view *lanes.SessionView, err error, events ...lanes.Logged) {
	if r.reply == nil {
		return
	}
	if r.closes() && errors.Is(err, lanes.ErrNotOwner) {
		err = lanes.ErrNotOwnerClosed
	}
	select {
	case r.reply <- reply{view, events, err}:
	default:
	}
}

// Refuse ends a request that changed nothing: its key is free again, and a lane that was kept free for it too. It
// implements supervised.Awaited.
func (r *request) Refuse(err error) {
	r.claim.Settle(nil)
	if r.ticket != nil {
		r.ticket.drop()
	}
	r.end(false)
	r.answer(nil, err)
}

// end calls done, once.
func (r *request) end(saved bool) {
	if done := r.done; done != nil {
		r.done = nil
		done(saved)
	}
}

func (r *request) traceID() string { return trace.ID(r.ctx) }

// span is the request's place in that trace.
func (r *request) span() lanes.Span { return trace.Span(r.ctx) }

// wasClosed reports whether its fire line was closed before it came to the lane.
func (r *request) wasClosed() bool { return !r.closed.Wall.IsZero() }

// arrive notes when the request reached its lane. One that was handed on from another lane arrived there.
func (r *request) arrive(now lanes.Instant) {
	if r.at = now; r.wasClosed() {
		r.at = r.closed
	}
	if r.arrived.Wall.IsZero() {
		r.arrived = now
	}
}

// duration returns how long the lane has taken until now; first is true the first time.
func (r *request) duration(now lanes.Instant) (took time.Duration, first bool) {
	took, first = now.Since(r.arrived), !r.answered
	r.answered = true
	return took, first
}

// waited returns how long the request was, or has been, in the lane's queue.
func (r *request) waited(now lanes.Instant) time.Duration {
	if r.decided == 0 {
		return now.Since(r.arrived)
	}
	return r.decided - r.arrived.Mono
}

// MessageName implements supervised.Named.
func (r *request) MessageName() string { return r.name() }

// name is the word for the command in logs and metrics.
func (r *request) name() string {
	switch {
	case r.lends != nil:
		return "lend"
	case r.command == nil:
		return "none"
	}
	return r.command.Name()
}

// code is the word for how a request ended in logs and metrics.
func code(err error) string {
	var coded interface{ Code() string }
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &coded):
		return coded.Code()
	default:
		return lanes.ErrInternal.Code()
	}
}

// passing are the errors that do not say how the range stands. All others are refusals.
var passing = []error{
	lanes.ErrTimeout, lanes.ErrNotOwner, lanes.ErrNotOwnerClosed, lanes.ErrStarting, lanes.ErrStoreUnavailable,
	lanes.ErrNotSaved, lanes.ErrOverloaded,
	lanes.ErrInternal,
}

func isPassing(err error) bool {
	return slices.ContainsFunc(passing, func(p error) bool { return errors.Is(err, p) })
}

// acts is the record of what somebody with a name changes by the request: staff, or a POS whose token has one. It
// is empty for anybody else, and saved with the change. lane is the one in force before it.
func (r *request) acts(lane lanes.Lane, change lanes.Change, settings *settings) []lanes.Act {
	if r.who == "" {
		return nil
	}
	act := lanes.Did(r.who, r.at, lane, r.command, change)
	if change.Other != nil {
		act.Detail = settings.name(change.Other.ID)
	}
	return []lanes.Act{act}
}

// isAboutLink reports whether it comes with a link that comes up or is lost.
func (r *request) isAboutLink() bool {
	switch r.command.(type) {
	case lanes.Inspect, lanes.LinkLost:
		return true
	}
	return false
}

// logLine begins the one log line about a request and adds it to the lane's command log. What comes with each link is
// worth a debug line when it changes nothing.
func logLine(r *Range, lane lanes.Lane, q *request, err error, changes bool) *zerolog.Event {
	command, result, who := q.name(), code(err), cmp.Or(q.who, q.holder)
	r.metrics.Commands.WithLabelValues(command, result).Inc()
	if q.by == lanes.ByPOS && q.who != "" {
		r.metrics.TokenCommands.WithLabelValues(r.id.String(), q.who, command, result).Inc()
	}
	now, session := r.clock.Now(), cmp.Or(q.session, sessionOn(lane))
	took, first := q.duration(now)
	if first {
		r.metrics.Tracer.Observe(
			r.metrics.CommandSeconds.WithLabelValues(command),
			took.Seconds(),
			q.traceID(),
			q.span(),
		)
		q.record(r, lane, result, isPassing(err))
	}
	level := zerolog.InfoLevel
	switch {
	case errors.Is(err, lanes.ErrInternal), errors.Is(err, lanes.ErrNotSaved):
		level = zerolog.ErrorLevel
	case q.isAboutLink() && !changes:
		level = zerolog.DebugLevel
	}
	if level != zerolog.DebugLevel {
		r.commands.Add(lane.ID, now, lanes.Commanded{
			At: q.arrived.Wall, By: q.by, Who: who, Command: command, Result: result, Took: took,
			Waited: q.waited(now), Session: session, Trace: q.traceID(),
		})
	}
	line := r.named.Of(loglevel.OfLane(&r.log, lane.ID).WithLevel(level), lane.ID).
		Str("command", command).Str("by", string(q.by)).Str("result", result)
	if who != "" {
		line = line.Str("who", who)
	}
	if session != uuid.Nil {
		line = line.Stringer("session_id", session)
	}
	return logline.Traced(line.Dur("duration_ms", took), q.traceID())
}

func sessionOn(lane lanes.Lane) uuid.UUID {
	if lane.Session == nil {
		return uuid.Nil
	}
	return lane.Session.ID
}
