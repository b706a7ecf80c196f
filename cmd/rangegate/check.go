package main

import (
	"fmt"

	"rangegate/cmd/rangegate/preflight"
	"rangegate/config"
)

type check struct {
	Config  string `required:"" placeholder:"FILE" help:"The configuration to check."`
	Offline bool   `help:"Only the configuration: nothing else of this machine is looked at, and nobody is connected to."`
}

// Help is shown below the flags.
func (check) Help() string {
	return `Prints the configuration as it will be used, and on standard error a table of what the gateway will find: store, integrators, controllers, addresses, certificates, clocks, file limits; with what to do about each. It takes half a minute at most, changes nothing, and may be run beside the gateway that serves the same configuration. Run it as the gateway's user, on its machine.

Exit codes: 0 all is well, or worth a look; 1 something failed; 2 the configuration is wrong.`
}

// Run lists every fault of the configuration at once, or prints it as it will be used, defaults and environment included,
// and makes the pre-flight.
func (c check) Run(t *terminal) error {
	cfg, err := config.Load(c.Config, t.environ)
	if err != nil {
		return misconfigured{err}
	}
	shown, err := config.YAML(cfg)
	if err != nil {
		return err
	}
	if _, err := t.out.Write(shown); err != nil {
		return err
	}
	if c.Offline {
		for _, unused := range cfg.Unused() {
			fmt.Fprintf(t.log, "%s: has no effect\n", unused)
		}
		return nil
	}
	found := preflight.Run(t.ctx, preflight.Settings{Config: cfg, Trust: trustedBy, UserAgent: "rangegate/" + built()})
	if err := preflight.Write(t.log, found); err != nil {
		return err
	}
	if failed := preflight.Count(found, preflight.Fail); failed > 0 {
		return fmt.Errorf("the pre-flight failed in %d of %d findings", failed, len(found))
	}
	return nil
}
