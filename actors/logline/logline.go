// Package logline has the fields that a line of the log has when it is about a lane: the id, for programs, and
// beside it the name that the range knows the lane by, for people. A line about a request has its trace id.
package logline

import (
	"github.com/google/uuid"
	"github.com/rs/zerolog"
)

// Lanes returns the name of a lane of the range, empty for one that has left. It is called for each line. nil
// names none.
type Lanes func(lane uuid.UUID) (name string)

// Of adds lane_id, and lane where the lane has a name. A line that is not written stays nil.
func (l Lanes) Of(line *zerolog.Event, lane uuid.UUID) *zerolog.Event {
	if line == nil {
		return nil
	}
	line = line.Stringer("lane_id", lane)
	if l == nil {
		return line
	}
	if name := l(lane); name != "" {
		line = line.Str("lane", name)
	}
	return line
}

// Traced adds the trace id of the request that the line is about, if there is one.
func Traced(line *zerolog.Event, id string) *zerolog.Event {
	if id == "" {
		return line
	}
	return line.Str("trace_id", id)
}
