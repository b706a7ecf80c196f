package actors

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rs/zerolog"

	"rangegate/lanes"
)

// ask is a command on its way to a lane, and the way back for the answer.
type ask struct {
	ctx     context.Context
	command lanes.Command
	by      lanes.By
	who     string           // of staff; what their asks change is on record
	at      lanes.Instant    // when it arrived at the lane
	with    []lanes.Logged   // events of before, to be written with their outcome in the same write
	roll    *rollcall        // of a hold: who wants to hear how far it comes on the hardware
	holds   *holdsRecord     // the range's record that goes into the same write
	claim   *claim           // its idempotency key, nil without one
	ticket  *ticket          // the reserved destination of a move, nil otherwise
	reply   chan result      // of one; nil when nobody waits for an answer (timer, hardware)
	then    func(saved bool) // nil, or told how it ended
	saved   atomic.Bool      // what it changed, whether or not its lane has heard of that
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

// log is the log of the request that the ask belongs to, with its trace id, or fallback.
func (a *ask) log(fallback *zerolog.Logger) *zerolog.Logger {
	if log := zerolog.Ctx(a.ctx); log.GetLevel() != zerolog.Disabled {
		return log
	}
	return fallback
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
