package main

import (
	"github.com/google/uuid"

	"rangegate/config"
)

type serve struct {
	Config string      `required:"" placeholder:"FILE" help:"The configuration to serve."`
	Retire []uuid.UUID `placeholder:"LANE_ID" help:"End the session of a lane that the configuration no longer has. May be given again."`
}

// Run serves the configuration until the process is told to stop.
func (s serve) Run(t *terminal) error {
	hungUp := hangUps()
	read := func() (config.Config, error) { return config.Load(s.Config, t.environ) }
	cfg, err := read()
	if err != nil {
		return misconfigured{err}
	}
	return run(t, program{config: cfg, reread: read, hungUp: hungUp, retire: s.Retire})
}
