package api

import (
	"context"

	"github.com/rs/zerolog"

	"rangegate/api/endpoint"
)

// logLevel is how grave something must be to be logged, in the words of the configuration.
type logLevel struct {
	Level string `json:"level"`
}

var logLevels = []string{"debug", "info", "warn", "error"}

func logLevelEndpoints() []endpoint.Endpoint {
	return []endpoint.Endpoint{
		endpoint.Handle("GET", "/", 200, "How grave something must be to be logged", endpoint.NoInput, level),
		endpoint.Handle("PUT", "/", 200, "Log more or less from now on, until the gateway is started again", readLevel, setLevel),
	}
}

func readLevel(in *endpoint.Input) logLevel {
	return logLevel{in.OneOf("level", "The least grave level that is logged", logLevels...)}
}

func level(context.Context, endpoint.Empty) (logLevel, error) {
	return logLevel{zerolog.GlobalLevel().String()}, nil
}

// setLevel says so in the log, whatever the levels are.
func setLevel(ctx context.Context, to logLevel) (logLevel, error) {
	parsed, err := zerolog.ParseLevel(to.Level)
	if err != nil {
		return logLevel{}, err
	}
	was := zerolog.GlobalLevel()
	zerolog.SetGlobalLevel(parsed)
	logOf(ctx).Log().Str(zerolog.LevelFieldName, zerolog.LevelInfoValue).Str("who", anOperator).Str("from", addressOf(ctx)).
		Stringer("was", was).Stringer("is", parsed).Msg("log level changed")
	return to, nil
}
