package actors

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"rangegate/actors/idempotency"
	"rangegate/lanes"
	"rangegate/lanes/trace"
)

// ask is a command on its way to a lane, and the way back for the answer.
type ask struct {
	ctx     context.Context
	command lanes.Command
	by      lanes.By
	who     string             // of staff; what their asks change is on record
	holder  string             // of a hold or its end: who, which is on record with the range's holds
	at      lanes.Instant      // when it arrived at the lane, or was decided: from when it counts
	came    lanes.Instant      // when it arrived at first
	told    bool               // it was answered: see answeredAt
	taken   time.Duration      // when it was decided, by the clock that nobody sets
	session uuid.UUID          // that was on the lane then, or is afterwards
	with    []lanes.Logged     // events of before, to be written with their outcome in the same write
	roll    *rollcall          // of a hold: who wants to hear how far it comes on the hardware
	holds   *holdsRecord       // the range's record that goes into the same write
	claim   *idempotency.Claim // its idempotency key, nil without one
	ticket  *ticket            // the reserved destination of a move, nil otherwise
	reply   chan result        // of one; nil when nobody waits for an answer (timer, hardware)
	then    func(saved bool)   // nil, or told how it ended
	saved   atomic.Bool        // what it changed, whether or not its lane has heard of that
}

type result struct {
	view   *lanes.SessionView
	events []lanes.Logged // of the change, with their cursors
	err    error
}

// givenUp tells whether the one who asked has stopped waiting. Before anything was done the ask is then dropped.
func (a *ask) givenUp() bool { return a.reply != nil && a.ctx.Err() != nil }

// closing commands close the fire line: they wait for nothing but a change under way, count from when they arrived,
// and are never dropped.
func (a *ask) closing() bool {
	switch a.command.(type) {
	case lanes.Stop, lanes.Pause, lanes.Hold, lanes.Expire:
		return true
	}
	return false
}

// releasing keeps its place among the closings, so that a hold that follows a release is not undone by it.
func (a *ask) releasing() bool {
	_, release := a.command.(lanes.Release)
	return release
}

// reported asks come from the hardware: they count from when they arrived and are kept until they are saved.
func (a *ask) reported() bool {
	switch a.command.(type) {
	case lanes.Report, lanes.Inspect:
		return true
	}
	return false
}

// repeats tells whether both are the same report, told again by a controller that got no ack.
func (a *ask) repeats(other *ask) bool {
	report, one := a.command.(lanes.Report)
	earlier, another := other.command.(lanes.Report)
	return one && another && report.Log == earlier.Log
}

// answer gives the answer. Only the first one is heard: what becomes of a closing command that was answered as not
// saved is in the log.
func (a *ask) answer(view *lanes.SessionView, err error, events ...lanes.Logged) {
	if a.reply == nil {
		return
	}
	select {
	case a.reply <- result{view, events, err}:
	default:
	}
}

// trace is the trace id of the request that the ask belongs to, empty without one.
func (a *ask) trace() string { return trace.ID(a.ctx) }

// arrives takes in when the ask came to its lane. One that was sent on from there, or taken up again, has arrived before.
func (a *ask) arrives(now lanes.Instant) {
	if a.at = now; a.came.Wall.IsZero() {
		a.came = now
	}
}

// answeredAt is how long the lane took until now, when it answers. Only the first answer counts: see answer.
func (a *ask) answeredAt(now lanes.Instant) (took time.Duration, first bool) {
	took, first = now.Since(a.came), !a.told
	a.told = true
	return took, first
}

// waited is how long the ask was, or has been, in the lane's queue.
func (a *ask) waited(now lanes.Instant) time.Duration {
	if a.taken == 0 {
		return now.Since(a.came)
	}
	return a.taken - a.came.Mono
}

// name is the word for the command in logs and counts.
func (a *ask) name() string {
	if a.command == nil {
		return "none"
	}
	return a.command.Name()
}

// code is how a command ended, for logs and counts.
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
