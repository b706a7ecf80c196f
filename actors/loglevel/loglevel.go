// Package loglevel is the lowest level that the process logs, and a range or a lane whose log is at debug for a while.
// It is global to the process, as the level of the library is.
//
// The library drops a line below its global level before anything else. While one range or lane is at debug that level
// is debug, and the samplers here drop what the others log below the level of the process. Without such an exception
// they cost one atomic load for each line that is written, and nothing for a line that is dropped.
package loglevel

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// DebugFor is how long a range or a lane is logged at debug.
const DebugFor = 10 * time.Minute

// Exception is a range, or one of its lanes, that is logged at debug.
type Exception struct {
	Range, Lane uuid.UUID // Lane is uuid.Nil for the whole range
	Until       time.Time
}

type exception struct {
	Exception
	process zerolog.Level // what all else is logged at
	end     *time.Timer
}

var (
	changing sync.Mutex // held by whoever changes current or the library's level
	current  atomic.Pointer[exception]
)

// Process returns the level of the process, and the exception from it if there is one.
func Process() (zerolog.Level, *Exception) {
	if e := current.Load(); e != nil {
		return e.process, &e.Exception
	}
	return zerolog.GlobalLevel(), nil
}

// Set sets the level of the process, and ends the exception.
func Set(level zerolog.Level) {
	changing.Lock()
	defer changing.Unlock()
	end(current.Load())
	zerolog.SetGlobalLevel(level)
}

// Debug logs a range at debug, or only a lane of it, for DebugFor or until the next Set or Debug.
func Debug(rangeID, lane uuid.UUID) Exception {
	changing.Lock()
	defer changing.Unlock()
	end(current.Load())
	e := &exception{
		Exception: Exception{Range: rangeID, Lane: lane, Until: time.Now().Add(DebugFor)},
		process:   zerolog.GlobalLevel(),
	}
	current.Store(e)
	zerolog.SetGlobalLevel(min(zerolog.DebugLevel, e.process))
	e.end = time.AfterFunc(DebugFor, func() {
		changing.Lock()
		defer changing.Unlock()
		if current.Load() == e {
			end(e)
		}
	})
	return e.Exception
}

// end ends an exception; nil: there is none. changing is held.
func end(e *exception) {
	if e == nil {
		return
	}
	e.end.Stop()
	zerolog.SetGlobalLevel(e.process) // before others are let through
	current.Store(nil)
}

// OfProcess returns the logger that keeps to the level of the process, whatever the exception.
func OfProcess(log zerolog.Logger) zerolog.Logger { return log.Sample(ofRange(uuid.Nil)) }

// OfRange returns the logger of a range: it adds range_id.
func OfRange(log zerolog.Logger, id uuid.UUID) zerolog.Logger {
	return log.With().Stringer("range_id", id).Logger().Sample(ofRange(id))
}

// OfLane returns the logger for a line about a lane, from that of its range.
func OfLane(log *zerolog.Logger, lane uuid.UUID) *zerolog.Logger {
	if e := current.Load(); e == nil || lane == uuid.Nil || e.Lane != lane {
		return log
	}
	all := log.Sample(nil)
	return &all
}

// ofRange is the range of a logger; uuid.Nil: it is of none.
type ofRange uuid.UUID

// Sample implements zerolog.Sampler.
func (r ofRange) Sample(level zerolog.Level) bool {
	e := current.Load()
	return e == nil || level >= e.process || e.Range == uuid.UUID(r) && e.Lane == uuid.Nil
}
