package main

import (
	"github.com/rs/zerolog"

	"rangegate/config"
)

// logFrom sets how grave something must be to be logged, by every log of the process. The configuration has been checked.
func logFrom(level config.Level) {
	parsed, err := zerolog.ParseLevel(string(level))
	if err != nil {
		panic(err)
	}
	zerolog.SetGlobalLevel(parsed)
}
