package gateway

import (
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"rangegate/actors/loglevel"
	"rangegate/api"
)

// logLevel is the log level of the process for the operations address.
type logLevel struct{}

// Process implements api.LogLevel.
func (logLevel) Process() (zerolog.Level, *api.Debugged) {
	level, exception := loglevel.Process()
	return level, (*api.Debugged)(exception)
}

// Set implements api.LogLevel.
func (logLevel) Set(level zerolog.Level) { loglevel.Set(level) }

// Debug implements api.LogLevel.
func (logLevel) Debug(rangeID, lane uuid.UUID) api.Debugged {
	return api.Debugged(loglevel.Debug(rangeID, lane))
}
