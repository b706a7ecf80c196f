package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
	"rangegate/api/observer"
	"rangegate/api/request"
	"rangegate/api/routing"
	"rangegate/lanes"
)

// LogLevel is the lowest level that the process logs. A range or one of its lanes may be logged at debug for a while.
type LogLevel interface {
	// Process returns the level of the process, and what is logged at debug; nil: nothing.
	Process() (zerolog.Level, *Debugged)
	// Set sets the level of the process, and ends the other one.
	Set(zerolog.Level)
	// Debug has a range logged at debug, or only a lane of it, until the time in its answer, or the next Set or Debug.
	Debug(rangeID, lane uuid.UUID) Debugged
}

// Debugged is a range, or one of its lanes, that is logged at debug.
type Debugged struct {
	Range, Lane uuid.UUID // Lane is uuid.Nil for the whole range
	Until       time.Time
}

// logLevelView is the lowest level that is logged, as the configuration names it.
type logLevelView struct {
	Level string     `json:"level"`
	Debug *debugView `json:"debug,omitempty"` // what is logged at debug, whatever the level
}

type debugView struct {
	Range uuid.UUID  `json:"range_id"`
	Lane  *uuid.UUID `json:"lane_id"` // null: the whole range
	Until string     `json:"until"`
}

var logLevels = []string{"debug", "info", "warn", "error"}

// logLevelChange is a level for the process, or debug for one range or lane for a while.
type logLevelChange struct {
	level string
	of    uuid.UUID // the range, uuid.Nil: that of the lane
	lane  uuid.UUID // uuid.Nil: no single one
}

func (s Operations) logLevelEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/", 200, "The lowest level that is logged", endpoint.NoInput,
			func(context.Context, endpoint.Empty) (logLevelView, error) { return s.currentLogLevel(), nil }),
		endpoint.Handle("PUT", "/", 200, "Change the level until the gateway restarts, or of one range for a while",
			readLogLevel, s.setLogLevel),
	}
}

func readLogLevel(in *endpoint.Input) logLevelChange {
	c := logLevelChange{
		in.OneOf("level", "The lowest level that is logged", logLevels...),
		in.QueryOptionalID("range", "Only of this range, for 10 minutes; with level debug"),
		in.QueryOptionalID("lane", "Only of this lane, for 10 minutes; with level debug"),
	}
	if c.level != "" && c.level != zerolog.LevelDebugValue {
		in.RefuseQuery("range", "is for level debug only")
		in.RefuseQuery("lane", "is for level debug only")
	}
	return c
}

func (s Operations) currentLogLevel() logLevelView {
	level, debugged := s.LogLevel.Process()
	view := logLevelView{Level: level.String()}
	if debugged != nil {
		view.Debug = &debugView{Range: debugged.Range, Until: endpoint.Stamp(debugged.Until)}
		if debugged.Lane != uuid.Nil {
			view.Debug.Lane = &debugged.Lane
		}
	}
	return view
}

// setLogLevel changes the level, and logs the change at every level.
func (s Operations) setLogLevel(ctx context.Context, c logLevelChange) (logLevelView, error) {
	before, _ := s.LogLevel.Process()
	line := request.Log(ctx).Log().Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).Str("who", operatorOf(ctx)).
		Str("from", request.Of(ctx).Client).Stringer("was", before)
	if c.of == uuid.Nil && c.lane == uuid.Nil {
		level, err := zerolog.ParseLevel(c.level)
		if err != nil {
			return logLevelView{}, err
		}
		s.LogLevel.Set(level)
		line.Stringer("is", level).Msg("log level changed")
		return s.currentLogLevel(), nil
	}
	id, r, err := s.rangeOf(c)
	if err != nil {
		return logLevelView{}, err
	}
	if err := r.NoteDebug(ctx, operatorOf(ctx), c.lane); err != nil {
		return logLevelView{}, err
	}
	debugged := s.LogLevel.Debug(id, c.lane)
	line = line.Str("is", c.level).Stringer("range_id", id)
	if c.lane != uuid.Nil {
		health, _ := r.LaneActor(c.lane)
		line = line.Stringer("lane_id", c.lane).Str("lane", health.Link.Name)
	}
	line.Time("until", debugged.Until.UTC()).Msg("log level changed")
	return s.currentLogLevel(), nil
}

// rangeOf returns the running range that is named, or that has the lane.
func (s Operations) rangeOf(c logLevelChange) (uuid.UUID, OperatedRange, error) {
	if c.of != uuid.Nil {
		if !slices.Contains(s.Ranges(), c.of) {
			return c.of, nil, ErrNoRange
		}
		r, err := s.Range(c.of)
		return c.of, r, err
	}
	for _, id := range s.Ranges() {
		if r, err := s.Range(id); err == nil {
			if _, found := r.LaneActor(c.lane); found {
				return id, r, nil
			}
		}
	}
	return uuid.Nil, nil, lanes.ErrLaneNotFound
}

// ofQuery is the destination of a request that may name its range in the query.
func (s Operations) ofQuery(r *http.Request) (uuid.UUID, routing.Way) {
	id, err := uuid.Parse(r.URL.Query().Get("range"))
	if err != nil || !slices.Contains(s.Ranges(), id) {
		return uuid.Nil, routing.Operation
	}
	return id, routing.Operation
}

// followedLog is the log as operators follow it.
func (s Operations) followedLog() observer.LogSettings {
	return observer.LogSettings{Tail: s.LogTail, NotWritten: s.Traffic.sample.Dropped, Level: func() zerolog.Level {
		level, _ := s.LogLevel.Process()
		return level
	}}
}
