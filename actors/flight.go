package actors

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/lanes"
)

// flight is a change on its way to the store.
type flight struct {
	of     *laneActor // the life of the lane that sent it: after a panic the lane lives another
	ask    *ask
	change lanes.Change
	events []lanes.Logged
	kept   *lanes.KeptAnswer
	then   func(*flight, outcome)
}

// save sends the change to the store. then hears what became of it, as a message of this lane.
func (l *laneActor) save(a *ask, change lanes.Change, then func(*flight, outcome)) {
	f := &flight{of: l, ask: a, change: change, then: then, events: make([]lanes.Logged, 0, len(change.Events)+len(a.with))}
	for _, event := range change.Events {
		f.events = append(f.events, l.of.logged(event, a.trace()))
	}
	f.events = append(f.events, a.with...)
	f.kept = a.claim.Answer(change.Answer, a.at)
	l.flight, l.taking = f, nil
	w := &write{
		lanes: []lanes.Lane{change.Lane}, events: f.events, ended: change.Ended, kept: f.kept,
		holds:  a.holds,
		acts:   l.acts(a, change),
		stands: change.Closing, ticket: a.ticket, asked: a.reply != nil, trace: a.trace(),
		told: func(became outcome) {
			switch became {
			case saved:
				a.saved.Store(true)
				l.of.announce(f.events) // here, in the order of the log: a session may be told of by two lanes
			case disowned, forsaken: // the tree is about to be stopped
				a.answer(nil, became.err())
			}
			l.of.send(l.self, &landed{f, became})
		},
	}
	if change.Other != nil {
		w.lanes = append(w.lanes, *change.Other)
	}
	l.of.committer.save(w)
}

// land takes what became of a flight.
func (l *laneActor) land(m *landed) {
	f := m.flight
	if f.of != l {
		l.inherit(f, m.outcome)
		return
	}
	if l.flight == f && (m.outcome != standing || f.change.Closing) {
		l.flight, l.stuck = nil, false
	}
	f.then(f, m.outcome)
}

// inherit ends a flight that this lane sent before it panicked. The lane itself has been recalled with what was saved.
func (l *laneActor) inherit(f *flight, became outcome) {
	switch became {
	case saved:
		if f.change.Other != nil {
			l.of.board.Publish(f.change.Lane, *f.change.Other)
		}
		l.finish(f)
	case refused, disowned, forsaken:
		l.refuse(f.ask, became.err())
	case standing:
	}
}

// finish ends an ask that succeeded: what it changed is saved.
func (l *laneActor) finish(f *flight) {
	a := f.ask
	a.claim.Settle(f.kept)
	if a.ticket != nil {
		l.handOver(a.ticket, *f.change.Other)
	}
	if a.then != nil {
		a.then(true)
	}
	a.answer(f.change.Answer, nil, f.events...) // answer
	line := l.line(a, nil, f.of != nil).Int("events", len(f.events))
	if f.change.Settled != nil {
		l.of.settled(l.id, f.change.Settled, a)
	}
	if note := f.change.Note; note != "" {
		l.of.metrics.ReportsIgnored.WithLabelValues(note).Inc()
		line = line.Str("note", note)
	}
	if missing := f.change.Missing; missing > 0 {
		l.of.metrics.ReportsMissing.Add(float64(missing))
		line = line.Uint64("reports_missing", missing)
	}
	line.Msg("command")
}

// refuse ends an ask after which nothing has changed.
func (l *laneActor) refuse(a *ask, err error) {
	a.claim.Settle(nil)
	if a.ticket != nil {
		a.ticket.drop()
	}
	if a.then != nil {
		a.then(false)
	}
	a.answer(nil, err)
	l.line(a, err, true).Err(err).Msg("command")
}

// stand answers a closing command that is in force and not saved yet.
func (l *laneActor) stand(a *ask) {
	a.claim.NotSaved()
	a.answer(nil, lanes.ErrNotSaved)
	l.line(a, lanes.ErrNotSaved, true).Err(lanes.ErrNotSaved).Msg("command")
}

// standStill: the change under way is not closing and its outcome stays unknown while the store is away. Closings that
// wait for it are in force on the hardware; what else waits was not sent.
func (l *laneActor) standStill() {
	l.stuck = true
	for _, a := range l.closings {
		if a.closing() {
			l.stand(a)
		}
	}
	for _, a := range l.waiting {
		l.refuse(a, lanes.ErrStoreUnavailable)
	}
	l.waiting = nil
}

// putBack: the store did not take the change. A client is told so; a report of the hardware is kept and tried again.
func (l *laneActor) putBack(a *ask) {
	if !a.reported() {
		l.refuse(a, lanes.ErrStoreUnavailable)
		if a.releasing() { // the range's record has no hold any more, so the lane must not either
			time.AfterFunc(reportRetry, func() { l.of.send(l.self, &heed{l}) })
		}
		return
	}
	l.reports = append([]*ask{a}, l.reports...)
	l.resting = true
	time.AfterFunc(reportRetry, func() { l.of.send(l.self, &tryReports{l}) })
}

// gone is what those hear who wait for a lane that stops.
func (l *laneActor) gone() error {
	if !l.of.settings().has(l.id) {
		return lanes.ErrLaneNotFound
	}
	return cmp.Or(context.Cause(l.of.background), error(lanes.ErrStarting))
}

// leave ends this life of the lane: after a panic another one begins, or the range stops. What waits is refused.
func (l *laneActor) leave(why error) {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.armed++
	l.usable.stopGrace()
	l.link.end()
	if l.ticket != nil {
		l.ticket.void.Store(true)
	}
	if l.taking != nil { // it panicked
		l.refuse(l.taking, lanes.ErrInternal)
	}
	if l.flight != nil { // what becomes of it, the next life hears
		l.flight.ask.answer(nil, lanes.ErrTimeout, l.flight.events...)
	}
	for _, queue := range [][]*ask{l.closings, l.reports, l.waiting} {
		for _, a := range queue {
			l.refuse(a, why)
		}
	}
}

// line begins the one log line about an ask, and keeps in the lane's command log how it ended. A link that comes up has
// its faults looked at each time: where that changes nothing it is worth no more than a line for debugging.
func (l *laneActor) line(a *ask, err error, changes bool) *zerolog.Event {
	command, result, who := a.name(), code(err), cmp.Or(a.who, a.holder)
	l.of.metrics.Commands.WithLabelValues(command, result).Inc()
	now, session := l.of.clock.Now(), cmp.Or(a.session, sessionOn(l.lane))
	took, first := a.answeredAt(now)
	if first {
		l.of.metrics.CommandSeconds.WithLabelValues(command).Observe(took.Seconds())
	}
	_, inspects := a.command.(lanes.Inspect)
	level := zerolog.InfoLevel
	switch {
	case err == lanes.ErrInternal || err == lanes.ErrNotSaved:
		level = zerolog.ErrorLevel
	case inspects && !changes:
		level = zerolog.DebugLevel
	}
	if level != zerolog.DebugLevel {
		l.of.commands.add(l.id, now, lanes.Commanded{
			At: a.came.Wall, By: a.by, Who: who, Command: command, Result: result, Took: took,
			Waited: a.waited(now), Session: session, Trace: a.trace(),
		})
	}
	line := l.of.log.WithLevel(level).Stringer("lane", l.id).
		Str("command", command).Str("by", string(a.by)).Str("result", result)
	if who != "" {
		line = line.Str("who", who)
	}
	if session != uuid.Nil {
		line = line.Stringer("session", session)
	}
	return traced(line.Dur("took", took), a.trace())
}

// traced adds the trace id of the request that the line is about, if there was one.
func traced(line *zerolog.Event, id string) *zerolog.Event {
	if id == "" {
		return line
	}
	return line.Str("trace_id", id)
}

func sessionOn(lane lanes.Lane) uuid.UUID {
	if lane.Session == nil {
		return uuid.Nil
	}
	return lane.Session.ID
}
